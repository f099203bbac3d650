//! Explicit congestion notification, from the queue that marks to the sender that responds.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{Data, FlowSummary, Summary, Trace};
use fullpipe_units::Span;

use crate::transitions::entered;
use crate::users::of_specifications;

/// A run of `seconds`, measured in its second half.
fn run(seconds: u32, path: &str, flows: &[&str], level: TraceLevel) -> (Summary, Option<Trace>) {
    let flows: String = flows
        .iter()
        .map(|flow| format!("[[flow]]\n{flow}\n"))
        .collect();
    let text = format!(
        "duration = \"{seconds}s\"\nmeasure_from = \"{}s\"\nstart_jitter = \"40ms\"\n[path]\n{path}\n{flows}",
        seconds / 2
    );
    let scenario = of_specifications(&text);
    let run = fullpipe_sim::run(&scenario, &Registry::default(), level)
        .unwrap_or_else(|error| panic!("{error}"));
    (run.summary, run.trace)
}

fn summary(seconds: u32, path: &str, flows: &[&str]) -> Summary {
    run(seconds, path, flows, TraceLevel::Off).0
}

fn p99_ms(flow: &FlowSummary) -> f64 {
    flow.queue_delay_s.p99.expect("samples") * 1e3
}

/// The mean of a column over the second half of the rows.
fn mean(trace: &Trace, name: &str) -> f64 {
    let column = trace.tables[0]
        .columns
        .iter()
        .find(|column| column.name == name)
        .expect("a column");
    let Data::F32(values) = &column.data else {
        panic!("{name} is no number")
    };
    let half = &values[values.len() / 2..];
    half.iter().map(|value| f64::from(*value)).sum::<f64>() / half.len() as f64
}

/// The share of reductions that begin within `near` nanoseconds of the end of another.
fn share_of_second_reductions(trace: &Trace, near: f64) -> f64 {
    let states = entered(trace);
    let pairs = states.windows(2).filter(|pair| pair[1].state == "recovery");
    let all = pairs.clone().count();
    let second = pairs
        .filter(|pair| {
            pair[0].state == "congestion_avoidance" && ((pair[1].at - pair[0].at) as f64) < near
        })
        .count();
    second as f64 / all as f64
}

/// Alpha of DCTCP's model (SIGCOMM 2010 §3.3) with two reductions per cycle, for a window of `w`
/// segments at the threshold: 1/alpha RTTs of growth cost 1 + 2/(alpha w) RTTs of marks. The paper has
/// one reduction and one RTT of marks: sqrt(2 / w).
fn two_reductions(w: f64) -> f64 {
    (0..60).fold(0.1, |alpha: f64, _| ((1.0 + 2.0 / (alpha * w)) / w).sqrt())
}

/// PRR keeps the whole window in flight for the first 2/alpha ACKs of a reduction, since it rounds
/// each share up to whole segments (Linux: tcp_cwnd_reduction). The marks of these segments return
/// when the episode is over, and begin a second one: every other reduction follows another at once.
#[test]
fn dctcp_marks_as_its_model_says_and_holds_the_threshold() {
    for (rate, rtt, k, mbps, ms) in [
        ("1gbit", "200us", 20.0, 1000.0, 0.2),
        ("1gbit", "1ms", 20.0, 1000.0, 1.0),
        ("100mbit", "10ms", 20.0, 100.0, 10.0),
        ("100mbit", "40ms", 65.0, 100.0, 40.0),
    ] {
        let queue = format!("{{ kind = \"step_ecn\", threshold = \"{k}packets\" }}");
        let path = format!(
            "rate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"2000packets\"\nqueue = {queue}"
        );
        let seconds = if mbps < 1000.0 { 80 } else { 6 };
        for feedback in ["accurate", "dctcp"] {
            let flow = format!("cc = \"dctcp\"\necn_feedback = \"{feedback}\"\ndelayed_ack = 1");
            let (summary, trace) = run(
                seconds,
                &path,
                &[&flow],
                TraceLevel::Every(Span::from_millis(10)),
            );
            let trace = trace.expect("traced");
            let alpha = mean(&trace, "dctcp.alpha");
            let (packet, link) = (0.012 / mbps, &summary.links[0]);
            let expected = two_reductions(ms / 1e3 / packet + k);
            assert!(
                (alpha / expected - 1.0).abs() < 0.15,
                "{rate}, {rtt}: alpha {alpha}, not {expected}"
            );
            let again = share_of_second_reductions(&trace, ms * 1e6 / 3.0);
            assert!((again - 0.5).abs() < 0.02, "{rate}, {rtt}: {again}");
            let longest = link.queue_delay_s.max.expect("samples") / packet;
            assert!(longest < k + 3.0, "{rate}, {rtt}: {longest} packets");
            assert!(
                link.utilization > 0.99 && link.drops == 0 && link.marks > 0,
                "{}",
                link.utilization
            );
        }
    }
}

