//! The one-way delay, computed from the two timestamps of an ACK.

use crate::script::{Bench, Setup, ms, transfer};
use fullpipe_tcp::{Ack, AckKind, Block};
use fullpipe_units::Time;

/// Returns an ACK of everything below `next`, sent at `sent` milliseconds, for a segment sent at
/// time 0.
fn ack(bench: &Bench, next: u64, sent: f64) -> Ack {
    Ack {
        next,
        echo: bench.at(0.0),
        sent: bench.at(sent),
        window: 1000,
        blocks: 0,
        dsack: false,
        kind: AckKind::Plain,
        ecn: 0,
    }
}

#[test]
fn it_is_the_difference_of_the_timestamps_however_long_the_ack_takes() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    for (next, at) in [(2, 100.0), (4, 170.0)] {
        bench.pass(bench.at(at), true);
        bench.receive(&ack(&bench, next, 40.0), &[]);
        assert_eq!(bench.last_ack().one_way, Some(ms(40.0)));
    }
}

#[test]
fn an_ack_that_does_not_advance_repeats_an_old_echo_and_gives_none() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.pass(bench.at(100.0), true);
    let blocks = [Block { start: 4, end: 6 }];
    bench.receive(
        &Ack {
            blocks: 1,
            ..ack(&bench, 0, 70.0)
        },
        &blocks,
    );
    assert_eq!(bench.last_ack().one_way, None);
}

#[test]
fn clocks_that_differ_never_make_it_negative() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.pass(bench.at(100.0), true);
    bench.receive(
        &Ack {
            sent: Time::ZERO,
            ..ack(&bench, 2, 0.0)
        },
        &[],
    );
    assert_eq!(bench.last_ack().one_way, Some(ms(0.0)));
}
