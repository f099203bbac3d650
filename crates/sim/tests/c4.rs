//! C4 in whole runs: the tests of draft-huitema-ccwg-c4-test, and consequences of the rules.

use fullpipe_cc::Registry;
use fullpipe_sim::run;
use fullpipe_trace::{Run, Summary, TraceLevel};

use super::transitions::{column, entered};

use crate::users::of_specifications;

/// Delays of the draft's Wi-Fi with an average of 1, 7 and 12 ms: Poisson arrivals of 1 ms with a
/// mean of 1, less a uniform part of one of them, and for a fraction of (average - 1 ms) / 90 ms of
/// the packets also Poisson arrivals of 7.5 ms with a mean of 12.
const GOOD: &str = "histogram 0us 552, 500us 184, 1ms 184, 2ms 61, 3ms 15, 4ms 3, 5ms 1, 6ms 0";
const BAD: &str = "histogram 0us 5150, 500us 1717, 1ms 1717, 2ms 572, 3ms 143, 4ms 29, 5ms 6, \
                   10ms 1, 20ms 4, 30ms 13, 40ms 30, 50ms 52, 60ms 80, 70ms 97, 80ms 102, 90ms 92, \
                   100ms 73, 110ms 53, 120ms 33, 130ms 19, 140ms 10, 150ms 5, 160ms 3, 180ms 0";
const WORSE: &str = "histogram 0us 4844, 500us 1615, 1ms 1615, 2ms 538, 3ms 135, 4ms 27, 5ms 6, \
                     10ms 2, 20ms 7, 30ms 24, 40ms 55, 50ms 96, 60ms 146, 70ms 178, 80ms 186, \
                     90ms 168, 100ms 134, 110ms 97, 120ms 60, 130ms 35, 140ms 19, 150ms 9, \
                     160ms 6, 180ms 0";

/// `jitter` in both directions.
fn jitter(delays: &str) -> String {
    format!("jitter = \"{delays}\"\nreverse_jitter = \"{delays}\"\n")
}

/// A run of a path of this rate in Mbit/s, RTT in ms, and buffer, with more keys.
fn runs(head: &str, path: (f64, u32, &str), more: &str, trace: TraceLevel) -> Run {
    let (rate, rtt, buffer) = path;
    let text = format!(
        "{head}\n[path]\nrate = \"{rate}mbit\"\nrtt = \"{rtt}ms\"\nbuffer = \"{buffer}\"\n{more}"
    );
    let scenario = of_specifications(&text);
    run(&scenario, &Registry::default(), trace).unwrap_or_else(|error| panic!("{error}"))
}

/// A run of `seconds`, measured in its second half.
fn steady(seconds: u32, path: (f64, u32, &str), more: &str) -> Summary {
    let head = format!(
        "duration = \"{seconds}s\"\nmeasure_from = \"{}s\"\nsend_jitter = \"100us\"",
        seconds / 2
    );
    runs(&head, path, more, TraceLevel::Off).summary
}

const C4: &str = "[[flow]]\ncc = \"c4\"\n";

fn transfer(cc: &str, megabytes: u32) -> String {
    format!("[[flow]]\ncc = \"{cc}\"\nbytes = \"{megabytes}MB\"\n")
}

/// Mean completion time of the first flow over `seeds` runs, in seconds, and its mean goodput in
/// Mbit/s.
fn transfers(seeds: u32, path: (f64, u32, &str), more: &str) -> (f64, f64) {
    let summaries = (0..seeds).map(|seed| {
        let head = format!(
            "duration = \"60s\"\nseed = {seed}\nsend_jitter = \"100us\"\nstart_jitter = \"20ms\""
        );
        let flow = runs(&head, path, more, TraceLevel::Off)
            .summary
            .flows
            .remove(0);
        let completion = flow.completion_s.expect("complete");
        (completion, flow.goodput_bps / 1e6)
    });
    let (time, goodput) = summaries.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (time / f64::from(seeds), goodput / f64::from(seeds))
}

/// Changes of the path at these times.
fn changes(changes: &[(&str, String)]) -> String {
    let change = |(at, keys): &(&str, String)| format!("[[path.change]]\nat = \"{at}\"\n{keys}\n");
    changes.iter().map(change).collect()
}

fn rate(rate: &str) -> String {
    format!("rate = \"{rate}\"\n")
}

