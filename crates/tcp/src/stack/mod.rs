//! Parts of an operating system's TCP that an ideal sender does without: limits and heuristics
//! between the application and the congestion controller.

mod metrics;
mod pipe_ack;
mod send_buffer;
mod tso;
mod validation;

use fullpipe_units::{Bytes, Span, Time};

pub use self::metrics::MetricsCache;
pub(crate) use self::metrics::{Closing, Metrics};
use self::pipe_ack::PipeAck;
pub(crate) use self::send_buffer::Queue;
use self::send_buffer::SendBuffer;
use self::tso::Tso;
pub(crate) use self::tso::{BeforeBurst, Burst};
pub use self::validation::CwndValidation;
use self::validation::Usage;
pub(crate) use self::validation::{Writing, Written};
use crate::sender::LossDetection;

/// The parts that a sender has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Rule for a congestion window that the flow does not use.
    pub cwnd_validation: CwndValidation,
    /// Largest memory of the send buffer, which grows with the window; `None` if it has no limit.
    pub send_buffer: Option<Bytes>,
    /// Whether data leave in bursts as with TCP segmentation offload, which wait for each other.
    pub tso: bool,
    /// Whether a timeout in fast recovery is no second reduction.
    pub one_reduction: bool,
    /// Rules of loss detection.
    pub loss_detection: LossDetection,
}

/// The state of the parts that act on each write.
#[derive(Debug, Default)]
pub(crate) struct StackState {
    validation: Option<Validation>,
    send_buffer: Option<SendBuffer>,
    tso: Option<Tso>,
    /// The cache, until the connection has left its values there.
    cache: Option<MetricsCache>,
    /// The latest size of an unpaced burst, with its cause.
    burst: Option<(BurstOf, Bytes)>,
}

/// Values that decide the size of an unpaced burst: window, the larger one of window and outstanding data, slow-start
/// threshold, smoothed and minimum RTT.
type BurstOf = (Bytes, Bytes, Bytes, (Span, Span));

#[derive(Debug)]
enum Validation {
    Linux(Usage),
    Rfc7661(PipeAck),
}

impl StackState {
    /// Returns the state of a connection that begins at `now`; `None` if no part needs it. A send
    /// buffer has room for `windows` windows; segments have a payload of `smss`.
    pub(crate) fn new(
        stack: &Stack,
        windows: u64,
        smss: Bytes,
        now: Time,
    ) -> Option<Box<StackState>> {
        if (Stack {
            one_reduction: false,
            loss_detection: LossDetection::default(),
            ..*stack
        }) == Stack::default()
        {
            return None;
        }
        Some(Box::new(StackState {
            validation: match stack.cwnd_validation {
                CwndValidation::Off => None,
                CwndValidation::Linux => Some(Validation::Linux(Usage::new(now))),
                CwndValidation::Rfc7661 => Some(Validation::Rfc7661(PipeAck::new(now))),
            },
            send_buffer: stack
                .send_buffer
                .map(|max| SendBuffer::new(max, windows, smss)),
            tso: stack.tso.then(|| Tso::new(smss)),
            cache: None,
            burst: None,
        }))
    }

    /// Uses the values of earlier connections, and leaves its own.
    pub(crate) fn set_cache(&mut self, cache: MetricsCache) {
        self.cache = Some(cache);
    }

    /// Returns the values of earlier connections at `now`, if there is a cache.
    pub(crate) fn metrics(&self, now: Time) -> Option<Metrics> {
        Some(self.cache.as_ref()?.read(now))
    }

    /// Takes the cache of a connection that ends, if it has not left its values yet.
    pub(crate) fn take_cache(&mut self) -> Option<MetricsCache> {
        self.cache.take()
    }

