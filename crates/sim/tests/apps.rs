//! Applications that pause, and that send requests: figures derived by hand, and random cases in
//! which no byte may be lost.

use fullpipe_cc::Registry;
use fullpipe_trace::{Data, FlowSummary, Table};
use fullpipe_trace::{Run, TraceLevel};
use proptest::prelude::*;

use crate::users::of_specifications;

const PATH: &str = "[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\n";

fn run(text: &str) -> Run {
    let scenario = of_specifications(text);
    fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Acks)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A run of 20 s with one flow.
fn one(flow: &str) -> Run {
    run(&format!(
        "duration = \"20s\"\n{PATH}[[flow]]\ncc = \"cubic\"\n{flow}"
    ))
}

fn table<'a>(run: &'a Run, name: &str) -> &'a Table {
    let tables = &run.trace.as_ref().expect("traced").tables;
    tables
        .iter()
        .find(|table| table.name == name)
        .expect("the trace has this table")
}

fn column(run: &Run, of: &str, name: &str) -> Vec<u64> {
    match &table(run, of)
        .columns
        .iter()
        .find(|column| column.name == name)
        .expect("the table has this column")
        .data
    {
        Data::U64(values) => values.to_vec(),
        Data::U32(values) => values.iter().map(|value| u64::from(*value)).collect(),
        Data::F32(_) | Data::Label { .. } => panic!("{name} is not a number of that kind"),
    }
}

/// (start, end, bytes) of each answer, times in ns.
fn responses(run: &Run) -> Vec<(u64, u64, u64)> {
    let [start, end, bytes] = ["start", "end", "bytes"].map(|name| column(run, "responses", name));
    start
        .into_iter()
        .zip(end)
        .zip(bytes)
        .map(|((start, end), bytes)| (start, end, bytes))
        .collect()
}

fn close(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value / expected - 1.0).abs() < tolerance,
        "{value}, not {expected}"
    );
}

#[test]
fn on_for_half_of_the_time_is_half_of_the_rate() {
    let on_off = one("app = \"on 1s off 1s\"\napp_rate = \"2mbit\"\n");
    let flow = &on_off.summary.flows[0];
    close(flow.goodput_bps, 1e6, 0.01);
    assert!(
        flow.limited_by["application"] > 0.9,
        "{:?}",
        flow.limited_by
    );
    // Without a rate it fills the link while it is on, and the queue takes some time to drain: 4
    // BDP are 160 ms.
    let unlimited = one("app = \"on 1s off 1s\"\n");
    let share = unlimited.summary.links[0].utilization;
    assert!((0.46..0.6).contains(&share), "{share}");
}

#[test]
fn an_on_off_application_ends_with_its_last_byte() {
    // 2 Mbit/s for 1 of 1.5 s: 625 kB take 2.5 s of writing and a pause after each second.
    let flow = &one("app = \"on 1s off 500ms\"\napp_rate = \"2mbit\"\nbytes = \"625kB\"\n")
        .summary
        .flows[0];
    close(
        flow.completion_s.expect("it ends"),
        0.040 + 3.5 + 0.020,
        0.01,
    );
}

#[test]
fn a_burst_follows_when_the_one_before_was_acknowledged_and_the_pause_is_over() {
    // 10 segments fit in the initial window: a burst takes a round trip, its serialization, and the
    // pause.
    let run = one("app = \"on 14480B off 100ms\"\n");
    let (time, delivered) = (
        column(&run, "flows", "time"),
        column(&run, "flows", "delivered"),
    );
    let ends: Vec<u64> = (1..50)
        .map(|n| {
            time[delivered
                .iter()
                .position(|bytes| *bytes == n * 14_480)
                .expect("each burst is delivered in full")]
        })
        .collect();
    for (n, pair) in ends.windows(2).enumerate() {
        // 40 ms, ten packets of 1.2 ms each, and 0.12 ms on the access link.
        close(
            (pair[1] - pair[0]) as f64 / 1e6,
            100.0 + 40.0 + 12.0 + 0.12,
            0.001,
        );
        assert!(n < 48);
    }
}

#[test]
fn an_answer_takes_a_round_trip_and_its_serialization() {
    let run = one("app = \"request 14480B think 200ms\"\n");
    let answers = responses(&run);
    // The SYN of 60 bytes and its answer take a round trip, the answer half of another.
    let first = (answers[0].1 - answers[0].0) as f64 / 1e6;
    close(first, 60.0 + 0.0528 + 12.0 + 0.12, 0.0001);
    for pair in answers.windows(2) {
        assert_eq!(pair[1].0 - pair[0].1, 200_000_000, "it thinks");
        close(
            (pair[1].1 - pair[1].0) as f64 / 1e6,
            40.0 + 12.0 + 0.12,
            0.0001,
        );
        assert_eq!(pair[1].2, 14_480);
    }
    let flow = &run.summary.flows[0];
    assert_eq!(flow.responses, answers.len() as u64);
    close(
        flow.response_s.p50.expect("there are responses"),
        0.05212,
        0.005,
    );
    // One answer every 252.12 ms.
    assert_eq!(flow.responses, 1 + ((20_000.0 - first) / 252.12) as u64);
    assert_eq!((flow.retransmits, flow.completion_s), (0, None));
}

