//! Effects of a path on packets besides queueing, and changes during the run, with figures derived
//! by hand.

use fullpipe_cc::Registry;
use fullpipe_trace::{Data, Summary};
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::Span;

use crate::transitions::entered;
use crate::users::of_specifications;

/// 20 s of `flow` on a path that each test varies.
fn run(path: &str, flow: &str) -> Run {
    run_traced(path, flow, TraceLevel::Acks)
}

fn run_traced(path: &str, flow: &str, level: TraceLevel) -> Run {
    let text = format!("duration = \"20s\"\n[path]\n{path}\n[[flow]]\n{flow}\n");
    let scenario = of_specifications(&text);
    fullpipe_sim::run(&scenario, &Registry::default(), level)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn summary(path: &str, flow: &str) -> Summary {
    run(path, flow).summary
}

/// The reason for each state change of the flow.
fn reasons(run: &Run) -> Vec<String> {
    entered(run.trace.as_ref().expect("traced"))
        .into_iter()
        .map(|entered| entered.reason.to_owned())
        .collect()
}

/// More than the link carries under all changes.
const FLOOD: &str = "cc = \"none\"\napp_rate = \"20mbit\"";

/// 16 segments per RTT: they wait only for each other, and none is lost by congestion.
const CALM: &str = "cc = \"cubic\"\nreceive_window = \"24kB\"";

const PATH: &str = "rate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"";

fn change(at: &str, what: &str) -> String {
    format!("[[path.change]]\nat = \"{at}\"\n{what}\n")
}

#[test]
fn a_full_link_carries_the_sum_of_its_rates() {
    let changes = change("5s", "rate = \"4mbit\"") + &change("15s", "rate = \"16mbit\"");
    let summary = summary(&format!("{PATH}\n{changes}"), FLOOD);
    // 5 s at 10, 10 s at 4 and 5 s at 16 Mbit/s, in packets of 12000 bit; the first one arrives
    // after its time on the access link.
    let expected = (5 * 10_000_000 + 10 * 4_000_000 + 5 * 16_000_000) / 12_000;
    assert!(
        (expected - 1..=expected).contains(&summary.packets),
        "{} of {expected}",
        summary.packets
    );
    assert!(summary.links[0].utilization > 0.9999);
}

#[test]
fn a_smaller_buffer_shortens_the_wait_without_dropping_what_waits() {
    let longest = |from: &str| {
        let text = format!(
            "duration = \"20s\"\nmeasure_from = \"{from}\"\n[path]\n{PATH}\n{}[[flow]]\n{FLOOD}\n",
            change("5s", "buffer = \"10packets\"")
        );
        let scenario = of_specifications(&text);
        let run =
            fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off).expect("it runs");
        run.summary.links[0]
            .queue_delay_s
            .max
            .expect("there are samples")
    };
    // 2 BDP are 66 packets of 1.2 ms.
    assert!(
        (longest("0s") - 66.0 * 0.0012).abs() < 0.0012,
        "{}",
        longest("0s")
    );
    assert!(
        (longest("6s") - 10.0 * 0.0012).abs() < 0.0012,
        "{}",
        longest("6s")
    );
}

#[test]
fn the_round_trip_follows_the_schedule_and_a_shorter_one_reorders_nothing() {
    let changes = change("5s", "rtt = \"90ms\"") + &change("10s", "rtt = \"20ms\"");
    let summary = summary(&format!("{PATH}\n{changes}"), CALM);
    let flow = &summary.flows[0];
    let (least, most) = (
        flow.rtt_s.min.expect("samples"),
        flow.rtt_s.max.expect("samples"),
    );
    assert!((0.020..0.026).contains(&least), "{least}");
    // A window of 16 segments directly follows the first packet, 1.2 ms each.
    assert!((0.090..0.112).contains(&most), "{most}");
    assert_eq!((flow.drops, flow.retransmits), (0, 0));
}

#[test]
fn a_policer_passes_its_burst_and_its_rate_and_no_more() {
    let path =
        "rate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\npolicer = \"6mbit burst 60kB\"";
    let summary = summary(path, FLOOD);
    let expected = (20 * 6_000_000 / 8 + 60_000) / 1_500;
    assert!(
        (expected - 1..=expected).contains(&summary.packets),
        "{} of {expected}",
        summary.packets
    );
    let link = &summary.links[0];
    assert_eq!((link.drops, link.losses), (0, 0));
    assert!(
        link.policed > 20_000 && link.policed == summary.flows[0].drops,
        "{} policed",
        link.policed
    );
}

