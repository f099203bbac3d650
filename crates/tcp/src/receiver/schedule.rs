//! The receiver's algorithm: its timer and its schedule of ACKs.

use fullpipe_cc::{AckSchedule, ReceiverController};
use fullpipe_units::Time;

use super::Receiver;
use crate::advertised_window::AdvertisedWindow;
use crate::wire::{Ack, Block, Segment};

impl Receiver {
    /// Lets `controller` decide the window, up to the size of the buffer, the times of ACKs and their
    /// feedback.
    #[must_use]
    pub fn with_controller(self, controller: Box<dyn ReceiverController>) -> Receiver {
        Receiver {
            offer: Some(Box::new(AdvertisedWindow::controlled(
                controller, self.smss,
            ))),
            attentive: true,
            ..self
        }
    }

    /// Returns the receiver's algorithm, if any.
    pub fn controller(&self) -> Option<&dyn ReceiverController> {
        self.offer.as_ref().and_then(|offer| offer.controller())
    }

    /// Returns the time at which a delayed ACK, a request or the timer of the receiver's algorithm
    /// is due, if any.
    #[inline]
    pub fn ack_due(&self) -> Option<Time> {
        match self.wake_at() {
            None => self.due,
            Some(wake) => Some(self.due.map_or(wake, |due| due.min(wake))),
        }
    }

    /// Returns the time of the timer of the receiver's algorithm.
    #[inline]
    pub(super) fn wake_at(&self) -> Option<Time> {
        self.offer.as_ref().and_then(|offer| offer.wake_at())
    }

    /// Processes a segment as the schedule of the receiver's algorithm says. Returns whether there is
    /// a schedule.
    pub(super) fn is_scheduled(
        &mut self,
        now: Time,
        segment: &Segment,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) -> bool {
        let schedule = match &self.offer {
            Some(offer) => offer.decision().ack,
            None => return false,
        };
        if schedule == AckSchedule::Policy {
            return false;
        }
        self.note_timestamp(segment);
        self.place(segment);
        self.follow(now, schedule, emit);
        true
    }

    /// Calls the timer of the receiver's algorithm, and follows its schedule of ACKs.
    #[cold]
    pub(super) fn wake(&mut self, at: Time, emit: &mut impl FnMut(Time, Ack, &[Block])) {
        let schedule = self.offer.as_mut().map(|offer| offer.on_timer(at));
        self.follow(at, schedule.unwrap_or_default(), emit);
    }

    /// Sends the ACK that the receiver's algorithm has scheduled, now or at its time.
    fn follow(
        &mut self,
        now: Time,
        schedule: AckSchedule,
        emit: &mut impl FnMut(Time, Ack, &[Block]),
    ) {
        match schedule {
            AckSchedule::Policy => {}
            AckSchedule::At(at) if at > now => {
                self.due = Some(self.ask_at.map_or(at, |ask_at| ask_at.min(at)));
            }
            AckSchedule::Now | AckSchedule::At(_) => self.acknowledge(now, emit),
        }
    }
}
