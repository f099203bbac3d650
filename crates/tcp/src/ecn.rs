//! Explicit congestion notification: the receiver's report of marks, and the sender's reaction.

use fullpipe_cc::{EcnCodepoint, EcnCounts};
use fullpipe_units::Bytes;

use crate::wire::{Ack, Segment};

/// The way in which the receiver reports CE marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Every ACK carries the number of marked packets that have arrived, as with AccECN (RFC 9768).
    #[default]
    Accurate,
    /// ACKs carry the ECE flag from a mark until the sender signals that it has reduced its window
    /// (RFC 3168 §6.1.3).
    Classic,
    /// The ECE flag reports whether the packets that an ACK acknowledges are marked (RFC 8257
    /// §3.2).
    Dctcp,
    /// No ACK reports a mark: the receiver conceals them.
    Concealed,
}

/// The receiver's side of ECN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Echo {
    feedback: EcnFeedback,
    /// Value that ACKs carry: see [`Ack::ecn`].
    pub(crate) says: u8,
    /// DCTCP.CE.
    dctcp_ce: bool,
    /// Whether an ECN-capable segment has arrived.
    seen: bool,
}

impl Echo {
    pub(crate) fn new(feedback: EcnFeedback) -> Echo {
        Echo {
            feedback,
            ..Echo::default()
        }
    }

    /// Returns whether an ECN-capable segment has arrived.
    #[inline]
    pub(crate) fn has_seen(&self) -> bool {
        self.seen
    }

    /// Returns whether a delayed ACK must leave before this segment is counted (RFC 8257 §3.2).
    pub(crate) fn calls_for_ack(&self, segment: &Segment) -> bool {
        self.feedback == EcnFeedback::Dctcp && segment.ce != self.dctcp_ce
    }

    /// Returns whether Linux answers this segment with quick ACKs, before it is counted: the first
    /// mark, or a retransmission, whose sender may have a small window (`__tcp_ecn_check_ce`).
    pub(crate) fn calls_for_quick_acks(&self, segment: &Segment) -> bool {
        let again = self.seen && segment.ecn == EcnCodepoint::NotEct;
        self.feedback == EcnFeedback::Classic && (segment.ce && self.says == 0 || again)
    }

    /// Returns whether Linux acknowledges this segment at once, since its sender has reduced its
    /// window (`tcp_ecn_accept_cwr`).
    pub(crate) fn calls_for_ack_at_once(&self, segment: &Segment) -> bool {
        self.feedback == EcnFeedback::Classic && segment.cwr
    }

    /// Processes the arrival of a segment, marked or not.
    pub(crate) fn on_segment(&mut self, segment: &Segment) {
        self.seen |= segment.ecn != EcnCodepoint::NotEct;
        match self.feedback {
            EcnFeedback::Accurate => self.says = self.says.wrapping_add(u8::from(segment.ce)),
            // RFC 3168 §6.1.3: CWR ends the echo, and a mark on the same packet starts it again.
            EcnFeedback::Classic => {
                self.says = u8::from(segment.ce || (self.says == 1 && !segment.cwr))
            }
            EcnFeedback::Dctcp => {
                self.dctcp_ce = segment.ce;
                self.says = u8::from(segment.ce);
            }
            EcnFeedback::Concealed => {}
        }
    }
}

/// Marks that an ACK reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Packets newly reported as marked.
    pub(crate) packets: u64,
    /// Bytes of these packets: all packets but the last of a transfer are full.
    bytes: Bytes,
    /// Whether congestion was reported at all.
    pub(crate) any: bool,
}

impl Marks {
    pub(crate) fn counts(&self) -> EcnCounts {
        EcnCounts {
            ce_packets: self.packets,
            ce_bytes: (self.packets > 0).then_some(self.bytes),
        }
    }
}

/// Value of [`Reaction::usual`] that no ACK's `ecn` equals.
const KEPT: u16 = 256;

/// The sender's side of ECN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaction {
    pub(crate) feedback: EcnFeedback,
    /// The scenario's ECN codepoint of data; without one, the controller decides.
    fixed: Option<EcnCodepoint>,
    /// The `ecn` value of ACKs that report nothing new; [`KEPT`] while reported marks are pending.
    usual: u16,
    /// Latest count of marked packets.
    count: u8,
    /// Marked packets reported by ACKs that acknowledged no data; counted with the next ACK that
    /// does.
    kept: u64,
    /// Whether the next new segment carries CWR.
    pub(crate) cwr: bool,
    /// Whether the current ACK was sent before an ACK that has already arrived.
    pub(crate) late: bool,
    /// Marks reported by the current ACK.
    pub(crate) marks: Marks,
}

impl Reaction {
    pub(crate) fn new(feedback: EcnFeedback, fixed: Option<EcnCodepoint>) -> Reaction {
        Reaction {
            feedback,
            fixed,
            usual: 0,
            count: 0,
            kept: 0,
            cwr: false,
            late: false,
            marks: Marks::default(),
        }
    }

    /// Returns the ECN codepoint of a segment if the controller's is `decided`.
    #[inline]
    pub(crate) fn codepoint(&self, decided: EcnCodepoint, retransmit: bool) -> EcnCodepoint {
        // RFC 3168 §6.1.5 forbids ECN-capable retransmissions. With feedback that counts marks they
        // are ECN-capable nevertheless, as in Linux's DCTCP: a queue that marks its packets would
        // drop an unmarkable retransmission.
        if retransmit && self.feedback == EcnFeedback::Classic {
            return EcnCodepoint::NotEct;
        }
        self.fixed.unwrap_or(decided)
    }

    /// Returns whether this ACK reports anything about marks.
    #[inline]
    pub(crate) fn concerns(&self, ack: &Ack) -> bool {
        u16::from(ack.ecn) != self.usual
    }

    /// Processes an ACK that newly acknowledges `acked` bytes, in full segments of `smss`. Returns
    /// the bytes newly reported as marked, at most `most`.
    pub(crate) fn on_ack(&mut self, ack: &Ack, acked: Bytes, most: Bytes, smss: Bytes) -> Bytes {
        self.marks = Marks::default();
        match self.feedback {
            EcnFeedback::Classic => {
                self.marks.any = ack.ecn == 1;
                // The number of marks is unknown. Linux counts all data acknowledged with ECE
                // (tcp_newly_delivered).
                self.marks.bytes = acked * u64::from(ack.ecn);
            }
            EcnFeedback::Concealed => {}
            EcnFeedback::Dctcp if ack.ecn == 0 => {}
            EcnFeedback::Dctcp => self.kept += acked.get().div_ceil(smss.get()),
            EcnFeedback::Accurate if self.late => {}
            EcnFeedback::Accurate => {
                self.kept += u64::from(ack.ecn.wrapping_sub(self.count));
                self.count = ack.ecn;
            }
        }
        if acked > Bytes::ZERO && self.kept > 0 {
            let packets = core::mem::take(&mut self.kept);
            self.marks = Marks {
                packets,
                bytes: (smss * packets).min(most),
                any: true,
            };
        }
        self.usual = if self.kept > 0 {
            KEPT
        } else {
            u16::from(self.count)
        };
        self.marks.bytes
    }
}
