//! The ECN field, which senders set and queues change.

/// The ECN codepoint of a packet (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnCodepoint {
    /// 00: not ECN-capable.
    #[default]
    NotEct,
    /// 10: ECN-capable, classic.
    Ect0,
    /// 01: ECN-capable, L4S (RFC 9331).
    Ect1,
    /// 11: congestion experienced, set only by queues.
    Ce,
}
