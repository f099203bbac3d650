//! The receiver: reassembly, SACK blocks (RFC 2018, 2883) and the ACK policy (RFC 5681 §4.2).

use fullpipe_cc::EcnCodepoint;
use fullpipe_units::{Bytes, Span, Time};

mod heuristics;
mod linux_acks;
mod optimist;
mod place;
mod round_trip;
mod sack_blocks;
mod sack_compression;
mod schedule;
mod train;

use self::heuristics::Heuristics;
use self::optimist::Optimist;
use self::sack_blocks::SackBlocks;
use crate::ack_policy::AckPolicy;
use crate::advertised_window::AdvertisedWindow;
use crate::app::{Answer, Client};
use crate::autotune::AutoTuning;
use crate::ecn::{Echo, EcnFeedback};
use crate::reassembly::ReassemblyBitmap;
use crate::wire::{Ack, AckKind, Block, Feedback, MAX_BLOCKS, Segment};

/// Maximum payload that coalescing merges: 64 KiB with headers.
const LARGEST_MERGED: u64 = 64_000;

/// The way in which a receiver reads a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By [`Receiver::on_usual_segment`]: it is the next one, nothing is due before, and neither ECN, the
    /// window, a client nor heuristics need more.
    Usual,
    /// By [`Receiver::on_usual_segment_as_linux`]: the same, but Linux's rules apply.
    AsLinux,
    /// By [`Receiver::on_segment`].
    Other,
}

/// A TCP receiver whose application reads data as soon as it is in order.
///
/// A caller may report an arrival as soon as its time is known, before that time is reached, as
/// long as it reports arrivals in order: nothing else changes the receiver's state.
#[derive(Debug)]
pub struct Receiver {
    policy: AckPolicy,
    /// Payload of a full segment.
    smss: Bytes,
    /// Size of the buffer, and in whole segments.
    buffer: Bytes,
    window: u32,
    /// The advertised window, if it changes.
    offer: Option<Box<AdvertisedWindow>>,
    /// The client, if any, and the time of its next request or repeated request.
    client: Option<Box<Client>>,
    ask_at: Option<Time>,
    /// RCV.NXT, in segments.
    next: u64,
    /// Bytes of the segments below RCV.NXT.
    in_order: Bytes,
    early: ReassemblyBitmap,
    /// The early segments that are not full, and the bytes that they lack; only the last segment of a
    /// transfer, a burst or an answer is short.
    early_short: Vec<(u64, u64)>,
    blocks: SackBlocks,
    duplicate: Option<u64>,
    /// In-order segments that no ACK has answered, and the time at which the latest train of them
    /// began.
    pending: u32,
    /// Largest number of segments that coalescing merges.
    most_coalesced: u32,
    train_since: Time,
    /// Time at which an ACK of these segments, or a request, is due.
    due: Option<Time>,
    quick: u32,
    /// Linux's heuristics, if it has any.
    heuristics: Option<Box<Heuristics>>,
    echo: Echo,
    /// A receiver that misbehaves, and the segments that its ACKs acknowledge before they arrive.
    optimist: Option<Box<Optimist>>,
    ahead: u64,
    /// Whether data segments need extra processing, for ECN, the window, the client or heuristics. A
    /// segment that is ECN-capable needs it, and those after it.
    attentive: bool,
    /// Whether that is because of Linux's rules alone; known from the SYN on.
    linux_alone: bool,
    /// TS.Recent and Last.ACK.sent (RFC 7323 §4.3).
    ts_recent: Time,
    last_ack: u64,
}

impl Receiver {
    /// Creates a receiver that advertises `window`, rounded down to whole segments with a payload
    /// of `smss`.
    pub fn new(policy: AckPolicy, window: Bytes, smss: Bytes) -> Receiver {
        Receiver {
            policy,
            smss,
            most_coalesced: (LARGEST_MERGED / smss.get()).max(1) as u32,
            buffer: window,
            window: u32::try_from(window.get() / smss.get()).unwrap_or(u32::MAX),
            offer: None,
            client: None,
            ask_at: None,
            next: 0,
            in_order: Bytes::ZERO,
            early: ReassemblyBitmap::new(),
            early_short: Vec::new(),
            blocks: SackBlocks::default(),
            duplicate: None,
            pending: 0,
            train_since: Time::ZERO,
            due: None,
            quick: policy.quick,
            heuristics: None,
            echo: Echo::default(),
            optimist: None,
            ahead: 0,
            attentive: false,
            linux_alone: false,
            ts_recent: Time::ZERO,
            last_ack: 0,
        }
    }

    /// Lets the window grow with the data that arrives per round trip, up to the size of the
    /// buffer.
    #[must_use]
    pub fn with_auto_tuning(self) -> Receiver {
        let most = self.smss * u64::from(self.window);
        let tuning = AutoTuning::new(most, self.smss);
        Receiver {
            offer: Some(Box::new(AdvertisedWindow::tuned(tuning, self.smss))),
            attentive: true,
            ..self
        }
    }

