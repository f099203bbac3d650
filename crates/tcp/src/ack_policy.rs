//! The receiver's policy for sending ACKs.

use fullpipe_units::Span;

/// The rules that determine when a receiver sends an ACK.
#[derive(Clone, Copy, Debug)]
pub struct AckPolicy {
    /// Full segments per ACK (RFC 5681 §4.2: an ACK for at least every second segment).
    pub every: u32,
    /// Number of initial ACKs that are sent immediately, whatever arrives (Linux: quickack mode).
    pub quick: u32,
    /// Longest time that the ACK of a lone segment is delayed (RFC 1122 §4.2.3.2; Linux:
    /// TCP_DELACK_MIN).
    pub delay: Span,
    /// GRO-like coalescing: segments that arrive within this time of the first are handled as one;
    /// zero disables it.
    pub coalesce: Span,
}
