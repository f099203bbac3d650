//! The receiver: reassembly, SACK blocks (RFC 2018, 2883) and the ACK policy (RFC 5681 §4.2).

use fullpipe_cc::WindowController;
use fullpipe_units::{Bytes, Span, Time};

use crate::ack_policy::AckPolicy;
use crate::advertised_window::AdvertisedWindow;
use crate::app::{Answer, Client};
use crate::autotune::AutoTuning;
use crate::ecn::{Echo, EcnFeedback};
use crate::reassembly::ReassemblyBitmap;
use crate::wire::{Ack, AckKind, Block, MAX_BLOCKS, SMSS, Segment};

/// Maximum number of segments that coalescing merges: 64 KiB.
const MAX_COALESCED: u32 = 44;
/// Number of SACK blocks that the receiver remembers (Linux: TCP_NUM_SACKS).
const REMEMBERED: usize = 4;

/// A TCP receiver whose application reads data as soon as it is in order.
///
/// A caller may report an arrival as soon as its time is known, before that time is reached, as
/// long as it reports arrivals in order: nothing else changes the receiver's state.
#[derive(Debug)]
pub struct Receiver {
    policy: AckPolicy,
    /// Size of the buffer, in segments.
    window: u32,
    /// The advertised window, if it changes.
    offer: Option<Box<AdvertisedWindow>>,
    /// The client, if any, and the time of its next request or repeated request.
    client: Option<Box<Client>>,
    ask_at: Option<Time>,
    /// RCV.NXT, in segments.
    next: u64,
    /// Bytes by which the in-order segments fall short of full size; only the last segment of a
    /// transfer, a burst or an answer is short.
    short: u64,
    early: ReassemblyBitmap,
    early_short: Vec<(u64, u64)>,
    /// Runs of segments above `next`, the most recently changed first.
    blocks: [Block; REMEMBERED],
    known: usize,
    duplicate: Option<u64>,
    /// In-order segments that no ACK has answered, and the time at which the latest train of them
    /// began.
    pending: u32,
    train_since: Time,
    /// Time at which an ACK of these segments, or a request, is due.
    due: Option<Time>,
    quick: u32,
    echo: Echo,
    /// Whether data segments need extra processing, for ECN, the window or the client.
    attentive: bool,
    /// TS.Recent and Last.ACK.sent (RFC 7323 §4.3).
    ts_recent: Time,
    last_ack: u64,
}

impl Receiver {
    /// Creates a receiver that advertises `window`, rounded down to whole segments.
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

    /// Lets `controller` decide the window, up to the size of the buffer.
    #[must_use]
    pub fn with_window_controller(self, controller: Box<dyn WindowController>) -> Receiver {
        Receiver {
            offer: Some(Box::new(AdvertisedWindow::controlled(controller))),
            attentive: true,
            ..self
        }
    }

    /// Lets the window grow with the data that arrives per round trip, up to the size of the
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

    /// Adds a client application that requests data.
    #[must_use]
    pub fn with_client(self, client: Client) -> Receiver {
        Receiver {
            client: Some(Box::new(client)),
            attentive: true,
            ..self
        }
    }

    /// Enables ECN, with the given feedback.
    #[must_use]
    pub fn with_ecn_feedback(self, feedback: EcnFeedback) -> Receiver {
        Receiver {
            echo: Echo::new(feedback),
            attentive: true,
            ..self
        }
    }

    /// Returns the window's controller, if any.
    pub fn window_controller(&self) -> Option<&dyn WindowController> {
        self.offer.as_ref().and_then(|offer| offer.controller())
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

    /// Returns the bytes delivered to the application in order.
    #[inline]
    pub fn in_order(&self) -> Bytes {
        Bytes::new(self.next * SMSS.get() - self.short)
    }

    /// Returns the time at which a delayed ACK or a request is due, if any.
    #[inline]
    pub fn ack_due(&self) -> Option<Time> {
        self.due
    }

    /// Processes a segment that arrives at `now`. `emit` receives the departure time, the ACK and
    /// its SACK blocks for each ACK.
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
        // RFC 7323 §4.3: TS.Recent is the timestamp of the first segment that the next ACK answers.
        if seq <= self.last_ack && segment.sent >= self.ts_recent {
            self.ts_recent = segment.sent;
        }
        if seq == self.next && self.early.is_empty() {
            self.accept(segment);
            if self.pending == 0 || now > self.train_since + self.policy.coalesce {
                self.train_since = now;
            }
            self.pending += 1;
            // Linux acknowledges pushed data as soon as it is read (tcp_cleanup_rbuf,
            // ICSK_ACK_PUSHED).
            if self.pending >= self.policy.every || self.quick > 0 || segment.push {
                self.answer(now, &mut emit);
            } else if self.due.is_none() {
                self.due = Some(now + self.policy.delay);
            }
            return;
        }
        // RFC 5681 §4.2: acknowledge at once a segment that is out of order, fills a hole, or is a
        // duplicate.
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

    /// Advances to `now`: sends the delayed ACK and the request that are due.
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

    /// Sends the client's request with an ACK of everything that has arrived.
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

    /// Sends an ACK that the policy requires: at once, or when the train's coalescing time ends.
    #[inline]
    fn answer(&mut self, now: Time, emit: &mut impl FnMut(Time, Ack, &[Block])) {
        if self.policy.coalesce == Span::ZERO || self.pending >= MAX_COALESCED {
            self.acknowledge(now, emit);
        } else {
            self.due = Some(self.train_since + self.policy.coalesce);
        }
    }

    /// Processes a segment that may change the ECN feedback or the window, or that a client waits
    /// for.
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
            // The request was received, so it need not be repeated.
            self.due = self.due.filter(|due| self.ask_at != Some(*due));
            self.ask_at = None;
        }
        // RFC 8257 §3.2: acknowledge earlier segments with their own CE state.
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

    /// Moves segments that had arrived early and are now in order.
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

    /// Records that `seq` arrived early: its run becomes the first block (RFC 2018 §4), merged with
    /// the runs that it touches.
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

    /// Returns an ACK sent at `at`, without SACK blocks.
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
mod tests;
