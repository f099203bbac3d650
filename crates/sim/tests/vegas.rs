//! Vegas in whole runs: α to β segments of each flow in the queue, and the consequences that its
//! authors and critics describe (Brakmo et al., SIGCOMM 1994; Hengartner et al., INFOCOM 2000).

use fullpipe_cc::Registry;
use fullpipe_sim::run;
use fullpipe_trace::{Run, Summary, TraceLevel};

use crate::traced::column;
use crate::users::of_specifications;

/// A run with a path of this rate in Mbit/s and RTT in ms; measured in its second half.
fn runs(seconds: u32, (rate, rtt, buffer): (u32, u32, &str), flows: &str) -> Run {
    let text = format!(
        "duration = \"{seconds}s\"\nmeasure_from = \"{}s\"\n[path]\nrate = \"{rate}mbit\"\n\
         rtt = \"{rtt}ms\"\nbuffer = \"{buffer}\"\n{flows}",
        seconds / 2
    );
    let scenario = of_specifications(&text);
    run(&scenario, &Registry::default(), TraceLevel::Acks).unwrap_or_else(|error| panic!("{error}"))
}

fn vegas(more: &str) -> String {
    format!("[[flow]]\ncc = \"vegas\"\n{more}\n")
}

const LINUX: &str = "params = { profile = \"linux\" }";

/// Mean queue at the bottleneck, in packets of 1500 bytes.
fn mean_queue(summary: &Summary, rate: u32) -> f64 {
    let seconds = summary.links[0].queue_delay_s.mean.expect("samples");
    seconds * f64::from(rate) * 1e6 / 12_000.0
}

fn shares(summary: &Summary) -> Vec<f64> {
    let goodputs = summary.flows.iter().map(|flow| flow.goodput_bps);
    let all: f64 = goodputs.clone().sum();
    goodputs.map(|goodput| goodput / all).collect()
}

/// §3.2: with no other flow, α to β segments wait, at every rate and RTT.
#[test]
fn alone_it_keeps_alpha_to_beta_segments_in_the_queue() {
    for (rate, rtt) in [(10, 20), (10, 100), (50, 20), (50, 100)] {
        // Linux's Diff is in whole segments, so that nearly five may wait.
        for (params, most) in [("", 4.5), (LINUX, 5.0)] {
            let summary = runs(60, (rate, rtt, "2bdp"), &vegas(params)).summary;
            let case = format!("{rate} Mbit/s, {rtt} ms, {params}");
            let queue = mean_queue(&summary, rate);
            assert!((1.5..most).contains(&queue), "{case}: {queue} packets");
            assert!(summary.links[0].utilization > 0.99, "{case}");
            assert_eq!(summary.flows[0].retransmits, 0, "{case}");
        }
    }
}

/// §3.3: slow start doubles the window every other round trip, Linux's every round trip.
#[test]
fn slow_start_takes_twice_the_round_trips() {
    let reaches = |params: &str| {
        let run = runs(4, (100, 100, "2bdp"), &vegas(params));
        let (time, cwnd) = (column(&run, "time"), column(&run, "cwnd"));
        let at = cwnd.iter().position(|cwnd| *cwnd >= 160.0 * 1448.0);
        time[at.expect("160 segments")] / 1e9 / 0.1
    };
    // From 10 to 160 segments are four doublings. All but the first wait a round trip.
    let (paper, linux) = (reaches(""), reaches(LINUX));
    assert!(
        (paper - linux - 3.0).abs() < 0.2,
        "{paper} and {linux} round trips"
    );
}

/// The authors' own finding about Reno: it takes the queue that Vegas leaves.
#[test]
fn it_yields_to_cubic_in_a_deep_buffer() {
    for params in ["", LINUX] {
        let flows = vegas(params) + "[[flow]]\ncc = \"cubic\"\n";
        let shares = shares(&runs(60, (20, 40, "4bdp"), &flows).summary);
        assert!(shares[0] < 0.1, "{params}: {shares:?}");
    }
}

#[test]
fn flows_that_start_together_share_alike_and_each_adds_its_segments() {
    let summary = runs(120, (20, 40, "4bdp"), &vegas("").repeat(3)).summary;
    let shares = shares(&summary);
    assert!(shares.iter().all(|share| *share > 0.2), "{shares:?}");
    let queue = mean_queue(&summary, 20);
    assert!(
        (4.0..14.0).contains(&queue),
        "{queue} packets of three flows"
    );
    assert_eq!(summary.flows[0].retransmits, 0);
}

/// BaseRTT of a flow that starts later includes the queue of the first one, so that it keeps more
/// in the queue, and gets more.
#[test]
fn a_later_flow_takes_the_queue_for_the_path() {
    let flows = vegas("") + &vegas("start = \"10s\"");
    let shares = shares(&runs(120, (5, 20, "8bdp"), &flows).summary);
    assert!((0.58..0.7).contains(&shares[1]), "{shares:?}");
}
