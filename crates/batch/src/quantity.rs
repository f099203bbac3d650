//! The value of an axis as a number with a unit, read from the text in a scenario.

use fullpipe_units::{Bytes, Rate, Span, percent};

/// A number in the base unit of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The number.
    pub value: f64,
    /// The unit: `s`, `B`, `bit/s`, `bdp`, `packets`, or empty for plain numbers and shares.
    pub unit: &'static str,
}

/// Reads `50ms`, `+20ms`, `100mbit`, `1500B`, `1%`, `8bdp`, `400packets`, `0.7`, `true`; `None` for
/// a word.
pub fn quantity(text: &str) -> Option<Quantity> {
    let text = text.trim();
    let of = |value: f64, unit| Some(Quantity { value, unit });
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(Quantity {
            value: number,
            unit: "",
        });
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Some(number) = text.strip_suffix('%') {
        return percent(number).and_then(|share| of(share, ""));
    }
    let lower = text.to_lowercase();
    for (ending, unit) in [
        ("bdp", "bdp"),
        ("packets", "packets"),
        ("packet", "packets"),
    ] {
        if let Some(number) = lower.strip_suffix(ending) {
            return number
                .trim()
                .parse()
                .ok()
                .and_then(|number| of(number, unit));
        }
    }
    let span = text
        .parse()
        .ok()
        .map(|span: Span| (span.as_secs_f64(), "s"));
    let rate = || text.parse().ok().map(|rate: Rate| (rate.as_f64(), "bit/s"));
    let size = || text.parse().ok().map(|bytes: Bytes| (bytes.as_f64(), "B"));
    let (value, unit) = span.or_else(rate).or_else(size)?;
    of(value, unit)
}

impl Quantity {
    /// Returns the text for a scenario, with six significant digits, in whole base units where the
    /// unit has no smaller ones.
    pub fn written(self) -> String {
        let Quantity { value, unit } = self;
        match unit {
            "s" => Span::from_secs_f64(six_digits(value)).to_string(),
            "bit/s" => Rate::from_bps_f64(six_digits(value) + 0.5).to_string(),
            "B" => Bytes::from_f64(six_digits(value) + 0.5).to_string(),
            "packets" => format!("{value:.0}packets"),
            unit => format!("{}{unit}", six_digits(value)),
        }
    }
}

/// Returns the nearest number with six significant digits.
fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a float's own text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(f64, &'static str)> {
        quantity(text).map(|Quantity { value, unit }| (value, unit))
    }

    #[test]
    fn what_people_write_is_worth_what_it_says() {
        assert_eq!(of("50ms"), Some((0.05, "s")));
        assert_eq!(of("+20ms"), Some((0.02, "s")));
        assert_eq!(of("100mbit"), Some((1e8, "bit/s")));
        assert_eq!(of("64KiB"), Some((65_536.0, "B")));
        assert_eq!(of("0.25bdp"), Some((0.25, "bdp")));
        assert_eq!(of("400packets"), Some((400.0, "packets")));
        assert_eq!(of("0.01%"), Some((0.0001, "")));
        assert_eq!(of("-0.7"), Some((-0.7, "")));
        assert_eq!(of("cubic"), None);
        assert_eq!(of("10mbit burst 60kB"), None);
        assert_eq!(of("inf"), None);
    }

    #[test]
    fn what_is_written_reads_back() {
        for (value, unit, text) in [
            (0.012_345_678, "s", "12.3457ms"),
            (90.0, "s", "90s"),
            (12_345_678.9, "bit/s", "12.3457Mbit/s"),
            (1_536.2, "B", "1536B"),
            (2.345_678_9, "bdp", "2.34568bdp"),
            (3.6, "packets", "4packets"),
            (0.1, "", "0.1"),
        ] {
            let written = Quantity { value, unit }.written();
            let read = quantity(&written).expect(&written);
            assert!(
                (read.value - value).abs() <= 0.5_f64.max(value * 1e-5) && read.unit == unit,
                "{written}"
            );
            assert_eq!(
                written.to_lowercase().replace("/s", ""),
                text.to_lowercase().replace("/s", "")
            );
        }
    }
}
