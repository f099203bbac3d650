//! The advertised window of a receiver whose window changes: its right edge never moves back,
//! regardless of the algorithm.

use std::collections::VecDeque;

use fullpipe_cc::{AckSchedule, Arrival, ReceiverController, ReceiverDecision};
use fullpipe_units::{Bytes, Span, Time};

use crate::autotune::{AutoTuning, Growth};
use crate::rtt::RttEstimator;
use crate::wire::Segment;

/// The timestamp of an ACK that may still be echoed: its tick, the time at which it was first used,
/// and the right edge last advertised with it.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    tick: u64,
    sent: Time,
    right_edge: u64,
    echoed: bool,
}

/// The policy that decides the window.
#[derive(Debug)]
enum Policy {
    /// The window grows whatever the round-trip time is, which is not measured.
    Growing(Growth),
    Measured(Measured),
}

/// A policy that needs measurements, and these.
#[derive(Debug)]
struct Measured {
    by: By,
    smss: Bytes,
    tick: Span,
    /// Oldest first.
    stamps: VecDeque<Stamp>,
    rtt: RttEstimator,
    /// RCV.HGH and TSV.HGH (RFC 9840 §4.3): one past the highest segment that arrived, and the tick
    /// at which it was sent.
    highest: u64,
    highest_tick: u64,
    /// Time at which a segment arrived that used up the advertised window.
    used_up: Option<Time>,
}

#[derive(Debug)]
enum By {
    Controller(Box<dyn ReceiverController>, ReceiverDecision),
    Tuning(AutoTuning),
}

/// The advertised window.
#[derive(Debug)]
pub(crate) struct AdvertisedWindow {
    policy: Policy,
    right_edge: u64,
}

impl AdvertisedWindow {
    pub(crate) fn controlled(
        controller: Box<dyn ReceiverController>,
        smss: Bytes,
    ) -> AdvertisedWindow {
        let (tick, decision) = (controller.tick(), controller.decision());
        let by = By::Controller(controller, decision);
        AdvertisedWindow::measured(tick.max(Span::from_nanos(1)), by, smss)
    }

    pub(crate) fn tuned(tuning: AutoTuning, smss: Bytes) -> AdvertisedWindow {
        AdvertisedWindow::measured(Span::from_nanos(1), By::Tuning(tuning), smss)
    }

    fn measured(tick: Span, by: By, smss: Bytes) -> AdvertisedWindow {
        AdvertisedWindow {
            policy: Policy::Measured(Measured {
                by,
                smss,
                tick,
                stamps: VecDeque::new(),
                rtt: RttEstimator::new(),
                highest: 0,
                highest_tick: 0,
                used_up: None,
            }),
            right_edge: 0,
        }
    }

    /// A window that grows to `most` as data arrives.
    pub(crate) fn growing(most: Bytes, smss: Bytes) -> AdvertisedWindow {
        AdvertisedWindow {
            policy: Policy::Growing(Growth::new(most, smss)),
            right_edge: 0,
        }
    }

    /// Returns the controller and its decision after the latest call, if there is one.
    #[inline]
    fn controlled_by(&self) -> Option<(&dyn ReceiverController, &ReceiverDecision)> {
        match &self.policy {
            Policy::Measured(Measured {
                by: By::Controller(controller, decision),
                ..
            }) => Some((&**controller, decision)),
            _ => None,
        }
    }

    pub(crate) fn controller(&self) -> Option<&dyn ReceiverController> {
        self.controlled_by().map(|(controller, _)| controller)
    }

