//! Background traffic in whole runs: the capacity that it leaves to others, and its fairness to
//! itself.

use fullpipe_cc::Registry;
use fullpipe_sim::run;
use fullpipe_trace::Summary;
use fullpipe_trace::TraceLevel;

use crate::users::of_specifications;

/// A run of 180 s at 20 Mbit/s and 40 ms with a buffer of 400 ms, measured in the last 60 s.
fn summary(flows: &str) -> Summary {
    let path = "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"400ms\"";
    let text = format!("duration = \"180s\"\nmeasure_from = \"120s\"\n[path]\n{path}\n{flows}");
    let scenario = of_specifications(&text);
    run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"))
        .summary
}

/// A flow that starts at `start` seconds.
fn flow(what: &str, start: u32) -> String {
    format!("[[flow]]\n{what}\nstart = \"{start}s\"\n")
}

/// Share of each flow in the goodput of all.
fn shares(summary: &Summary) -> Vec<f64> {
    let all: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    summary
        .flows
        .iter()
        .map(|flow| flow.goodput_bps / all)
        .collect()
}

#[test]
fn ledbat_alone_fills_the_link_at_its_target() {
    let summary = summary("[[flow]]\ncc = \"ledbat\"\n");
    assert!(
        summary.links[0].utilization > 0.99,
        "{}",
        summary.links[0].utilization
    );
    let queue = summary.links[0]
        .queue_delay_s
        .mean
        .expect("there are samples");
    assert!((queue - 0.1).abs() < 0.01, "RFC 6817 §2.5 TARGET: {queue}");
}

#[test]
fn ledbat_yields_to_cubic() {
    let shares = shares(&summary(
        "[[flow]]\ncc = \"ledbat\"\n[[flow]]\ncc = \"cubic\"\nstart = \"30s\"\n",
    ));
    assert!(shares[0] < 0.05, "{shares:?}");
}

#[test]
fn a_latecomer_starves_ledbat() {
    let shares = shares(&summary(
        "[[flow]]\ncc = \"ledbat\"\n[[flow]]\ncc = \"ledbat\"\nstart = \"60s\"\n",
    ));
    assert!(shares[1] > 0.8, "{shares:?}");
}

#[test]
fn ledbatpp_alone_uses_nine_tenths_within_its_target() {
    let summary = summary("[[flow]]\ncc = \"ledbat++\"\n");
    assert!(
        summary.links[0].utilization > 0.9,
        "{}",
        summary.links[0].utilization
    );
    let queue = &summary.links[0].queue_delay_s;
    assert!(
        queue.mean.is_some_and(|mean| (0.03..0.06).contains(&mean)),
        "{queue:?}"
    );
    assert!(queue.max.is_some_and(|max| max < 0.066), "{queue:?}");
}

#[test]
fn ledbatpp_leaves_the_link_to_cubic_within_ten_seconds() {
    for cc in ["cubic", "newreno"] {
        let flows =
            format!("[[flow]]\ncc = \"ledbat++\"\n[[flow]]\ncc = \"{cc}\"\nstart = \"110s\"\n");
        let shares = shares(&summary(&flows));
        assert!(shares[0] < 0.1, "{cc}: {shares:?}");
    }
}

#[test]
fn a_latecomer_gets_a_fair_share_of_ledbatpp() {
    let shares = shares(&summary(
        "[[flow]]\ncc = \"ledbat++\"\n[[flow]]\ncc = \"ledbat++\"\nstart = \"60s\"\n",
    ));
    assert!(
        (shares[0] - 0.5).abs() < 0.15,
        "shares within 30 %: {shares:?}"
    );
}

/// rLEDBAT with each kind of sender.
const RECEIVERS: [&str; 4] = [
    "cc = \"rledbat\"",
    "cc = \"newreno\"\nreceiver = \"rledbat\"",
    "cc = \"bbr1\"\nreceiver = \"rledbat\"",
    "cc = \"bbr3\"\nreceiver = \"rledbat\"",
];

#[test]
fn rledbat_alone_uses_nine_tenths_within_its_target() {
    for receiver in RECEIVERS {
        let summary = summary(&flow(receiver, 0));
        assert!(
            summary.links[0].utilization > 0.9,
            "{receiver}: {}",
            summary.links[0].utilization
        );
        let queue = &summary.links[0].queue_delay_s;
        assert!(
            queue.mean.is_some_and(|mean| mean < 0.06),
            "{receiver}: {queue:?}"
        );
        assert!(
            queue.max.is_some_and(|max| max < 0.07),
            "{receiver}: {queue:?}"
        );
        assert_eq!(summary.flows[0].retransmits, 0);
    }
}

#[test]
fn rledbat_leaves_the_link_to_cubic_within_ten_seconds() {
    for receiver in RECEIVERS {
        let shares = shares(&summary(
            &(flow(receiver, 0) + &flow("cc = \"cubic\"", 110)),
        ));
        assert!(shares[0] < 0.1, "{receiver}: {shares:?}");
    }
}

#[test]
fn a_latecomer_gets_a_fair_share_of_rledbat() {
    for receiver in &RECEIVERS[..2] {
        let shares = shares(&summary(&(flow(receiver, 0) + &flow(receiver, 60))));
        assert!(
            (shares[0] - 0.5).abs() < 0.15,
            "{receiver}: shares within 30 %: {shares:?}"
        );
    }
}

#[test]
fn rledbat_under_losses_recovers() {
    let path = "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"400ms\"\nloss = \"0.1%\"\nreverse_loss = \"1%\"";
    let text = format!(
        "duration = \"60s\"\nmeasure_from = \"10s\"\n[path]\n{path}\n{}",
        flow(RECEIVERS[0], 0)
    );
    let scenario = of_specifications(&text);
    let summary = run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"))
        .summary;
    // A third of a segment per round trip, and half for one loss in a thousand: a mean window of
    // about sqrt(3/2/3/p), 22 of the 49 segments that fit into the path.
    let flow = &summary.flows[0];
    assert!(
        flow.retransmits > 10 && flow.goodput_bps > 4e6,
        "{} {}",
        flow.retransmits,
        flow.goodput_bps
    );
}
