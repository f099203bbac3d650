//! The order and the arguments of the calls to the controller.

use crate::script::{Bench, Event, Setup, Test, segments, transfer};
use fullpipe_cc::{Ack, AnyController, Context, Controller, Decision, Lost, Recovery};
use fullpipe_tcp::App;
use fullpipe_units::{Bytes, Rate, Time};

#[test]
fn losses_come_before_enter_and_enter_before_the_ack_and_exit_behind_it() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 1 sack 3 5-9
         100 > r1-2 r4
         200 < ack 10",
    );
    assert_eq!(
        bench.calls(),
        [
            "lost rack range",
            "lost rack",
            "lost rack range",
            "enter",
            "ack",
            "ack",
            "exit",
            "end"
        ]
    );
}

#[test]
fn spurious_comes_first() {
    let mut bench = Bench::open(Setup::halving(20, transfer(30)));
    bench.play(
        "  0 > 0-19
         100 < ack 0 sack 1-3
         100 > r0 20
         110 < ack 4 sack 6-19 ts 0
         110 > 21-29
         135 > r4",
    );
    assert_eq!(
        bench.calls(),
        [
            "lost rack range",
            "enter",
            "ack",
            "spurious",
            "ack",
            "lost rack range",
            "lost rack",
            "enter"
        ]
    );
}

#[test]
fn an_episode_that_ends_while_later_data_is_lost_is_followed_by_another() {
    let mut bench = Bench::open(Setup::halving(10, App::Unlimited));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-9
         100 > r0 10-13
         200 < ack 10 sack 11-13
         200 > r10 14",
    );
    let calls = bench.calls();
    assert_eq!(
        calls,
        [
            "lost rack range",
            "enter",
            "ack",
            "lost rack range",
            "exit",
            "enter",
            "ack"
        ]
    );
}

/// Linux's BBR saves its model at each episode (`bbr_ssthresh`), but its window sees no end of
/// recovery between two.
#[test]
fn a_controller_with_its_own_recovery_enters_the_next_episode_without_an_exit() {
    let mut bench = Bench::open(Setup::fixed(10, App::Unlimited));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-9
         100 > r0 10-18
         200 < ack 10 sack 11-18
         200 > r10 19-27
         300 < ack 28
         300 > 28-37",
    );
    assert_eq!(
        bench.calls(),
        [
            "lost rack range",
            "enter",
            "ack",
            "lost rack range",
            "enter",
            "ack",
            "ack",
            "exit"
        ]
    );
}

#[test]
fn a_timer_reports_its_losses_without_an_ack() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 2
         125 > r0",
    );
    assert_eq!(
        bench.calls(),
        ["ack", "lost rack range", "lost rack", "enter"]
    );
    let mut bench = Bench::open(Setup::halving(10, transfer(3)));
    bench.play(
        "  0 > 0-2
         200 > r2
         500 > r0",
    );
    assert_eq!(
        bench.calls(),
        ["lost rto range", "lost rto", "lost rto", "timeout"]
    );
}

#[test]
fn ranges_and_what_was_lost_since() {
    let mut bench = Bench::open(Setup::fixed(20, transfer(20)));
    bench.play(
        "  0 > 0-19
         100 < ack 2 sack 5-7 9-10
         100 > r2-4 r8",
    );
    let lost: Vec<_> = bench.log().iter().filter_map(Event::lost).collect();
    assert_eq!(
        lost.iter().map(|lost| lost.new_range).collect::<Vec<_>>(),
        [true, false, false, true]
    );
    assert_eq!(
        lost.iter()
            .map(|lost| lost.lost_since_sent)
            .collect::<Vec<_>>(),
        [segments(1), segments(2), segments(3), segments(4)]
    );
    assert_eq!(
        lost.iter()
            .map(|lost| lost.packet.inflight)
            .collect::<Vec<_>>(),
        [segments(3), segments(4), segments(5), segments(9)]
    );
}

#[test]
fn next_departure_never_lies_in_the_past() {
    let paced = Test::halving(12).paced(Rate::from_bps(1448 * 8 * 1000), segments(2));
    for controller in [Test::halving(12), paced] {
        let mut bench = Bench::open(Setup {
            controller,
            ..Setup::halving(12, App::Unlimited)
        });
        bench.pass(bench.at(3000.0), true);
        assert!(bench.log().len() > 20);
        for event in bench.log() {
            assert!(event.conn.next_departure >= event.now, "{event:?}");
        }
    }
}

/// An algorithm whose timer stays where it was.
#[derive(Debug)]
struct Stuck;

impl Controller for Stuck {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    fn on_ack(&mut self, _: &mut Context<'_>, _: &Ack) {}

    fn on_recovery(&mut self, _: &mut Context<'_>, _: Recovery) {}

    fn decision(&self) -> Decision {
        Decision {
            wake_at: Some(Time::from_nanos(50_000_000)),
            ..Decision::window(segments(2), Bytes::MAX)
        }
    }

    fn observe(&self, _: &mut Vec<f64>) {}
}

#[test]
#[should_panic(expected = "the timer would fire forever")]
fn a_timer_must_be_later_after_it_has_fired() {
    let stuck = AnyController::User(Box::new(Stuck));
    let mut bench = Bench::open(Setup {
        controller: Test::around(stuck),
        ..Setup::fixed(2, transfer(10))
    });
    bench.play(
        "  0 > 0-1
         100 < ack 2",
    );
}
