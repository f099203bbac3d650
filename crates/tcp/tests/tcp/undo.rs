//! Undo of spurious recoveries: DSACK (RFC 2883, RFC 3708), Eifel (RFC 3522, RFC 4015), as Linux
//! applies them.

use crate::script::{Bench, Setup, segments, transfer};

#[test]
fn duplicates_of_all_retransmissions_undo() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-4 6-9
         100 > r0 r5
         200 < ack 5 dsack 0 sack 6-9
         201 < ack 10 dsack 5",
    );
    assert_eq!(
        bench.calls(),
        [
            "lost rack range",
            "lost rack range",
            "enter",
            "ack",
            "ack",
            "spurious",
            "ack",
            "end"
        ]
    );
    assert_eq!(bench.sender.cwnd(), segments(10));
    assert!(!bench.sender.conn().in_recovery());
}

#[test]
fn also_when_the_episode_is_over() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-9
         100 > r0
         200 < ack 10
         201 < ack 10 dsack 0",
    );
    assert_eq!(
        bench.calls(),
        [
            "lost rack range",
            "enter",
            "ack",
            "ack",
            "exit",
            "end",
            "spurious"
        ]
    );
    assert_eq!(bench.sender.cwnd(), segments(10));
}

#[test]
fn an_echo_from_before_the_retransmission_undoes() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-3
         100 > r0
         110 < ack 4 ts 0
         150 -",
    );
    assert_eq!(
        bench.calls(),
        ["lost rack range", "enter", "ack", "spurious", "ack"]
    );
    assert_eq!(bench.sender.cwnd(), segments(10));
}

#[test]
fn one_retransmission_that_was_needed_rules_it_out() {
    for rest in [
        "110 < ack 5 dsack 0 sack 6-9
         200 < ack 10 ts 100",
        "110 < ack 5 sack 6-9 ts 0 // answers the original of 0; the original of 5 never arrives
         200 < ack 10 ts 100",
    ] {
        let mut bench = Bench::open(Setup::halving(10, transfer(10)));
        bench.play(
            "  0 > 0-9
             100 < ack 0 sack 1-4 6-9
             100 > r0 r5",
        );
        bench.play(rest);
        assert!(!bench.calls().contains(&"spurious".to_owned()), "{rest}");
    }
}

#[test]
fn a_duplicate_of_the_probe_is_not_one_of_the_retransmission() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         200 > r9
         240 < ack 0 sack 1-9
         240 > r0
         300 < ack 0 dsack 9 sack 1-9
         340 < ack 10",
    );
    assert!(!bench.calls().contains(&"spurious".to_owned()));
    assert_eq!(bench.sender.cwnd(), segments(5));
}

#[test]
fn nor_is_one_that_the_network_made() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-9
         100 > r0
         120 < ack 0 dsack 2 sack 1-9
         200 < ack 10",
    );
    assert!(!bench.calls().contains(&"spurious".to_owned()));
}

#[test]
fn a_delay_spike_that_fired_the_timeout_is_undone() {
    let mut bench = Bench::open(Setup::halving(10, transfer(20)));
    bench.play(
        "  0 > 0-9
         200 > 10
         500 > r0
         550 < ack 1 ts 0        // in flight again: 1-10
         560 < ack 3 ts 0
         560 > 11-12",
    );
    assert_eq!(bench.calls()[11..], ["timeout", "spurious", "ack", "ack"]);
    assert_eq!(bench.sender.conn().inflight, segments(10));
}

#[test]
fn also_when_it_fired_twice() {
    let mut bench = Bench::open(Setup::halving(10, transfer(20)));
    bench.play(
        "   0 > 0-9
          200 > 10
          500 > r0
         1100 > r0
         1150 < ack 1 ts 0
         1160 < ack 3 ts 0
         1160 > 11-12",
    );
    assert_eq!(bench.sender.cwnd(), segments(10));
}

#[test]
fn a_timeout_within_recovery_stays() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-9
         100 > r0
         400 > r0
         450 < ack 10 ts 0",
    );
    // There were two reductions; the controller remembers only one.
    assert!(!bench.calls().contains(&"spurious".to_owned()));
}
