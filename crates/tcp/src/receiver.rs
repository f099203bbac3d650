//! The receiver: reassembly, SACK blocks (RFC 2018, 2883) and the policy of when to acknowledge
//! (RFC 5681 §4.2).

use fullpipe_cc::WindowController;
use fullpipe_units::{Bytes, Span, Time};

use crate::advertised_window::AdvertisedWindow;
use crate::app::{Answer, Client};
use crate::autotune::AutoTuning;
use crate::ecn::{Echo, EcnFeedback};
use crate::reassembly::ReassemblyBitmap;
use crate::wire::{Ack, AckKind, Block, MAX_BLOCKS, SMSS, Segment};
/// Segments that coalescing merges at most: 64 KiB.
const MAX_COALESCED: u32 = 44;
/// Blocks that the receiver remembers (Linux: TCP_NUM_SACKS).
const REMEMBERED: usize = 4;

/// When to acknowledge.
#[derive(Clone, Copy, Debug)]
pub struct AckPolicy {
    /// One ACK for so many full segments (RFC 5681 §4.2: at least every second).
    pub every: u32,
    /// How many of the first ACKs are sent at once, for whatever arrives (Linux: quickack mode).
    pub quick: u32,
    /// How long a lone segment may wait (RFC 1122 §4.2.3.2; Linux: TCP_DELACK_MIN).
    pub delay: Span,
    /// GRO-like coalescing: segments that arrive so soon after the first are handled as one; zero
    /// for none.
    pub coalesce: Span,
}

/// A TCP receiver whose application reads at once.
///
/// It may be told of an arrival as soon as the arrival's time is known, before that time has come:
/// arrivals in order, nothing else changes it.
#[derive(Debug)]
pub struct Receiver {
    policy: AckPolicy,
    /// What the buffer holds, in segments.
    window: u32,
    /// Who decides what is offered, if that changes.
    offer: Option<Box<AdvertisedWindow>>,
    /// Who asks for what comes, if anybody does, and when it will ask, or ask again.
    client: Option<Box<Client>>,
    ask_at: Option<Time>,
    /// RCV.NXT, in segments.
    next: u64,
    /// Bytes short of a full size, of what is in order: only the last segment of a transfer, a
    /// burst or an answer is.
    short: u64,
    early: ReassemblyBitmap,
    early_short: Vec<(u64, u64)>,
    /// The runs above `next`, the most recently changed first.
    blocks: [Block; REMEMBERED],
    known: usize,
    duplicate: Option<u64>,
    /// Segments in order that no ACK has answered, and when the latest train of them began.
    pending: u32,
    train_since: Time,
    /// When an ACK is due for them, or a request.
    due: Option<Time>,
    quick: u32,
    echo: Echo,
    /// Segments matter to the echo, to the offer or to the client.
    attentive: bool,
    /// TS.Recent and Last.ACK.sent (RFC 7323 §4.3).
    ts_recent: Time,
    last_ack: u64,
}

impl Receiver {
    /// A receiver that offers `window`, whole segments of it.
    pub fn new(policy: AckPolicy, window: Bytes) -> Receiver {
        Receiver {
            policy,
            window: u32::try_from(window.get() / SMSS.get()).unwrap_or(u32::MAX),
            offer: None,
            client: None,
            ask_at: None,
            next: 0,
            short: 0,
            early: ReassemblyBitmap::new(),
            early_short: Vec::new(),
            blocks: [Block::default(); REMEMBERED],
            known: 0,
            duplicate: None,
            pending: 0,
            train_since: Time::ZERO,
            due: None,
            quick: policy.quick,
            echo: Echo::default(),
            attentive: false,
            ts_recent: Time::ZERO,
            last_ack: 0,
        }
    }

    /// The same, with a window that `controller` decides, up to that of the buffer.
    #[must_use]
    pub fn with_window_controller(self, controller: Box<dyn WindowController>) -> Receiver {
        Receiver {
            offer: Some(Box::new(AdvertisedWindow::controlled(controller))),
            attentive: true,
            ..self
        }
    }

    /// The same, with a window that grows with what arrives in a round trip, up to that of the
    /// buffer.
    #[must_use]
    pub fn with_auto_tuning(self) -> Receiver {
        let most = SMSS * u64::from(self.window);
        Receiver {
            offer: Some(Box::new(AdvertisedWindow::tuned(AutoTuning::new(most)))),
            attentive: true,
            ..self
        }
    }

    /// The same, with an application that asks for what comes.
    #[must_use]
    pub fn with_client(self, client: Client) -> Receiver {
        Receiver {
            client: Some(Box::new(client)),
            attentive: true,
            ..self
        }
    }

    /// The same, for packets that may be marked, with a way to report that.
    #[must_use]
    pub fn with_ecn_feedback(self, feedback: EcnFeedback) -> Receiver {
        Receiver {
            echo: Echo::new(feedback),
            attentive: true,
            ..self
        }
    }

