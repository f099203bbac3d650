//! A window that a controller decides: the right edge never retreats, and the controller receives
//! the right arguments.

use std::sync::{Arc, Mutex};

use fullpipe_cc::{
    AckSchedule, Arrival, NoObserver, ReceiverController, ReceiverDecision, RecoveryOwner,
};
use fullpipe_tcp::{Ack, AckPolicy, App, Pacing, Receiver, SMSS, Segment, Sender, SenderConfig};
use fullpipe_units::{Bytes, Rng, Span, Time};
use proptest::prelude::*;

use crate::script::{Test, ms, segments};

const POLICY: AckPolicy = AckPolicy {
    every: 1,
    quick: 16,
    delay: Span::from_millis(40),
    coalesce: Span::ZERO,
};

/// A controller that returns the window set by the test and records its calls.
#[derive(Clone, Debug, Default)]
struct Puppet(Arc<Mutex<(Bytes, Vec<Arrival>)>>);

impl Puppet {
    fn set(&self, segments: u64) {
        self.0.lock().unwrap().0 = SMSS * segments;
    }

    fn heard(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }
}

impl ReceiverController for Puppet {
    fn on_arrival(&mut self, _: Time, arrival: &Arrival) {
        self.0.lock().unwrap().1.push(*arrival);
    }
    fn decision(&self) -> ReceiverDecision {
        ReceiverDecision {
            window: Some(self.0.lock().unwrap().0),
            ..ReceiverDecision::default()
        }
    }
    fn observe(&self, _: &mut Vec<f64>) {}
}

fn receiver(puppet: &Puppet, policy: AckPolicy) -> Receiver {
    Receiver::new(policy, segments(100), SMSS).with_controller(Box::new(puppet.clone()))
}

fn at(millis: f64) -> Time {
    Time::ZERO + ms(millis)
}

/// Returns segment `seq`, sent at `sent` and echoing `echo`, both in milliseconds.
fn segment(seq: u64, sent: f64, echo: f64) -> Segment {
    let (sent, echo) = (at(sent), at(echo));
    let ecn = fullpipe_cc::EcnCodepoint::NotEct;
    Segment {
        seq,
        sent,
        echo,
        size: 1448,
        syn: false,
        retransmit: false,
        push: false,
        ecn,
        ce: false,
        cwr: false,
    }
}

/// Returns the ACKs of a receiver for a segment that arrives at `now`, in milliseconds.
fn answers(receiver: &mut Receiver, now: f64, segment: &Segment) -> Vec<Ack> {
    let mut acks = Vec::new();
    receiver.on_segment(at(now), segment, |_, ack, _| acks.push(ack));
    acks
}

#[test]
fn a_controller_hears_of_marks() {
    let puppet = Puppet::default();
    puppet.set(10);
    let mut receiver = receiver(&puppet, POLICY);
    for (seq, ce) in [(0, false), (1, true), (2, false)] {
        let now = 10.0 + seq as f64;
        let segment = segment(seq, now - 10.0, 0.0);
        answers(&mut receiver, now, &Segment { ce, ..segment });
    }
    let marks: Vec<bool> = puppet.heard().iter().map(|arrival| arrival.ce).collect();
    assert_eq!(marks, [false, true, false]);
}

#[test]
fn a_smaller_window_is_reached_as_data_arrives() {
    let puppet = Puppet::default();
    puppet.set(10);
    let mut receiver = receiver(&puppet, POLICY);
    let syn = Segment {
        syn: true,
        ..segment(0, 0.0, 0.0)
    };
    assert_eq!(answers(&mut receiver, 1.0, &syn)[0].window, 10);
    puppet.set(3);
    let windows: Vec<u32> = (0..12)
        .map(|seq| {
            let now = 10.0 + seq as f64;
            answers(&mut receiver, now, &segment(seq, now - 5.0, 1.0))[0].window
        })
        .collect();
    assert_eq!(windows, [9, 8, 7, 6, 5, 4, 3, 3, 3, 3, 3, 3]);
    puppet.set(50);
    assert_eq!(
        answers(&mut receiver, 30.0, &segment(12, 25.0, 21.0))[0].window,
        50,
        "a larger window applies at once"
    );
    puppet.set(1000);
    assert_eq!(
        answers(&mut receiver, 31.0, &segment(13, 26.0, 21.0))[0].window,
        100,
        "no more than the buffer"
    );
}

