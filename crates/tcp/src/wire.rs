//! Packets on the wire: segments in one direction, ACKs in the other.

use fullpipe_cc::EcnCodepoint;
use fullpipe_units::{Bytes, Span, Time};

/// Payload of a full segment on a path with packets of 1500 bytes, the usual one.
pub const SMSS: Bytes = Bytes::new(1448);
/// IPv4 and TCP headers with the timestamp option: a full segment is a 1500-byte packet.
pub const HEADER: Bytes = Bytes::new(52);
const _: () = assert!(SMSS.get() + HEADER.get() == 1500);
/// A SYN or SYN-ACK: headers with the options of a handshake.
pub const SYN_SIZE: Bytes = Bytes::new(60);
/// An ACK without SACK blocks.
pub const ACK_SIZE: Bytes = HEADER;
/// Number of SACK blocks that fit into an ACK with the timestamp option (RFC 2018 §3).
pub const MAX_BLOCKS: usize = 3;

/// A data segment, or the SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Position in the stream, in segments. Meaningless in a SYN.
    pub seq: u64,
    /// Time at which it was sent: the timestamp option (RFC 7323), at full resolution.
    pub sent: Time,
    /// The echoed timestamp: sending time of the latest ACK that the sender had received. In a
    /// datagram, the time of its frame.
    pub echo: Time,
    /// Size of the payload in bytes.
    pub size: u16,
    /// The SYN flag: opens the connection.
    pub syn: bool,
    /// Whether the segment was sent before.
    pub retransmit: bool,
    /// The PSH flag (RFC 9293 §3.9.1), which Linux sets on the last segment of each TSO burst and
    /// of data that was written at once.
    pub push: bool,
    /// The ECN codepoint with which it was sent.
    pub ecn: EcnCodepoint,
    /// Whether it was marked on the way: congestion experienced (RFC 3168 §5).
    pub ce: bool,
    /// The CWR flag: the sender reduced its window (RFC 3168 §6.1.2).
    pub cwr: bool,
}

impl Segment {
    /// Returns the size on the wire.
    #[inline]
    pub fn wire_size(&self) -> Bytes {
        if self.syn {
            SYN_SIZE
        } else {
            HEADER + Bytes::new(u64::from(self.size))
        }
    }
}

/// A run of segments that arrived: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment of the run.
    pub start: u64,
    /// One past the last segment of the run.
    pub end: u64,
}

/// Additional role of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckKind {
    /// No additional role.
    #[default]
    Plain,
    /// Answers the SYN: a SYN-ACK.
    Syn,
    /// Carries a client's request for the data from `next` on.
    Request,
    /// Reports datagrams: see [`DatagramReceiver`](crate::DatagramReceiver).
    Report,
}

/// An ACK. Its SACK blocks are passed separately, so that the usual ACK, which has none, stays
/// small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Sequence below which everything has arrived.
    pub next: u64,
    /// The echoed timestamp (RFC 7323 §4.3): sending time of the segment that this ACK answers.
    pub echo: Time,
    /// Time at which this ACK was sent: its own timestamp, by the receiver's clock.
    pub sent: Time,
    /// Number of segments that may be sent from `next` on.
    pub window: u32,
    /// Number of blocks that follow; the last may be [`Feedback`]. Read it with
    /// [`count`](Ack::count).
    pub blocks: u8,
    /// Whether the first block reports a duplicate (RFC 2883).
    pub dsack: bool,
    /// Additional role of the ACK.
    pub kind: AckKind,
    /// Reported marks, as defined by [`EcnFeedback`](crate::EcnFeedback): the number of marked
    /// packets modulo 256, or the ECE flag.
    pub ecn: u8,
}

/// A receiver's report besides the data that arrived. It is no option of TCP's; on the wire it
/// takes the place of a SACK block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// A value of the receiver's algorithm.
    pub value: u64,
    /// Time from the arrival of the newest packet that the ACK answers until the ACK left the host.
    pub delay: Span,
}

/// Bit of [`Ack::blocks`]: the last block is [`Feedback`].
const FEEDBACK: u8 = 0x80;

impl Ack {
    /// Returns the number of blocks that follow the ACK, feedback included.
    #[inline]
    pub fn count(&self) -> usize {
        usize::from(self.blocks & !FEEDBACK)
    }

    /// Adds feedback behind the SACK blocks, in place of earlier feedback, or of the last block if there
    /// is no room.
    pub fn add_feedback(&mut self, blocks: &mut [Block; MAX_BLOCKS], feedback: Feedback) {
        let sacks = self.count() - usize::from(self.blocks & FEEDBACK != 0);
        let place = sacks.min(MAX_BLOCKS - 1);
        blocks[place] = Block {
            start: feedback.value,
            end: feedback.delay.as_nanos(),
        };
        self.blocks = (place + 1) as u8 | FEEDBACK;
    }

    /// Splits the blocks that follow the ACK into its SACK blocks and its feedback.
    #[inline]
    pub fn split<'a>(&self, blocks: &'a [Block]) -> (&'a [Block], Option<Feedback>) {
        match blocks.split_last() {
            Some((last, sacks)) if self.blocks & FEEDBACK != 0 => {
                let feedback = Feedback {
                    value: last.start,
                    delay: Span::from_nanos(last.end),
                };
                (sacks, Some(feedback))
            }
            _ => (blocks, None),
        }
    }
}
