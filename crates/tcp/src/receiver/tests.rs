use super::*;
use crate::wire::SMSS;
use proptest::prelude::*;

const POLICY: AckPolicy = AckPolicy {
    every: 2,
    quick: 16,
    delay: Span::from_millis(40),
    coalesce: Span::ZERO,
};

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn segment(seq: u64, sent: Time) -> Segment {
    Segment {
        seq,
        sent,
        echo: Time::ZERO,
        size: 1448,
        syn: false,
        retransmit: false,
        push: false,
        ecn: fullpipe_cc::EcnCodepoint::NotEct,
        ce: false,
        cwr: false,
    }
}

/// An ACK: time in milliseconds, next segment expected, SACK blocks.
type Line = (u64, u64, Vec<(u64, u64)>);

/// A receiver past its quick ACKs, and a log of the ACKs it sends.
struct Bench {
    receiver: Receiver,
    log: Vec<(Time, Ack, Vec<Block>)>,
}

impl Bench {
    fn new(policy: AckPolicy) -> Bench {
        let mut bench = Bench {
            receiver: Receiver::new(policy, SMSS * 1000, SMSS),
            log: Vec::new(),
        };
        for seq in 0..16 {
            bench.receive(ms(0), seq);
        }
        if policy.coalesce == Span::ZERO {
            assert_eq!(bench.log.len(), 16, "the first 16 are acknowledged at once");
        }
        bench.receiver.on_time(ms(9), |_, _, _| ());
        bench.log.clear();
        bench
    }

    fn receive(&mut self, at: Time, seq: u64) {
        self.receiver
            .on_segment(at, &segment(seq, at), |at, ack, blocks| {
                self.log.push((at, ack, blocks.to_vec()))
            });
    }

    fn sent(&mut self) -> Vec<Line> {
        self.log
            .drain(..)
            .map(|(at, ack, blocks)| {
                (
                    at.as_nanos() / 1_000_000,
                    ack.next,
                    blocks.iter().map(|b| (b.start, b.end)).collect(),
                )
            })
            .collect()
    }
}

#[test]
fn acknowledges_every_second_segment_and_a_lone_one_after_40_ms() {
    let mut bench = Bench::new(POLICY);
    bench.receive(ms(10), 16);
    bench.receive(ms(11), 17);
    bench.receive(ms(12), 18);
    assert_eq!(bench.sent(), [(11, 18, vec![])]);
    assert_eq!(bench.receiver.ack_due(), Some(ms(52)));
    bench.receive(ms(60), 19);
    assert_eq!(
        bench.sent(),
        [(52, 19, vec![])],
        "due before the next arrival, so sent at its time"
    );
    assert_eq!(bench.receiver.ack_due(), Some(ms(100)));
}

#[test]
fn what_is_pushed_is_acknowledged_at_once() {
    let mut bench = Bench::new(POLICY);
    let pushed = Segment {
        push: true,
        ..segment(16, ms(10))
    };
    bench.receiver.on_segment(ms(10), &pushed, |at, ack, _| {
        bench.log.push((at, ack, vec![]))
    });
    bench.receive(ms(11), 17);
    bench.receive(ms(12), 18);
    assert_eq!(
        bench.sent(),
        [(10, 17, vec![]), (12, 19, vec![])],
        "and the count begins anew"
    );
}

#[test]
fn reports_holes_at_once_most_recent_first() {
    let mut bench = Bench::new(POLICY);
    for (at, seq) in [(1, 17), (2, 19), (3, 21), (4, 23), (5, 18)] {
        bench.receive(ms(at), seq);
    }
    assert_eq!(
        bench.sent(),
        [
            (1, 16, vec![(17, 18)]),
            (2, 16, vec![(19, 20), (17, 18)]),
            (3, 16, vec![(21, 22), (19, 20), (17, 18)]),
            (4, 16, vec![(23, 24), (21, 22), (19, 20)]),
            (5, 16, vec![(17, 20), (23, 24), (21, 22)]),
        ]
    );
    bench.receive(ms(6), 16);
    assert_eq!(
        bench.sent(),
        [(6, 20, vec![(23, 24), (21, 22)])],
        "the hole is filled: acknowledged at once"
    );
}

