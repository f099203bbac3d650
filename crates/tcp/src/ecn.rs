//! Explicit congestion notification: what the receiver reports of marks, and what the sender makes
//! of it.

use fullpipe_cc::{EcnCodepoint, EcnCounts};
use fullpipe_units::Bytes;

use crate::wire::{Ack, SMSS, Segment};

/// How the receiver reports CE marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Every ACK has the number of marked packets that have arrived, as with AccECN (RFC 9768).
    #[default]
    Accurate,
    /// ACKs have the ECE flag from a mark until the sender says that it has reduced its window (RFC
    /// 3168 §6.1.3).
    Classic,
    /// The ECE flag says whether the packets that an ACK answers are marked (RFC 8257 §3.2).
    Dctcp,
}

/// The receiver's part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Echo {
    feedback: EcnFeedback,
    /// What ACKs say: see [`Ack::ecn`].
    pub(crate) says: u8,
    /// DCTCP.CE.
    dctcp_ce: bool,
}

impl Echo {
    pub(crate) fn new(feedback: EcnFeedback) -> Echo {
        Echo {
            feedback,
            ..Echo::default()
        }
    }

    /// Whether an ACK that is delayed must leave before this segment counts (RFC 8257 §3.2).
    pub(crate) fn calls_for_ack(&self, segment: &Segment) -> bool {
        self.feedback == EcnFeedback::Dctcp && segment.ce != self.dctcp_ce
    }

    /// A segment arrives, marked or not.
    pub(crate) fn on_segment(&mut self, segment: &Segment) {
        match self.feedback {
            EcnFeedback::Accurate => self.says = self.says.wrapping_add(u8::from(segment.ce)),
            // RFC 3168 §6.1.3: CWR ends the echo, and a mark of the same packet begins it anew.
            EcnFeedback::Classic => {
                self.says = u8::from(segment.ce || (self.says == 1 && !segment.cwr))
            }
            EcnFeedback::Dctcp => {
                self.dctcp_ce = segment.ce;
                self.says = u8::from(segment.ce);
            }
        }
    }
}

/// What an ACK says of marks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Packets newly reported as marked.
    pub(crate) packets: u64,
    /// Bytes of these: all packets but the last of a transfer are full.
    bytes: Bytes,
    /// There was congestion, however often.
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

/// No ACK says this.
const KEPT: u16 = 256;

/// The sender's part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaction {
    pub(crate) feedback: EcnFeedback,
    /// What data leaves with the first time, and again.
    codepoints: [EcnCodepoint; 2],
    /// What ACKs say when there is nothing new; more than any of them can while something is kept.
    usual: u16,
    /// The latest count.
    count: u8,
    /// Reported by ACKs that acknowledged nothing.
    kept: u64,
    /// The next new segment carries CWR.
    pub(crate) cwr: bool,
    /// The ACK that concerns us was sent before another that has come already.
    pub(crate) late: bool,
    /// What it said.
    pub(crate) marks: Marks,
}

impl Reaction {
    pub(crate) fn new(feedback: EcnFeedback, codepoint: EcnCodepoint) -> Reaction {
        // RFC 3168 §6.1.5 forbids retransmissions to be ECN-capable; whoever counts marks has them
        // so, as Linux does for DCTCP, since what can't be marked in a queue of marked packets is
        // lost again.
        let again = if feedback == EcnFeedback::Classic {
            EcnCodepoint::NotEct
        } else {
            codepoint
        };
        let (codepoints, marks) = ([codepoint, again], Marks::default());
        Reaction {
            feedback,
            codepoints,
            usual: 0,
            count: 0,
            kept: 0,
            cwr: false,
            late: false,
            marks,
        }
    }

    /// What a segment leaves with.
    #[inline]
    pub(crate) fn codepoint(&self, retransmit: bool) -> EcnCodepoint {
        self.codepoints[usize::from(retransmit)]
    }

    /// Whether this ACK says anything.
    #[inline]
    pub(crate) fn concerns(&self, ack: &Ack) -> bool {
        u16::from(ack.ecn) != self.usual
    }

    /// An ACK that newly acknowledges so many bytes; how many are newly known to be marked, `most`
    /// at most.
    pub(crate) fn on_ack(&mut self, ack: &Ack, acked: Bytes, most: Bytes) -> Bytes {
        self.marks = Marks::default();
        match self.feedback {
            EcnFeedback::Classic => self.marks.any = ack.ecn == 1,
            EcnFeedback::Dctcp if ack.ecn == 0 => {}
            EcnFeedback::Dctcp => self.kept += acked.get().div_ceil(SMSS.get()),
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
                bytes: (SMSS * packets).min(most),
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