/// In user-mode Linux 6.1 Jain's index is 0.99 here, and 21 % of the packets are marked. Only the end
/// of a burst is marked, about three packets a round trip whatever the window is, so that marks favor
/// no flow. dctcp_ssthresh favors small windows: it takes whole segments, none below 2/alpha.
/// With reductions in bytes one flow kept half of the link: 0.36.
#[test]
fn flows_of_linuxs_dctcp_share_a_rack() {
    let text = "duration = \"600ms\"\nmeasure_from = \"200ms\"\nstart_jitter = \"1ms\"\n\
        send_jitter = \"1200ns\"\nstack = \"linux\"\n[path]\nprofile = \"datacenter\"\n\
        [[flow]]\ncc = \"dctcp\"\necn_feedback = \"dctcp\"\ncount = 8\n";
    let scenario = Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off)
        .unwrap_or_else(|error| panic!("{error}"));
    let jain = run.summary.jain.expect("several flows");
    assert!(jain > 0.95, "{jain}");
    let (marks, sent) = (
        run.summary.flows.iter().map(|flow| flow.marks).sum::<u64>(),
        run.summary.flows.iter().map(|flow| flow.sent).sum::<u64>(),
    );
    let marked = marks as f64 / sent as f64;
    assert!((marked - 0.21).abs() < 0.03, "{marked}");
}

/// `bbr_check_time_to_probe_bw` of tcp_bbr.c (v3): the marks of a cycle have ceased when TCP is in
/// TCP_CA_Open again, at the earliest a round trip after the first mark. A sender that probed at
/// every unmarked ACK had 87 % of its packets marked here.
#[test]
fn bbr3_does_not_probe_again_while_marks_go_on() {
    let queue = "{ kind = \"step_ecn\", threshold = \"10packets\" }";
    let path =
        format!("rate = \"100mbit\"\nrtt = \"2ms\"\nbuffer = \"1000packets\"\nqueue = {queue}");
    let flow = |gain: f64| {
        format!(
            "cc = \"bbr3\"\nparams = {{ profile = \"linux\", ecn = true, ecn_reprobe_gain = {gain} }}"
        )
    };
    let (found, trace) = run(10, &path, &[&flow(0.5)], TraceLevel::Acks);
    let never = summary(10, &path, &[&flow(0.0)]);
    // Marks count in the second half, packets in the whole run.
    let marked =
        |summary: &Summary| 2.0 * summary.links[0].marks as f64 / summary.links[0].packets as f64;
    assert!(
        (marked(&never)..0.5).contains(&marked(&found)),
        "{} {}",
        marked(&never),
        marked(&found)
    );
    assert!(
        found.links[0].utilization > 0.95,
        "{}",
        found.links[0].utilization
    );
    let (mut probing_ended, mut count) = (0, 0);
    for entered in entered(&trace.expect("traced")) {
        match (entered.state, entered.reason) {
            ("probe_bw_down", _) => probing_ended = entered.at,
            ("probe_bw_refill", "marks have ceased") => {
                assert!(entered.at - probing_ended >= 2_000_000, "{}", entered.at);
                count += 1;
            }
            _ => {}
        }
    }
    assert!(count > 100, "probing begins when marks cease: {count}");
}

#[test]
fn classic_senders_are_marked_instead_of_dropped() {
    for queue in [
        "{ kind = \"codel\", ecn = true }",
        "{ kind = \"pie\", ecn = true }",
        "{ kind = \"red\", ecn = true }",
    ] {
        let path =
            format!("rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"1000packets\"\nqueue = {queue}");
        for cc in ["cubic", "newreno"] {
            for feedback in ["accurate", "classic"] {
                let flow = |ecn: &str| {
                    format!("cc = \"{cc}\"\necn = \"{ecn}\"\necn_feedback = \"{feedback}\"")
                };
                let capable = summary(60, &path, &[&flow("ect0"), &flow("ect0")]);
                let dropped = summary(60, &path, &[&flow("off"), &flow("off")]);
                let (link, other) = (&capable.links[0], &dropped.links[0]);
                let name = format!("{queue}, {cc}, {feedback}");
                assert_eq!(
                    (link.drops, capable.flows[0].retransmits, other.marks),
                    (0, 0, 0),
                    "{name}"
                );
                // RFC 8311: a mark counts as a drop, so their numbers are similar.
                let ratio = link.marks as f64 / other.drops as f64;
                assert!(
                    (0.7..1.4).contains(&ratio),
                    "{name}: {} marks, {} drops",
                    link.marks,
                    other.drops
                );
                assert!(
                    link.utilization > other.utilization - 0.02,
                    "{name}: {}",
                    link.utilization
                );
            }
        }
    }
}

