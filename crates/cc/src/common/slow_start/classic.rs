//! Slow start of RFC 5681 §3.1 with appropriate byte counting (RFC 3465).

use fullpipe_units::Bytes;

use super::{SlowStart, Step};
use crate::{Ack, Context};

/// Grows the window by the acknowledged bytes, at most L segments per ACK.
#[derive(Clone, Debug)]
pub struct Classic {
    limit: f64,
}

impl Classic {
    /// Creates the rule with L = `limit` segments (RFC 3465 §2.2), which may be infinite.
    pub fn new(limit: f64) -> Classic {
        Classic { limit }
    }
}

impl SlowStart for Classic {
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, _: &Ack, counted: Bytes, _: [Bytes; 2]) -> Step {
        // RFC 3465 §2.2: min(bytes acknowledged, L * SMSS).
        Step::Grow(counted.min(cx.conn.smss.mul_f64(self.limit)))
    }
}
