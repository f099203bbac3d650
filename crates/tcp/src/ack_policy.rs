//! When a receiver acknowledges.

use fullpipe_units::Span;

/// When to acknowledge.
#[derive(Clone, Copy, Debug)]
pub struct AckPolicy {
    /// One ACK for so many full segments (RFC 5681 §4.2: at least every second).
    pub every: u32,
    /// How many of the first ACKs are sent at once, for whatever arrives (Linux: quickack mode).
    pub quick: u32,
    /// How long a lone segment may wait (RFC 1122 §4.2.3.2; Linux: TCP_DELACK_MIN).
    pub delay: Span,
    /// GRO-like coalescing: segments that arrive so soon after the first are handled as one; zero
    /// for none.
    pub coalesce: Span,
}