    /// The controller of the window, if there is one.
    pub fn window_controller(&self) -> Option<&dyn WindowController> {
        self.offer.as_ref().and_then(|offer| offer.controller())
    }

    /// What will be [in order](Receiver::in_order) when the answer that its client waits for is
    /// complete.
    pub fn expects(&self) -> Option<Bytes> {
        self.client.as_ref().map(|client| client.expects())
    }

    /// All that the client [waits for](Receiver::expects) arrived at `now`: the answer, if there is
    /// a client.
    pub fn take_answer(&mut self, now: Time) -> Option<Answer> {
        let (answer, ask_at) = self.client.as_mut()?.answered(now);
        self.ask_at = Some(ask_at);
        self.due = Some(self.due.map_or(ask_at, |due| due.min(ask_at)));
        Some(answer)
    }

    /// Bytes delivered to the application, in order.
    #[inline]
    pub fn in_order(&self) -> Bytes {
        Bytes::new(self.next * SMSS.get() - self.short)
    }

    /// When a delayed ACK is due, or a request, if one is.
    #[inline]
    pub fn ack_due(&self) -> Option<Time> {
        self.due
    }

    /// A segment arrives at `now`; `emit` gets each ACK, when it leaves, and its SACK blocks.
    #[inline]
    pub fn on_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        mut emit: impl FnMut(Time, Ack, &[Block]),
    ) {
        self.on_time(now, &mut emit);
        if segment.syn {
            let ack = Ack {
                kind: AckKind::Syn,
                next: 0,
                echo: segment.sent,
                ..self.plain_ack(now)
            };
            return emit(now, ack, &[]);
        }
        if self.attentive {
            self.on_special_segment(now, segment, &mut emit);
        }
        let seq = segment.seq;
        // RFC 7323 §4.3: the timestamp of the segment that the next ACK answers first.
        if seq <= self.last_ack && segment.sent >= self.ts_recent {
            self.ts_recent = segment.sent;
        }
        if seq == self.next && self.early.is_empty() {
            self.accept(segment);
            if self.pending == 0 || now > self.train_since + self.policy.coalesce {
                self.train_since = now;
            }
            self.pending += 1;
            // Linux acknowledges what was pushed as soon as it is read (tcp_cleanup_rbuf,
            // ICSK_ACK_PUSHED).
            if self.pending >= self.policy.every || self.quick > 0 || segment.push {
                self.answer(now, &mut emit);
            } else if self.due.is_none() {
                self.due = Some(now + self.policy.delay);
            }
            return;
        }
        // RFC 5681 §4.2: out of order, filling a hole or known already: at once.
        if seq < self.next || self.early.contains_above(self.next, seq) {
            self.duplicate = Some(seq);
        } else if seq == self.next {
            self.accept(segment);
            self.accept_early();
        } else {
            self.early.insert(self.next, seq);
            if u64::from(segment.size) < SMSS.get() {
                self.early_short
                    .push((seq, SMSS.get() - u64::from(segment.size)));
            }
            self.note(seq);
        }
        self.acknowledge(now, &mut emit);
    }

    /// Time passed: sends the delayed ACK that is due, and the request.
    #[inline]
    pub fn on_time(&mut self, now: Time, mut emit: impl FnMut(Time, Ack, &[Block])) {
        while let Some(due) = self.due.filter(|due| *due <= now) {
            if self.ask_at == Some(due) {
                self.ask(due, &mut emit);
            } else {
                self.acknowledge(due, &mut emit);
            }
        }
    }

    /// The client asks, with an ACK of all that has arrived.
    #[cold]
    fn ask(&mut self, at: Time, emit: &mut impl FnMut(Time, Ack, &[Block])) {
        self.ask_at = self.client.as_mut().map(|client| client.ask(at));
        self.acknowledge(at, &mut |at, ack, blocks| {
            emit(
                at,
                Ack {
                    kind: AckKind::Request,
                    ..ack
                },
                blocks,
            )
        });
    }

    /// An ACK is called for: at once, or when the coalescing window of the train ends.
    #[inline]
    fn answer(&mut self, now: Time, emit: &mut impl FnMut(Time, Ack, &[Block])) {
        if self.policy.coalesce == Span::ZERO || self.pending >= MAX_COALESCED {
            self.acknowledge(now, emit);
        } else {
            self.due = Some(self.train_since + self.policy.coalesce);
        }
    }

    /// A segment that changes, or may change, what ACKs say of marks or of the window, or that a
    /// client waits for.
    #[cold]
    fn on_special_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) {
        if let Some(offer) = &mut self.offer {
            offer.on_arrival(now, segment);
        }
        if let Some(client) = &mut self.client
            && segment.seq >= self.next
            && client.on_data(now, segment.echo)
        {
            // No other request is needed.
            self.due = self.due.filter(|due| self.ask_at != Some(*due));
            self.ask_at = None;
        }
        // RFC 8257 §3.2: what came before is answered with what was true of it.
        if self.echo.calls_for_ack(segment) && self.pending > 0 {
            self.acknowledge(now, emit);
        }
        self.echo.on_segment(segment);
    }

    #[inline]
    fn accept(&mut self, segment: &Segment) {
        self.next += 1;
        self.short += SMSS.get() - u64::from(segment.size);
    }

    /// What had arrived early is in order now.
    fn accept_early(&mut self) {
        while !self.early.is_empty() && self.early.contains(self.next) {
            self.early.remove(self.next);
            if let Some(i) = self
                .early_short
                .iter()
                .position(|(seq, _)| *seq == self.next)
            {
                self.short += self.early_short.swap_remove(i).1;
            }
            self.next += 1;
        }
        let next = self.next;
        let mut kept = 0;
        for i in 0..self.known {
            if self.blocks[i].end > next {
                self.blocks[kept] = self.blocks[i];
                kept += 1;
            }
        }
        self.known = kept;
    }

    /// `seq` arrived early: its run becomes the first block (RFC 2018 §4), runs that it joins
    /// become one.
    fn note(&mut self, seq: u64) {
        let mut run = Block {
            start: seq,
            end: seq + 1,
        };
        let mut kept = [Block::default(); REMEMBERED];
        let mut count = 0;
        for block in &self.blocks[..self.known] {
            if block.end >= run.start && block.start <= run.end {
                run = Block {
                    start: block.start.min(run.start),
                    end: block.end.max(run.end),
                };
            } else if count < REMEMBERED - 1 {
                kept[count] = *block;
                count += 1;
            }
        }
        self.blocks[0] = run;
        self.blocks[1..=count].copy_from_slice(&kept[..count]);
        self.known = count + 1;
    }

    /// An ACK sent at `at` without blocks.
    #[inline]
    fn plain_ack(&mut self, at: Time) -> Ack {
        let Receiver {
            next,
            ts_recent: echo,
            window: most,
            echo: Echo { says: ecn, .. },
            ..
        } = *self;
        let window = self
            .offer
            .as_mut()
            .map_or(most, |offer| offer.window(at, next, most));
        Ack {
            next,
            echo,
            sent: at,
            window,
            blocks: 0,
            dsack: false,
            kind: AckKind::Plain,
            ecn,
        }
    }

    #[inline]
    fn acknowledge(&mut self, at: Time, emit: &mut impl FnMut(Time, Ack, &[Block])) {
        self.pending = 0;
        self.due = self.ask_at;
        self.last_ack = self.next;
        self.quick = self.quick.saturating_sub(1);
        let mut ack = self.plain_ack(at);
        if self.known == 0 && self.duplicate.is_none() {
            return emit(at, ack, &[]);
        }
        let mut blocks = [Block::default(); MAX_BLOCKS];
        let mut count = 0;
        if let Some(seq) = self.duplicate.take() {
            blocks[0] = Block {
                start: seq,
                end: seq + 1,
            };
            ack.dsack = true;
            count = 1;
        }
        for block in self.blocks[..self.known].iter().take(MAX_BLOCKS - count) {
            blocks[count] = *block;
            count += 1;
        }
        ack.blocks = count as u8;
        emit(at, ack, &blocks[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// An ACK: milliseconds, the next segment expected, the blocks.
    type Line = (u64, u64, Vec<(u64, u64)>);

    /// A receiver past its quick ACKs, and a log of what it sends.
    struct Bench {
        receiver: Receiver,
        log: Vec<(Time, Ack, Vec<Block>)>,
    }

    impl Bench {
        fn new(policy: AckPolicy) -> Bench {
            let mut bench = Bench {
                receiver: Receiver::new(policy, SMSS * 1000),
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
            "due before the next arrival, so sent then"
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
            "(B): a segment behind a hole does not count"
        );
        bench.receive(ms(4), 18);
        assert_eq!(
            bench.log[2].1.echo,
            ms(4),
            "(C): the one that fills it does"
        );
    }

    #[test]
    fn quick_acks_are_as_many_as_its_policy_says() {
        let mut receiver = Receiver::new(AckPolicy { quick: 3, ..POLICY }, SMSS * 1000);
        let mut acked = Vec::new();
        for seq in 0..7 {
            receiver.on_segment(ms(seq), &segment(seq, ms(seq)), |_, ack, _| {
                acked.push(ack.next)
            });
        }
        assert_eq!(acked, [1, 2, 3, 5, 7], "then one for two");
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
            "not before the second of them came"
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
            let mut receiver = Receiver::new(POLICY, SMSS * 1000);
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
}
