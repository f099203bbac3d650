//! An axis: a key that is varied, with its values as written.

use fullpipe_units::Rng;

use crate::quantity::{Quantity, quantity};

/// A key with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Dotted key, as `--set` takes it.
    pub key: String,
    /// Its values; those of a range are already drawn.
    pub values: Vec<String>,
}

/// A range of values to draw from: `1ms..1s`, or `1ms..1s log`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    low: Quantity,
    high: Quantity,
    spacing: Spacing,
    /// Affix of each value: the `+` of a flow's RTT; the next field tells whether it has the `%` of
    /// a share.
    prefix: &'static str,
    percent: bool,
    /// Whether both ends are whole numbers, so that all drawn values are, too.
    whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    Linear,
    Log,
}

/// Splits `1bdp,8bdp` at its commas, except those in quotes, brackets or braces: `"5s 1mbit, 10s
/// pause",none` gives two values.
pub(crate) fn split(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let (mut quote, mut depth) = (None, 0_u32);
    for c in text.chars() {
        match (quote, c) {
            (None, ',') if depth == 0 => {
                values.push(std::mem::take(&mut value));
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        value.push(c);
    }
    values.push(value);
    values
        .into_iter()
        .map(|value| value.trim().to_owned())
        .collect()
}

impl Range {
    /// Reads a range; returns `None` for other texts, and the problem for a bad range.
    pub fn read(text: &str) -> Option<Result<Range, String>> {
        let (text, spacing) = match text.trim().strip_suffix("log") {
            Some(rest) if rest.ends_with(' ') => (rest, Spacing::Log),
            _ => (text, Spacing::Linear),
        };
        let (low, high) = text
            .split_once("..")
            .map(|(low, high)| (low.trim(), high.trim()))?;
        // A word before the number makes it a value of another kind: `sine 4mbit..20mbit every 2s`.
        if low.contains(' ') {
            return None;
        }
        let (Some(from), Some(to)) = (quantity(low), quantity(high)) else {
            return Some(Err(format!(
                "{low:?} and {high:?} must be numbers, each with or without a unit"
            )));
        };
        Some(
            if from.unit != to.unit || low.ends_with('%') != high.ends_with('%') {
                Err(format!("{low} and {high} have different units"))
            } else if from.value >= to.value {
                Err(format!("{low} is not below {high}"))
            } else if spacing == Spacing::Log && from.value <= 0.0 {
                Err(format!("a logarithmic range can't begin at {low}"))
            } else {
                let is_whole = |text: &str| text.parse::<i64>().is_ok() && !text.starts_with('+');
                Ok(Range {
                    low: from,
                    high: to,
                    spacing,
                    prefix: if low.starts_with('+') { "+" } else { "" },
                    percent: low.ends_with('%'),
                    whole: is_whole(low) && is_whole(high),
                })
            },
        )
    }

    /// Draws a value between the ends, as written in a scenario.
    pub fn draw(&self, rng: &mut Rng) -> String {
        let (low, high) = (self.low.value, self.high.value);
        if self.whole && self.spacing == Spacing::Linear {
            return format!("{}", low as i64 + rng.below((high - low) as u64 + 1) as i64);
        }
        let at = rng.unit();
        self.written(match self.spacing {
            Spacing::Linear => low + (high - low) * at,
            Spacing::Log => libm::exp(libm::log(low) + (libm::log(high) - libm::log(low)) * at),
        })
    }

    /// Returns one of its ends, as written in a scenario.
    pub fn end(&self, high: bool) -> String {
        self.written(if high {
            self.high.value
        } else {
            self.low.value
        })
    }

    fn written(&self, value: f64) -> String {
        let (low, high) = (self.low.value, self.high.value);
        let Range { prefix, .. } = self;
        if self.percent {
            let percent = Quantity {
                value: value * 100.0,
                unit: "",
            }
            .written();
            return format!("{prefix}{percent}%");
        }
        if self.whole {
            return format!("{:.0}", value.clamp(low, high));
        }
        format!(
            "{prefix}{}",
            Quantity {
                value,
                unit: self.low.unit
            }
            .written()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_units::Rng;
    use proptest::prelude::*;

    #[test]
    fn commas_split_but_not_inside_of_quotes() {
        assert_eq!(split("1bdp, 8bdp"), ["1bdp", "8bdp"]);
        assert_eq!(
            split("\"5s 1mbit, 10s pause\",'a,b'"),
            ["\"5s 1mbit, 10s pause\"", "'a,b'"]
        );
        assert_eq!(
            split("{ a = 1, b = 2 },[1, 2]"),
            ["{ a = 1, b = 2 }", "[1, 2]"]
        );
        assert_eq!(split("cubic"), ["cubic"]);
        assert_eq!(split("a,,b"), ["a", "", "b"]);
    }

    #[test]
    fn a_bad_range_says_why() {
        let bad = |text: &str| Range::read(text).expect(text).expect_err(text);
        assert_eq!(bad("1ms..2mbit"), "1ms and 2mbit have different units");
        assert_eq!(bad("2s..1s"), "2s is not below 1s");
        assert_eq!(bad("0..1 log"), "a logarithmic range can't begin at 0");
        assert_eq!(
            bad("a..b"),
            "\"a\" and \"b\" must be numbers, each with or without a unit"
        );
        assert_eq!(Range::read("cubic"), None);
        assert_eq!(Range::read("0.5bdp"), None);
        assert_eq!(Range::read("sine 4mbit..20mbit every 2s"), None);
    }

    #[test]
    fn half_of_a_logarithmic_range_lies_below_its_geometric_mean() {
        let range = Range::read("1ms..1s log").unwrap().unwrap();
        let mut rng = Rng::stream(1, "path.rtt", "sweep");
        let below = (0..4000)
            .filter(|_| quantity(&range.draw(&mut rng)).unwrap().value < 0.031_622_8)
            .count();
        assert!((1900..2100).contains(&below), "{below}");
    }

    proptest! {
        #[test]
        fn what_is_drawn_lies_between_the_ends(seed: u64, text in prop_oneof![
            Just(("1ms..1s log", 1e-3, 1.0)), Just(("1mbit..1gbit log", 1e6, 1e9)), Just(("0.25bdp..8bdp", 0.25, 8.0)),
            Just(("+1ms..+20ms", 1e-3, 0.02)), Just(("0.01%..1% log", 1e-4, 0.01)), Just(("1..5", 1.0, 5.0)),
            Just(("0.5..0.9", 0.5, 0.9)), Just(("3kB..3MB", 3e3, 3e6)), Just(("1..1000 log", 1.0, 1e3)),
        ]) {
            let (text, low, high) = text;
            let drawn = Range::read(text).unwrap().unwrap().draw(&mut Rng::stream(seed, "key", "sweep"));
            let value = quantity(&drawn).expect(&drawn).value;
            prop_assert!((low * 0.99999..=high * 1.00001).contains(&value), "{drawn}");
            prop_assert_eq!(drawn.starts_with('+'), text.starts_with('+'));
            prop_assert_eq!(drawn.ends_with('%'), text.contains('%'));
        }
    }
}
