//! Reading and writing quantities with their units, exactly: decimal text becomes integers without
//! floats in between.

use core::fmt;
use core::str::FromStr;

use crate::{Bytes, Rate, Span};

/// The reason why a quantity could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// Description of the problem.
    pub problem: String,
    /// Proposed fix, if it follows from the text alone.
    pub fix: Option<String>,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fix {
            Some(fix) => write!(f, "{}; {fix}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for UnitError {}

const SPAN: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];
const BYTES: &[(&str, u64)] = &[
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];
const RATE: &[(&str, u64)] = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("mbit/s", 1_000_000),
    ("gbit/s", 1_000_000_000),
    ("bps", 1),
    ("kbps", 1_000),
    ("mbps", 1_000_000),
    ("gbps", 1_000_000_000),
];

impl FromStr for Span {
    type Err = UnitError;

    /// Reads `50ms`, `1.5s`, `128us`, `20ns`, `2min`.
    fn from_str(text: &str) -> Result<Span, UnitError> {
        scaled(text, SPAN, "a duration", "50ms").map(Span::from_nanos)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// Reads `1500B`, `3MB` (10^6), `64KiB` (2^10); letter case does not matter.
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        scaled(text, BYTES, "a size", "1.5MB").map(Bytes::new)
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// Reads `100mbit`, `1gbit`, `64kbit`, `20Mbit/s`, `20mbps` (bits, not bytes); letter case does
    /// not matter.
    fn from_str(text: &str) -> Result<Rate, UnitError> {
        scaled(text, RATE, "a rate", "100mbit").map(Rate::from_bps)
    }
}

/// Returns `number` percent as a share. Shifting the decimal point in the text, instead of
/// dividing, gives the float that is nearest to the exact value.
pub fn percent(number: &str) -> Option<f64> {
    format!("{}e-2", number.trim()).parse().ok()
}

/// Splits a quantity like `8bdp` into its number and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn scaled(text: &str, units: &[(&str, u64)], what: &str, example: &str) -> Result<u64, UnitError> {
    let error = |problem: String| UnitError { problem, fix: None };
    let (number, unit) = split(text);
    if number.is_empty() || number == "." || number.matches('.').count() > 1 {
        return Err(UnitError {
            problem: format!("not {what}"),
            fix: Some(format!("write a number and a unit, like \"{example}\"")),
        });
    }
    if unit.is_empty() {
        return Err(error(format!("{what} needs a unit, like \"{example}\"")));
    }
    let lower = unit.to_lowercase();
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == lower) else {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        return Err(UnitError {
            problem: format!("\"{unit}\" is not a unit of {what}"),
            fix: Some(format!("use one of {}", known.join(", "))),
        });
    };
    let too_large = || error(format!("{what} this large can't be represented"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits: u128 = format!("0{whole}{fraction}")
        .parse()
        .map_err(|_| too_large())?;
    let scaled = digits
        .checked_mul(u128::from(scale))
        .ok_or_else(too_large)?;
    let divisor = u32::try_from(fraction.len())
        .ok()
        .and_then(|n| 10_u128.checked_pow(n))
        .ok_or_else(too_large)?;
    if scaled % divisor != 0 {
        return Err(error(format!(
            "{what} finer than one {} can't be represented",
            units[0].0
        )));
    }
    let total = scaled / divisor;
    // The largest value is reserved for "never" and "no limit".
    u64::try_from(total)
        .ok()
        .filter(|n| *n < u64::MAX)
        .ok_or_else(too_large)
}

/// Writes `value / scale` exactly, with no trailing zeros, and the unit.
pub(crate) fn write_scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    scale: u64,
    unit: &str,
) -> fmt::Result {
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return f.pad(&format!("{whole}{unit}"));
    }
    let digits = scale.ilog10() as usize;
    let fraction = format!("{rest:0digits$}");
    f.pad(&format!("{whole}.{}{unit}", fraction.trim_end_matches('0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("50ms".parse(), Ok(Span::from_millis(50)));
        assert_eq!("1.5 s".parse(), Ok(Span::from_millis(1_500)));
        assert_eq!("0.000000001s".parse(), Ok(Span::from_nanos(1)));
        assert_eq!("128us".parse::<Span>(), "128µs".parse());
        assert_eq!("100mbit".parse(), Ok(Rate::from_mbps(100)));
        assert_eq!("2.5Gbit/s".parse(), Ok(Rate::from_mbps(2_500)));
        assert_eq!("1.5KiB".parse(), Ok(Bytes::new(1_536)));
        assert_eq!("3MB".parse(), Ok(Bytes::new(3_000_000)));
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        assert_eq!(error("100"), "a rate needs a unit, like \"100mbit\"");
        assert_eq!(
            error("fast"),
            "not a rate; write a number and a unit, like \"100mbit\""
        );
        assert!(error("100mb").starts_with("\"mb\" is not a unit of a rate; use one of bit, kbit"));
        assert!(error("-5mbit").starts_with("not a rate"));
        assert!(
            error("99999999999999999999999999999999999999999gbit").contains("can't be represented")
        );
        assert!(
            "0.1ns"
                .parse::<Span>()
                .unwrap_err()
                .to_string()
                .contains("finer than one ns")
        );
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(n in 0..u64::MAX) {
            prop_assert_eq!(Span::from_nanos(n).to_string().parse(), Ok(Span::from_nanos(n)));
            prop_assert_eq!(Bytes::new(n).to_string().parse(), Ok(Bytes::new(n)));
            prop_assert_eq!(Rate::from_bps(n).to_string().parse(), Ok(Rate::from_bps(n)));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (text.parse::<Span>(), text.parse::<Bytes>(), text.parse::<Rate>());
        }

        #[test]
        fn numbers_with_any_unit_never_panic(text in "[0-9.]{0,50} ?(ms|gbit|KiB|bdp)") {
            let _ = (text.parse::<Span>(), text.parse::<Bytes>(), text.parse::<Rate>());
        }
    }
}
