//! Tail loss probes (RFC 8985 §7). The RTT is 100 ms: PTO 200 ms, RTO 300 ms.

use crate::script::{Bench, Setup, transfer};
use fullpipe_tcp::App;

/// Returns a bench with an unlimited flow and a peer's window of five segments; two of them are
/// outstanding when the probe leaves at 300 ms.
fn probed() -> Bench {
    let mut bench = Bench::open(Setup {
        window: 5,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "  0 > 0-4
         100 < ack 3 win 2
         300 > r4
         310 -",
    );
    bench.calls();
    bench
}

#[test]
fn the_last_segment_goes_again_after_two_rtts() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(5)));
    bench.play(
        "  0 > 0-4
         200 > r4
         300 < ack 5",
    );
    assert_eq!(bench.calls(), ["ack", "end"]);
}

#[test]
fn a_lone_segment_is_given_time_for_a_delayed_ack() {
    let mut bench = Bench::open(Setup {
        rtt: 400.0,
        ..Setup::fixed(10, transfer(1))
    });
    bench.play(
        "   0 > 0
         1000 > r0",
    ); // 2 x 400 + 200, before the RTO of 1200
    let mut bench = Bench::open(Setup::fixed(10, transfer(1)));
    bench.play(
        "  0 > 0
         300 > r0                // but no later than the RTO
         310 -",
    );
    assert!(
        bench.calls().is_empty(),
        "the probe was sent, not the timeout"
    );
}

#[test]
fn new_data_goes_first() {
    let mut bench = Bench::open(Setup::fixed(5, App::Unlimited));
    bench.play(
        "  0 > 0-4
         200 > 5                 // beyond the window: §7.3
         250 < ack 6
         250 > 6-10",
    );
    assert_eq!(bench.calls(), ["ack"]);
}

#[test]
fn a_closed_receive_window_leaves_the_last_segment() {
    let mut bench = Bench::open(Setup {
        window: 5,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "  0 > 0-4
         200 > r4",
    );
}

#[test]
fn a_repaired_loss_is_one_congestion_response() {
    let mut bench = probed();
    bench.play(
        "400 < ack 5 win 1
         400 > 5
         500 < ack 6 win 1
         500 > 6",
    );
    assert_eq!(bench.calls(), ["ack", "ack repair", "enter", "exit"]);
}

#[test]
fn a_duplicate_means_that_nothing_was_lost() {
    let mut bench = probed();
    bench.play(
        "320 < ack 5 win 1
         320 > 5
         400 < ack 5 dsack 4 win 1
         420 < ack 6 win 1
         420 > 6",
    );
    assert_eq!(bench.calls(), ["ack", "ack"]);
}

#[test]
fn so_does_a_bare_duplicate_ack() {
    let mut bench = probed();
    bench.play(
        "320 < ack 5 win 0       // §7.4.2 case 3, from a receiver without DSACK
         400 < ack 5 win 0
         410 < ack 5 win 1
         410 > 5
         510 < ack 6 win 1
         510 > 6",
    );
    assert_eq!(bench.calls(), ["ack", "ack"]);
}

#[test]
fn after_a_probe_comes_the_timeout() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(5)));
    bench.play(
        "  0 > 0-4
         200 > r4
         500 > r0-4              // an RTO after the probe",
    );
}

#[test]
fn no_probe_while_another_is_unanswered() {
    let mut bench = Bench::open(Setup {
        window: 5,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "  0 > 0-4
         200 > r4
         250 < ack 0 win 6
         250 > 5                 // §7.3: no probe at 450
         500 > r0-5",
    );
    assert!(bench.calls().contains(&"timeout".to_owned()));
}

#[test]
fn recovery_forgets_the_probe() {
    let mut bench = probed();
    bench.play(
        "400 < ack 3 sack 4 win 9 // 3 left before the probe, by more than the reordering window
         400 > r3 5-11
         500 < ack 12 win 1
         500 > 12",
    );
    assert_eq!(
        bench.calls(),
        ["lost rack range", "enter", "ack", "ack", "exit"],
        "§7.1: one response, not two"
    );
}
