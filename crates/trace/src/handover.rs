//! Transfers a run's results from one process to another: one line of JSON, then the bytes of each
//! column in turn, little-endian.

use std::io::{self, BufRead, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{COLUMNS, Codes, Column, Data, Summary, Table, Trace};

/// The results that the other process wrote.
#[derive(Clone, Debug)]
pub struct Received {
    /// The [`Summary`], as JSON.
    pub summary: String,
    /// The trace, if there is one.
    pub trace: Option<Trace>,
}

/// The first line, as JSON: the summary, and the tables' names and columns.
#[derive(Debug, Deserialize, Serialize)]
struct Head {
    summary: Box<RawValue>,
    tables: Option<Vec<TableHead>>,
}

#[derive(Debug, Deserialize, Serialize)]
struct TableHead {
    name: String,
    columns: Vec<ColumnHead>,
}

#[derive(Debug, Deserialize, Serialize)]
struct ColumnHead {
    name: String,
    unit: String,
    kind: ValueKind,
    rows: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum ValueKind {
    U64,
    U32,
    F32,
    /// Labels with one-byte codes.
    Label,
    /// Labels with four-byte codes.
    WideLabel,
}

/// Writes a run's results to `to`.
///
/// # Errors
/// Those of `to`.
pub fn write(to: &mut impl Write, summary: &Summary, trace: Option<&Trace>) -> io::Result<()> {
    let summary = RawValue::from_string(serde_json::to_string(summary)?)?;
    let tables = trace.map(|trace| trace.tables.iter().map(table_head).collect());
    serde_json::to_writer(&mut *to, &Head { summary, tables })?;
    to.write_all(b"\n")?;
    for column in trace
        .iter()
        .flat_map(|trace| &trace.tables)
        .flat_map(|table| &table.columns)
    {
        match &column.data {
            Data::U64(values) => values
                .iter()
                .try_for_each(|value| to.write_all(&value.to_le_bytes()))?,
            Data::U32(values) => values
                .iter()
                .try_for_each(|value| to.write_all(&value.to_le_bytes()))?,
            Data::F32(values) => values
                .iter()
                .try_for_each(|value| to.write_all(&value.to_le_bytes()))?,
            Data::Label {
                codes: Codes::U8(codes),
                ..
            } => to.write_all(codes)?,
            Data::Label {
                codes: Codes::U32(codes),
                ..
            } => codes
                .iter()
                .try_for_each(|code| to.write_all(&code.to_le_bytes()))?,
        }
    }
    Ok(())
}

fn table_head(table: &Table) -> TableHead {
    let head = |column: &Column| {
        let (kind, rows, labels) = match &column.data {
            Data::U64(values) => (ValueKind::U64, values.len(), &[][..]),
            Data::U32(values) => (ValueKind::U32, values.len(), &[][..]),
            Data::F32(values) => (ValueKind::F32, values.len(), &[][..]),
            Data::Label { codes, labels } => {
                let kind = match codes {
                    Codes::U8(_) => ValueKind::Label,
                    Codes::U32(_) => ValueKind::WideLabel,
                };
                (kind, codes.len(), &labels[..])
            }
        };
        ColumnHead {
            name: column.name.clone(),
            unit: column.unit.to_string(),
            kind,
            rows,
            labels: labels.to_vec(),
        }
    };
    TableHead {
        name: table.name.to_owned(),
        columns: table.columns.iter().map(head).collect(),
    }
}

/// Reads the results that [`write()`] wrote.
///
/// # Errors
/// Those of `from`, and errors about data that [`write()`] did not write.
pub fn read(from: &mut impl BufRead) -> io::Result<Received> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    let Head { summary, tables } = serde_json::from_str(&line)?;
    let tables = tables.map(|tables| {
        tables
            .into_iter()
            .map(|head| table(head, from))
            .collect::<io::Result<_>>()
    });
    Ok(Received {
        summary: summary.get().to_owned(),
        trace: tables.transpose()?.map(|tables| Trace { tables }),
    })
}

fn table(head: TableHead, from: &mut impl Read) -> io::Result<Table> {
    let mut tables = COLUMNS.iter().map(|column| column.table);
    let name = tables.find(|name| *name == head.name);
    let name = name.ok_or_else(|| {
        io::Error::new(
            ErrorKind::InvalidData,
            format!("unknown table {:?}", head.name),
        )
    })?;
    let columns = head
        .columns
        .into_iter()
        .map(|head| column(head, from))
        .collect::<io::Result<_>>()?;
    Ok(Table { name, columns })
}

fn column(head: ColumnHead, from: &mut impl Read) -> io::Result<Column> {
    let ColumnHead {
        name,
        unit,
        kind,
        rows,
        labels,
    } = head;
    let data = match kind {
        ValueKind::U64 => Data::U64(values(from, rows, u64::from_le_bytes)?.into()),
        ValueKind::U32 => Data::U32(values(from, rows, u32::from_le_bytes)?.into()),
        ValueKind::F32 => Data::F32(values(from, rows, f32::from_le_bytes)?.into()),
        ValueKind::Label => Data::Label {
            codes: Codes::U8(values(from, rows, |[code]| code)?),
            labels,
        },
        ValueKind::WideLabel => Data::Label {
            codes: Codes::U32(values(from, rows, u32::from_le_bytes)?),
            labels,
        },
    };
    Ok(Column {
        name,
        unit: unit.into(),
        data,
    })
}

fn values<T, const SIZE: usize>(
    from: &mut impl Read,
    rows: usize,
    of: fn([u8; SIZE]) -> T,
) -> io::Result<Vec<T>> {
    let mut bytes = Vec::new();
    let wanted = rows.saturating_mul(SIZE);
    from.take(wanted as u64).read_to_end(&mut bytes)?;
    if bytes.len() < wanted {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let (values, _) = bytes.as_chunks::<SIZE>();
    Ok(values.iter().map(|value| of(*value)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use fullpipe_units::Time;

    use crate::{MeasuredTime, Steadiness};

    fn summary() -> Summary {
        Summary {
            version: "0",
            runner: "quic".into(),
            host: BTreeMap::from([("kernel".into(), "6".into())]),
            warnings: vec!["a \"word\"\nof it".into()],
            seed: u64::MAX,
            duration_s: 0.1,
            measure_from_s: 0.0,
            flows: vec![],
            workloads: vec![],
            links: vec![],
            jain: None,
            steadiness: Steadiness::of(
                MeasuredTime::new(Time::ZERO, Time::MAX),
                &[],
                &[],
                &[],
                &[],
            ),
            packets: 3,
            events: 4,
        }
    }

    fn trace() -> Trace {
        let column = |name: &str, unit: &'static str, data| Column {
            name: name.into(),
            unit: unit.into(),
            data,
        };
        let label = Data::Label {
            codes: Codes::U8(vec![0, 1, 255]),
            labels: vec!["a".into(), "b".into()],
        };
        let wide = Data::Label {
            codes: Codes::U32(vec![0, 299, u32::MAX]),
            labels: (0..300).map(|n| n.to_string()).collect(),
        };
        let flows = vec![
            column("time", "ns", Data::U64(vec![1, u64::MAX, 10].into())),
            column("flow", "", Data::U32(vec![0, 1, u32::MAX].into())),
            column("rtt", "s", Data::F32(vec![0.5, -0.0, f32::INFINITY].into())),
            column("x.state", "", label),
            column("x.reason", "", wide),
        ];
        Trace {
            tables: vec![
                Table {
                    name: "flows",
                    columns: flows,
                },
                Table {
                    name: "links",
                    columns: vec![],
                },
            ],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, &summary(), Some(&trace())).unwrap();
        let got = read(&mut bytes.as_slice()).unwrap();
        assert_eq!(got.summary, serde_json::to_string(&summary()).unwrap());
        let got = got.trace.expect("a trace");
        assert_eq!(got.hash(), trace().hash());
        let units: Vec<_> = got.tables[0]
            .columns
            .iter()
            .map(|column| column.unit.as_ref())
            .collect();
        assert_eq!(units, ["ns", "", "s", "", ""]);
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &summary(), Some(&trace())).unwrap();
        for end in [0, 10, bytes.len() - 1] {
            assert!(read(&mut &bytes[..end]).is_err(), "the first {end} bytes");
        }
        assert!(read(&mut &b"not JSON\n"[..]).is_err());
    }
}
