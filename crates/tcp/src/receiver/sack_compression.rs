//! Compression of the ACKs for segments out of order (Linux: `__tcp_ack_snd_check`).

use fullpipe_units::{Span, Time};

/// Longest time that an ACK waits (Linux: tcp_comp_sack_delay_ns).
const LONGEST: Span = Span::from_millis(1);
/// Time by which the timer may be late, to share a wake-up (Linux: tcp_comp_sack_slack_ns). On a
/// CPU that has nothing else to do it is late by all of it.
const SLACK: Span = Span::from_micros(100);
/// Number of ACKs that one ACK may replace (Linux: tcp_comp_sack_nr).
const MOST: u32 = 44;
/// Number of ACKs for a hole that leave at once (Linux: TCP_FASTRETRANS_THRESH).
const AT_ONCE: u32 = 3;

/// The state of the compression: one ACK stands for those of several segments.
#[derive(Debug)]
pub(super) struct SackCompression {
    /// Share of the RTT for which an ACK waits.
    share: f64,
    /// Number of ACKs withheld (`compressed_ack`), and the time at which one is sent for them.
    withheld: u32,
    due: Option<Time>,
    /// Number of ACKs for the current hole, which begins at `hole` (`dup_ack_counter`,
    /// `compressed_ack_rcv_nxt`).
    sent: u32,
    hole: u64,
}

impl SackCompression {
    pub(super) fn new(share: f64) -> SackCompression {
        SackCompression {
            share,
            withheld: 0,
            due: None,
            sent: 0,
            hole: 0,
        }
    }

    /// Returns whether an ACK is withheld.
    pub(super) fn is_withholding(&self) -> bool {
        self.withheld > 0
    }

    /// Returns the time at which the withheld ACK is sent, if any.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Withholds the ACK of a segment above the hole at `next`, and returns the time at which it is
    /// sent; `None` if it leaves at once. `rtt` is zero if unknown.
    pub(super) fn withhold(&mut self, now: Time, next: u64, rtt: Span) -> Option<Time> {
        if self.withheld >= MOST {
            return None;
        }
        if self.hole != next {
            (self.hole, self.sent) = (next, 0);
        }
        if self.sent < AT_ONCE {
            self.sent += 1;
            return None;
        }
        self.withheld += 1;
        let wait = rtt.mul_f64(self.share).min(LONGEST) + SLACK;
        Some(*self.due.get_or_insert(now + wait))
    }

    /// Notes that an ACK leaves (`tcp_event_ack_sent`).
    pub(super) fn on_ack_sent(&mut self) {
        (self.withheld, self.due) = (0, None);
    }
}
