//! Slow start of RFC 5681 §3.1 with appropriate byte counting (RFC 3465).

use fullpipe_units::Bytes;

use super::{SlowStart, Step};
use crate::{Ack, Context};

/// The window grows by what is acknowledged, at most L segments an ACK.
#[derive(Clone, Debug)]
pub struct Classic {
    limit: f64,
}

impl Classic {
    /// With L = `limit` segments (RFC 3465 §2.2); infinite for none.
    pub fn new(limit: f64) -> Classic {
        Classic { limit }
    }
}

impl SlowStart for Classic {
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack, _: Bytes) -> Step {
        // RFC 3465 §2.2: min(bytes acknowledged, L * SMSS).
        Step::Grow(ack.newly_acked.min(cx.conn.smss.mul_f64(self.limit)))
    }
}
