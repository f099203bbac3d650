//! The operating system's TCP: each key of `stack` with and without it, next to the records of
//! a kernel (user-mode Linux 6.1).

use fullpipe_cc::Registry;
use fullpipe_trace::{Run, TraceLevel};

use crate::traced::column;
use crate::users::of_specifications;

/// CUBIC as in Linux.
const CUBIC: &str = "cc = \"cubic\"\nparams = { profile = \"linux\", slow_start = \"hystart\" }\n";

fn run(text: &str) -> Run {
    let scenario = of_specifications(text);
    fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Acks)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The flow of `keys` on a path of 20 Mbit/s and 40 ms.
fn requests(think: &str, keys: &str) -> Run {
    run(&format!(
        "duration = \"12s\"\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\n\
         [[flow]]\n{CUBIC}app = \"request 600kB think {think}\"\n{keys}\n"
    ))
}

/// The windows in segments at the first ACK after each pause.
fn after_pauses(run: &Run) -> Vec<u64> {
    let (time, cwnd) = (column(run, "time"), column(run, "cwnd"));
    let at = |i: &usize| time[*i] - time[i - 1] > 0.4e9;
    let pauses = (1..time.len()).filter(at);
    pauses.map(|i| (cwnd[i] / 1448.0).round() as u64).collect()
}

#[test]
fn after_a_pause_the_window_is_halved_for_each_timeout() {
    // The kernel's records: windows after the pauses, and the median response time.
    let long = requests("1.2s", "cwnd_validation = \"linux\"");
    assert_eq!(
        after_pauses(&long),
        [10; 7],
        "as the kernel's: the initial window"
    );
    close(median(&long), 0.3684, 0.01);
    let short = requests("600ms", "cwnd_validation = \"linux\"");
    assert_eq!(
        after_pauses(&short)[..4],
        [23; 4],
        "as the kernel's: 92 / 2 / 2"
    );
    close(median(&short), 0.3282, 0.01);
    let without = requests("1.2s", "");
    assert_eq!(after_pauses(&without)[0], 93, "the window is unchanged");
    assert!(median(&without) < 0.29, "one burst: {}", median(&without));
}

#[test]
fn bbr_does_not_restart() {
    let bbr = |keys: &str| {
        run(&format!(
            "duration = \"9s\"\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\n\
             [[flow]]\ncc = \"bbr1\"\napp = \"request 600kB think 1.2s\"\n{keys}\n"
        ))
    };
    let [with, without] = ["cwnd_validation = \"linux\"", ""].map(bbr);
    assert_eq!(column(&with, "delivered"), column(&without, "delivered"));
}

#[test]
fn a_window_without_use_stays_as_long_as_something_is_sent() {
    // In the kernel, too: 827 segments from 2.2 s to the end, with 52 in flight. Each ACK renews the
    // clock of tcp_cwnd_application_limited (tcp_cong_avoid).
    let slow = run(&format!(
        "duration = \"12s\"\n[path]\nrate = \"50mbit\"\nrtt = \"100ms\"\nbuffer = \"2bdp\"\n\
         [[flow]]\n{CUBIC}app_schedule = \"2s 6mbit\"\ncwnd_validation = \"linux\"\n"
    ));
    let (time, cwnd) = (column(&slow, "time"), column(&slow, "cwnd"));
    let after = time
        .iter()
        .position(|time| *time > 2.5e9)
        .expect("it lasts longer");
    assert!(cwnd[after] > 800.0 * 1448.0);
    assert_eq!(cwnd[after], cwnd[cwnd.len() - 1]);
}

/// A flow that has a large window and uses a tenth of it, until it loses a packet.
fn loss_in_a_large_window(keys: &str) -> Run {
    run(&format!(
        "duration = \"12s\"\n[path]\nrate = \"50mbit\"\nrtt = \"100ms\"\nbuffer = \"2bdp\"\n\
         loss = \"list 11000\"\n[[flow]]\n{CUBIC}app_schedule = \"2s 6mbit\"\n{keys}\n"
    ))
}

#[test]
fn a_loss_in_a_window_that_is_not_validated_reduces_the_part_in_use() {
    // RFC 7661 §4.4.1, with CUBIC's factor. 6 Mbit/s over 100 ms are 52 segments.
    let last = |run: &Run| column(run, "ssthresh").last().expect("an ACK") / 1448.0;
    let kept = last(&loss_in_a_large_window(""));
    assert!(kept > 500.0, "{kept}");
    let validated = last(&loss_in_a_large_window("cwnd_validation = \"rfc7661\""));
    assert!((52.0 * 0.7..56.0 * 0.7).contains(&validated), "{validated}");
}

#[test]
fn a_window_that_is_not_validated_for_five_minutes_is_halved() {
    let restart = |think: &str| {
        let run = run(&format!(
            "duration = \"320s\"\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\n\
             [[flow]]\n{CUBIC}app = \"request 600kB think {think}\"\ncwnd_validation = \"rfc7661\"\n"
        ));
        after_pauses(&run)[0]
    };
    assert_eq!([restart("290s"), restart("310s")], [93, 46]);
}