#[test]
fn a_link_that_varies_carries_what_its_pattern_gives() {
    let carried = |pattern: &str| {
        let path = format!("rate_pattern = \"{pattern}\"\nrtt = \"40ms\"\nbuffer = \"50packets\"");
        let summary = summary(&path, "cc = \"none\"\napp_rate = \"60mbit\"");
        let link = &summary.links[0];
        assert!(
            (0.999..=1.0).contains(&link.utilization),
            "{} of {pattern}",
            link.utilization
        );
        summary.packets
    };
    // A mean of 30 Mbit/s in each period of 5 s, in packets of 12000 bit.
    for pattern in [
        "sine 10mbit..50mbit every 5s",
        "saw 10mbit..50mbit every 5s",
        "schedule 0s 20mbit, 10s 40mbit",
    ] {
        assert!(
            (49_980..=50_000).contains(&carried(pattern)),
            "{} by {pattern}",
            carried(pattern)
        );
    }
    // 1 packet at each of 2, 3, 5 and 10 ms, 2000 times; the first arrives after its time on the
    // access link.
    assert_eq!(carried("mahimahi 2, 3, 5, 10"), 8_000);
}

#[test]
fn an_algorithm_below_a_segment_per_rtt_on_an_empty_path_is_named() {
    let path = |rtt: &str| format!("rate = \"8mbit\"\nrtt = \"{rtt}\"\nbuffer = \"100packets\"");
    // The first window queues, before the measurement.
    let warned = |path: &str, flow: &str| {
        let text = format!(
            "duration = \"20s\"\nmeasure_from = \"10s\"\n[path]\n{path}\n[[flow]]\n{flow}\n"
        );
        let scenario = of_specifications(&text);
        let run = fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off);
        !run.expect("it runs").summary.warnings.is_empty()
    };
    assert!(warned(&path("100ms"), "cc = \"swift\""));
    assert!(!warned(&path("100ms"), "cc = \"cubic\""));
    // The application limits this one.
    assert!(!warned(
        &path("100ms"),
        "cc = \"cubic\"\napp_rate = \"10kbit\""
    ));
}

#[test]
fn a_trace_lets_packets_go_at_its_times_alone() {
    // Opportunities are at multiples of 10 ms: RTTs are 40 ms and the rest of ten.
    let path =
        "rate_pattern = \"mahimahi 10, 10, 10, 10\"\nrtt = \"40ms\"\nbuffer = \"100packets\"";
    let summary = summary(path, "cc = \"none\"\napp_rate = \"0.965333mbit\"");
    // A packet per 12 ms, and 4 opportunities per 10: 1/4.8. Packets arrive 0, 2, 4, 6 and 8 ms
    // after a multiple of 10, and 25 us later for the access link of 480 Mbit/s, so that they wait
    // for 5.975 ms on average.
    let link = &summary.links[0];
    assert!(
        (link.utilization - 0.2083).abs() < 0.001,
        "{}",
        link.utilization
    );
    let mean = summary.flows[0]
        .queue_delay_s
        .mean
        .expect("there are samples");
    assert!((mean - 0.005_975).abs() < 0.000_01, "{mean}");
}

#[test]
fn a_shaper_holds_what_does_not_conform() {
    // 12 Mbit/s, in front of 120: 10 ms of buffer are 10 packets.
    let path =
        "rate = \"120mbit\"\nrtt = \"40ms\"\nbuffer = \"10ms\"\nshaper = \"12mbit burst 30kB\"";
    let summary = summary(path, "cc = \"none\"\napp_rate = \"20mbit\"");
    // 20 packets of burst, and one per millisecond for 20 s.
    assert!(
        (20_019..=20_020).contains(&summary.packets),
        "{}",
        summary.packets
    );
    let link = &summary.links[0];
    assert!(
        (link.utilization - 0.1001).abs() < 0.0001,
        "it sends for {} of the time",
        link.utilization
    );
    // Ten packets wait, the last one for 10 ms less the elapsed part of the current millisecond.
    // The link is idle the rest of the time, but with a queue.
    let mean = link.queue_delay_s.mean.expect("there are samples");
    assert!((0.0085..0.0101).contains(&mean), "{mean}");
    assert!(link.queue_delay_s.max.expect("there are samples") <= 0.0101);
}