#[test]
fn it_never_closes() {
    let puppet = Puppet::default();
    let mut receiver = receiver(&puppet, POLICY);
    for seq in 0..5 {
        assert_eq!(
            answers(&mut receiver, seq as f64, &segment(seq, 0.0, 0.0))[0].window,
            1
        );
    }
}

#[test]
fn the_first_segment_that_echoes_a_timestamp_gives_the_round_trip() {
    let puppet = Puppet::default();
    puppet.set(20);
    let mut receiver = receiver(&puppet, POLICY);
    answers(
        &mut receiver,
        1.0,
        &Segment {
            syn: true,
            ..segment(0, 0.0, 0.0)
        },
    );
    // Three segments answer the SYN-ACK sent at 1 ms. Their ACKs leave at 41.2, 41.6 and 43.0 ms,
    // within two ticks.
    for (seq, now) in [(0, 41.2), (1, 41.6), (2, 43.0)] {
        answers(&mut receiver, now, &segment(seq, now - 20.0, 1.0));
    }
    // The first two ACKs share one timestamp, which counts from its first use.
    for (seq, now, echo) in [
        (3, 81.2, 41.2),
        (4, 81.6, 41.6),
        (5, 83.0, 43.0),
        (6, 83.5, 41.0),
        (7, 84.0, 90.0),
    ] {
        answers(&mut receiver, now, &segment(seq, now - 20.0, echo));
    }
    let rtts: Vec<Option<Span>> = puppet.heard().iter().map(|arrival| arrival.rtt).collect();
    let expected = [
        Some(40.2),
        None,
        None,
        Some(40.0),
        None,
        Some(40.0),
        None,
        None,
    ]
    .map(|rtt| rtt.map(ms));
    assert_eq!(rtts, expected);
}

#[test]
fn what_is_below_the_highest_and_sent_later_is_a_retransmission() {
    let puppet = Puppet::default();
    puppet.set(20);
    let mut receiver = receiver(&puppet, POLICY);
    // RFC 9840 §4.3: SEG.SEQ < RCV.HGH and TSV.SEQ > TSV.HGH. Segment 1 arrives late; segment 2 is
    // lost and repaired.
    for (seq, sent) in [
        (0, 10.0),
        (3, 13.0),
        (1, 11.0),
        (4, 14.0),
        (2, 14.0),
        (2, 54.0),
        (5, 54.0),
    ] {
        answers(&mut receiver, sent + 20.0, &segment(seq, sent, 0.0));
    }
    let flags: Vec<bool> = puppet
        .heard()
        .iter()
        .map(|arrival| arrival.retransmit)
        .collect();
    assert_eq!(flags, [false, false, false, false, false, true, false]);
}

#[test]
fn a_sender_that_does_not_use_the_window_up_is_told_apart() {
    for (sends, limited) in [(10, true), (9, false)] {
        let puppet = Puppet::default();
        puppet.set(10);
        let mut receiver = receiver(&puppet, POLICY);
        answers(
            &mut receiver,
            1.0,
            &Segment {
                syn: true,
                ..segment(0, 0.0, 0.0)
            },
        );
        for seq in 0..sends {
            answers(&mut receiver, 41.0, &segment(seq, 21.0, 1.0));
        }
        assert_eq!(
            puppet.heard().last().unwrap().limited,
            limited,
            "{sends} of 10 segments"
        );
    }
}