    /// Returns the end of the written data if the application, which has data up to `app`, certainly waits
    /// for room in the send buffer, or if that has no limit.
    #[inline]
    pub(crate) fn settled(&self, app: u64, una: u64, cwnd: Bytes, has_room: bool) -> Option<u64> {
        match &self.send_buffer {
            Some(buffer) if buffer.waits(una, cwnd, has_room) => Some(buffer.end()),
            Some(_) => None,
            None => Some(app),
        }
    }

    /// Lets the application write, and returns the end of the written data.
    pub(crate) fn fill(&mut self, queue: &Queue) -> u64 {
        self.send_buffer
            .as_mut()
            .map_or(queue.app, |buffer| buffer.fill(queue))
    }

    /// Returns the end of the data in the send buffer. The application has data up to `app`.
    #[inline]
    pub(crate) fn written(&self, app: u64) -> u64 {
        self.send_buffer
            .as_ref()
            .map_or(app, |buffer| buffer.written(app))
    }

    /// Returns one past the last segment that the application has handed over; `next` is SND.NXT.
    #[inline]
    pub(crate) fn accepted(&self, next: u64) -> u64 {
        self.send_buffer
            .as_ref()
            .map_or(next, |buffer| buffer.end().max(next))
    }

    /// Returns whether data leave in the bursts of segmentation offload.
    pub(crate) fn has_tso(&self) -> bool {
        self.tso.is_some()
    }

    /// Returns the size of a burst, which `size` computes if `of` has changed.
    pub(crate) fn burst_size(&mut self, of: BurstOf, size: impl FnOnce() -> Bytes) -> Bytes {
        match self.burst {
            Some((same, size)) if same == of => size,
            _ => {
                let size = size();
                self.burst = Some((of, size));
                size
            }
        }
    }

    /// Returns the next burst of segmentation offload; `None` without it.
    #[inline]
    pub(crate) fn next_burst(&mut self, before: &BeforeBurst) -> Option<Burst> {
        Some(self.tso.as_mut()?.next(before))
    }

    /// Returns the window with which a flow without outstanding data continues, if it is lower than
    /// before.
    pub(crate) fn before_flight(&mut self, writing: &Writing) -> Option<Bytes> {
        match self.validation.as_mut()? {
            Validation::Linux(usage) => usage.after_idle(writing),
            Validation::Rfc7661(pipe) => pipe.after_period(writing),
        }
    }

    /// Processes the end of a write. Returns whether the window limits the flow, if the validation has a
    /// rule of its own.
    #[inline]
    pub(crate) fn on_written(&mut self, written: &Written) -> Option<bool> {
        if let Some(tso) = &mut self.tso {
            tso.on_written(written.next, written.end);
        }
        match self.validation.as_mut()? {
            Validation::Linux(usage) => {
                usage.on_written(written);
                Some(usage.is_limited(written))
            }
            Validation::Rfc7661(_) => None,
        }
    }

    /// Returns the window to which to lower the flow's after a write, if it is lower than before.
    pub(crate) fn after_write(&mut self, writing: &Writing) -> Option<Bytes> {
        match self.validation.as_mut()? {
            Validation::Linux(_) => None,
            Validation::Rfc7661(pipe) => pipe.on_written(writing),
        }
    }

    /// Returns the window in use at a loss, which the reduction applies to: less than the window,
    /// if that was not validated.
    pub(crate) fn at_loss(&mut self, writing: &Writing) -> Option<Bytes> {
        match self.validation.as_mut()? {
            Validation::Linux(_) => None,
            Validation::Rfc7661(pipe) => pipe.at_loss(writing),
        }
    }

    /// Records that a tail loss probe left.
    pub(crate) fn on_probe(&mut self, now: Time) {
        if let Some(Validation::Linux(usage)) = &mut self.validation {
            usage.on_sent(now);
        }
    }

    /// Records that a timeout or the end of recovery has set the window.
    pub(crate) fn on_recovery(&mut self, now: Time, una: u64) {
        if let Some(Validation::Rfc7661(pipe)) = &mut self.validation {
            pipe.reset(now, una);
        }
    }
}
