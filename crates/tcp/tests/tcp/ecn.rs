//! ECN marks: the receiver's reports, and the sender's reaction, at most one per round trip.

use fullpipe_cc::{CaState, EcnCodepoint, NoObserver};
use fullpipe_tcp::{Ack, AckKind, AckPolicy, App, EcnFeedback, Receiver, SMSS, Segment};
use fullpipe_units::{Span, Time};
use proptest::prelude::*;

use crate::script::{Bench, Setup, Test, ms, segments, transfer};

const POLICY: AckPolicy = AckPolicy {
    every: 2,
    quick: 16,
    delay: Span::from_millis(40),
    coalesce: Span::ZERO,
};

fn segment(seq: u64, ce: bool) -> Segment {
    let sent = Time::ZERO + ms(seq as f64);
    Segment {
        seq,
        sent,
        echo: Time::ZERO,
        size: 1448,
        syn: false,
        retransmit: false,
        push: false,
        ecn: EcnCodepoint::Ect0,
        ce,
        cwr: false,
    }
}

/// Returns a receiver past its quick ACKs: 16 segments have arrived.
fn receiver(feedback: EcnFeedback) -> Receiver {
    let mut receiver = Receiver::new(POLICY, segments(1000), SMSS).with_ecn_feedback(feedback);
    (0..16).for_each(|seq| receiver.on_segment(Time::ZERO, &segment(seq, false), |_, _, _| ()));
    receiver
}

/// Returns (next, ecn) of each ACK with which the receiver answers.
fn says(receiver: &mut Receiver, segment: &Segment) -> Vec<(u64, u8)> {
    let mut said = Vec::new();
    receiver.on_segment(Time::ZERO + ms(20.0), segment, |_, ack, _| {
        said.push((ack.next, ack.ecn))
    });
    said
}

#[test]
fn exact_feedback_counts_every_marked_arrival() {
    let mut receiver = receiver(EcnFeedback::Accurate);
    let mut said = Vec::new();
    // In order, out of order, a duplicate, and the segment that fills the hole.
    for (seq, ce) in [
        (16, true),
        (17, true),
        (18, false),
        (20, true),
        (20, true),
        (19, true),
        (21, false),
        (22, false),
    ] {
        said.extend(says(&mut receiver, &segment(seq, ce)));
    }
    assert_eq!(said, [(18, 2), (19, 3), (19, 4), (21, 5), (23, 5)]);
    for seq in 23..23 + 300 {
        said.extend(says(&mut receiver, &segment(seq, true)));
    }
    assert_eq!(said.last(), Some(&(323, 49)), "305 modulo 256");
}

#[test]
fn classic_feedback_repeats_itself_until_the_sender_has_reduced() {
    let mut receiver = receiver(EcnFeedback::Classic);
    let mut said = Vec::new();
    for (seq, ce, cwr) in [
        (16, false, false),
        (17, true, false),
        (18, false, false),
        (19, false, false),
        (20, false, true),
        (21, false, false),
        (22, false, false),
        (23, true, true),
    ] {
        said.extend(says(
            &mut receiver,
            &Segment {
                cwr,
                ..segment(seq, ce)
            },
        ));
    }
    // RFC 3168 §6.1.3: the last packet ends the old echo and starts a new one.
    assert_eq!(said, [(18, 1), (20, 1), (22, 0), (24, 1)]);
}

#[test]
fn dctcp_answers_what_came_before_a_change_at_once() {
    let mut receiver = receiver(EcnFeedback::Dctcp);
    let mut said = Vec::new();
    for (seq, ce) in [
        (16, false),
        (17, true),
        (18, true),
        (19, true),
        (20, false),
        (21, false),
        (22, true),
        (23, true),
    ] {
        said.extend(says(&mut receiver, &segment(seq, ce)));
    }
    // RFC 8257 §3.2: 16 is not marked; 17 to 19 are; 20 and 21 are not; 22 and 23 are.
    assert_eq!(said, [(17, 0), (19, 1), (20, 1), (22, 0), (24, 1)]);
}