#[test]
fn a_shaper_comes_and_goes_by_schedule() {
    let changes =
        change("5s", "shaper = \"3mbit burst 15kB\"") + &change("15s", "shaper = \"off\"");
    let summary = summary(&format!("{PATH}\n{changes}"), FLOOD);
    // 10 s at 10 Mbit/s, 10 s at 3, and a burst of 10 packets.
    let expected = (10 * 10_000_000 + 10 * 3_000_000) / 12_000 + 10;
    assert!(
        (expected - 12..=expected).contains(&summary.packets),
        "{} of {expected}",
        summary.packets
    );
}

#[test]
fn a_policer_comes_and_goes_by_schedule() {
    let path = "rate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"";
    let changes = change("5s", "policer = \"6mbit burst 60kB\"")
        + &change("15s", "policer = \"off\"")
        + "loss = \"50%\"\n";
    let summary = summary(&format!("{path}\n{changes}"), FLOOD);
    // A packet with 1448 bytes of payload per 0.5792 ms.
    let (sent, link) = (20.0 / 0.000_579_2, &summary.links[0]);
    let policed = sent / 2.0 - (10.0 * 6e6 / 8.0 + 60_000.0) / 1_500.0;
    assert!(
        (link.policed as f64 - policed).abs() < 3.0,
        "{} policed, expected {policed}",
        link.policed
    );
    // Sigma is 46.
    assert!(
        (link.losses as f64 - sent / 8.0).abs() < 200.0,
        "{} lost",
        link.losses
    );
}

#[test]
fn every_nth_and_listed_packets_are_lost_and_no_other() {
    let summary = |loss: &str| summary(&format!("{PATH}\nloss = \"{loss}\""), FLOOD);
    let sent = summary("0%").flows[0].sent;
    assert_eq!(summary("every 100").links[0].losses, sent / 100);
    assert_eq!(
        summary(&format!("list 1, 7, {sent}, {}", sent + 1)).links[0].losses,
        3
    );
}

#[test]
fn a_retransmission_has_a_number_of_its_own() {
    // 100 segments: the 50th packet is lost, then its retransmission, which belongs to the next
    // window of 16.
    let transfer = "cc = \"cubic\"\nreceive_window = \"24kB\"\nbytes = \"144800B\"";
    let flow = |list: &str| {
        summary(&format!("{PATH}\nloss = \"list {list}\""), transfer)
            .flows
            .remove(0)
    };
    let numbers: Vec<String> = (51..=66).map(|n| n.to_string()).collect();
    assert_eq!((flow("50").drops, flow("50").retransmits), (1, 1));
    assert!(flow(&format!("50, {}", numbers.join(", "))).retransmits > 16);
}

#[test]
fn losses_in_bursts_are_as_many_as_they_should_be() {
    let bursty =
        format!("{PATH}\nloss = \"gilbert-elliott p 0.5% r 20% loss-bad 80% loss-good 0.1%\"");
    let flow = &summary(&bursty, FLOOD).flows[0];
    // 0.005 / 0.205 of 34530 packets find the bad state, the others the good one. Three sigma are
    // 180.
    let expected = flow.sent as f64 * (0.8 * 0.005 + 0.001 * 0.2) / 0.205;
    let lost = summary(&bursty, FLOOD).links[0].losses as f64;
    assert!(
        (lost - expected).abs() < 200.0,
        "{lost}, expected {expected}"
    );
}

#[test]
fn copies_come_through_the_link_and_are_no_reason_to_send_again() {
    for cc in ["cubic", "newreno", "bbr1", "bbr3"] {
        // Half of the link's rate leaves room for copies: 0.8 s of 1000 packets, a tenth of them
        // duplicated.
        let flow = format!("cc = \"{cc}\"\nbytes = \"1448000B\"\napp_rate = \"5mbit\"");
        let run = run(
            &format!("{PATH}\nduplicate = \"10%\"\nreverse_duplicate = \"10%\""),
            &flow,
        );
        let (flow, link) = (&run.summary.flows[0], &run.summary.links[0]);
        assert_eq!(
            (flow.retransmits, flow.drops, link.drops),
            (0, 0, 0),
            "{cc}"
        );
        assert_eq!(run.summary.packets, flow.sent + link.duplicates, "{cc}");
        // Sigma is 9.5.
        assert!(
            (60..140).contains(&link.duplicates),
            "{cc}: {} copies",
            link.duplicates
        );
        let reasons = reasons(&run);
        assert!(
            !reasons
                .iter()
                .any(|reason| reason == "loss" || reason.contains("spurious")),
            "{cc}: {reasons:?}"
        );
    }
}

