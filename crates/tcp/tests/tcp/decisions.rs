//! Every field of a decision, changed in every callback: the next packet obeys.

use std::collections::VecDeque;

use fullpipe_cc::{
    Ack, AnyController, Context, Controller, Decision, EcnCodepoint, Lost, Recovery, Snapshot,
};
use fullpipe_tcp::{AckPolicy, App, Pacing, Receiver, SMSS, Segment};
use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::script::controller::Call;
use crate::script::{Bench, Event, Setup, Test, ms, segments};

/// A callback, and its number of calls until the decision changes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Sent,
    Lost,
    Ack,
    Recovery,
    Timer,
}

/// In the second flight, since the first ten segments are not paced.
const EVERY: [(At, u32); 5] = [
    (At::Sent, 15),
    (At::Lost, 1),
    (At::Ack, 5),
    (At::Recovery, 1),
    (At::Timer, 1),
];

/// A controller whose decision changes in one call.
#[derive(Debug)]
struct Changing {
    at: At,
    calls: u32,
    decision: Decision,
    after: Decision,
}

impl Changing {
    fn called(&mut self, at: At) -> bool {
        let changes = at == self.at && self.calls > 0;
        self.calls -= u32::from(changes);
        if changes && self.calls == 0 {
            self.decision = self.after;
        }
        changes && self.calls == 0
    }
}

impl Controller for Changing {
    fn on_sent(&mut self, _: &mut Context<'_>, _: &Snapshot) -> bool {
        self.called(At::Sent)
    }

    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {
        self.called(At::Lost);
    }

    fn on_ack(&mut self, _: &mut Context<'_>, _: &Ack) {
        self.called(At::Ack);
    }