#[test]
fn an_answer_that_is_no_whole_number_of_segments_arrives_to_the_byte() {
    let run = one("app = \"request 5000B think 100ms\"\n");
    let flow = &run.summary.flows[0];
    let last = *column(&run, "flows", "delivered").last().expect("rows");
    assert_eq!(last % 5_000, 0, "an answer ends with a shorter segment");
    close(
        flow.goodput_bps * 20.0 / 8.0,
        flow.responses as f64 * 5_000.0,
        0.01,
    );
}

#[test]
fn a_lost_request_is_repeated_after_a_timeout_that_doubles() {
    let lossy = PATH.replace("buffer", "reverse_loss = \"20%\"\nbuffer");
    let text = "[[flow]]\ncc = \"cubic\"\napp = \"request 1448B think 10ms\"\n";
    let run = run(&format!("duration = \"60s\"\n{lossy}{text}"));
    let answers = responses(&run);
    // A round trip is 41.32 ms, a timeout adds 200 ms (RFC 6298 with Linux's minimum).
    let (trip, timeout) = (41.32, 241.32);
    let possible: Vec<f64> = (0..8)
        .map(|lost| trip + timeout * f64::from((1 << lost) - 1))
        .collect();
    for (start, end, _) in &answers[1..] {
        let took = (end - start) as f64 / 1e6;
        assert!(
            possible.iter().any(|time| (took - time).abs() < 0.01),
            "{took} ms"
        );
    }
    // With one of five lost, every third request on average has a timeout more: 41.32 + 80.44 + 10
    // ms.
    assert!(
        (380..530).contains(&answers.len()),
        "455 are expected: {}",
        answers.len()
    );
    let delivered = *column(&run, "flows", "delivered").last().expect("rows");
    assert!(
        delivered.abs_diff(1448 * answers.len() as u64) <= 1448,
        "each byte arrives once"
    );
}

#[test]
fn a_loop_of_equal_requests_shares_a_link_with_itself() {
    // Four clients without think time: the link is never idle, and each answer gets the part of the
    // link that the others leave.
    let run = run(&format!(
        "duration = \"30s\"\nstart_jitter = \"40ms\"\n{PATH}[[flow]]\ncc = \"newreno\"\ncount = 4\napp = \"request 200kB\"\n"
    ));
    let total: u64 = run.summary.flows.iter().map(|flow| flow.responses).sum();
    assert!(run.summary.links[0].utilization > 0.97);
    assert!(
        (165..=181).contains(&total),
        "10 Mbit/s carry 181 answers and their headers in 30 s: {total}"
    );
}

fn tuned(window: &str) -> FlowSummary {
    let text = "duration = \"20s\"\nmeasure_from = \"5s\"\n[path]\nrate = \"200mbit\"\nrtt = \"100ms\"\nbuffer = \"1bdp\"\n";
    run(&format!(
        "{text}[[flow]]\ncc = \"cubic\"\nreceive_window = \"{window}\"\n"
    ))
    .summary
    .flows
    .remove(0)
}

#[test]
fn a_window_that_tunes_itself_is_no_limit_but_its_most_is() {
    // A BDP of 2.5 MB and as much in the queue, compared with half of 64 MiB.
    let free = tuned("auto max 64MiB");
    assert!(free.goodput_bps > 185e6, "{}", free.goodput_bps);
    assert!(
        free.limited_by["receive_window"] < 0.01,
        "{:?}",
        free.limited_by
    );
    // Half of 1 MB is 345 segments per 100 ms; the queue stays empty.
    let small = tuned("auto max 1MB");
    close(small.goodput_bps, 345.0 * 1448.0 * 8.0 / 0.1, 0.01);
    assert!(
        small.limited_by["receive_window"] > 0.99,
        "{:?}",
        small.limited_by
    );
    // Linux's default is less than the capacity of path and queue: no loss, and a rate of window /
    // RTT, or that of the link.
    let linux = tuned("auto");
    assert!(
        linux.limited_by["receive_window"] > 0.9,
        "{:?}",
        linux.limited_by
    );
    assert_eq!((linux.retransmits, linux.drops), (0, 0));
}