#[test]
fn copies_take_the_room_of_others() {
    let run = summary(
        &format!("{PATH}\nduplicate = \"50%\""),
        "cc = \"none\"\napp_rate = \"9mbit\"",
    );
    let (flow, link) = (&run.flows[0], &run.links[0]);
    // 9 Mbit/s of payload plus copies of half of it exceed the link's 10 Mbit/s.
    assert!(link.utilization > 0.999 && link.drops > 0);
    // Packets that wait at the end are neither carried nor dropped.
    let waiting = flow.sent + link.duplicates - run.packets - link.drops;
    assert!((60..=70).contains(&waiting), "{waiting}");
}

#[test]
fn a_radio_carries_what_its_transmissions_hold() {
    let path = "rate = \"120mbit\"\nrtt = \"40ms\"\nbuffer = \"200packets\"";
    for queue in ["", "queue = \"codel\"\n"] {
        for frames in [1_u32, 8, 32] {
            let wifi = format!("{path}\n{queue}wifi = \"frames {frames} overhead 400us\"");
            let summary = summary(&wifi, "cc = \"none\"\napp_rate = \"115mbit\"");
            // A transmission takes 0.4 ms plus 0.1 ms per packet, and carries `frames` packets.
            let expected = 20.0 * f64::from(frames) / (400e-6 + f64::from(frames) * 100e-6);
            let carried = summary.packets as f64;
            assert!(
                (carried / expected - 1.0).abs() < 0.002,
                "{queue}{frames}: {carried}, expected {expected}"
            );
            assert!(summary.links[0].utilization > 0.999, "the medium is busy");
        }
    }
}

#[test]
fn little_traffic_is_not_gathered() {
    // A segment every 23 ms never waits: the overhead is all that the RTT gains, on the forward
    // path only.
    let mean = |wifi: &str| {
        let summary = summary(
            &format!("{PATH}\n{wifi}"),
            "cc = \"cubic\"\napp_rate = \"500kbit\"\ndelayed_ack = 1",
        );
        summary.flows[0].rtt_s.mean.expect("there are samples")
    };
    let more = mean("wifi = \"frames 32 overhead 2ms\"") - mean("");
    assert!((0.0019..0.0021).contains(&more), "{more}");
}

#[test]
fn a_silent_radio_keeps_data_in_the_queue_and_acks_at_the_receiver() {
    // The radio is silent in the first 100 ms of each second.
    let suspended = format!("{PATH}\nsuspend = \"100ms every 1s\"");
    let flood = summary(&suspended, FLOOD);
    let expected = 20.0 * 0.9 * 1e7 / 12_000.0;
    assert!(
        (flood.packets as f64 - expected).abs() < 25.0,
        "{} of {expected}",
        flood.packets
    );
    let run = run(&suspended, CALM);
    let (flow, link) = (&run.summary.flows[0], &run.summary.links[0]);
    // The silence lasts two RTTs: it causes one tail loss probe each time.
    assert!(
        flow.drops == 0 && (15..=20).contains(&flow.retransmits),
        "{} were retransmitted",
        flow.retransmits
    );
    let (median, most) = (
        flow.rtt_s.p50.expect("samples"),
        flow.rtt_s.max.expect("samples"),
    );
    assert!(
        median < 0.065 && (0.120..0.170).contains(&most),
        "median {median}, most {most}"
    );
    assert!(
        (0.09..0.101).contains(&link.queue_delay_s.max.expect("samples")),
        "{:?}",
        link.queue_delay_s
    );
    // ACKs sent during the silence arrive 20 ms after its end.
    let trace = run.trace.as_ref().expect("traced");
    let Data::U64(times) = &trace.tables[0].columns[0].data else {
        panic!("times are integers")
    };
    assert!(
        times
            .iter()
            .all(|ns| !(20_000_000..120_000_000).contains(&(ns % 1_000_000_000))),
        "no ACK arrives earlier"
    );
}

#[test]
fn random_jitter_adds_half_of_it_and_reorders_nothing() {
    let mean = |jitter: &str| {
        let summary = summary(
            &format!("{PATH}\n{jitter}"),
            "cc = \"cubic\"\napp_rate = \"500kbit\"",
        );
        assert_eq!(summary.flows[0].retransmits, 0, "{jitter}");
        summary.flows[0].rtt_s.mean.expect("there are samples")
    };
    // A segment every 23 ms: none waits for another, so none is delayed by another's jitter.
    let plain = mean("");
    for jitter in ["jitter = \"10ms\"", "reverse_jitter = \"10ms\""] {
        let more = mean(jitter) - plain;
        assert!((0.0045..0.0055).contains(&more), "{jitter}: {more}");
    }
}