    fn on_recovery(&mut self, _: &mut Context<'_>, _: Recovery) {
        self.called(At::Recovery);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        if !self.called(At::Timer) && self.decision.wake_at.is_some_and(|at| cx.now >= at) {
            self.decision.wake_at = None;
        }
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn observe(&self, _: &mut Vec<f64>) {}
}

/// Calls and segments from the one on that changes the decision.
struct Found {
    changed: Time,
    before: Vec<Event>,
    after: Vec<Event>,
}

impl Found {
    fn sent(&self) -> impl Iterator<Item = (&Event, &Snapshot)> {
        self.after
            .iter()
            .skip(1)
            .filter_map(|event| event.sent().map(|packet| (event, packet)))
    }
}

/// Runs a flow over a path with an RTT of 100 ms, on which segment 12 is lost once if `at` is a
/// call about losses.
fn run((at, calls): (At, u32), before: Decision, after: Decision, pacing: Pacing) -> Found {
    let wake_at = (at == At::Timer).then(|| Time::ZERO + ms(150.0));
    let decision = Decision { wake_at, ..before };
    let changing = Changing {
        at,
        calls,
        decision,
        after,
    };
    let mut bench = Bench::open(Setup {
        controller: Test::around(AnyController::User(Box::new(changing))),
        pacing,
        ..Setup::fixed(1, App::Unlimited)
    });
    let policy = AckPolicy {
        every: 1,
        quick: 0,
        delay: Span::ZERO,
        coalesce: Span::ZERO,
    };
    let mut receiver = Receiver::new(policy, segments(1000), SMSS);
    let loses = matches!(at, At::Lost | At::Recovery);
    let mut path: VecDeque<(Time, Segment)> = VecDeque::new();
    let end = bench.at(600.0);
    let mut all = Vec::new();
    loop {
        let sent = bench.sent();
        all.extend(sent.iter().map(|(_, segment)| *segment));
        let kept = sent
            .into_iter()
            .filter(|(_, segment)| !(loses && segment.seq == 12 && !segment.retransmit));
        path.extend(kept.map(|(at, segment)| (at + ms(100.0), segment)));
        let sender = bench.sender.timer_at().min(bench.sender.departure_at());
        let arrival = path.front().map_or(Time::MAX, |(at, _)| *at);
        if sender.min(arrival) > end {
            break;
        }
        if sender < arrival {
            bench.pass(sender, true);
            continue;
        }
        let (at, segment) = path.pop_front().expect("it arrives next");
        bench.pass(at, false);
        let mut acks = Vec::new();
        receiver.on_segment(at, &segment, |_, ack, blocks| {
            acks.push((ack, blocks.to_vec()));
        });
        for (ack, blocks) in acks {
            bench.receive(&ack, &blocks);
        }
    }
    let log = bench.log();
    let codepoints: Vec<EcnCodepoint> = log
        .iter()
        .filter_map(|event| event.sent().map(|packet| packet.ecn))
        .collect();
    let left: Vec<EcnCodepoint> = all.iter().map(|segment| segment.ecn).collect();
    assert_eq!(left, codepoints, "a snapshot has its segment's codepoint");
    let is = |event: &&Event| match &event.call {
        Call::Sent(_) => at == At::Sent,
        Call::Lost(_) => at == At::Lost,
        Call::Ack(_) => at == At::Ack,
        Call::Recovery(_) => at == At::Recovery,
        Call::Timer => at == At::Timer,
        Call::End => false,
    };
    let (change, event) = log
        .iter()
        .enumerate()
        .filter(|(_, event)| is(event))
        .nth(calls as usize - 1)
        .expect("the callback is called");
    Found {
        changed: event.now,
        before: log[..change].to_vec(),
        after: log[change..].to_vec(),
    }
}

fn window(cwnd: u64) -> Decision {
    Decision::window(segments(cwnd), Bytes::MAX)
}

/// A rate at which a segment takes this number of milliseconds, in bursts of `quantum` segments.
fn paced(cwnd: u64, apart: u64, quantum: u64) -> Decision {
    Decision {
        pacing_rate: Some(Rate::from_bps(1448 * 8 * 1000 / apart)),
        send_quantum: segments(quantum),
        ..window(cwnd)
    }
}

#[test]
fn a_larger_window_is_filled_at_once() {
    for at in EVERY {
        let found = run(at, window(10), window(20), Pacing::Auto);
        let most = found
            .sent()
            .filter(|(event, _)| event.now == found.changed)
            .map(|(_, packet)| packet.inflight)
            .max();
        assert_eq!(most, Some(segments(20)), "{at:?}");
    }
}

#[test]
fn a_smaller_window_holds_the_next_packet() {
    for at in EVERY {
        let found = run(at, window(10), window(4), Pacing::Auto);
        for (event, packet) in found.sent() {
            assert!(packet.inflight <= segments(4), "{at:?}: {event:?}");
        }
        assert!(found.sent().count() > 4, "{at:?}");
    }
}

#[test]
fn a_pacing_rate_spaces_the_next_packets() {
    for at in EVERY {
        let found = run(at, window(10), paced(10, 20, 1), Pacing::Auto);
        // The packet that left with the change is paced, too.
        let first = found.after[0].sent().map(|_| found.changed);
        let times: Vec<Time> = first
            .into_iter()
            .chain(found.sent().map(|(event, _)| event.now))
            .collect();
        assert!(times.len() > 10, "{at:?}");
        for pair in times.windows(2) {
            let gap = (pair[1] - pair[0]).as_secs_f64();
            assert!((gap - 0.020).abs() < 1e-6, "{at:?}: {gap}");
        }
    }
}

#[test]
fn a_quantum_groups_the_next_packets() {
    for at in EVERY {
        let found = run(at, paced(30, 10, 1), paced(30, 10, 4), Pacing::Auto);
        let mut groups: Vec<(Time, u32)> = Vec::new();
        for (event, _) in found.sent() {
            match groups.last_mut() {
                Some((at, count)) if *at == event.now => *count += 1,
                _ => groups.push((event.now, 1)),
            }
        }
        // The first group may be the rest of a burst.
        let whole = &groups[1..groups.len() - 1];
        assert!(
            whole.len() > 5 && whole.iter().all(|(_, count)| *count == 4),
            "{at:?}: {groups:?}"
        );
    }
}

#[test]
fn a_codepoint_is_that_of_the_next_packet() {
    let capable = Decision {
        ecn: EcnCodepoint::Ect0,
        ..window(10)
    };
    for at in EVERY {
        for (before, after) in [(window(10), capable), (capable, window(10))] {
            let found = run(at, before, after, Pacing::Auto);
            let earlier = found.before.iter().filter_map(Event::sent);
            assert!(earlier.into_iter().all(|packet| packet.ecn == before.ecn));
            assert!(
                found.sent().all(|(_, packet)| packet.ecn == after.ecn),
                "{at:?}"
            );
        }
    }
}

#[test]
fn a_mark_as_application_limited_is_on_the_next_packet() {
    let marks = Decision {
        mark_app_limited: true,
        ..window(10)
    };
    for at in EVERY {
        let found = run(at, window(10), marks, Pacing::Auto);
        let mut earlier = found.before.iter().filter_map(Event::sent);
        assert!(earlier.all(|packet| !packet.app_limited));
        assert!(found.sent().all(|(_, packet)| packet.app_limited), "{at:?}");
    }
}

/// Linux paces a flow without a rate of its own by its window, at 2 windows per RTT below half of
/// the threshold and at 1.2 above.
#[test]
fn a_threshold_changes_the_next_pacing_rate() {
    for at in EVERY {
        let low = Decision::window(segments(10), segments(1));
        let found = run(at, window(10), low, Pacing::On);
        let rate = |event: &Event| event.conn.pacing().map_or(0, Rate::as_bps) as f64;
        let earlier = found.before.iter().rfind(|event| event.sent().is_some());
        let before = rate(earlier.expect("a first flight"));
        let (next, _) = found.sent().next().expect("more packets leave");
        let ratio = rate(next) / before;
        // 1.2 / 2; a little more is outstanding than the window if a segment is missing.
        assert!((0.59..0.67).contains(&ratio), "{at:?}: {ratio}");
    }
}

#[test]
fn a_timer_is_called_at_its_time() {
    let wakes = Decision {
        wake_at: Some(Time::ZERO + ms(433.0)),
        ..window(10)
    };
    for at in EVERY {
        let found = run(at, window(10), wakes, Pacing::Auto);
        let timers: Vec<Time> = found.after[1..]
            .iter()
            .filter(|event| matches!(event.call, Call::Timer))
            .map(|event| event.now)
            .collect();
        assert_eq!(timers, [Time::ZERO + ms(433.0)], "{at:?}");
    }
}

/// The scenario's codepoint overrules the controller's.
#[test]
fn a_codepoint_of_the_scenario_stays() {
    let mut bench = Bench::open(Setup {
        codepoint: Some(EcnCodepoint::NotEct),
        controller: Test::around(AnyController::User(Box::new(Changing {
            at: At::Sent,
            calls: 3,
            decision: window(10),
            after: Decision {
                ecn: EcnCodepoint::Ect0,
                ..window(10)
            },
        }))),
        ..Setup::fixed(1, App::Unlimited)
    });
    bench.pass(bench.at(50.0), true);
    let sent = bench.sent();
    assert_eq!(sent.len(), 10);
    assert!(
        sent.iter()
            .all(|(_, segment)| segment.ecn == EcnCodepoint::NotEct)
    );
}
