//! pipeACK: the data that the path has carried lately (RFC 7661).

use std::collections::VecDeque;

use fullpipe_units::{Bytes, Span, Time};

use super::Writing;

/// Time for which an unused window is kept: the non-validated period (RFC 7661 §4.4.3).
const NON_VALIDATED_PERIOD: Span = Span::from_secs(300);
/// Least pipeACK sampling period, which is otherwise three round trips (RFC 7661 §4.2).
const SAMPLING_PERIOD: Span = Span::from_secs(1);

/// Validation by RFC 7661, in segments.
#[derive(Debug)]
pub(super) struct PipeAck {
    /// Start of the current round trip, and SND.UNA then.
    round: (Time, u64),
    /// End of each round trip of the sampling period, and the data acknowledged in it: only those
    /// with more than all later ones.
    samples: VecDeque<(Time, u64)>,
    /// Time at which the window was last validated.
    validated: Time,
}

impl PipeAck {
    pub(super) fn new(now: Time) -> PipeAck {
        PipeAck {
            round: (now, 0),
            samples: VecDeque::new(),
            validated: now,
        }
    }

    /// Processes a write: takes a sample each round trip (RFC 7661 §4.2).
    pub(super) fn on_written(&mut self, writing: &Writing) -> Option<Bytes> {
        self.sample(writing);
        if self.is_validated(writing.cwnd()) {
            self.validated = writing.now;
        }
        self.after_period(writing)
    }

    /// Halves a window that was not validated for too long (RFC 7661 §4.4.3).
    pub(super) fn after_period(&mut self, writing: &Writing) -> Option<Bytes> {
        if writing.now.since(self.validated) < NON_VALIDATED_PERIOD {
            return None;
        }
        self.validated = writing.now;
        writing.lower_to(writing.half())
    }

    fn sample(&mut self, writing: &Writing) {
        let Writing { now, una, srtt, .. } = *writing;
        let (began, from) = self.round;
        if writing.open && una > from && now.since(began) >= srtt {
            let acked = una - from;
            self.round = (now, una);
            while self
                .samples
                .back()
                .is_some_and(|(_, least)| *least <= acked)
            {
                self.samples.pop_back();
            }
            self.samples.push_back((now, acked));
        }
        let period = (srtt * 3).max(SAMPLING_PERIOD);
        while self.samples.len() > 1 && now.since(self.samples[0].0) > period {
            self.samples.pop_front();
        }
    }

    /// Begins anew after recovery: pipeACK is undefined until the next sample, and the window is
    /// validated (RFC 7661 §4.4.1).
    pub(super) fn reset(&mut self, now: Time, una: u64) {
        *self = PipeAck {
            round: (now, una),
            ..PipeAck::new(now)
        };
    }

    /// Returns whether a window is validated (RFC 7661 §4.3).
    pub(super) fn is_validated(&self, cwnd: u64) -> bool {
        self.samples
            .front()
            .is_none_or(|(_, pipe_ack)| 2 * pipe_ack >= cwnd)
    }

    /// Returns the larger of pipeACK and the flight size, if the window was not validated (RFC 7661
    /// §4.4.1).
    pub(super) fn at_loss(&self, writing: &Writing) -> Option<Bytes> {
        if self.is_validated(writing.cwnd()) {
            return None;
        }
        let (_, pipe_ack) = self.samples.front()?;
        writing.lower_to((*pipe_ack).max(writing.next - writing.una))
    }
}