/// draft-huitema-ccwg-c4-test, "Simulation results", and the notes on trimming and draining: mean
/// completion times of 100 runs in picoquic's simulator. QUIC's packets and its handshake differ
/// from TCP's, so 7 % are allowed.
#[test]
fn transfers_take_as_long_as_in_the_drafts_simulations() {
    let (long, small) = (transfer("c4", 10), transfer("c4", 4));
    let up = changes(&[("2.5s", rate("10mbit"))]) + &transfer("c4", 7);
    let drop = changes(&[("1.5s", rate("5mbit")), ("3.5s", rate("10mbit"))]) + &transfer("c4", 7);
    let hole = "rate_pattern = \"schedule 0s 25mbit, 2s 1kbit, 4s 25mbit\"\n".to_owned() + &long;
    let fade = [
        ("1s", rate("18mbit") + &jitter(WORSE)),
        ("3s", rate("20mbit") + &jitter(GOOD)),
    ];
    let fade = jitter(GOOD) + &changes(&fade) + &long;
    // Silent from 1.8 s to 2 s after the start of the flow, and so on.
    let suspended = "suspend = \"200ms every 2s\"\n".to_owned() + &long + "start = \"0.2s\"\n";
    let both = transfer("c4", 30) + &transfer("c4", 20);
    let cases = [
        ("alone", 1, (20.0, 80, "80ms"), long.clone(), 4.65),
        (
            "alone, 200 Mbit/s",
            1,
            (200.0, 40, "80ms"),
            transfer("c4", 20),
            1.16,
        ),
        (
            "alone, 1.5 Mbit/s",
            1,
            (1.536, 40, "50ms"),
            small.clone(),
            21.51,
        ),
        (
            "alone, 512 kbit/s",
            1,
            (0.512, 34, "50ms"),
            transfer("c4", 1),
            16.17,
        ),
        (
            "bufferbloat",
            1,
            (20.0, 80, "20s"),
            transfer("c4", 30),
            12.97,
        ),
        ("low and up", 1, (5.0, 100, "80ms"), up, 7.76),
        ("drop and back", 3, (10.0, 100, "80ms"), drop, 7.70),
        ("black hole", 3, (25.0, 70, "80ms"), hole, 5.63),
        (
            "bad Wi-Fi",
            20,
            (10.0, 2, "250ms"),
            jitter(BAD) + &small,
            4.21,
        ),
        ("fading Wi-Fi", 10, (20.0, 80, "80ms"), fade, 5.06),
        ("suspended Wi-Fi", 3, (20.0, 10, "20ms"), suspended, 4.60),
        ("two flows", 5, (20.0, 80, "80ms"), both, 21.05),
    ];
    for (name, seeds, path, more, published) in cases {
        let (seconds, _) = transfers(seeds, path, &more);
        let ratio = seconds / published;
        assert!(
            (ratio - 1.0).abs() < 0.07,
            "{name}: {seconds} s for {published} s"
        );
    }
}

/// The notes on trimming and draining: share of the link that a transfer of 30 MB gets next to one
/// of 20 MB by CUBIC.
#[test]
fn next_to_cubic_a_transfer_gets_the_published_share() {
    let flows = transfer("c4", 30) + &transfer("cubic", 20);
    let (_, goodput) = transfers(10, (20.0, 80, "80ms"), &flows);
    let share = goodput / (20.0 * 1448.0 / 1500.0);
    assert!((share - 0.62).abs() < 0.05, "{share} instead of 62 %");
}

/// draft-huitema-ccwg-c4-test: the initial phase takes less than 800 ms, here a little more.
#[test]
fn initial_ends_within_a_second_and_the_rate_is_that_of_the_link() {
    let head = "duration = \"20s\"";
    let run = runs(head, (20.0, 80, "80ms"), C4, TraceLevel::Acks);
    let trace = run.trace.expect("traced");
    let first = &entered(&trace)[0];
    assert_eq!((first.state, first.reason), ("recovery", "loss"));
    assert!(first.at < 1_000_000_000, "{} ns", first.at);
    for (time, nominal) in column(&trace, "c4.nominal_rate") {
        let ratio = nominal / (20e6 * 1448.0 / 1500.0);
        assert!(
            time < 1.0 || (ratio - 1.0).abs() < 0.01,
            "{ratio} at {time} s"
        );
    }
    // §3.2: afterwards the nominal max RTT approaches the RTT of the path and its bursts.
    let (_, rtt) = column(&trace, "c4.nominal_max_rtt").pop().expect("a row");
    assert!((0.08..0.095).contains(&rtt), "{rtt} s");
}