proptest! {
    /// The right edge never moves left and the buffer is never exceeded, whatever the controller
    /// decides and the network does.
    #[test]
    fn the_right_edge_never_retreats(
        steps in prop::collection::vec((0_u64..40, 0_u64..1_000, 0_u64..30, 0_u64..60), 1..400),
        every in 1_u32..5,
        coalesce in 0_u64..3,
    ) {
        let puppet = Puppet::default();
        let policy = AckPolicy { every, quick: 16, delay: Span::from_millis(40), coalesce: Span::from_millis(coalesce) };
        let mut receiver = receiver(&puppet, policy);
        let (mut now, mut base, mut edge, mut seen) = (0.0, 0, 0, 0);
        for (ahead, window, wait, echo) in steps {
            puppet.set(window);
            now += wait as f64 / 7.0;
            // Usually the next segments, some far ahead, some from the past: a sender that respects
            // the right edge.
            let seq = (base + ahead).saturating_sub(5).min(u64::max(edge, 1) - 1);
            base = base.max(seq / 2);
            let segment = segment(seq, f64::max(now - 20.0, 0.0), f64::max(now - echo as f64, 0.0));
            receiver.on_segment(at(now), &segment, |_, ack, _| {
                let right = ack.next + u64::from(ack.window);
                assert!(right >= edge, "{right} after {edge}");
                assert!((1..=100).contains(&ack.window), "{ack:?}");
                edge = right;
                seen += 1;
            });
        }
        prop_assert!(seen > 0 || every > 1 || coalesce > 0);
    }

    /// A transfer completes although its window changes abruptly.
    #[test]
    fn a_transfer_completes_under_any_window(windows in prop::collection::vec(0_u64..60, 1..40), every in 1_u32..3) {
        let puppet = Puppet::default();
        let mut receiver = receiver(&puppet, AckPolicy { every, ..POLICY });
        let rng = Rng::stream(1, "test", "controller");
        let app = App::Transfer { bytes: segments(300) };
        let config =
            SenderConfig { controller: Test::fixed(1000), owner: RecoveryOwner::Own, app, pacing: Pacing::Auto, hosted: false, rate_interval: Span::ZERO, smss: SMSS, initial_cwnd: SMSS * 10, stack: fullpipe_tcp::Stack::default(), rng };
        let mut sender = Sender::new(config, Time::ZERO);
        let mut now = Time::ZERO;
        let mut acks = Vec::new();
        receiver.on_segment(now, &sender.syn(now), |_, ack, _| acks.push(ack));
        for round in 0.. {
            prop_assert!(round < 10_000, "the transfer hangs");
            now += ms(20.0);
            let mut sent = Vec::new();
            for ack in acks.drain(..) {
                sender.on_ack(now, &ack, &[], &mut NoObserver);
                sender.transmit(now, &mut NoObserver, |segment| sent.push(segment));
            }
            if sender.is_done() {
                break;
            }
            now += ms(20.0);
            puppet.set(windows[round % windows.len()]);
            for segment in &sent {
                receiver.on_segment(now, segment, |_, ack, _| acks.push(ack));
            }
            if acks.is_empty() {
                now += ms(40.0);
                receiver.on_time(now, |_, ack, _| acks.push(ack));
            }
        }
        prop_assert_eq!(receiver.in_order(), segments(300));
    }
}

/// An algorithm that schedules ACKs: none until its timer fires, 10 ms after the first segment. Its
/// feedback is the number of segments.
#[derive(Debug, Default)]
struct Scheduled {
    segments: u64,
    wake_at: Option<Time>,
    now: bool,
}

impl ReceiverController for Scheduled {
    fn on_arrival(&mut self, now: Time, _: &Arrival) {
        self.segments += 1;
        self.now = false;
        self.wake_at.get_or_insert(now + ms(10.0));
    }
    fn on_timer(&mut self, _: Time) {
        (self.wake_at, self.now) = (None, true);
    }
    fn decision(&self) -> ReceiverDecision {
        ReceiverDecision {
            window: None,
            ack: match self.now {
                true => AckSchedule::Now,
                false => AckSchedule::At(Time::MAX),
            },
            feedback: Some(self.segments),
            wake_at: self.wake_at,
        }
    }
    fn observe(&self, _: &mut Vec<f64>) {}
}

#[test]
fn an_algorithm_schedules_acks_with_feedback() {
    let mut receiver =
        Receiver::new(POLICY, segments(100), SMSS).with_controller(Box::<Scheduled>::default());
    // By the policy each of these, in order or not, has an ACK.
    for seq in [0, 1, 3, 5, 7, 9] {
        let now = 20.0 + seq as f64;
        assert!(answers(&mut receiver, now, &segment(seq, now - 20.0, 0.0)).is_empty());
    }
    assert_eq!(receiver.ack_due(), Some(at(30.0)), "10 ms after the first");
    let mut acks = Vec::new();
    receiver.on_time(at(35.0), |at, ack, blocks| {
        acks.push((at, ack, blocks.to_vec()))
    });
    let [(when, ack, blocks)] = &acks[..] else {
        panic!("{acks:?}")
    };
    assert_eq!(
        (*when, ack.next, ack.window),
        (at(30.0), 2, 100),
        "None is the whole buffer"
    );
    let (sacks, feedback) = ack.split(blocks);
    assert_eq!(feedback.map(|feedback| feedback.value), Some(6));
    let starts: Vec<u64> = sacks.iter().map(|block| block.start).collect();
    assert_eq!(
        starts,
        [9, 7],
        "two SACK blocks remain next to the feedback"
    );
    assert_eq!(receiver.ack_due(), None);
}
