//! Slow start, as an algorithm separate from the congestion avoidance that follows it.

mod classic;
mod hystart;
mod hystart_pp;

pub use classic::Classic;
pub use hystart::HyStart;
pub use hystart_pp::HyStartPlusPlus;

use fullpipe_units::Bytes;

use crate::{Ack, Context, Param, Transition, words};

words! {
    /// The available slow starts.
    pub enum SlowStartKind {
        /// RFC 5681 with RFC 3465.
        Classic = "classic",
        /// RFC 9406.
        HyStartPlusPlus = "hystart++",
        /// Linux's HyStart, since 6.14.
        HyStart = "hystart",
        /// HyStart of Linux 5.16 to 6.13.
        HyStartLateRounds = "hystart-5.16",
    }
}

/// The parameter that selects the slow start, for algorithms that leave the choice open.
pub const SLOW_START: Param = Param::choice(SlowStartKind::WORDS).says(
    "Slow-start algorithm, which sets how slow start grows and ends",
    "RFC 5681 §3.1, RFC 9406, Linux net/ipv4/tcp_cubic.c",
);

/// Effect of an ACK on a window in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Grow by this amount, if the window limits the flow.
    Grow(Bytes),
    /// End slow start because the pipe is full, with the reason: `ssthresh` becomes `cwnd`, and
    /// this ACK counts for congestion avoidance.
    Exit(&'static str),
}

/// A slow-start algorithm.
pub trait SlowStart {
    /// Processes an ACK while `cwnd`, the first of the windows, is below `ssthresh`, the second,
    /// outside of recovery. `counted` bytes of the ACK may raise the window.
    fn on_ack(
        &mut self,
        cx: &mut Context<'_>,
        ack: &Ack,
        counted: Bytes,
        windows: [Bytes; 2],
    ) -> Step;

    /// Notes that congestion ended slow start, or that a timeout begins the next one.
    fn on_congestion(&mut self) {}

    /// Notes that a timeout begins another slow start.
    fn on_timeout(&mut self) {}

    /// Returns whether conservative slow start is active (RFC 9406 §4.2).
    fn is_css(&self) -> bool {
        false
    }
}

/// Any slow start, stored inline.
#[derive(Clone, Debug)]
pub enum AnySlowStart {
    /// RFC 5681 with RFC 3465.
    Classic(Classic),
    /// Linux's HyStart.
    HyStart(HyStart),
    /// RFC 9406.
    HyStartPlusPlus(HyStartPlusPlus),
}

impl AnySlowStart {
    /// Creates a slow start of `kind`; `classic` counts at most `limit` segments per ACK (L of RFC
    /// 3465).
    pub fn new(kind: SlowStartKind, limit: f64) -> AnySlowStart {
        match kind {
            SlowStartKind::Classic => AnySlowStart::Classic(Classic::new(limit)),
            SlowStartKind::HyStart => AnySlowStart::HyStart(HyStart::default()),
            SlowStartKind::HyStartLateRounds => AnySlowStart::HyStart(HyStart::with_late_rounds()),
            SlowStartKind::HyStartPlusPlus => {
                AnySlowStart::HyStartPlusPlus(HyStartPlusPlus::default())
            }
        }
    }

    /// Processes an ACK and updates `cwnd` and `ssthresh`; `counted` bytes of it may raise the window.
    /// Returns false if slow start has ended
    /// and the ACK remains to be processed.
    #[inline]
    pub fn drive(
        &mut self,
        cx: &mut Context<'_>,
        ack: &Ack,
        counted: Bytes,
        cwnd: &mut Bytes,
        ssthresh: &mut Bytes,
    ) -> bool {
        match self.on_ack(cx, ack, counted, [*cwnd, *ssthresh]) {
            Step::Grow(increase) => {
                if cx.conn.cwnd_limited {
                    *cwnd = (*cwnd + increase).min(*ssthresh);
                    if *cwnd == *ssthresh {
                        self.report_end(cx, "ssthresh reached");
                    }
                }
                true
            }
            Step::Exit(reason) => {
                self.report_end(cx, reason);
                *ssthresh = *cwnd;
                false
            }
        }
    }

    fn report_end(&self, cx: &mut Context<'_>, reason: &'static str) {
        let from = if self.is_css() { "css" } else { "slow_start" };
        cx.observer.transition(
            cx.now,
            Transition {
                from,
                to: "congestion_avoidance",
                reason,
            },
        );
    }
}

macro_rules! forward {
    ($self:ident, $s:ident => $call:expr) => {
        match $self {
            AnySlowStart::Classic($s) => $call,
            AnySlowStart::HyStart($s) => $call,
            AnySlowStart::HyStartPlusPlus($s) => $call,
        }
    };
}

impl SlowStart for AnySlowStart {
    #[inline]
    fn on_ack(
        &mut self,
        cx: &mut Context<'_>,
        ack: &Ack,
        counted: Bytes,
        windows: [Bytes; 2],
    ) -> Step {
        forward!(self, s => s.on_ack(cx, ack, counted, windows))
    }
    fn on_congestion(&mut self) {
        forward!(self, s => s.on_congestion());
    }
    fn on_timeout(&mut self) {
        forward!(self, s => s.on_timeout());
    }
    fn is_css(&self) -> bool {
        forward!(self, s => s.is_css())
    }
}
