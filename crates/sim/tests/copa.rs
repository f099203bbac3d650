//! Copa in whole runs: the equilibrium that the paper derives, and its two modes (Arun and
//! Balakrishnan, NSDI 2018).

use fullpipe_cc::Registry;
use fullpipe_sim::run;
use fullpipe_trace::{Run, Summary, TraceLevel};

use super::transitions::{column, entered};

use crate::users::of_specifications;

/// A run with a path of this rate in Mbit/s, RTT in ms, and buffer; measured in its second half.
fn runs(seconds: u32, path: (u32, u32, &str), flows: &str, trace: TraceLevel) -> Run {
    let (rate, rtt, buffer) = path;
    let text = format!(
        "duration = \"{seconds}s\"\nmeasure_from = \"{}s\"\n[path]\nrate = \"{rate}mbit\"\n\
         rtt = \"{rtt}ms\"\nbuffer = \"{buffer}\"\n{flows}",
        seconds / 2
    );
    let scenario = of_specifications(&text);
    run(&scenario, &Registry::default(), trace).unwrap_or_else(|error| panic!("{error}"))
}

fn summary(seconds: u32, path: (u32, u32, &str), flows: &str) -> Summary {
    runs(seconds, path, flows, TraceLevel::Off).summary
}

/// A flow whose receiver acknowledges every packet, as in the paper.
fn copa(more: &str) -> String {
    format!("[[flow]]\ncc = \"copa\"\ndelayed_ack = 1\n{more}\n")
}

/// Mean queue at the bottleneck, in packets of 1500 bytes.
fn mean_queue(summary: &Summary, rate: u32) -> f64 {
    let seconds = summary.links[0]
        .queue_delay_s
        .mean
        .expect("there are samples");
    seconds * f64::from(rate) * 1e6 / 12_000.0
}

/// Share of the first flow in the goodput of all.
fn share(summary: &Summary) -> f64 {
    let all: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    summary.flows[0].goodput_bps / all
}

/// §3: the queue swings between zero and 2.5/δ packets, 1.25/δ on average.
#[test]
fn alone_it_keeps_five_quarters_of_one_over_delta_in_the_queue() {
    let cases = [
        (12, 20, 0.5),
        (12, 50, 0.5),
        (48, 50, 0.5),
        (100, 50, 0.5),
        (48, 50, 0.25),
        (48, 50, 0.1),
    ];
    for (rate, rtt, delta) in cases {
        let flow = copa(&format!("params = {{ delta = {delta} }}"));
        let summary = summary(60, (rate, rtt, "8bdp"), &flow);
        let case = format!("{rate} Mbit/s, {rtt} ms, δ {delta}");
        let queue = mean_queue(&summary, rate) * delta;
        assert!((queue / 1.25 - 1.0).abs() < 0.2, "{case}: {queue} / δ");
        assert!(summary.links[0].utilization > 0.99, "{case}");
        assert_eq!(summary.flows[0].retransmits, 0, "{case}");
    }
}

/// §3: a swing takes five round trips; the queue is empty once in each swing (§2.2).
#[test]
fn its_queue_is_empty_once_in_five_round_trips() {
    let trace = runs(40, (100, 50, "8bdp"), &copa(""), TraceLevel::Acks).trace;
    let mut delays = column(&trace.expect("traced"), "copa.queue_delay");
    delays.retain(|(time, _)| *time > 20.0);
    let mean = delays.iter().map(|(_, delay)| delay).sum::<f64>() / delays.len() as f64;
    // 1/(δ dq) is the rate: 8333 packets per second.
    let packets = mean * 1e8 / 12_000.0;
    assert!(
        (packets / 2.0 - 1.0).abs() < 0.1,
        "dq corresponds to {packets} packets"
    );
    let ups: Vec<f64> = delays
        .windows(2)
        .filter(|pair| pair[0].1 < mean && pair[1].1 >= mean)
        .map(|pair| pair[1].0)
        .collect();
    let period = (ups[ups.len() - 1] - ups[0]) / (ups.len() - 1) as f64 / 0.0504;
    assert!((period - 5.0).abs() < 0.25, "{period} round trips");
    for pair in ups.windows(2) {
        let within = |(time, _): &&(f64, f64)| (pair[0]..pair[1]).contains(time);
        let least = delays.iter().filter(within).map(|(_, delay)| *delay);
        let least = least.fold(f64::INFINITY, f64::min);
        assert!(
            least < 30e-6,
            "less than a quarter of a packet's 120 us: {least}"
        );
    }
}

