//! SCReAMv2 in whole runs: the limits that the draft's rules set
//! (draft-ietf-ccwg-rfc8298bis-screamv2-01).

use fullpipe_cc::Registry;
use fullpipe_sim::run;
use fullpipe_trace::{FlowSummary, Run, TraceLevel};
use fullpipe_units::Span;

use super::transitions::column;

use crate::users::of_specifications;

/// A run of a minute on a path of 40 ms, measured from 10 s on.
fn runs(path: &str, media: &str, more: &str, trace: TraceLevel) -> Run {
    let text = format!(
        "duration = \"60s\"\nmeasure_from = \"10s\"\n[path]\nrtt = \"40ms\"\n{path}\n[[flow]]\n\
         cc = \"scream\"\n{media}\n{more}"
    );
    let scenario = of_specifications(&text);
    run(&scenario, &Registry::default(), trace).unwrap_or_else(|error| panic!("{error}"))
}

fn media(path: &str, media: &str, more: &str) -> FlowSummary {
    runs(path, media, more, TraceLevel::Off)
        .summary
        .flows
        .remove(0)
}

const APP: &str = "app = \"media 50fps from 500kbit to 20mbit vary 20%\"";
const CUBIC: &str = "[[flow]]\ncc = \"cubic\"";

fn p95(flow: &FlowSummary) -> f64 {
    flow.frame_delay_s.p95.expect("there are frames")
}

#[test]
fn alone_it_uses_the_link_and_keeps_the_delay_near_its_target() {
    let flow = media("rate = \"10mbit\"\nbuffer = \"4bdp\"", APP, "");
    assert!(flow.goodput_bps > 8.5e6, "{}", flow.goodput_bps);
    // Half of the target of 60 ms is the threshold of the queue's average.
    let queue = flow.queue_delay_s.mean.expect("there are packets");
    assert!(queue < 0.03, "{queue}");
    assert!(p95(&flow) < 0.1, "{}", p95(&flow));
    assert_eq!((flow.drops, flow.retransmits), (0, 0));
}

#[test]
fn on_a_faster_link_the_encoder_is_at_its_maximum_without_a_queue() {
    let app = APP.replace("20mbit", "5mbit");
    let flow = media("rate = \"20mbit\"\nbuffer = \"2bdp\"", &app, "");
    let share = flow.goodput_bps / 5e6;
    assert!((0.99..1.01).contains(&share), "{share}");
    assert!(p95(&flow) < 0.03, "{}", p95(&flow));
}

#[test]
fn beside_cubic_its_target_rises_and_a_fair_queue_gives_it_its_share() {
    let path = "rate = \"20mbit\"\nbuffer = \"2bdp\"";
    let flow = media(path, APP, CUBIC);
    let fixed = format!("{APP}\nparams = {{ competing_flows = false }}");
    let without = media(path, &fixed, CUBIC);
    let least = without.goodput_bps / 500e3;
    assert!(
        (0.99..1.02).contains(&least),
        "{least}: the encoder's minimum"
    );
    assert!(
        flow.goodput_bps > 1.5 * without.goodput_bps,
        "{}",
        flow.goodput_bps
    );
    let fair = media("rate = \"20mbit\"\nqueue = \"fq_codel\"", APP, CUBIC);
    assert!(fair.goodput_bps > 7e6, "{}", fair.goodput_bps);
    assert!(p95(&fair) < 0.06, "{}", p95(&fair));
}

#[test]
fn l4s_keeps_the_queue_short_without_losses() {
    let l4s = format!("{APP}\nparams = {{ is_l4s = true }}");
    let flow = media("rate = \"20mbit\"\nqueue = \"dualpi2\"", &l4s, "");
    assert!(flow.marks > 500, "{}", flow.marks);
    assert_eq!(flow.drops, 0);
    let queue = flow.queue_delay_s.p95.expect("there are packets");
    assert!(queue < 0.005, "{queue}");
    assert!(flow.goodput_bps > 10e6, "{}", flow.goodput_bps);
}

#[test]
fn classic_marks_replace_losses() {
    let marked = format!("{APP}\necn = \"ect0\"");
    let path = "rate = \"20mbit\"\nqueue = { kind = \"codel\", ecn = true }";
    let flow = media(path, &marked, "");
    assert!(flow.marks > 5, "{}", flow.marks);
    assert_eq!(flow.drops, 0);
    assert!(flow.goodput_bps > 12e6, "{}", flow.goodput_bps);
}

#[test]
fn when_the_link_becomes_slower_the_encoder_follows_within_a_second() {
    let path = "rate = \"20mbit\"\nbuffer = \"2bdp\"\n[[path.change]]\nat = \"20s\"\nrate = \"5mbit\"\n\
                [[path.change]]\nat = \"40s\"\nrate = \"20mbit\"";
    let run = runs(path, APP, "", TraceLevel::Every(Span::from_millis(100)));
    let trace = run.trace.expect("it was asked for");
    let rate = column(&trace, "scream.target_bitrate");
    let mean = |from: f64, to: f64| {
        let those = rate.iter().filter(|(at, _)| (from..to).contains(at));
        let (count, sum) = those.fold((0.0, 0.0), |(n, sum), (_, value)| (n + 1.0, sum + value));
        sum / count
    };
    assert!(mean(15.0, 20.0) > 14e6, "{}", mean(15.0, 20.0));
    assert!(mean(21.0, 25.0) < 5e6, "{}", mean(21.0, 25.0));
    assert!(mean(30.0, 40.0) > 3.5e6, "{}", mean(30.0, 40.0));
    assert!(mean(55.0, 60.0) > 14e6, "{}", mean(55.0, 60.0));
}
