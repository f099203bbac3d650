//! Segment arithmetic without divisions, of sizes that are not negative.
//!
//! Casts do the rounding: `f64::ceil` and `f64::floor` are calls of a function where the processor
//! may be an old one.

use fullpipe_units::Bytes;

/// The size of a segment.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Bytes of a segment.
    pub bytes: f64,
    /// Its reciprocal.
    pub per_byte: f64,
}

impl Segment {
    /// Segments of `smss` bytes.
    pub fn new(smss: Bytes) -> Segment {
        Segment {
            bytes: smss.as_f64(),
            per_byte: 1.0 / smss.as_f64(),
        }
    }

    /// So many segments.
    pub fn times(self, segments: f64) -> Bytes {
        Bytes::from_f64(segments * self.bytes)
    }

    /// `bytes`, rounded up to whole segments.
    #[inline]
    pub fn round_up(self, bytes: f64) -> f64 {
        // A hair less than a segment too much is the division's error, not a segment.
        let segments = bytes * self.per_byte - 1e-9;
        let whole = segments as i64 as f64;
        (if whole < segments { whole + 1.0 } else { whole }) * self.bytes
    }

    /// `bytes`, rounded down to whole segments.
    #[inline]
    pub fn round_down(self, bytes: f64) -> f64 {
        (bytes * self.per_byte + 1e-9) as i64 as f64 * self.bytes
    }

    /// `bytes`, rounded up to an even number of segments.
    #[inline]
    pub fn round_up_to_even(self, bytes: f64) -> f64 {
        let pair = 2.0 * self.bytes;
        let whole = (bytes * self.per_byte * 0.5) as u64 as f64 * pair;
        if whole < bytes { whole + pair } else { whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_rounded_up_to_pairs_of_segments() {
        let segment = Segment::new(Bytes::new(1_448));
        for (segments, rounded) in [
            (0.0, 0.0),
            (0.1, 2.0),
            (2.0, 2.0),
            (2.001, 4.0),
            (9.0, 10.0),
            (1e6, 1e6),
        ] {
            assert_eq!(
                segment.round_up_to_even(segments * 1_448.0),
                rounded * 1_448.0,
                "{segments} segments"
            );
        }
    }

    #[test]
    fn whole_segments_stay_what_they_are() {
        let segment = Segment::new(Bytes::new(1_448));
        for n in 0..100_000 {
            let bytes = f64::from(n) * 1_448.0;
            assert_eq!(
                (segment.round_up(bytes), segment.round_down(bytes)),
                (bytes, bytes),
                "{n}"
            );
        }
        assert_eq!(
            (segment.round_up(1.0), segment.round_down(2_895.0)),
            (1_448.0, 1_448.0)
        );
    }
}
