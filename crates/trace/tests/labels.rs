//! An algorithm may have any number of labels.

use fullpipe_trace::{Data, FlowRow, Recorder, Trace, TransitionRow};
use fullpipe_units::{Bytes, Span, Time};

/// More labels than one byte can encode.
const MANY: usize = 300;

fn words(of: &str) -> Vec<&'static str> {
    let word = |n| &*format!("{of} {n}").leak();
    (0..MANY).map(word).collect()
}

/// Returns the labels of a column, row by row.
fn column(trace: &Trace, table: &str, name: &str) -> Vec<Option<String>> {
    let table = trace.tables.iter().find(|found| found.name == table);
    let columns = &table.expect("a table").columns;
    let column = columns.iter().find(|column| column.name == name);
    let Data::Label { codes, labels } = &column.expect("a column").data else {
        panic!("{name} has labels")
    };
    let word = |code: Option<usize>| code.map(|code| labels[code].clone());
    codes.iter().map(word).collect()
}

fn row(time: Time, flow: u32) -> FlowRow {
    FlowRow {
        time,
        flow,
        cwnd: Bytes::ZERO,
        inflight: Bytes::ZERO,
        ssthresh: Bytes::MAX,
        pacing_rate: None,
        delivery_rate: None,
        rtt: None,
        srtt: Span::ZERO,
        min_rtt: Span::MAX,
        delivered: Bytes::ZERO,
        acked: Bytes::ZERO,
        lost: Bytes::ZERO,
        limited_by: 0,
    }
}

#[test]
fn states_and_reasons_may_be_more_than_a_byte_tells_apart() {
    let (states, reasons) = (words("state"), words("reason"));
    let mut recorder = Recorder::new(&["cwnd"]);
    let labels: &'static [&'static str] = states.clone().leak();
    let many = recorder.declare("many", [("state", "", labels)].into_iter());
    let other = recorder.declare("other", [("state", "", &["only"][..])].into_iter());
    for n in 0..MANY {
        let time = Time::from_nanos(n as u64);
        recorder.flow(row(time, 0), many, |values| values.push(n as f64));
        recorder.transition(TransitionRow {
            time,
            flow: 0,
            from: states[0],
            to: states[n],
            reason: reasons[n],
        });
    }
    recorder.flow(row(Time::MAX, 1), other, |values| values.push(0.0));
    let trace = recorder.finish();

    let written =
        |words: &[&str]| -> Vec<_> { words.iter().map(|w| Some(w.to_string())).collect() };
    assert_eq!(column(&trace, "transitions", "to"), written(&states));
    assert_eq!(column(&trace, "transitions", "reason"), written(&reasons));
    let mut expected = written(&states);
    expected.push(None);
    assert_eq!(column(&trace, "flows", "many.state"), expected);
    let bytes = |name: &str| {
        let columns = &trace.tables[0].columns;
        let column = columns.iter().find(|column| column.name == name);
        match &column.expect("a column").data {
            Data::Label { codes, .. } => codes.memory() / codes.len(),
            _ => panic!("{name} has labels"),
        }
    };
    assert!(
        bytes("limited_by") < 4 && bytes("other.state") < 4,
        "one byte per row, and spare capacity"
    );
}