#[test]
fn marks_reduce_the_window_once_a_round_trip() {
    let mut bench = Bench::open(Setup::halving(10, App::Unlimited));
    bench.play(
        "  0 > 0-9
         100 < ack 2 ce 1
         100 > 10
         101 < ack 4 ce 3
         101 > 11
         102 < ack 6 ce 5
         102 > 12
         103 < ack 8 ce 5
         104 < ack 10 ce 5
         104 > 13-14
         200 < ack 11 ce 5
         200 > 15",
    );
    // PRR sends one segment for every two ACKed, down to five in flight. The first segment of the
    // new window, 10, ends the episode.
    assert_eq!(
        bench.calls(),
        [
            "enter ecn",
            "ack",
            "ack",
            "ack",
            "ack",
            "ack",
            "ack",
            "exit"
        ]
    );
    assert_eq!(bench.sender.cwnd(), segments(5));
    bench.play(
        "201 < ack 13 ce 6
         201 > 16",
    );
    assert_eq!(
        bench.calls(),
        ["enter ecn", "ack"],
        "and again in the next round trip"
    );
}

#[test]
fn the_controller_learns_how_many() {
    let mut bench = Bench::open(Setup::fixed(10, App::Unlimited));
    bench.play(
        "  0 > 0-9
         100 < ack 2 ce 1
         100 > 10-11
         101 < ack 6 ce 4
         101 > 12-15",
    );
    let ack = bench.last_ack();
    assert_eq!(
        (ack.ecn.ce_packets, ack.ecn.ce_bytes),
        (3, Some(segments(3)))
    );
    assert_eq!(bench.sender.conn().delivered_ce, segments(4));
    bench.play(
        "200 < ack 12 ce 9
         200 > 16-21",
    );
    assert_eq!(
        bench.last_ack().rate.delivered_ce,
        segments(8),
        "since 11 left, when one mark was known"
    );
}

#[test]
fn counts_go_on_across_their_end() {
    let mut bench = Bench::open(Setup::fixed(10, App::Unlimited));
    bench.pass(bench.at(100.0), true);
    for (next, said) in [(2, 254), (4, 1)] {
        let ack = Ack {
            next,
            echo: bench.at(0.0),
            sent: bench.now,
            window: 1000,
            blocks: 0,
            dsack: false,
            kind: AckKind::Plain,
            ecn: said,
        };
        bench.receive(&ack, &[]);
    }
    assert_eq!(bench.last_ack().ecn.ce_packets, 3);
}

#[test]
fn an_ack_that_comes_late_counts_nothing_twice() {
    let mut bench = Bench::open(Setup::fixed(10, App::Unlimited));
    bench.pass(bench.at(100.0), true);
    let ack = |next, sent, ecn, bench: &Bench| Ack {
        next,
        echo: bench.at(0.0),
        sent: bench.at(sent),
        window: 1000,
        blocks: 0,
        dsack: false,
        kind: AckKind::Plain,
        ecn,
    };
    for (next, sent, ecn) in [(6, 60.0, 5), (4, 55.0, 3), (8, 61.0, 6)] {
        let ack = ack(next, sent, ecn, &bench);
        bench.receive(&ack, &[]);
    }
    assert_eq!(bench.last_ack().ecn.ce_packets, 1);
    assert_eq!(bench.sender.conn().delivered_ce, segments(6));
}

#[test]
fn marks_of_an_ack_that_acknowledges_nothing_are_kept_for_the_next() {
    let mut bench = Bench::open(Setup::halving(10, App::Unlimited));
    bench.play(
        "  0 > 0-9
         100 < ack 2
         100 > 10-11
         101 < ack 2 ce 1
         102 < ack 4 ce 1
         102 > 12",
    );
    assert_eq!(bench.calls(), ["ack", "enter ecn", "ack"]);
    assert_eq!(bench.last_ack().ecn.ce_packets, 1);
}

/// Returns a classic ECN flow whose window marks halve.
fn classic(n: u64) -> Setup {
    Setup {
        ecn: EcnFeedback::Classic,
        codepoint: Some(EcnCodepoint::Ect0),
        ..Setup::halving(n, App::Unlimited)
    }
}

