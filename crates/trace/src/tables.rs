//! Converts rows into columns, table by table.

use std::collections::BTreeMap;

use fullpipe_units::Span;

use crate::{ActiveRow, Codes, Column, Data, LinkRow, Response, Table, Transfer, TransitionRow};

pub(crate) fn column(name: &str, unit: &'static str, data: Data) -> Column {
    Column {
        name: name.to_owned(),
        unit: unit.into(),
        data,
    }
}

pub(crate) fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Collects one value of each row.
fn u64s<R>(rows: &[R], of: impl Fn(&R) -> u64) -> Data {
    Data::U64(rows.iter().map(of).collect())
}

fn u32s<R>(rows: &[R], of: impl Fn(&R) -> u32) -> Data {
    Data::U32(rows.iter().map(of).collect())
}

fn seconds<R>(rows: &[R], of: impl Fn(&R) -> Span) -> Data {
    Data::F32(
        rows.iter()
            .map(|row| of(row).as_secs_f64() as f32)
            .collect(),
    )
}

/// Collects one word of each row; the labels are the distinct words in order of first occurrence.
fn words<R>(rows: &[R], of: impl Fn(&R) -> &'static str) -> Data {
    let (mut codes, mut labels, mut known) = (Codes::default(), vec![], BTreeMap::new());
    for word in rows.iter().map(of) {
        codes.push(*known.entry(word).or_insert_with(|| {
            labels.push(word);
            labels.len() - 1
        }));
    }
    Data::Label {
        codes,
        labels: owned(&labels),
    }
}

pub(crate) fn links(rows: &[LinkRow]) -> Table {
    let columns = vec![
        column("time", "ns", u64s(rows, |row| row.time.as_nanos())),
        column("link", "", u32s(rows, |row| row.link)),
        column("queue_packets", "", u64s(rows, |row| row.queue_packets)),
        column("queue_bytes", "B", u64s(rows, |row| row.queue_bytes.get())),
        column("sojourn", "s", seconds(rows, |row| row.sojourn)),
        column("drops", "", u64s(rows, |row| row.drops)),
        column("marks", "", u64s(rows, |row| row.marks)),
    ];
    Table {
        name: "links",
        columns,
    }
}

pub(crate) fn transitions(rows: &[TransitionRow]) -> Table {
    let columns = vec![
        column("time", "ns", u64s(rows, |row| row.time.as_nanos())),
        column("flow", "", u32s(rows, |row| row.flow)),
        column("from", "", words(rows, |row| row.from)),
        column("to", "", words(rows, |row| row.to)),
        column("reason", "", words(rows, |row| row.reason)),
    ];
    Table {
        name: "transitions",
        columns,
    }
}

pub(crate) fn responses(rows: &[(u32, Response)]) -> Table {
    let columns = vec![
        column("start", "ns", u64s(rows, |(_, row)| row.start.as_nanos())),
        column("end", "ns", u64s(rows, |(_, row)| row.end.as_nanos())),
        column("flow", "", u32s(rows, |(flow, _)| *flow)),
        column("bytes", "B", u64s(rows, |(_, row)| row.bytes.get())),
    ];
    Table {
        name: "responses",
        columns,
    }
}

pub(crate) fn active(rows: &[ActiveRow]) -> Table {
    let columns = vec![
        column("time", "ns", u64s(rows, |row| row.time.as_nanos())),
        column("workload", "", u32s(rows, |row| row.workload)),
        column("active", "", u64s(rows, |row| row.active)),
    ];
    Table {
        name: "workloads",
        columns,
    }
}

pub(crate) fn transfers(rows: &[Transfer]) -> Table {
    // NaN for a transfer that did not complete.
    let completion = |row: &Transfer| {
        row.completion
            .map_or(f32::NAN, |it| it.as_secs_f64() as f32)
    };
    let columns = vec![
        column("start", "ns", u64s(rows, |row| row.start.as_nanos())),
        column("workload", "", u32s(rows, |row| row.workload)),
        column("bytes", "B", u64s(rows, |row| row.bytes.get())),
        column("rtt", "s", seconds(rows, |row| row.rtt)),
        column("alone", "s", seconds(rows, |row| row.alone)),
        column(
            "completion",
            "s",
            Data::F32(rows.iter().map(completion).collect()),
        ),
    ];
    Table {
        name: "transfers",
        columns,
    }
}
