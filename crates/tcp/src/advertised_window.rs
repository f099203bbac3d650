//! The advertised window of a receiver whose window changes: its right edge never moves back,
//! regardless of the algorithm.

use std::collections::VecDeque;

use fullpipe_cc::{AckSchedule, Arrival, ReceiverController, ReceiverDecision};
use fullpipe_units::{Bytes, Span, Time};

use crate::autotune::AutoTuning;
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
    Controlled(Box<dyn ReceiverController>, ReceiverDecision),
    Tuned(AutoTuning),
    /// A window that grows whatever the round-trip time is, which is not measured.
    Growing(AutoTuning),
}

/// The advertised window: its policy, and the measurements that the policy needs.
#[derive(Debug)]
pub(crate) struct AdvertisedWindow {
    policy: Policy,
    smss: Bytes,
    tick: Span,
    /// Oldest first.
    stamps: VecDeque<Stamp>,
    rtt: RttEstimator,
    /// RCV.HGH and TSV.HGH (RFC 9840 §4.3): one past the highest segment that arrived, and the tick
    /// at which it was sent.
    highest: u64,
    highest_tick: u64,
    right_edge: u64,
    /// Time at which a segment arrived that used up the advertised window.
    used_up: Option<Time>,
}

impl AdvertisedWindow {
    pub(crate) fn controlled(
        controller: Box<dyn ReceiverController>,
        smss: Bytes,
    ) -> AdvertisedWindow {
        let (tick, decision) = (controller.tick(), controller.decision());
        AdvertisedWindow::new(
            tick.max(Span::from_nanos(1)),
            Policy::Controlled(controller, decision),
            smss,
        )
    }

    pub(crate) fn tuned(tuning: AutoTuning, smss: Bytes) -> AdvertisedWindow {
        AdvertisedWindow::new(Span::from_nanos(1), Policy::Tuned(tuning), smss)
    }

    /// A window that grows to `most` as data arrives.
    pub(crate) fn growing(most: Bytes, smss: Bytes) -> AdvertisedWindow {
        let policy = Policy::Growing(AutoTuning::growing(most, smss));
        AdvertisedWindow::new(Span::from_nanos(1), policy, smss)
    }

    fn new(tick: Span, policy: Policy, smss: Bytes) -> AdvertisedWindow {
        AdvertisedWindow {
            tick,
            policy,
            smss,
            stamps: VecDeque::new(),
            rtt: RttEstimator::new(),
            highest: 0,
            highest_tick: 0,
            right_edge: 0,
            used_up: None,
        }
    }

    pub(crate) fn controller(&self) -> Option<&dyn ReceiverController> {
        match &self.policy {
            Policy::Controlled(controller, _) => Some(&**controller),
            Policy::Tuned(_) | Policy::Growing(_) => None,
        }
    }

    #[inline]
    fn ticks(&self, time: Time) -> u64 {
        match self.tick.as_nanos() {
            1 => time.as_nanos(), // auto-tuning: avoid a division per packet
            tick => time.as_nanos() / tick,
        }
    }

    /// Processes the arrival of a data segment, in order or not. Returns whether it lets a tuned
    /// window grow.
    #[inline]
    pub(crate) fn on_arrival(&mut self, now: Time, segment: &Segment) -> bool {
        if let Policy::Growing(tuning) = &mut self.policy {
            return tuning.on_arrival();
        }
        self.on_measured_arrival(now, segment)
    }

    fn on_measured_arrival(&mut self, now: Time, segment: &Segment) -> bool {
        let rtt = self.measure(now, segment);
        let (controller, decision) = match &mut self.policy {
            Policy::Controlled(controller, decision) => (controller, decision),
            Policy::Tuned(tuning) | Policy::Growing(tuning) => return tuning.on_arrival(),
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

    /// Returns the controller's decision after the latest call; the default one for a tuned window.
    #[inline]
    pub(crate) fn decision(&self) -> ReceiverDecision {
        match &self.policy {
            Policy::Controlled(_, decision) => *decision,
            Policy::Tuned(_) | Policy::Growing(_) => ReceiverDecision::default(),
        }
    }

    /// Returns the time of the controller's timer, if any.
    #[inline]
    pub(crate) fn wake_at(&self) -> Option<Time> {
        match &self.policy {
            Policy::Controlled(_, decision) => decision.wake_at,
            Policy::Tuned(_) | Policy::Growing(_) => None,
        }
    }

    /// Calls the controller's timer, which is due. Returns the time of the next ACK.
    ///
    /// # Panics
    /// If the controller asks to be woken at a time that has passed.
    pub(crate) fn on_timer(&mut self, now: Time) -> AckSchedule {
        let Policy::Controlled(controller, decision) = &mut self.policy else {
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

    /// Returns the window, in segments, of an ACK sent at `at` for everything before `next`; `most`
    /// is the size of the buffer.
    #[inline]
    pub(crate) fn window(&mut self, at: Time, next: u64, most: u32) -> u32 {
        let Policy::Growing(tuning) = &self.policy else {
            return self.measured_window(at, next, most);
        };
        let wanted = tuning.offered();
        self.advertise(next, wanted, most)
    }

    fn measured_window(&mut self, at: Time, next: u64, most: u32) -> u32 {
        let wanted = match &mut self.policy {
            Policy::Controlled(_, decision) => {
                decision.window.unwrap_or(self.smss * u64::from(most))
            }
            Policy::Tuned(tuning) | Policy::Growing(tuning) => {
                tuning.window(at, self.smss * next, self.rtt.srtt)
            }
        };
        let window = self.advertise(next, wanted, most);
        let tick = self.ticks(at);
        match self.stamps.back_mut() {
            Some(last) if last.tick == tick => last.right_edge = self.right_edge,
            _ => self.stamps.push_back(Stamp {
                tick,
                sent: at,
                right_edge: self.right_edge,
                echoed: false,
            }),
        }
        window
    }

    /// Returns the window of an ACK for everything before `next` that offers `wanted`, of a buffer of `most`.
    fn advertise(&mut self, next: u64, wanted: Bytes, most: u32) -> u32 {
        // At least one segment: there are no zero-window probes.
        let wanted = (wanted.get() / self.smss.get()).clamp(1, u64::from(most.max(1)));
        // RFC 9293 §3.8.6, RFC 9840 §4.1.1: the right edge never moves left. The window shrinks
        // only as data arrives.
        self.right_edge = self.right_edge.max(next + wanted);
        (self.right_edge - next) as u32
    }
}