#[test]
fn flows_share_alike_and_each_adds_its_packets_to_the_queue() {
    for start in [0, 3] {
        let flows: String = (0..5)
            .map(|flow| copa(&format!("start = \"{}s\"", flow * start)))
            .collect();
        let summary = summary(120, (48, 50, "1bdp"), &flows);
        let rates: Vec<f64> = summary.flows.iter().map(|flow| flow.goodput_bps).collect();
        let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), rate| {
            (sum + rate, squares + rate * rate)
        });
        assert!(
            sum * sum / (5.0 * squares) > 0.99,
            "Jain's index of {rates:?}"
        );
        let queue = mean_queue(&summary, 48);
        assert!((queue / 12.5 - 1.0).abs() < 0.2, "5 · 1.25/δ: {queue}");
    }
}

const ALONE: &str = "params = { modes = \"default\" }";

/// §2.2: AIMD on 1/δ is as aggressive as NewReno.
#[test]
fn beside_newreno_it_gets_half_by_competitive_mode_and_next_to_nothing_without() {
    for path in [(12, 50, "4bdp"), (48, 20, "4bdp"), (48, 50, "1bdp")] {
        let newreno = "[[flow]]\ncc = \"newreno\"\n";
        let of = |more| share(&summary(180, path, &(copa(more) + newreno)));
        let (both, default) = (of(""), of(ALONE));
        assert!((0.35..0.65).contains(&both), "{path:?}: {both}");
        assert!(default < 0.1, "{path:?}: {default}");
    }
}

#[test]
fn beside_cubic_in_a_deep_buffer_competitive_mode_gets_far_more() {
    let path = (48, 20, "4bdp");
    let of = |more| {
        share(&summary(
            180,
            path,
            &(copa(more) + "[[flow]]\ncc = \"cubic\"\n"),
        ))
    };
    let (both, default) = (of(""), of(ALONE));
    assert!((0.35..0.65).contains(&both), "{both}");
    assert!(default < 0.05, "{default}");
}

#[test]
fn default_mode_comes_back_when_cubic_has_left() {
    let cubic = "[[flow]]\ncc = \"cubic\"\nstart = \"10s\"\nbytes = \"60MB\"\n";
    let run = runs(80, (48, 20, "4bdp"), &(copa("") + cubic), TraceLevel::Acks);
    let done = run.summary.flows[1].completion_s.expect("CUBIC is done") + 10.0;
    let trace = run.trace.expect("traced");
    let states: Vec<_> = entered(&trace)
        .into_iter()
        .filter(|entered| entered.flow == 0)
        .map(|entered| (entered.at as f64 * 1e-9, entered.state))
        .collect();
    let back = states
        .iter()
        .find(|(at, state)| *at > done && *state == "default");
    let late = back.map(|(at, _)| at - done);
    assert!(
        late.is_some_and(|late| late < 5.0),
        "{late:?} s: {states:?}"
    );
    let away = states
        .windows(2)
        .filter(|pair| pair[0].0 > done && pair[0].1 == "competitive");
    let away: f64 = away.map(|pair| pair[1].0 - pair[0].0).sum();
    assert!(away < 0.1 * (80.0 - done), "{away} s: {states:?}");
    // The rest is due to RTTmin: Copa takes the minimum of the last ten seconds for the path's.
    let queue = run.summary.links[0].queue_delay_s.mean;
    assert!(
        queue.is_some_and(|queue| queue < 0.01),
        "{queue:?} of 80 ms"
    );
}
