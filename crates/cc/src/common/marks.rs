//! Average fraction of marked packets: DCTCP.Alpha (RFC 8257 §3.3), also used by Prague.

use fullpipe_units::Bytes;

/// An exponentially weighted moving average of the fraction of delivered bytes that were marked,
/// updated once per observation window.
#[derive(Clone, Copy, Debug)]
pub struct Alpha {
    value: f64,
    gain: f64,
    delivered: Bytes,
    delivered_ce: Bytes,
}

impl Alpha {
    /// Creates the average with DCTCP.g = `gain` and the initial `value`.
    pub const fn new(value: f64, gain: f64) -> Alpha {
        Alpha {
            value,
            gain,
            delivered: Bytes::ZERO,
            delivered_ce: Bytes::ZERO,
        }
    }

    /// Returns the average.
    #[inline]
    pub const fn get(&self) -> f64 {
        self.value
    }

    /// Ends an observation window, given [`Conn::delivered`](crate::Conn::delivered) and
    /// [`delivered_ce`](crate::Conn::delivered_ce) at its end.
    pub fn end_window(&mut self, delivered: Bytes, delivered_ce: Bytes) {
        let (all, marked) = (delivered - self.delivered, delivered_ce - self.delivered_ce);
        if all > Bytes::ZERO {
            let fraction = (marked.as_f64() / all.as_f64()).min(1.0);
            self.value = (1.0 - self.gain) * self.value + self.gain * fraction;
        }
        self.skip_window(delivered, delivered_ce);
    }

    /// Ends an observation window without counting it.
    pub fn skip_window(&mut self, delivered: Bytes, delivered_ce: Bytes) {
        (self.delivered, self.delivered_ce) = (delivered, delivered_ce);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_its_closed_form() {
        // alpha_n = M + (alpha_0 - M)(1 - g)^n
        for marked in [0_u64, 200, 1_000] {
            let mut alpha = Alpha::new(1.0, 1.0 / 16.0);
            for n in 1..=100_u64 {
                alpha.end_window(Bytes::new(1_000 * n), Bytes::new(marked * n));
                let m = marked as f64 / 1_000.0;
                let expected = m + (1.0 - m) * libm::pow(15.0 / 16.0, n as f64);
                assert!(
                    (alpha.get() - expected).abs() < 1e-12,
                    "{marked} per mille, window {n}: {}",
                    alpha.get()
                );
            }
        }
    }
}