#[test]
fn an_echo_reduces_once_and_is_answered_with_cwr() {
    let mut bench = Bench::open(classic(10));
    let acks = [
        (100.0, 2),
        (101.0, 4),
        (102.0, 6),
        (103.0, 8),
        (104.0, 10),
        (200.0, 11),
        (201.0, 12),
    ];
    let mut sent = Vec::new();
    for (at, next) in acks {
        bench.pass(bench.at(at), true);
        // Every ACK carries ECE until segment 10, which carries CWR, has arrived.
        let ecn = u8::from(next <= 10);
        let echo = bench.at(if next <= 10 { 0.0 } else { 100.0 });
        bench.receive(
            &Ack {
                next,
                echo,
                sent: bench.now,
                window: 1000,
                blocks: 0,
                dsack: false,
                kind: AckKind::Plain,
                ecn,
            },
            &[],
        );
        sent.extend(bench.sent().into_iter().map(|(_, segment)| segment));
    }
    let calls = bench.calls();
    assert_eq!(
        calls.iter().filter(|call| *call == "enter ecn").count(),
        1,
        "{calls:?}"
    );
    assert_eq!(bench.sender.cwnd(), segments(5));
    assert_eq!(
        bench.last_ack().ecn.ce_bytes,
        None,
        "RFC 3168 does not report numbers of marks"
    );
    let new: Vec<(u64, bool)> = sent[10..13]
        .iter()
        .map(|segment| (segment.seq, segment.cwr))
        .collect();
    assert_eq!(
        new,
        [(10, true), (11, false), (12, false)],
        "RFC 3168 §6.1.2"
    );
}

/// A retransmission and new data that leave at the same instant have different codepoints; the
/// snapshot of each has its own.
#[test]
fn snapshots_of_one_burst_have_their_own_codepoints() {
    let mut bench = Bench::open(Setup {
        app: transfer(12),
        ..classic(10)
    });
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-9
         100 > r0 10-11
         200 < ack 10",
    );
    assert_eq!(bench.last_ack().newest.ecn, EcnCodepoint::NotEct);
    bench.play("201 < ack 11");
    assert_eq!(bench.last_ack().newest.ecn, EcnCodepoint::Ect0);
}

#[test]
fn data_is_capable_and_retransmissions_are_if_marks_are_counted() {
    for (feedback, again) in [
        (EcnFeedback::Classic, EcnCodepoint::NotEct),
        (EcnFeedback::Accurate, EcnCodepoint::Ect0),
        (EcnFeedback::Dctcp, EcnCodepoint::Ect0),
    ] {
        let mut bench = Bench::open(Setup {
            ecn: feedback,
            ..classic(10)
        });
        bench.pass(bench.at(100.0), true);
        let blocks = [fullpipe_tcp::Block { start: 1, end: 6 }];
        let ack = Ack {
            next: 0,
            echo: bench.at(0.0),
            sent: bench.now,
            window: 1000,
            blocks: 1,
            dsack: false,
            kind: AckKind::Plain,
            ecn: 0,
        };
        bench.receive(&ack, &blocks);
        let sent = bench.sent();
        assert!(sent.iter().any(|(_, segment)| segment.retransmit));
        for (_, segment) in sent {
            assert_eq!(
                segment.ecn,
                if segment.retransmit {
                    again
                } else {
                    EcnCodepoint::Ect0
                }
            );
        }
        for packet in bench.snapshots() {
            assert_eq!(
                packet.ecn,
                if packet.retransmit {
                    again
                } else {
                    EcnCodepoint::Ect0
                }
            );
        }
    }
    let mut closed = Bench::closed(classic(10));
    assert_eq!(
        closed.sent()[0].1.ecn,
        EcnCodepoint::NotEct,
        "a SYN is not ECN-capable (RFC 3168 §6.1.1)"
    );
}

#[test]
fn a_loss_after_a_mark_is_repaired_without_another_reduction() {
    let mut bench = Bench::open(Setup::halving(10, App::Unlimited));
    bench.play(
        "  0 > 0-9
         100 < ack 2 ce 1
         100 > 10
         101 < ack 2 sack 3-6 ce 1
         101 > r2
         102 < ack 2 sack 3-9 ce 1
         102 > 11-13
         200 < ack 3 sack 4-10 ce 1
         200 < ack 11 ce 1
         200 > 14-15
         201 < ack 14 ce 1
         201 > 16-18",
    );
    let calls = bench.calls();
    assert_eq!(
        calls
            .iter()
            .filter(|call| call.starts_with("enter"))
            .count(),
        1,
        "{calls:?}"
    );
    assert_eq!(calls.last().map(String::as_str), Some("exit"), "{calls:?}");
    assert_eq!(bench.sender.cwnd(), segments(5));
}