#[test]
fn reports_duplicates_by_dsack() {
    let mut bench = Bench::new(POLICY);
    bench.receive(ms(1), 18);
    bench.sent();
    bench.receive(ms(2), 3);
    bench.receive(ms(3), 18);
    assert!(bench.log.iter().all(|(_, ack, _)| ack.dsack));
    assert_eq!(
        bench.sent(),
        [
            (2, 16, vec![(3, 4), (18, 19)]),
            (3, 16, vec![(18, 19), (18, 19)])
        ]
    );
}

#[test]
fn echoes_the_timestamp_of_the_first_segment_answered() {
    let mut bench = Bench::new(POLICY);
    bench.receive(ms(1), 16);
    bench.receive(ms(2), 17);
    assert_eq!(bench.log[0].1.echo, ms(1), "RFC 7323 §4.3 (A)");
    bench.receive(ms(3), 19);
    assert_eq!(
        bench.log[1].1.echo,
        ms(1),
        "(B): a segment after a hole does not count"
    );
    bench.receive(ms(4), 18);
    assert_eq!(
        bench.log[2].1.echo,
        ms(4),
        "(C): the segment that fills the hole does"
    );
}

#[test]
fn quick_acks_are_as_many_as_its_policy_says() {
    let mut receiver = Receiver::new(AckPolicy { quick: 3, ..POLICY }, SMSS * 1000, SMSS);
    let mut acked = Vec::new();
    for seq in 0..7 {
        receiver.on_segment(ms(seq), &segment(seq, ms(seq)), |_, ack, _| {
            acked.push(ack.next)
        });
    }
    assert_eq!(acked, [1, 2, 3, 5, 7], "then one for every two segments");
}

#[test]
fn coalescing_answers_a_train_once() {
    let mut bench = Bench::new(AckPolicy {
        coalesce: Span::from_millis(1),
        ..POLICY
    });
    for n in 0..10 {
        bench.receive(ms(10) + Span::from_micros(50 * n), 16 + n);
    }
    bench.receive(ms(12), 26);
    assert_eq!(bench.sent(), [(11, 26, vec![])]);
}

#[test]
fn a_train_begins_with_the_segment_that_the_last_one_was_too_early_for() {
    let mut bench = Bench::new(AckPolicy {
        coalesce: Span::from_millis(1),
        ..POLICY
    });
    for n in 0..16 {
        bench.receive(ms(100 + 10 * n), 16 + n);
    }
    bench.receive(ms(310), 32);
    bench.sent();
    bench.receive(ms(330), 33);
    bench.receive(ms(340), 34);
    assert_eq!(
        bench.sent(),
        [(331, 34, vec![])],
        "not before the second segment arrived"
    );
}

#[test]
fn the_timestamp_echoed_never_goes_back() {
    let mut bench = Bench::new(POLICY);
    let mut receive = |at, seq, sent| {
        bench
            .receiver
            .on_segment(at, &segment(seq, sent), |at, ack, blocks| {
                bench.log.push((at, ack, blocks.to_vec()))
            });
    };
    receive(ms(20), 17, ms(10));
    receive(ms(30), 16, ms(25));
    receive(ms(40), 16, ms(9));
    assert_eq!(
        bench.log[2].1.echo,
        ms(25),
        "RFC 7323 §4.3 (2): the original, after its retransmission"
    );
}

proptest! {
    #[test]
    fn whatever_the_order_everything_is_delivered_once(
        order in Just((0_u64..300).collect::<Vec<_>>()).prop_shuffle(),
        repeats in prop::collection::vec(0_usize..300, 0..50),
    ) {
        let mut receiver = Receiver::new(POLICY, SMSS * 1000, SMSS);
        let mut arrived = std::collections::BTreeSet::new();
        let arrivals = order.iter().copied().chain(repeats.iter().map(|i| order[*i]));
        for (i, seq) in arrivals.enumerate() {
            let duplicate = !arrived.insert(seq);
            let expected = (0..).find(|seq| !arrived.contains(seq)).unwrap();
            receiver.on_segment(Time::from_nanos(i as u64), &segment(seq, Time::ZERO), |_, ack, blocks| {
                assert_eq!(ack.next, expected);
                assert_eq!(ack.dsack, duplicate);
                for block in &blocks[usize::from(ack.dsack)..] {
                    assert!(block.start > ack.next && (block.start..block.end).all(|seq| arrived.contains(&seq)));
                }
            });
            prop_assert_eq!(receiver.in_order(), SMSS * expected);
        }
        prop_assert_eq!(receiver.in_order(), SMSS * 300);
    }
}
