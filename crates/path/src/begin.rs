//! The place of a trace at which a run begins.

use fullpipe_units::Span;

/// The place of a trace at which a run begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Begin {
    /// This time after the trace's start.
    At(Span),
    /// A place drawn for each seed.
    Random,
}

impl Begin {
    /// Returns the time from the start of a trace of this length to the place at which the run
    /// begins: for [`Random`](Begin::Random) the share `place`, in 0..1, of the length, in whole
    /// milliseconds. Traces of the same length thus begin at the same place.
    pub(crate) fn offset(self, length: Span, place: f64) -> Span {
        match self {
            Begin::At(at) => at,
            Begin::Random => {
                let ms = length.as_nanos() / 1_000_000;
                Span::from_millis((place * ms as f64) as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_place_is_a_share_of_the_length() {
        let length = Span::from_micros(60_000_900);
        let of = |begin: Begin, place: f64| begin.offset(length, place);
        assert_eq!(of(Begin::Random, 0.0), Span::ZERO);
        assert_eq!(of(Begin::Random, 0.25), Span::from_secs(15));
        assert_eq!(
            of(Begin::Random, 1.0 - f64::EPSILON),
            Span::from_millis(59_999)
        );
        assert_eq!(of(Begin::At(Span::from_secs(7)), 0.25), Span::from_secs(7));
    }
}
