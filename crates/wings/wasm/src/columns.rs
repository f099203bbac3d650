//! The columns of a trace as one block of bytes, and a description of where each begins.

use fullpipe_trace::{Data, Trace};
use serde_json::{Value, json};

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;

/// Appends the columns of a trace to `block`, each as 32- or 64-bit floats at a multiple of eight
/// bytes, times in seconds. Returns the tables: names, and each column's place, unit and labels. A
/// column of labels holds their numbers, -1 for a row without one.
pub(crate) fn pack(trace: &Trace, block: &mut Vec<u8>) -> Value {
    let tables = trace.tables.iter().map(|table| {
        let columns = table.columns.iter().map(|column| {
            block.resize(block.len().next_multiple_of(8), 0);
            let (at, seconds) = (block.len(), column.unit == "ns");
            let (rows, kind, labels) = put(&column.data, seconds, block);
            json!({
                "name": column.name,
                "unit": if seconds { "s" } else { &*column.unit },
                "kind": kind,
                "at": at,
                "rows": rows,
                "labels": labels,
            })
        });
        json!({ "name": table.name, "columns": columns.collect::<Vec<_>>() })
    });
    tables.collect()
}

/// Appends the values of a column. Returns their number, their type, and the labels.
fn put<'a>(
    data: &'a Data,
    seconds: bool,
    block: &mut Vec<u8>,
) -> (usize, &'static str, Option<&'a [String]>) {
    let mut double = |value: f64| block.extend(value.to_le_bytes());
    match data {
        Data::U64(values) => {
            for &value in values {
                double(if seconds {
                    value as f64 / SECOND
                } else {
                    value as f64
                });
            }
            (values.len(), "f64", None)
        }
        Data::U32(values) => {
            values.iter().for_each(|&value| double(value.into()));
            (values.len(), "f64", None)
        }
        Data::F32(values) => {
            for value in values {
                block.extend(value.to_le_bytes());
            }
            (values.len(), "f32", None)
        }
        Data::Label { codes, labels } => {
            let mut code = |code: Option<usize>| {
                let number = code.filter(|&code| code < labels.len());
                let number = number.map_or(-1.0, |number| number as f32);
                block.extend(number.to_le_bytes());
            };
            (0..codes.len()).for_each(|row| code(codes.get(row)));
            (codes.len(), "f32", Some(labels))
        }
    }
}