/// A flow whose last retransmission is lost with nothing behind it: a timeout in fast recovery.
fn timeout_in_recovery(keys: &str) -> Run {
    run(&format!(
        "duration = \"8s\"\n[path]\nrate = \"10mbit\"\nrtt = \"100ms\"\nbuffer = \"200packets\"\n\
         loss = \"list 95, 105\"\n[[flow]]\ncc = \"newreno\"\napp = \"request 150kB think 1s\"\n{keys}\n"
    ))
}

#[test]
fn a_timeout_in_recovery_reduces_once_as_in_linux() {
    // Linux 6.18 on the same path: ssthresh 52 from the loss at 0.54 s to the end.
    let thresholds = |run: &Run| {
        let mut all: Vec<u64> = column(run, "ssthresh")
            .into_iter()
            .filter(|value| value.is_finite())
            .map(|value| (value / 1448.0).round() as u64)
            .collect();
        all.dedup();
        all
    };
    assert_eq!(thresholds(&timeout_in_recovery("")), [52, 26]);
    assert_eq!(
        thresholds(&timeout_in_recovery("rto_in_recovery = \"keep\"")),
        [52]
    );
    // The next responses took 452 ms there, after pauses of a second.
    let linux = "rto_in_recovery = \"keep\"\ncwnd_validation = \"linux\"";
    close(median(&timeout_in_recovery(linux)), 0.4519, 0.01);
}

/// A flow that never pauses, on a path of `rate` and `rtt` with a buffer of 100 packets, for `time`.
fn bulk(path: [&str; 4], keys: &str) -> Run {
    let [rate, rtt, buffer, time] = path;
    run(&format!(
        "duration = \"{time}\"\n[path]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer}\"\n\
         [[flow]]\n{keys}\n"
    ))
}

/// Number of segments that the sender sent at each ACK.
fn writes(run: &Run) -> Vec<u64> {
    let (inflight, delivered) = (column(run, "inflight"), column(run, "delivered"));
    let sent: Vec<f64> = inflight
        .iter()
        .zip(&delivered)
        .map(|(a, b)| a + b)
        .collect();
    let segments = |pair: &[f64]| ((pair[1] - pair[0]) / 1448.0).round() as u64;
    sent.windows(2).map(segments).collect()
}

/// Number of segments that the kernel's sender sent at its 51st to 150th ACK, at 100 Mbit/s and
/// 40 ms in slow start, with an ACK for each segment.
const WRITES: [u64; 100] = [
    2, 2, 2, 0, 4, 0, 3, 3, 0, 3, 3, 0, 3, 3, 0, 4, 0, 3, 3, 2, 2, 2, 2, 2, 0, 4, 2, 0, 4, 0, 4, 0,
    4, 0, 4, 0, 4, 2, 0, 4, 0, 4, 0, 4, 0, 0, 5, 0, 5, 0, 0, 5, 0, 5, 0, 0, 5, 0, 5, 2, 0, 0, 5, 0,
    5, 0, 0, 5, 0, 5, 2, 0, 0, 6, 0, 0, 6, 0, 0, 6, 0, 4, 0, 0, 6, 0, 0, 6, 0, 0, 6, 0, 4, 0, 0, 6,
    0, 0, 6, 2,
];

#[test]
fn bursts_wait_for_each_other_as_the_kernels() {
    let path = ["100mbit", "40ms", "100packets", "400ms"];
    let keys = format!("{CUBIC}quick_acks = 1000\n");
    let with = writes(&bulk(path, &format!("{keys}tso = \"on\"")));
    assert_eq!(with[50..150], WRITES);
    assert_eq!(
        writes(&bulk(path, &keys))[50..150],
        [2; 100],
        "two for each ACK"
    );
}

#[test]
fn larger_bursts_wait_less_in_queues_and_lose_more() {
    // The kernel: 446 Mbit/s, and 1.64 ms at the 95th percentile of the queue.
    let path = ["500mbit", "10ms", "100packets", "6s"];
    let figures = |keys: &str| {
        let run = bulk(path, &format!("{CUBIC}quick_acks = 2800\n{keys}"));
        let queue = run.summary.links[0].queue_delay_s.p95.expect("packets");
        (run.summary.flows[0].goodput_bps / 1e6, queue * 1e3)
    };
    let (goodput, queue) = figures("tso = \"on\"\nsend_buffer = \"auto max 32MB\"");
    close(goodput, 446.4, 0.01);
    close(queue, 1.64, 0.01);
    let (goodput, queue) = figures("");
    assert!(goodput > 465.0 && queue > 2.0, "{goodput} {queue}");
}