/// A cycle without growth: Recovery at 7/8 of the link's rate, two eras of Cruising at 1, Probing
/// at 17/16, so 63/64 on average. Probing leaves a queue of a sixteenth of the RTT, for an era.
#[test]
fn alone_it_uses_63_64_of_the_link_with_a_short_queue() {
    for (rate, rtt) in [(5.0, 50), (20.0, 80), (50.0, 40), (200.0, 40)] {
        for buffer in ["1bdp", "8bdp"] {
            let link = &steady(60, (rate, rtt, buffer), C4).links[0];
            let queue = link.queue_delay_s.mean.expect("measured") * 1e3;
            assert!((link.utilization - 63.0 / 64.0).abs() < 0.01);
            // A burst lasts 4 ms at the nominal rate, and passes the sender's link in 0.4 ms.
            assert!(queue < f64::from(rtt) / 16.0 / 2.0 + 2.0, "{queue} ms");
        }
    }
}

/// §5.3: a lost packet counts if its sixteenth is above 0.02 + 0.5 (1 - sensitivity), which holds
/// from 995 kB/s on.
#[test]
fn random_loss_holds_a_flow_at_eight_megabits_whatever_the_link() {
    for (rate, rtt) in [(20.0, 80), (50.0, 40), (200.0, 40)] {
        for loss in ["1%", "2%"] {
            let more = format!("loss = \"{loss}\"\n{C4}");
            let goodput = steady(60, (rate, rtt, "1bdp"), &more).flows[0].goodput_bps / 1e6;
            assert!(
                (goodput / 7.96 - 1.0).abs() < 0.3,
                "{rate} {loss}: {goodput}"
            );
        }
    }
}

#[test]
fn five_flows_share_alike() {
    for start in [0, 3] {
        let flow = |i: u32| format!("{C4}start = \"{}s\"\n", i * start);
        let flows: String = (0..5).map(flow).collect();
        let summary = steady(180, (50.0, 50, "1bdp"), &flows);
        assert!(summary.jain > Some(0.95), "{:?}", summary.jain);
    }
}

/// Design, "Competition with other algorithms": the nominal max RTT grows with CUBIC's queue, and
/// shrinks again when CUBIC has left.
#[test]
fn the_nominal_max_rtt_follows_cubics_queue_and_falls_when_cubic_has_left() {
    let flows = C4.to_owned() + &transfer("cubic", 20) + "start = \"10s\"\n";
    let run = runs(
        "duration = \"60s\"",
        (20.0, 80, "2bdp"),
        &flows,
        TraceLevel::Acks,
    );
    let left = 10.0 + run.summary.flows[1].completion_s.expect("complete");
    let trace = run.trace.expect("traced");
    let rtts = column(&trace, "c4.nominal_max_rtt");
    let between = |from: f64, to: f64| {
        let within = rtts
            .iter()
            .filter(move |(time, _)| (from..to).contains(time));
        within
            .map(|(_, rtt)| *rtt)
            .fold((f64::MAX, 0.0_f64), |(least, most), rtt| {
                (least.min(rtt), most.max(rtt))
            })
    };
    assert!(between(5.0, 10.0).1 < 0.1);
    assert!(between(15.0, left).0 > 0.16);
    assert!(between(left + 5.0, 60.0).1 < 0.1);
}

/// draft-huitema-ccwg-c4-test, "Bad Wi-Fi": as fast as CUBIC, and faster than BBR.
#[test]
fn bad_wifi_slows_c4_no_more_than_cubic_and_far_less_than_bbr() {
    let goodput = |cc: &str| {
        let more = format!("{}[[flow]]\ncc = \"{cc}\"\n", jitter(BAD));
        steady(120, (10.0, 2, "250ms"), &more).flows[0].goodput_bps / 1e6
    };
    let (c4, cubic, bbr) = (goodput("c4"), goodput("cubic"), goodput("bbr3"));
    assert!(c4 > 0.95 * cubic && c4 > 1.5 * bbr, "{c4}, {cubic}, {bbr}");
}

/// §4.1: a quantum lasts 4 ms, and L4S marks by default beyond 1 ms.
#[test]
fn under_dualpi2_a_quantum_is_a_longer_queue_than_the_default_threshold() {
    let used = |options: &str| {
        let queue = format!("queue = {{ kind = \"dualpi2\"{options} }}\n{C4}");
        steady(60, (20.0, 80, "100ms"), &queue).links[0].utilization
    };
    let (default, wide) = (used(""), used(", step_thresh = \"10ms\""));
    assert!(default < 0.5 && wide > 0.8, "{default}, {wide}");
}

/// §4.2.
#[test]
fn an_application_that_sends_less_than_the_link_carries_keeps_its_rate_without_a_queue() {
    let flow = format!("{C4}app_rate = \"4mbit\"\n");
    let summary = steady(30, (10.0, 40, "100ms"), &flow);
    assert!((summary.flows[0].goodput_bps / 4e6 - 1.0).abs() < 0.01);
    assert!(summary.links[0].queue_delay_s.mean.expect("measured") < 1e-4);
}