    /// Adds a client application that requests data.
    #[must_use]
    pub fn with_client(self, client: Client) -> Receiver {
        Receiver {
            client: Some(Box::new(client)),
            attentive: true,
            ..self
        }
    }

    /// Sets the way in which marks are reported, from the first ECN-capable segment on.
    #[must_use]
    pub fn with_ecn_feedback(self, feedback: EcnFeedback) -> Receiver {
        Receiver {
            echo: Echo::new(feedback),
            ..self
        }
    }

    /// Returns the [in-order bytes](Receiver::in_order) at which the answer that the client waits
    /// for is complete.
    pub fn expects(&self) -> Option<Bytes> {
        self.client.as_ref().map(|client| client.expects())
    }

    /// Completes the answer that the client [waits for](Receiver::expects): its last byte arrived
    /// at `now`. Returns the answer, if there is a client.
    pub fn take_answer(&mut self, now: Time) -> Option<Answer> {
        let (answer, ask_at) = self.client.as_mut()?.answered(now);
        self.ask_at = Some(ask_at);
        self.due = Some(self.due.map_or(ask_at, |due| due.min(ask_at)));
        Some(answer)
    }

    /// Returns the largest window without scaling, in segments (RFC 7323 §2.2).
    fn largest_unscaled(&self) -> u32 {
        (u64::from(u16::MAX) / self.smss.get()).max(1) as u32
    }

    /// Returns the bytes delivered to the application in order.
    #[inline]
    pub fn in_order(&self) -> Bytes {
        self.in_order
    }

