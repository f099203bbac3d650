//! The limits of a flow over time.

use crate::script::{Bench, Setup, Test, ms, segments, transfer};
use fullpipe_tcp::{App, LIMITS, Limit};
use fullpipe_units::{Rate, Span};

#[test]
fn each_limit_is_named_when_it_holds() {
    let mut bench = Bench::closed(Setup::halving(10, transfer(13)));
    bench.play(
        " 0 > syn
         99 -",
    );
    assert_eq!(bench.limit(), Limit::Handshake);
    bench.play(
        "100 < syn-ack
         100 > 0-9",
    );
    assert_eq!(bench.limit(), Limit::Cwnd);
    bench.play(
        "200 < ack 1
         200 > 10
         210 < ack 1 sack 4-6
         210 > r1",
    );
    assert_eq!(bench.limit(), Limit::Recovery);
    bench.play(
        "300 < ack 11
         300 > 11-12",
    );
    assert_eq!(bench.limit(), Limit::Application);
    let end = bench.at(350.0);
    let held = bench.sender.limits().held(end);
    let expected = [
        ("handshake", 100.0),
        ("cwnd", 110.0),
        ("recovery", 90.0),
        ("application", 50.0),
    ];
    for (name, held) in LIMITS.iter().zip(held) {
        let expected = expected
            .iter()
            .find(|(of, _)| of == name)
            .map_or(0.0, |(_, millis)| *millis);
        assert_eq!(held, ms(expected), "{name}");
    }
    assert_eq!(
        held.iter().fold(Span::ZERO, |sum, held| sum + *held),
        ms(350.0),
        "shares sum to one"
    );
}

#[test]
fn pacing_is_a_limit() {
    let controller = Test::fixed(14).paced(Rate::from_bps(1448 * 8 * 1000), segments(2));
    let mut bench = Bench::open(Setup {
        controller,
        ..Setup::fixed(14, App::Unlimited)
    });
    bench.play("0 > 0-9");
    assert_eq!(bench.limit(), Limit::Pacing);
    bench.play(
        "2 > 10-11
         4 > 12-13
         5 -",
    );
    assert_eq!(
        bench.limit(),
        Limit::Cwnd,
        "the window was full when the last segment left"
    );
}

#[test]
fn the_receive_window_blocks_exactly_at_its_right_edge() {
    let mut bench = Bench::open(Setup {
        window: 5,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play("0 > 0-4");
    assert_eq!(bench.limit(), Limit::ReceiveWindow);
    bench.play(
        "100 < ack 1 win 4
         110 < ack 2 win 4
         110 > 5
         120 < ack 3 win 1       // the right edge never moves left
         130 < ack 3 win 4
         130 > 6",
    );
    assert_eq!(bench.limit(), Limit::ReceiveWindow);
}

#[test]
fn a_retransmission_needs_no_receive_window() {
    let mut bench = Bench::open(Setup {
        window: 5,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "  0 > 0-4
         100 < ack 0 sack 1-4 win 5
         100 > r0",
    );
    assert_eq!(bench.limit(), Limit::ReceiveWindow);
}

#[test]
fn an_application_that_exactly_fills_the_window_is_limited_by_it() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 1",
    );
    let first = bench
        .log()
        .iter()
        .rev()
        .find(|event| event.ack().is_some())
        .unwrap();
    assert!(first.conn.cwnd_limited);
    let mut bench = Bench::open(Setup::fixed(10, transfer(9)));
    bench.play(
        "  0 > 0-8
         100 < ack 1",
    );
    let first = bench
        .log()
        .iter()
        .rev()
        .find(|event| event.ack().is_some())
        .unwrap();
    assert!(!first.conn.cwnd_limited);
}

#[test]
fn measurement_may_begin_later() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play("0 > 0-9");
    let [before, from, end] = [40.0, 50.0, 80.0].map(|millis| bench.at(millis));
    bench.sender.limits().restart(from);
    assert_eq!(
        bench.sender.limits().held(before),
        [Span::ZERO; LIMITS.len()]
    );
    let held = bench.sender.limits().held(end);
    assert_eq!(held[Limit::Application as usize], ms(30.0));
}
