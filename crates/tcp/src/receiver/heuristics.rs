//! Heuristics of Linux's receiver: its rules for delayed ACKs, and the compression of ACKs for
//! segments out of order.

use fullpipe_units::{Span, Time};

use super::Receiver;
use super::linux_acks::LinuxAcks;
use super::place::Place;
use super::round_trip::RoundTrip;
use super::sack_compression::SackCompression;
use super::train::{Received, Train};
use crate::advertised_window::AdvertisedWindow;
use crate::wire::{Ack, Block, Segment};

/// Payload from which on a segment lets the window grow (Linux: tcp_event_data_recv).
const SMALL: u16 = 128;

/// The state of a receiver with at least one of the two.
#[derive(Debug)]
pub(super) struct Heuristics {
    pub(super) rtt: RoundTrip,
    pub(super) acks: Option<LinuxAcks>,
    pub(super) compression: Option<SackCompression>,
    /// The train that is being merged.
    pub(super) train: Option<Train>,
}

impl Heuristics {
    pub(super) fn new() -> Heuristics {
        Heuristics {
            rtt: RoundTrip::new(),
            acks: None,
            compression: None,
            train: None,
        }
    }

    pub(super) fn on_timer(&mut self, due: Time) {
        if let Some(acks) = &mut self.acks {
            acks.on_timer(due, &self.rtt);
        }
    }

    pub(super) fn on_request(&mut self, now: Time) {
        if let Some(acks) = &mut self.acks {
            acks.on_request(now);
        }
    }

    /// Withholds an ACK; see [`SackCompression::withhold`].
    fn withhold(&mut self, now: Time, next: u64) -> Option<Time> {
        let rtt = self.rtt.shortest();
        self.compression.as_mut()?.withhold(now, next, rtt)
    }
}

impl Receiver {
    /// Applies Linux's rules for delayed ACKs in place of the numbers of the policy. A constant
    /// window then grows to its size by two segments for each segment that arrives.
    #[must_use]
    pub fn with_linux_acks(mut self) -> Receiver {
        let window = self.window.min(self.largest_unscaled());
        self.heuristics().acks = Some(LinuxAcks::new(window));
        self.offer
            .get_or_insert_with(|| Box::new(AdvertisedWindow::growing(self.buffer, self.smss)));
        self
    }

    /// Returns whether Linux's rules are all that data segments without ECN need, as long as they are in order.
    pub(super) fn has_linux_alone(&self) -> bool {
        let acks = self.heuristics.as_ref().is_some_and(|it| it.acks.is_some());
        acks && self.client.is_none()
            && self.optimist.is_none()
            && self.controller().is_none()
            && self.policy.coalesce == Span::ZERO
    }

    /// Returns whether Linux's rules are all that the next segment needs.
    #[inline(always)] // a part of `way`
    pub(super) fn needs_linux_alone(&self) -> bool {
        self.linux_alone && !self.echo.has_seen() && self.duplicate.is_none()
    }

    /// Processes a segment that is usual but for [Linux's rules](super::Way::AsLinux) like
    /// [`on_segment`](Receiver::on_segment), with less work; returns the ACK that leaves at once. Without one,
    /// a delayed ACK is [due](Receiver::delayed_until).
    #[inline(always)]
    pub fn on_usual_segment_as_linux(&mut self, now: Time, segment: &Segment) -> Option<Ack> {
        debug_assert!(self.blocks.is_empty());
        self.note_timestamp(segment);
        self.accept(segment);
        self.pending += 1;
        let (smss, in_order, next, most) = (self.smss, self.in_order, self.next, self.window);
        let offer = self.offer.as_deref_mut()?;
        let grows = offer.on_arrival(now, segment) && segment.size >= SMALL;
        let Heuristics {
            rtt,
            acks,
            compression,
            ..
        } = self.heuristics.as_deref_mut()?;
        let acks = acks.as_mut()?;
        rtt.on_segment(now, segment, false, smss);
        acks.on_data(now, u64::from(segment.size) < smss.get(), segment.push, rtt);
        if grows {
            acks.on_larger_window();
        }
        if !(acks.is_due(in_order, smss) || acks.is_due_on_read())
            && let Some(due) = acks.delay(now, rtt)
        {
            self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
            return None;
        }
        let window = offer.window(now, next, most);
        acks.on_ack_sent(in_order, window);
        if let Some(compression) = compression {
            compression.on_ack_sent();
        }
        self.begin_ack();
        Some(self.ack_with_window(now, window))
    }

    /// Returns the time at which a delayed ACK is due, for a receiver without a client and an algorithm.
    #[inline]
    pub fn delayed_until(&self) -> Option<Time> {
        self.due
    }