#[test]
fn a_tuned_window_limits_slow_start_for_a_moment_and_then_keeps_ahead_of_it() {
    let fast = PATH.replace("10mbit", "1gbit");
    let flow = "[[flow]]\ncc = \"cubic\"\nreceive_window = \"auto max 64MiB\"\n";
    let run = run(&format!("duration = \"500ms\"\n{fast}{flow}"));
    let columns = &table(&run, "flows").columns;
    let Data::Label { codes, labels } = &columns
        .iter()
        .find(|column| column.name == "limited_by")
        .expect("the table has this column")
        .data
    else {
        panic!("words")
    };
    let limits = codes.iter().flatten().map(|code| labels[code].as_str());
    let limited: Vec<u64> = limits
        .zip(column(&run, "flows", "time"))
        .filter(|(limit, _)| *limit == "receive_window")
        .map(|(_, time)| time)
        .collect();
    // 64 KiB are 45 segments. In the third round trip the window, 10 doubled twice, needs more when
    // it doubles again.
    assert!(!limited.is_empty());
    assert!(
        limited
            .iter()
            .all(|time| (160..165).contains(&(time / 1_000_000))),
        "{} times",
        limited.len()
    );
}

/// Any application, with figures small enough for much to happen.
fn app() -> impl Strategy<Value = String> {
    let size = prop_oneof![
        (1_u32..60_000).prop_map(|bytes| format!("{bytes}B")),
        (1_u32..40_000).prop_map(|bytes| format!("exp {bytes}B")),
        (1_u32..40_000, 11_u32..30).prop_map(|(bytes, tenths)| format!(
            "pareto {bytes}B shape {}",
            f64::from(tenths) / 10.0
        )),
    ];
    let time = prop_oneof![
        (1_u32..200).prop_map(|ms| format!("{ms}ms")),
        (1_u32..100).prop_map(|ms| format!("exp {ms}ms")),
    ];
    (0_u8..3, size, time.clone(), time).prop_map(|(kind, size, on, off)| match kind {
        0 => format!("on {on} off {off}"),
        1 => format!("on {size} off {off}"),
        _ => format!("request {size} think {off}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_it_does_each_byte_arrives_once_and_in_time(
        app in app(), loss in 0_u32..4, reverse_loss in 0_u32..20, reorder in any::<bool>(), rate in 1_u32..40, rtt in 1_u32..80,
        buffer in 2_u32..60, seed in 0_u64..1_000, window in prop_oneof![Just("20kB"), Just("auto"), Just("auto max 30kB")],
        cc in prop_oneof![Just("cubic"), Just("newreno"), Just("bbr3")],
    ) {
        let jitter = if reorder { "5ms reorder" } else { "off" };
        let run = run(&format!(
            "duration = \"6s\"\nseed = {seed}\n[path]\nrate = \"{rate}mbit\"\nrtt = \"{rtt}ms\"\nbuffer = \"{buffer}packets\"\n\
             loss = \"{loss}%\"\nreverse_loss = \"{reverse_loss}%\"\njitter = \"{jitter}\"\n\
             [[flow]]\ncc = \"{cc}\"\napp = \"{app}\"\nreceive_window = \"{window}\"\n"
        ));
        let flow = &run.summary.flows[0];
        let delivered = column(&run, "flows", "delivered");
        // With 20 % of the answers to SYNs lost, three in a row may be: then no data arrives within
        // 6 s.
        prop_assume!(!delivered.is_empty());
        let delivered = *delivered.last().expect("rows");
        prop_assert!(delivered > 0);
        // A window of 20 kB, or 15 kB, is never exceeded.
        let most = column(&run, "flows", "inflight").into_iter().max().expect("rows");
        prop_assert!(most <= match window { "20kB" => 20_000, "auto max 30kB" => 15_000, _ => 3 << 20 }, "{} in flight", most);
        if app.starts_with("request") {
            let answers = responses(&run);
            prop_assert_eq!(answers.len() as u64, flow.responses);
            // Answers follow each other; none is faster than a round trip.
            prop_assert!(answers.windows(2).all(|pair| pair[0].1 < pair[1].0));
            prop_assert!(answers.iter().skip(1).all(|(start, end, _)| end - start >= u64::from(rtt) * 1_000_000));
            // The data that arrived and was acknowledged is that of the answers, plus at most a
            // part of one more.
            let answered: u64 = answers.iter().map(|(_, _, bytes)| bytes).sum();
            let in_order = (flow.goodput_bps * 6.0 / 8.0).round() as u64;
            prop_assert!(in_order + 8 >= answered, "{} of {}", in_order, answered);
        }
    }
}
