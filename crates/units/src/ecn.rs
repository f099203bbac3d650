//! The ECN field, which senders set and queues change.

/// The ECN codepoint of a packet (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum EcnCodepoint {
    /// 00: not ECN-capable.
    #[default]
    NotEct = 0,
    /// 10: ECN-capable, classic.
    Ect0 = 2,
    /// 01: ECN-capable, L4S (RFC 9331).
    Ect1 = 1,
    /// 11: congestion experienced, set only by queues.
    Ce = 3,
}