    /// Compresses the ACKs of segments out of order: they wait for this share of the RTT.
    #[must_use]
    pub fn with_sack_compression(mut self, share: f64) -> Receiver {
        self.heuristics().compression = Some(SackCompression::new(share));
        self
    }

    fn heuristics(&mut self) -> &mut Heuristics {
        self.attentive = true;
        self.heuristics
            .get_or_insert_with(|| Box::new(Heuristics::new()))
    }

    /// Notes that an ACK leaves that advertises `window` segments.
    #[cold]
    pub(super) fn on_ack_sent(&mut self, window: u32) {
        let in_order = self.in_order();
        let Some(heuristics) = &mut self.heuristics else {
            return;
        };
        if let Some(acks) = &mut heuristics.acks {
            acks.on_ack_sent(in_order, window);
        }
        if let Some(compression) = &mut heuristics.compression {
            compression.on_ack_sent();
        }
    }

    /// Processes a segment that is out of order, fills a hole, or is a duplicate. Its ACK leaves at
    /// once or is withheld.
    #[cold]
    pub(super) fn on_early_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) {
        self.release_sacks(now, segment.seq, emit);
        let place = self.place(segment);
        if !self.withholds_sack(now, place) {
            self.acknowledge(now, emit);
        }
    }

    /// Sends the ACK that is withheld before `seq` changes the order of the blocks so much that
    /// the next one could not report all (`tcp_sack_new_ofo_skb`).
    fn release_sacks(&mut self, now: Time, seq: u64, emit: &mut impl FnMut(Time, Ack, &[Block])) {
        let compression = self
            .heuristics
            .as_ref()
            .and_then(|it| it.compression.as_ref());
        if !compression.is_some_and(SackCompression::is_withholding) || seq <= self.next {
            return;
        }
        if self.blocks.place(seq) >= 2 {
            self.acknowledge(now, emit);
        }
        // A duplicate is reported by its own ACK or not at all.
        self.duplicate = None;
    }

    /// Withholds the ACK of a segment at `place`. Returns false if it must leave at once: for a
    /// duplicate, if a hole is filled, and if more than one segment is to be acknowledged.
    fn withholds_sack(&mut self, now: Time, place: Place) -> bool {
        let next = self.next;
        if place == Place::Old
            || self.early.is_empty()
            || self.quick > 0
            || next > self.last_ack + 1
        {
            return false;
        }
        let due = self
            .heuristics
            .as_mut()
            .and_then(|it| it.withhold(now, next));
        self.wait(due)
    }

    /// Waits with the ACK until `due`; without it, returns false.
    fn wait(&mut self, due: Option<Time>) -> bool {
        let Some(due) = due else { return false };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        true
    }

    /// Processes a data segment by Linux's rules. `marks` says whether it asks for quick ACKs,
    /// `grows` whether the window can grow.
    pub(super) fn on_segment_as_linux(
        &mut self,
        now: Time,
        segment: &Segment,
        (marks, grows): (bool, bool),
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) {
        self.note_timestamp(segment);
        self.release_sacks(now, segment.seq, emit);
        let had_hole = !self.early.is_empty();
        let place = self.place(segment);
        if place == Place::Next {
            self.pending += 1;
        }
        let received = Received {
            place,
            filled: had_hole && self.early.is_empty(),
            short: u64::from(segment.size) < self.smss.get(),
            push: segment.push,
            marks,
            grows: grows && segment.size >= SMALL,
        };
        if let Some(received) = self.merge(now, segment, received) {
            self.receive_as_linux(now, received, emit);
        }
    }

    /// Acknowledges a segment by Linux's rules, at once or later.
    pub(super) fn receive_as_linux(
        &mut self,
        now: Time,
        received: Received,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) {
        let (smss, in_order) = (self.smss, self.in_order());
        let Some(Heuristics { rtt, acks, .. }) = self.heuristics.as_deref_mut() else {
            return;
        };
        let Some(acks) = acks else { return };
        let Received { place, .. } = received;
        match place {
            Place::Next => acks.on_data(now, received.short, received.push, rtt),
            Place::Old => acks.on_duplicate(),
            Place::Early | Place::Again => acks.on_early(),
        }
        if received.marks && place != Place::Old {
            acks.on_mark();
        }
        if received.grows && place != Place::Old {
            acks.on_larger_window();
        }
        let is_due = received.filled || acks.is_due(in_order, smss);
        if is_due || place == Place::Next && acks.is_due_on_read() {
            return self.acknowledge(now, emit);
        }
        let due = match self.early.is_empty() {
            true => acks.delay(now, rtt),
            false => {
                let next = self.next;
                self.heuristics
                    .as_mut()
                    .and_then(|it| it.withhold(now, next))
            }
        };
        if !self.wait(due) {
            self.acknowledge(now, emit);
        }
    }
}
