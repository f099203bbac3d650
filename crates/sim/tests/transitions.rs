//! A run's trace: its table of transitions as rows, and columns of the flows' table.

use fullpipe_trace::{Data, Trace};

/// A state that a flow entered.
pub(crate) struct Entered<'a> {
    /// Time in nanoseconds.
    pub(crate) at: u64,
    pub(crate) flow: u32,
    pub(crate) state: &'a str,
    pub(crate) reason: &'a str,
}

/// All states entered, in order.
pub(crate) fn entered(trace: &Trace) -> Vec<Entered<'_>> {
    let table = trace
        .tables
        .iter()
        .find(|table| table.name == "transitions")
        .expect("the table of transitions");
    let column = |name: &str| {
        &table
            .columns
            .iter()
            .find(|column| column.name == name)
            .expect("a column")
            .data
    };
    let words = |name: &str| {
        let Data::Label { codes, labels } = column(name) else {
            panic!("{name} holds labels")
        };
        codes.iter().flatten().map(|code| labels[code].as_ref())
    };
    let (Data::U64(times), Data::U32(flows)) = (column("time"), column("flow")) else {
        panic!("time and flow are numbers")
    };
    let rows = times
        .iter()
        .zip(flows)
        .zip(words("to").zip(words("reason")));
    rows.map(|((at, flow), (state, reason))| Entered {
        at: *at,
        flow: *flow,
        state,
        reason,
    })
    .collect()
}

/// Times in seconds and values of a column of the flows' table.
pub(crate) fn column(trace: &Trace, name: &str) -> Vec<(f64, f64)> {
    let table = trace.tables.iter().find(|table| table.name == "flows");
    let data = |name: &str| {
        let mut columns = table.expect("the flows' table").columns.iter();
        &columns
            .find(|column| column.name == name)
            .expect("a column")
            .data
    };
    let (Data::U64(times), Data::F32(values)) = (data("time"), data(name)) else {
        panic!("{name} is a number")
    };
    let seconds = times.iter().map(|time| *time as f64 * 1e-9);
    seconds
        .zip(values.iter().map(|value| f64::from(*value)))
        .collect()
}
