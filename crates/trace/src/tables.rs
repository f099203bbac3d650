//! Converts rows into columns, table by table.

use std::collections::BTreeMap;

use fullpipe_units::{Bytes, Span};

use crate::columns::declared;
use crate::{
    AckRow, ActiveRow, Codes, Column, Data, LinkRow, PacketRow, QueueRow, Response, Table,
    Transfer, TransitionRow,
};

/// Makes a table of declared columns, given by their names.
pub(crate) fn table(
    name: &'static str,
    columns: impl IntoIterator<Item = (&'static str, Data)>,
) -> Table {
    let column = |(column, data)| Column {
        name: str::to_owned(column),
        unit: declared(name, column).recorded_unit().into(),
        data,
    };
    Table {
        name,
        columns: columns.into_iter().map(column).collect(),
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

pub(crate) fn links(rows: &[LinkRow], rates: Vec<f32>) -> Table {
    let mut columns = vec![
        ("time", u64s(rows, |row| row.time.as_nanos())),
        ("link", u32s(rows, |row| row.link)),
        ("queue_packets", u64s(rows, |row| row.queue_packets)),
        ("queue_bytes", u64s(rows, |row| row.queue_bytes.get())),
        ("sojourn", seconds(rows, |row| row.sojourn)),
        ("drops", u64s(rows, |row| row.drops)),
        ("marks", u64s(rows, |row| row.marks)),
    ];
    if rates.len() == rows.len() {
        columns.push(("rate", Data::F32(rates.into())));
    }
    table("links", columns)
}

pub(crate) fn queues(rows: &[QueueRow]) -> Table {
    let columns = [
        ("time", u64s(rows, |row| row.time.as_nanos())),
        ("link", u32s(rows, |row| row.link)),
        ("flow", u32s(rows, |row| row.flow)),
        ("queue_bytes", u64s(rows, |row| row.queue_bytes.get())),
        ("drops", u64s(rows, |row| row.drops)),
        ("marks", u64s(rows, |row| row.marks)),
    ];
    table("queues", columns)
}

pub(crate) fn packets(rows: &[PacketRow]) -> Table {
    let known = |of: fn(&PacketRow) -> Option<Span>| {
        let seconds = |row| of(row).map_or(f32::NAN, |it| it.as_secs_f64() as f32);
        Data::F32(rows.iter().map(seconds).collect())
    };
    let columns = [
        ("time", u64s(rows, |row| row.time.as_nanos())),
        ("flow", u32s(rows, |row| row.flow)),
        ("sequence", u64s(rows, |row| row.sequence.get())),
        ("bytes", u64s(rows, |row| row.bytes.get())),
        ("kind", words(rows, |row| row.kind)),
        ("fate", words(rows, |row| row.fate)),
        ("link", u32s(rows, |row| row.link.unwrap_or(u32::MAX))),
        ("access", known(|row| row.access)),
        ("queue", known(|row| row.queue)),
        ("path", known(|row| row.path)),
    ];
    table("packets", columns)
}

pub(crate) fn acks(rows: &[AckRow]) -> Table {
    let sack = |of: fn((Bytes, Bytes)) -> Bytes| {
        u64s(rows, |row| row.sack.map_or(u64::MAX, |sack| of(sack).get()))
    };
    let columns = [
        ("time", u64s(rows, |row| row.time.as_nanos())),
        ("flow", u32s(rows, |row| row.flow)),
        ("acked", u64s(rows, |row| row.acked.get())),
        ("sack_start", sack(|(start, _)| start)),
        ("sack_end", sack(|(_, end)| end)),
    ];
    table("acks", columns)
}

pub(crate) fn transitions(rows: &[TransitionRow]) -> Table {
    let columns = [
        ("time", u64s(rows, |row| row.time.as_nanos())),
        ("flow", u32s(rows, |row| row.flow)),
        ("from", words(rows, |row| row.from)),
        ("to", words(rows, |row| row.to)),
        ("reason", words(rows, |row| row.reason)),
    ];
    table("transitions", columns)
}

pub(crate) fn responses(rows: &[(u32, Response)]) -> Table {
    let columns = [
        ("start", u64s(rows, |(_, row)| row.start.as_nanos())),
        ("end", u64s(rows, |(_, row)| row.end.as_nanos())),
        ("flow", u32s(rows, |(flow, _)| *flow)),
        ("bytes", u64s(rows, |(_, row)| row.bytes.get())),
    ];
    table("responses", columns)
}

pub(crate) fn active(rows: &[ActiveRow]) -> Table {
    let columns = [
        ("time", u64s(rows, |row| row.time.as_nanos())),
        ("workload", u32s(rows, |row| row.workload)),
        ("active", u64s(rows, |row| row.active)),
    ];
    table("workloads", columns)
}

pub(crate) fn transfers(rows: &[Transfer]) -> Table {
    // NaN for a transfer that did not complete.
    let completion = |row: &Transfer| {
        row.completion
            .map_or(f32::NAN, |it| it.as_secs_f64() as f32)
    };
    let columns = [
        ("start", u64s(rows, |row| row.start.as_nanos())),
        ("workload", u32s(rows, |row| row.workload)),
        ("bytes", u64s(rows, |row| row.bytes.get())),
        ("rtt", seconds(rows, |row| row.rtt)),
        ("alone", seconds(rows, |row| row.alone)),
        (
            "completion",
            Data::F32(rows.iter().map(completion).collect()),
        ),
    ];
    table("transfers", columns)
}