    /// Processes a segment that arrives at `now`. `emit` receives the departure time, the ACK and
    /// its SACK blocks for each ACK.
    pub fn on_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        mut emit: impl FnMut(Time, Ack, &[Block]),
    ) {
        self.on_time(now, &mut emit);
        if segment.syn {
            self.linux_alone = self.has_linux_alone();
            if let Some(heuristics) = &mut self.heuristics {
                heuristics.rtt.on_syn(now, segment);
            }
            let ack = Ack {
                kind: AckKind::Syn,
                next: 0,
                echo: segment.sent,
                ..self.plain_ack(now)
            };
            // RFC 7323 §2.2: the window of a SYN-ACK is not scaled.
            let ack = Ack {
                window: ack.window.min(self.largest_unscaled()),
                ..ack
            };
            return emit(now, ack, &[]);
        }
        if (self.attentive || segment.ecn != EcnCodepoint::NotEct)
            && self.is_special_segment(now, segment, &mut emit)
        {
            return;
        }
        self.note_timestamp(segment);
        if segment.seq == self.next && self.early.is_empty() {
            if self.accept_next(now, segment) {
                self.acknowledge(now, &mut emit);
            }
            return;
        }
        // RFC 5681 §4.2: acknowledge at once a segment that is out of order, fills a hole, or is a
        // duplicate.
        if self.heuristics.is_some() {
            return self.on_early_segment(now, segment, &mut emit);
        }
        self.place(segment);
        self.acknowledge(now, &mut emit);
    }

    /// Advances to `now`: sends the delayed ACK and the request that are due.
    #[inline]
    pub fn on_time(&mut self, now: Time, mut emit: impl FnMut(Time, Ack, &[Block])) {
        while let Some(due) = self.ack_due().filter(|due| *due <= now) {
            if self.wake_at() == Some(due) {
                self.wake(due, &mut emit);
                continue;
            }
            if self.heuristics.is_some() && self.end_train(due, &mut emit) {
                continue;
            }
            if self.ask_at == Some(due) {
                self.ask(due, &mut emit);
                continue;
            }
            if let Some(heuristics) = &mut self.heuristics {
                heuristics.on_timer(due);
            }
            self.acknowledge(due, &mut emit);
        }
    }

    /// Sends the client's request with an ACK of everything that has arrived.
    #[cold]
    fn ask(&mut self, at: Time, emit: &mut impl FnMut(Time, Ack, &[Block])) {
        self.ask_at = self.client.as_mut().map(|client| client.ask(at));
        if let Some(heuristics) = &mut self.heuristics {
            heuristics.on_request(at);
        }
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

    /// Returns the way in which a segment that arrives at `now` can be read.
    #[inline(always)] // once for each packet
    pub fn way(&self, now: Time, segment: &Segment) -> Way {
        let is_usual = segment.seq == self.next
            && self.early.is_empty()
            && !segment.syn
            && segment.ecn == EcnCodepoint::NotEct
            && self.due.is_none_or(|due| due > now);
        if is_usual && !self.attentive {
            Way::Usual
        } else if is_usual && self.needs_linux_alone() {
            Way::AsLinux
        } else {
            Way::Other
        }
    }

    /// Processes a [usual](Way::Usual) segment like [`on_segment`](Receiver::on_segment), with less
    /// work; returns the ACK that leaves at once. Without one, a delayed ACK is due.
    #[inline(always)]
    pub fn on_usual_segment(&mut self, now: Time, segment: &Segment) -> Option<Ack> {
        debug_assert!(self.offer.is_none() && self.heuristics.is_none() && self.client.is_none());
        debug_assert!(self.blocks.is_empty() && self.duplicate.is_none());
        self.note_timestamp(segment);
        let answers = self.accept_next(now, segment);
        answers.then(|| {
            self.begin_ack();
            self.ack_with_window(now, self.window)
        })
    }

    /// Accepts the next segment; returns whether the policy wants an ACK at once: not if it is
    /// delayed, or if the train's coalescing time has not ended.
    #[inline(always)]
    fn accept_next(&mut self, now: Time, segment: &Segment) -> bool {
        self.accept(segment);
        self.note_train(now);
        // Linux acknowledges pushed data as soon as it is read (tcp_cleanup_rbuf, ICSK_ACK_PUSHED).
        if self.pending < self.policy.every && self.quick == 0 && !segment.push {
            if self.due.is_none() {
                self.due = Some(now + self.policy.delay);
            }
            return false;
        }
        if self.policy.coalesce > Span::ZERO && self.pending < self.most_coalesced {
            self.due = Some(self.train_since + self.policy.coalesce);
            return false;
        }
        true
    }

    /// Processes a segment that may change the ECN feedback or the window, or that a client waits
    /// for. Returns whether nothing remains to do, because Linux's rules apply, or the schedule of the
    /// receiver's algorithm.
    #[cold]
    fn is_special_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) -> bool {
        self.attentive = true;
        if self.optimist.is_some() {
            self.echo.on_segment(segment);
            self.on_segment_optimistically(now, segment, emit);
            return true;
        }
        self.end_train_before(now, segment, emit);
        let grows = self
            .offer
            .as_mut()
            .is_some_and(|offer| offer.on_arrival(now, segment));
        let mut answers = false;
        if let Some(client) = &mut self.client
            && segment.seq >= self.next
            && client.on_data(now, segment.echo)
        {
            // The request was received, so it need not be repeated.
            self.due = self.due.filter(|due| self.ask_at != Some(*due));
            self.ask_at = None;
            answers = true;
        }
        // RFC 8257 §3.2: acknowledge earlier segments with their own CE state.
        let changes = self.echo.calls_for_ack(segment);
        if changes && self.pending > 0 {
            self.acknowledge(now, emit);
        }
        let marks = self.echo.calls_for_quick_acks(segment);
        let reduced = self.echo.calls_for_ack_at_once(segment);
        self.echo.on_segment(segment);
        if self.is_scheduled(now, segment, emit) {
            return true;
        }
        let Some(heuristics) = &mut self.heuristics else {
            return false;
        };
        heuristics.rtt.on_segment(now, segment, answers, self.smss);
        let Some(acks) = &mut heuristics.acks else {
            return false;
        };
        if changes || reduced {
            acks.require_ack();
        }
        self.on_segment_as_linux(now, segment, (marks, grows), emit);
        true
    }

    /// Returns an ACK sent at `at`, without SACK blocks.
    #[inline]
    fn plain_ack(&mut self, at: Time) -> Ack {
        let (next, most) = (self.next, self.window);
        let window = self
            .offer
            .as_mut()
            .map_or(most, |offer| offer.window(at, next, most));
        self.ack_with_window(at, window)
    }

    #[inline(always)]
    fn ack_with_window(&self, at: Time, window: u32) -> Ack {
        let Receiver {
            next,
            ts_recent: echo,
            echo: Echo { says: ecn, .. },
            ..
        } = *self;
        Ack {
            next: next + self.ahead,
            echo,
            sent: at,
            window,
            blocks: 0,
            dsack: false,
            kind: AckKind::Plain,
            ecn,
        }
    }

    /// Updates the state for an ACK that is about to leave.
    #[inline(always)]
    fn begin_ack(&mut self) {
        self.pending = 0;
        self.due = self.ask_at;
        self.last_ack = self.next;
        self.quick = self.quick.saturating_sub(1);
    }

    fn acknowledge(&mut self, at: Time, emit: &mut impl FnMut(Time, Ack, &[Block])) {
        self.begin_ack();
        let mut ack = self.plain_ack(at);
        if self.heuristics.is_some() {
            self.on_ack_sent(ack.window);
        }
        let feedback = self
            .offer
            .as_ref()
            .and_then(|offer| offer.decision().feedback);
        if self.blocks.is_empty() && self.duplicate.is_none() && feedback.is_none() {
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
        for block in self.blocks.get().iter().take(MAX_BLOCKS - count) {
            blocks[count] = *block;
            count += 1;
        }
        ack.blocks = count as u8;
        if let Some(value) = feedback {
            let delay = Span::ZERO;
            ack.add_feedback(&mut blocks, Feedback { value, delay });
        }
        emit(at, ack, &blocks[..ack.count()]);
    }
}

#[cfg(test)]
mod tests;