#[test]
fn jitter_of_any_distribution_adds_its_mean() {
    let mean = |jitter: &str| {
        let path = format!("rate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\n{jitter}");
        let summary = summary(&path, "cc = \"cubic\"\napp_rate = \"500kbit\"");
        assert_eq!(summary.flows[0].retransmits, 0, "{jitter}");
        summary.flows[0].rtt_s.mean.expect("there are samples")
    };
    // A segment every 23 ms, a sample per two segments: sigma of the mean of 430 is 0.1 to 0.2 ms.
    let plain = mean("");
    for jitter in [
        "normal 10ms sigma 3ms",
        "normal 10ms sigma 3ms correlation 50%",
        "pareto 10ms sigma 3ms",
        "paretonormal 10ms sigma 3ms",
        "gamma 10ms sigma 4ms",
        "histogram 5ms 1, 15ms 0",
    ] {
        for key in ["jitter", "reverse_jitter"] {
            let more = mean(&format!("{key} = \"{jitter}\"")) - plain;
            assert!((0.0092..0.0108).contains(&more), "{key} {jitter}: {more}");
        }
    }
}

#[test]
fn acks_that_are_held_come_together() {
    let run = run(&format!("{PATH}\nreverse_jitter = \"hold 10ms\""), CALM);
    let trace = run.trace.as_ref().expect("traced");
    let Data::U64(times) = &trace.tables[0].columns[0].data else {
        panic!("times are integers")
    };
    // The reverse path takes 20 ms, a multiple of 10 ms.
    assert!(times.iter().all(|ns| ns % 10_000_000 == 0));
    assert_eq!(run.summary.flows[0].retransmits, 0);
    let spread = run.summary.flows[0].rtt_s.max.expect("samples");
    assert!((0.045..0.075).contains(&spread), "{spread}");
}

#[test]
fn a_line_that_stalls_delays_by_no_more_than_its_hold() {
    let summary = summary(&format!("{PATH}\njitter = \"hold 30ms every 500ms\""), CALM);
    let rtt = &summary.flows[0].rtt_s;
    let (median, most) = (rtt.p50.expect("samples"), rtt.max.expect("samples"));
    assert!(
        median < 0.065 && (0.065..0.100).contains(&most),
        "median {median}, most {most}"
    );
    assert_eq!(summary.flows[0].retransmits, 0);
}

#[test]
fn reordering_for_a_while_makes_a_spurious_fast_recovery() {
    for cc in ["cubic", "newreno"] {
        let changes = change("5s", "jitter = \"30ms reorder\"") + &change("6s", "jitter = \"off\"");
        let run = run(&format!("{PATH}\n{changes}"), &CALM.replace("cubic", cc));
        let flow = &run.summary.flows[0];
        assert!(
            flow.drops == 0 && flow.retransmits > 0,
            "{cc}: {} lost, {} retransmitted",
            flow.drops,
            flow.retransmits
        );
        let reasons = reasons(&run);
        assert!(
            reasons.iter().any(|reason| reason == "loss was spurious"),
            "{cc}: {reasons:?}"
        );
    }
}

#[test]
fn a_step_of_the_delay_makes_a_spurious_timeout() {
    for cc in ["cubic", "newreno"] {
        let changes = change("5s", "rtt = \"1500ms\"") + &change("8s", "rtt = \"40ms\"");
        let flow = CALM.replace("cubic", cc);
        let run = run_traced(
            &format!("{PATH}\n{changes}"),
            &flow,
            TraceLevel::Every(Span::from_millis(10)),
        );
        let flow = &run.summary.flows[0];
        assert!(
            flow.drops == 0 && flow.retransmits > 0,
            "{cc}: {} lost, {} retransmitted",
            flow.drops,
            flow.retransmits
        );
        let columns = &run.trace.as_ref().expect("traced").tables[0].columns;
        let windows = columns
            .iter()
            .find(|column| column.name == "cwnd")
            .expect("the trace has the window");
        let Data::U64(windows) = &windows.data else {
            panic!("a window is an integer")
        };
        // One row per 10 ms, beginning with the SYN.
        let before = windows[499];
        assert_eq!(
            windows[500..640].iter().min(),
            Some(&1448),
            "{cc}: one segment after a timeout"
        );
        assert!(
            windows[700] >= before,
            "{cc}: {} of {before} restored",
            windows[700]
        );
    }
}
