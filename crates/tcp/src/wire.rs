//! What travels: segments one way, acknowledgements the other.

use fullpipe_cc::EcnCodepoint;
use fullpipe_units::{Bytes, Time};

/// Payload of a full segment. The one place where it is set.
pub const SMSS: Bytes = Bytes::new(1448);
/// IPv4 and TCP headers with the timestamp option: a full segment is a 1500-byte packet.
pub const HEADER: Bytes = Bytes::new(52);
/// A SYN or SYN-ACK: headers with the options of a handshake.
pub const SYN_SIZE: Bytes = Bytes::new(60);
/// An ACK without SACK blocks.
pub const ACK_SIZE: Bytes = HEADER;
/// Blocks in one ACK beside the timestamp option (RFC 2018 §3).
pub const MAX_BLOCKS: usize = 3;

/// A data segment, or the SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its place in the stream, in segments. Of no meaning in a SYN.
    pub seq: u64,
    /// When it was sent: the timestamp option (RFC 7323), at full resolution.
    pub sent: Time,
    /// The timestamp echoed: when the latest ACK was sent that the sender had seen.
    pub echo: Time,
    /// Payload bytes.
    pub size: u16,
    /// Opens the connection.
    pub syn: bool,
    /// Sent before.
    pub retransmit: bool,
    /// The PSH flag (RFC 9293 §3.9.1), which Linux gives the last of every TSO burst, and of what
    /// was written at once.
    pub push: bool,
    /// The ECN codepoint that it was sent with.
    pub ecn: EcnCodepoint,
    /// Marked on the way: congestion experienced (RFC 3168 §5).
    pub ce: bool,
    /// The window was reduced: the CWR flag (RFC 3168 §6.1.2).
    pub cwr: bool,
}

impl Segment {
    /// Bytes on the wire.
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
    /// First.
    pub start: u64,
    /// One behind the last.
    pub end: u64,
}

/// What an acknowledgement may be besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckKind {
    /// Nothing.
    #[default]
    Plain,
    /// Answers the SYN.
    Syn,
    /// A client's request for what comes from `next` on.
    Request,
}

/// An acknowledgement. Its SACK blocks travel beside it, so that the usual one, which has none,
/// stays small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Everything before this arrived.
    pub next: u64,
    /// The timestamp echoed (RFC 7323 §4.3): when the segment was sent that this ACK answers.
    pub echo: Time,
    /// When this ACK was sent: its own timestamp, by the receiver's clock.
    pub sent: Time,
    /// Segments that may be sent from `next` on.
    pub window: u32,
    /// Number of SACK blocks.
    pub blocks: u8,
    /// The first of them reports a duplicate (RFC 2883).
    pub dsack: bool,
    /// What else it is.
    pub kind: AckKind,
    /// What it says of marks, in the way of [`EcnFeedback`](crate::EcnFeedback): their number,
    /// modulo 256, or the ECE flag.
    pub ecn: u8,
}
