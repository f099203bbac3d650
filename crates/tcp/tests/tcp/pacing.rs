//! Pacing in send quanta. At the rate of these tests, a segment takes one millisecond.

use crate::script::{Bench, Setup, Test, ms, segments};
use fullpipe_tcp::{App, Pacing};
use fullpipe_units::Rate;

const PER_MS: Rate = Rate::from_bps(1448 * 8 * 1000);

fn paced(cwnd: u64, quantum: u64) -> Setup {
    Setup {
        controller: Test::fixed(cwnd).paced(PER_MS, segments(quantum)),
        ..Setup::fixed(cwnd, App::Unlimited)
    }
}

#[test]
fn a_quantum_leaves_at_once_and_is_then_paid_for() {
    let mut bench = Bench::open(paced(100, 4));
    bench.play(
        " 0 > 0-11               // the first ten are unpaced, and so is the burst that begins among them
          4 > 12-15
          8 > 16-19
         12 > 20-23",
    );
    assert_eq!(bench.limit(), fullpipe_tcp::Limit::Pacing);
}

#[test]
fn the_first_ten_are_not_paced() {
    let mut bench = Bench::open(paced(100, 2));
    bench.play(
        " 0 > 0-9
          2 > 10-11
          4 > 12-13",
    );
}

#[test]
fn a_late_burst_is_given_back_half_of_its_length_at_most() {
    let mut bench = Bench::open(paced(12, 2));
    bench.play(
        "  0 > 0-9
           2 > 10-11
         100 < ack 2
         100 > 12-13             // 96 ms late: costs 1 ms instead of 2
         100.2 < ack 4
         101 > 14-15             // in time: costs 2 ms
         101.5 < ack 8
         103 > 16-17
         105 > 18-19",
    );
}

#[test]
fn a_burst_that_the_window_cuts_short_pays_for_what_left() {
    let mut bench = Bench::open(paced(13, 4));
    bench.play(
        "  0 > 0-11
           4 > 12
         100 < ack 6             // credit: half a burst
         100 > 13-16
         102 > 17-18",
    );
}

#[test]
fn a_burst_of_several_ends_with_a_push() {
    // The window allows thirteen segments, so the fourth burst has one segment, which needs no PSH.
    let mut bench = Bench::open(paced(13, 4));
    bench.pass(bench.at(10.0), true);
    let pushed: Vec<u64> = bench
        .sent()
        .iter()
        .filter(|(_, segment)| segment.push)
        .map(|(_, s)| s.seq)
        .collect();
    assert_eq!(pushed, [3, 7, 11]);
    // Here the fourth burst has two segments: full or not, it ends with PSH, since nothing can
    // follow.
    let mut bench = Bench::open(paced(14, 4));
    bench.pass(bench.at(10.0), true);
    assert!(
        bench
            .sent()
            .last()
            .is_some_and(|(_, segment)| segment.seq == 13 && segment.push)
    );
}

#[test]
fn the_rate_does_not_drift() {
    // The RTT exceeds the test's duration, so that no timer intervenes.
    let mut bench = Bench::open(Setup {
        rtt: 60_000.0,
        window: 100_000,
        ..paced(100_000, 3)
    });
    bench.pass(bench.at(30_000.0), true);
    for (n, chunk) in bench.sent()[12..].chunks_exact(3).enumerate() {
        assert_eq!(chunk[0].0, bench.at(3.0 * (n + 1) as f64));
        assert_eq!(chunk[2].0, chunk[0].0);
    }
    assert_eq!(bench.snapshots().len(), 12 + 30_000);
}

#[test]
fn next_departure_is_when_the_gate_opens() {
    let mut bench = Bench::open(paced(100, 4));
    bench.play("0 > 0-11");
    let conn = bench.sender.conn();
    assert_eq!(conn.next_departure, bench.at(4.0));
    assert_eq!((conn.paced, conn.pacing()), (true, Some(PER_MS)));
}

#[test]
fn pacing_can_be_turned_off() {
    let mut bench = Bench::open(Setup {
        pacing: Pacing::Off,
        ..paced(50, 2)
    });
    bench.play("0 > 0-49");
    assert!(!bench.sender.conn().paced);
}

#[test]
fn pacing_on_derives_a_rate_from_the_window() {
    let mut bench = Bench::open(Setup {
        pacing: Pacing::On,
        ..Setup::fixed(20, App::Unlimited)
    });
    // Below half of ssthresh, twice the window per RTT: 0.4 segments per millisecond, 2 in 5 ms.
    bench.play(
        " 0 > 0-9
          5 > 10-11
         10 > 12-13
         15 > 14-15",
    );
    assert_eq!(
        bench.sender.conn().pacing(),
        Some(Rate::from_delivery(segments(2), ms(5.0)))
    );
}