#[test]
fn the_send_buffer_limits_a_long_fat_path() {
    // The kernel with tcp_wmem's 4 MiB: 200.3 Mbit/s, RTT 111.3 ms in the mean and 121.9 ms at the
    // 95th percentile, no retransmission.
    let path = ["500mbit", "100ms", "1bdp", "8s"];
    let linux = format!("{CUBIC}quick_acks = 2800\ntso = \"on\"\ncwnd_validation = \"linux\"\n");
    let auto = bulk(path, &format!("{linux}send_buffer = \"auto\""));
    let flow = &auto.summary.flows[0];
    close(flow.goodput_bps, 200.3e6, 0.02);
    close(flow.rtt_s.mean.expect("ACKs"), 0.1113, 0.01);
    close(flow.rtt_s.p95.expect("ACKs"), 0.1219, 0.01);
    assert_eq!(flow.retransmits, 0);
    assert!(
        flow.limited_by["send_buffer"] > 0.8,
        "{:?}",
        flow.limited_by
    );
    let unlimited = bulk(path, &linux).summary.flows.remove(0);
    assert!(unlimited.goodput_bps > 420e6, "{}", unlimited.goodput_bps);
    assert_eq!(unlimited.limited_by["send_buffer"], 0.0);
}

/// The buffer is full in each recovery of Startup, which ends nevertheless: 57,339 retransmissions when a full buffer
/// made the flow application-limited. Linux has 3148, and 90.6 Mbit/s.
#[test]
fn bbr_leaves_startup_with_a_full_send_buffer() {
    let run = run(
        "stack = \"linux-fq\"\nduration = \"20s\"\n[path]\nrate = \"100mbit\"\nrtt = \"100ms\"\n\
         buffer = \"0.5bdp\"\n[[flow]]\ncc = \"bbr1\"\nreceive_window = \"8MiB\"\n",
    );
    let flow = &run.summary.flows[0];
    close(flow.goodput_bps, 90.6e6, 0.02);
    assert!(flow.retransmits < 12_000, "{}", flow.retransmits);
}

/// A burst that the window keeps small waits, with room in the window: the sender is limited by the
/// window nevertheless, and the window grows.
#[test]
fn bursts_do_not_keep_a_window_from_growing() {
    let path = ["50mbit", "20ms", "8bdp", "12s"];
    let mut full = 0;
    for name in Registry::default().names() {
        let figures = |tso: &str| {
            let keys = format!("cc = \"{name}\"\ntso = \"{tso}\"\n");
            let flow = bulk(path, &keys).summary.flows.remove(0);
            (flow.goodput_bps, flow.queue_delay_s.mean.unwrap_or(0.0))
        };
        let (goodput, queue) = figures("off");
        let (with, longer) = figures("on");
        if name == "ledbat" {
            // ALLOWED_INCREASE is one segment beyond the data in flight, which a burst exceeds.
            assert!(with < 0.5 * goodput, "its page says so");
            continue;
        }
        assert!(with >= 0.97 * goodput, "{name}: {with}, {goodput} without");
        if queue > 0.02 {
            full += 1;
            assert!(longer > 0.9 * queue, "{name}: {longer}, {queue} without");
        }
    }
    assert!(full > 5, "algorithms that fill the buffer");
}

#[test]
fn parts_that_do_not_act_change_nothing() {
    let path = ["50mbit", "20ms", "1bdp", "3s"];
    let host = "[host]\nsend = \"30us\"\nack = \"5us\"\nwake_min = \"5us\"\nwake_median = \"20us\"\nwake_max = \"1ms\"\n";
    for flow in [
        CUBIC,
        "cc = \"newreno\"\npacing = \"on\"\n",
        "cc = \"bbr1\"\n",
        "cc = \"bbr3\"\n",
    ] {
        for host in ["", host] {
            let run = |keys: &str| bulk(path, &format!("{flow}{keys}\n{host}"));
            let (with, without) = (run("cwnd_validation = \"rfc7661\""), run(""));
            for name in ["time", "cwnd", "inflight", "delivered"] {
                assert!(
                    column(&with, name) == column(&without, name),
                    "{flow}{host}{name}"
                );
            }
        }
    }
}

fn median(run: &Run) -> f64 {
    run.summary.flows[0].response_s.p50.expect("responses")
}

fn close(value: f64, recorded: f64, tolerance: f64) {
    assert!(
        (value / recorded - 1.0).abs() < tolerance,
        "{value}, not {recorded}"
    );
}

/// Linux counts segments: the short one at the end of a response adds a whole segment in slow start.
#[test]
fn a_short_segment_counts_as_a_whole_one() {
    let run = run("duration = \"300ms\"\nstack = \"linux\"\n\
         [path]\nrate = \"24.1mbit\"\nrtt = \"26.3ms\"\nbuffer = \"771packets\"\n\
         [[flow]]\ncc = \"newreno\"\nparams = { profile = \"linux\" }\napp = \"request 16273B think 122ms\"\n");
    let windows = column(&run, "cwnd");
    assert!(
        windows.iter().all(|cwnd| cwnd % 1448.0 == 0.0),
        "{windows:?}"
    );
    // The kernel's record: 22 after the first response of 12 segments, then twice the outstanding 12.
    let [first, last] = [12, windows.len() - 1].map(|ack| windows[ack] / 1448.0);
    assert_eq!((first, last), (22.0, 24.0));
}