#[test]
fn a_loss_and_a_mark_together_are_a_loss() {
    let mut bench = Bench::open(Setup::halving(10, App::Unlimited));
    bench.play(
        "  0 > 0-9
         100 < ack 2 sack 3-6 ce 2
         100 > r2 10",
    );
    assert_eq!(bench.calls(), ["lost rack range", "enter", "ack"]);
}

#[test]
fn a_controller_with_a_recovery_of_its_own_is_told_and_no_more() {
    let mut bench = Bench::open(Setup {
        controller: Test::fixed(10),
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "  0 > 0-9
         100 < ack 2 ce 1
         100 > 10-11
         101 < ack 2 sack 4-8 ce 1
         101 > r2-3 12-16",
    );
    assert_eq!(
        bench.calls(),
        [
            "enter ecn",
            "ack",
            "lost rack range",
            "lost rack",
            "exit",
            "enter",
            "ack"
        ]
    );
    assert_eq!(bench.sender.cwnd(), segments(10));
    use CaState::{Open, Recovery, Reduced};
    assert_eq!(bench.states(), [Open, Reduced, Open, Recovery]);
}

#[test]
fn what_is_reduced_by_a_mark_is_not_undone() {
    let mut bench = Bench::open(Setup::halving(20, transfer(30)));
    bench.play(
        "  0 > 0-19
         100 < ack 1 ce 1
         100 > 20
         101 < ack 1 sack 2-4 ce 1
         101 > r1
         110 < ack 5 sack 6-19 ts 0 ce 1
         110 > r5 21-28",
    );
    let calls = bench.calls();
    assert!(!calls.contains(&"spurious".to_owned()), "{calls:?}");
    // No call reports the loss: the window was already reduced in this round trip.
    use CaState::{Open, Recovery, Reduced};
    assert_eq!(bench.states(), [Open, Reduced, Recovery]);
}

proptest! {
    /// With each kind of feedback, the sender counts exactly the marked packets, although ACKs are
    /// lost.
    #[test]
    fn counts_are_exact(
        marks in prop::collection::vec(prop::bool::weighted(0.3), 300),
        lost in prop::collection::vec(prop::bool::weighted(0.3), 1..50),
        every in 1_u32..5,
        dctcp in prop::bool::ANY,
    ) {
        let feedback = if dctcp { EcnFeedback::Dctcp } else { EcnFeedback::Accurate };
        let codepoint = Some(EcnCodepoint::Ect0);
        let setup = Setup { ecn: feedback, codepoint, ..Setup::fixed(20, transfer(300)) };
        let mut bench = Bench::open(setup);
        let mut receiver =
            Receiver::new(AckPolicy { every, ..POLICY }, segments(1000), SMSS).with_ecn_feedback(feedback);
        let (mut marked, mut acks) = (0, 0);
        while !bench.sender.is_done() {
            let sent = bench.sent();
            prop_assert!(!sent.is_empty(), "the transfer hangs");
            bench.now += ms(50.0);
            let mut answers = Vec::new();
            let mut keep = |at: Time, ack: Ack, _: &[fullpipe_tcp::Block]| answers.push((at, ack));
            for (_, segment) in sent {
                let ce = marks[segment.seq as usize];
                marked += u64::from(ce);
                receiver.on_segment(bench.now, &Segment { ce, ..segment }, &mut keep);
            }
            receiver.on_time(bench.now + ms(40.0), &mut keep);
            bench.now += ms(50.0);
            let last = answers.len() - 1;
            for (i, (_, ack)) in answers.iter().enumerate() {
                acks += 1;
                // With DCTCP's echo, a lost ACK loses its part of the count. The last ACK of a
                // round always arrives.
                if dctcp || i == last || !lost[acks % lost.len()] {
                    bench.now = bench.now.max(ack.sent);
                    bench.sender.on_ack(bench.now, ack, &[], &mut NoObserver);
                }
            }
            let ack = Ack { next: 0, echo: Time::ZERO, sent: Time::ZERO, window: 0, blocks: 0, dsack: false, kind: AckKind::Plain, ecn: 0 };
            bench.receive(&ack, &[]);
        }
        prop_assert_eq!(bench.sender.conn().delivered_ce, SMSS * marked);
    }
}