/// RFC 3168 §5: only packets that cannot be marked are dropped.
#[test]
fn beside_each_other_the_capable_are_marked_and_the_others_dropped() {
    let queues = [
        "{ kind = \"codel\", ecn = true }",
        "\"fq_codel\"",
        "{ kind = \"pie\", ecn = true }",
        "{ kind = \"red\", ecn = true }",
        "\"dualpi2\"",
        "{ kind = \"step_ecn\", threshold = \"50packets\", drop_not_ect = true }",
        "{ kind = \"cake\", bandwidth = \"19mbit\" }",
    ];
    for queue in queues {
        let path =
            format!("rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"1000packets\"\nqueue = {queue}");
        for cc in ["cubic", "newreno"] {
            let flow = |ecn: &str| format!("cc = \"{cc}\"\necn = \"{ecn}\"");
            let summary = summary(60, &path, &[&flow("ect0"), &flow("off")]);
            let [capable, other] = &summary.flows[..] else {
                panic!("two flows")
            };
            let found = [capable.marks, capable.drops, other.marks, other.drops];
            assert!(
                found[0] > 0 && found[3] > 0 && found[1] == 0 && found[2] == 0,
                "{queue}, {cc}: {found:?}"
            );
            assert_eq!(capable.retransmits, 0, "{queue}, {cc}");
            let ratio = capable.goodput_bps / other.goodput_bps;
            assert!(
                (0.4..2.5).contains(&ratio),
                "{queue}, {cc}: senders respond to a mark as to a drop: {ratio}"
            );
        }
    }
}

/// docs/reference/models/prague.md has the results of all seeds. At 10 Mbit/s a packet takes 1.2 ms: the step
/// has to exempt a lone packet, and two packets cannot wait for less than 2 ms.
#[test]
fn prague_and_cubic_share_a_dual_queue() {
    const SLOW: &str = "{ kind = \"dualpi2\", min_qlen_step = 1 }";
    for (rate, rtt, queue, p99) in [
        ("10mbit", "20ms", SLOW, 2.5),
        ("40mbit", "5ms", "\"dualpi2\"", 2.0),
        ("40mbit", "10ms", "\"dualpi2\"", 2.0),
        ("40mbit", "20ms", "\"dualpi2\"", 2.0),
        ("40mbit", "40ms", "\"dualpi2\"", 2.0),
        ("100mbit", "5ms", "\"dualpi2\"", 2.0),
        ("100mbit", "20ms", "\"dualpi2\"", 2.0),
    ] {
        let path = format!("rate = \"{rate}\"\nrtt = \"{rtt}\"\nqueue = {queue}\n");
        let summary = summary(
            120,
            &path,
            &["cc = \"prague\"", "cc = \"cubic\"\necn = \"ect0\""],
        );
        let [prague, cubic] = &summary.flows[..] else {
            panic!("two flows")
        };
        let ratio = prague.goodput_bps / cubic.goodput_bps;
        assert!((0.5..2.0).contains(&ratio), "{rate}, {rtt}: {ratio}");
        assert!(p99_ms(prague) < p99, "{rate}, {rtt}: {} ms", p99_ms(prague));
        assert!(p99_ms(cubic) > 15.0 && summary.links[0].drops == 0);
        assert!(
            summary.links[0].utilization > 0.99,
            "{rate}, {rtt}: {}",
            summary.links[0].utilization
        );
    }
}

#[test]
fn prague_alone_keeps_its_queue_at_a_millisecond() {
    for (rate, rtt) in [
        ("40mbit", "5ms"),
        ("40mbit", "20ms"),
        ("100mbit", "40ms"),
        ("200mbit", "10ms"),
    ] {
        let path = format!("rate = \"{rate}\"\nrtt = \"{rtt}\"\nqueue = \"dualpi2\"\n");
        let summary = summary(60, &path, &["cc = \"prague\""]);
        assert!(
            p99_ms(&summary.flows[0]) < 2.0,
            "{rate}, {rtt}: {} ms",
            p99_ms(&summary.flows[0])
        );
        assert!(
            summary.links[0].utilization > 0.98,
            "{rate}, {rtt}: {}",
            summary.links[0].utilization
        );
    }
}

#[test]
fn pragues_rate_hardly_depends_on_the_round_trip_and_dctcps_does() {
    let path = "rate = \"40mbit\"\nrtt = \"5ms\"\nqueue = \"dualpi2\"";
    let ratio = |cc: &str| {
        let flows = [cc.to_owned(), format!("{cc}\nrtt = \"+20ms\"")];
        let summary = summary(120, path, &[&flows[0], &flows[1]]);
        summary.flows[0].goodput_bps / summary.flows[1].goodput_bps
    };
    assert!(
        (0.67..1.5).contains(&ratio("cc = \"prague\"")),
        "{}",
        ratio("cc = \"prague\"")
    );
    assert!(ratio("cc = \"dctcp\"\necn = \"ect1\"") > 5.0);
}

#[test]
fn bbr3_is_marked_if_told_to_be() {
    let path = "rate = \"1gbit\"\nrtt = \"1ms\"\nbuffer = \"2000packets\"\n\
                queue = { kind = \"step_ecn\", threshold = \"20packets\" }";
    for ecn in [false, true] {
        let flow = format!("cc = \"bbr3\"\nparams = {{ ecn = {ecn} }}");
        let link = &summary(10, path, &[&flow, &flow]).links[0];
        assert_eq!(link.marks > 0, ecn);
        assert!(link.utilization > 0.95, "{}", link.utilization);
    }
}