    /// Processes the arrival of a data segment, in order or not. Returns whether it lets a tuned
    /// window grow.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Time, segment: &Segment) -> bool {
        match &mut self.policy {
            Policy::Growing(growth) => growth.on_arrival(),
            Policy::Measured(measured) => measured.on_arrival(now, segment),
        }
    }

    /// Returns the controller's decision after the latest call; the default one for a tuned window.
    #[inline]
    pub(crate) fn decision(&self) -> ReceiverDecision {
        self.controlled_by()
            .map_or_else(ReceiverDecision::default, |(_, decision)| *decision)
    }

    /// Returns the time of the controller's timer, if any.
    #[inline]
    pub(crate) fn wake_at(&self) -> Option<Time> {
        self.controlled_by()?.1.wake_at
    }

    /// Calls the controller's timer, which is due. Returns the time of the next ACK.
    ///
    /// # Panics
    /// If the controller asks to be woken at a time that has passed.
    pub(crate) fn on_timer(&mut self, now: Time) -> AckSchedule {
        let Policy::Measured(Measured {
            by: By::Controller(controller, decision),
            ..
        }) = &mut self.policy
        else {
            return AckSchedule::Policy;
        };
        controller.on_timer(now);
        *decision = controller.decision();
        assert!(
            decision.wake_at.is_none_or(|at| at > now),
            "wake_at is not after the call of on_timer at {now}: the timer would fire forever"
        );
        decision.ack
    }

    /// Returns the window, in segments, of an ACK sent at `at` for everything before `next`; `most`
    /// is the size of the buffer.
    #[inline]
    pub(crate) fn window(&mut self, at: Time, next: u64, most: u32) -> u32 {
        let wanted = match &mut self.policy {
            Policy::Growing(growth) => growth.segments(),
            Policy::Measured(measured) => measured.wanted(at, next, most),
        };
        // At least one segment: there are no zero-window probes.
        let wanted = wanted.clamp(1, u64::from(most.max(1)));
        // RFC 9293 §3.8.6, RFC 9840 §4.1.1: the right edge never moves left. The window shrinks
        // only as data arrives.
        self.right_edge = self.right_edge.max(next + wanted);
        if let Policy::Measured(measured) = &mut self.policy {
            measured.on_ack_sent(at, self.right_edge);
        }
        (self.right_edge - next) as u32
    }
}

impl Measured {
    #[inline]
    fn ticks(&self, time: Time) -> u64 {
        match self.tick.as_nanos() {
            1 => time.as_nanos(), // auto-tuning: avoid a division per packet
            tick => time.as_nanos() / tick,
        }
    }

    fn on_arrival(&mut self, now: Time, segment: &Segment) -> bool {
        let rtt = self.measure(now, segment);
        let (controller, decision) = match &mut self.by {
            By::Controller(controller, decision) => (controller, decision),
            By::Tuning(tuning) => return tuning.on_arrival(),
        };
        let tick = segment.sent.as_nanos() / self.tick.as_nanos();
        let retransmit = segment.seq + 1 < self.highest && tick > self.highest_tick;
        if segment.seq >= self.highest {
            (self.highest, self.highest_tick) = (segment.seq + 1, tick);
        }
        let arrival = Arrival {
            seq: self.smss * segment.seq,
            size: Bytes::new(u64::from(segment.size)),
            tsval: segment.sent,
            tsecr: segment.echo,
            rtt,
            srtt: self.rtt.srtt,
            retransmit,
            ce: segment.ce,
            limited: self.used_up.is_some_and(|at| now <= at + self.rtt.srtt),
        };
        controller.on_arrival(now, &arrival);
        *decision = controller.decision();
        false
    }

    /// Returns the round-trip time that ends with this segment, if the segment is the first to echo
    /// its timestamp. Older timestamps are dropped: segments that echo them were sent earlier and
    /// are no longer useful.
    fn measure(&mut self, now: Time, segment: &Segment) -> Option<Span> {
        let tick = self.ticks(segment.echo);
        while self.stamps.front().is_some_and(|stamp| stamp.tick < tick) {
            self.stamps.pop_front();
        }
        let stamp = self.stamps.front_mut().filter(|stamp| stamp.tick == tick)?;
        if segment.seq + 1 >= stamp.right_edge {
            self.used_up = Some(now);
        }
        if core::mem::replace(&mut stamp.echoed, true) {
            return None;
        }
        let rtt = now - stamp.sent;
        self.rtt.sample(rtt);
        Some(rtt)
    }

    /// Returns the window, in segments, that the policy wants for an ACK sent at `at` for everything before
    /// `next`, of a buffer of `most`.
    fn wanted(&mut self, at: Time, next: u64, most: u32) -> u64 {
        let wanted = match &mut self.by {
            By::Controller(_, decision) => decision.window,
            By::Tuning(tuning) => Some(tuning.window(at, self.smss * next, self.rtt.srtt)),
        };
        wanted.map_or(u64::from(most), |wanted| wanted.get() / self.smss.get())
    }

    /// Notes the timestamp and the right edge of an ACK that leaves.
    fn on_ack_sent(&mut self, at: Time, right_edge: u64) {
        let tick = self.ticks(at);
        match self.stamps.back_mut() {
            Some(last) if last.tick == tick => last.right_edge = right_edge,
            _ => self.stamps.push_back(Stamp {
                tick,
                sent: at,
                right_edge,
                echoed: false,
            }),
        }
    }
}
