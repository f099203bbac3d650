//! The timer that loss detection and the handshake share.

use fullpipe_units::{Span, Time};

use crate::rtt::RttEstimator;
use crate::wire::{Ack, Block};

/// Linux's TCP_TIMEOUT_MIN, two ticks of a clock of 1000 Hz.
const TIMEOUT_MIN: Span = Span::from_millis(2);

/// Rules of loss detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossDetection {
    /// RACK-TLP (RFC 8985).
    #[default]
    Rfc8985,
    /// Linux's: RACK's RTT is that of the segment that it processes last, the timers of RACK and of
    /// tail loss probes are two milliseconds late, and the retransmission timeout that follows one of
    /// them counts from the departure of the first segment that is not acknowledged.
    Linux,
}

/// Purpose of the timer; as in Linux, it has one purpose at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    None,
    /// Retransmission of the SYN.
    Handshake,
    /// End of RACK's reordering window (RFC 8985 §6.2 step 5).
    Reordering,
    /// A tail loss probe (RFC 8985 §7.2).
    Probe,
    /// The retransmission timeout (RFC 6298).
    Rto,
}

/// Why the timer is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arming {
    /// An ACK, which advanced SND.UNA or not.
    Ack { advanced: bool },
    /// New data was sent.
    Sent,
    /// Data was sent again: the first segment that is not acknowledged, or another one.
    Resent { first: bool },
    /// The timer expired: it was the reordering timer.
    Reordering,
    /// ... that of a probe, or the retransmission timeout.
    Expired,
    /// ... that of a probe, which was not sent since another one is not answered yet.
    NoProbe,
}

/// The timer that loss detection and the handshake share.
#[derive(Debug)]
pub(super) struct Timer {
    pub(super) kind: TimerKind,
    pub(super) at: Time,
    /// Time from which the retransmission timeout counts.
    pub(super) rto_base: Time,
    /// Time at which RACK must check for losses again.
    pub(super) reordering: Option<Time>,
    /// State of an unanswered probe: (TLP.end_seq, TLP.is_retrans).
    pub(super) tlp: Option<(u64, bool)>,
    /// Time by which timers of loss detection are late.
    pub(super) slack: Span,
}

impl Timer {
    pub(super) fn new(loss_detection: LossDetection) -> Timer {
        Timer {
            slack: match loss_detection {
                LossDetection::Rfc8985 => Span::ZERO,
                LossDetection::Linux => TIMEOUT_MIN,
            },
            kind: TimerKind::None,
            at: Time::MAX,
            rto_base: Time::ZERO,
            reordering: None,
            tlp: None,
        }
    }

    /// Returns whether losses are detected as in Linux.
    #[inline]
    pub(super) fn is_linux(&self) -> bool {
        self.slack > Span::ZERO
    }

    #[inline]
    pub(super) fn at(&self) -> Time {
        self.at
    }

    pub(super) fn stop(&mut self) {
        (self.kind, self.at) = (TimerKind::None, Time::MAX);
    }

    #[inline]
    pub(super) fn restart_rto(&mut self, now: Time) {
        self.rto_base = now;
    }

    /// Arms the timer for the SYN. Returns true if the SYN was sent before.
    pub(super) fn handshake(&mut self, now: Time, rtt: &mut RttEstimator) -> bool {
        let again = self.kind == TimerKind::Handshake;
        if again {
            rtt.back_off();
        }
        (self.kind, self.at) = (TimerKind::Handshake, now + rtt.rto());
        again
    }

    /// Ends the current probe because loss recovery begins (RFC 8985 §7.1). Returns the segment
    /// that an unanswered probe retransmitted.
    pub(super) fn end_probe(&mut self) -> Option<u64> {
        self.tlp
            .take()
            .and_then(|(end, retransmit)| retransmit.then(|| end - 1))
    }

    /// Returns whether this ACK shows that the probe repaired a loss (RFC 8985 §7.4). `new` is
    /// whether the ACK newly acknowledges data.
    #[inline]
    pub(super) fn probe_repaired(&mut self, ack: &Ack, blocks: &[Block], new: bool) -> bool {
        let Some((end, retransmit)) = self.tlp else {
            return false;
        };
        if ack.next < end {
            return false;
        }
        let duplicate = ack.dsack && (blocks[0].start..blocks[0].end).contains(&(end - 1));
        if !retransmit || duplicate {
            self.tlp = None;
            false
        } else if ack.next > end {
            self.tlp = None;
            true
        } else {
            if !new && blocks.is_empty() {
                self.tlp = None; // A duplicate ACK without SACK: both copies arrived.
            }
            false
        }
    }
}
