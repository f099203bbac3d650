//! A run's table of transitions, as rows.

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
