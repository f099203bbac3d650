//! Numbers as `ss` and logs print them.

/// 10^n, each exact as a float.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Parses a decimal times 10^`shift`, rounded once: `16.139` with a shift of -3 is the float next
/// to 0.016139.
pub(crate) fn decimal(text: &[u8], shift: i32) -> Option<f64> {
    if text.len() > DIGITS {
        return slow(text, shift);
    }
    let (mut mantissa, mut point) = (0u64, None);
    for (at, &byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            mantissa = mantissa * 10 + u64::from(digit);
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return slow(text, shift);
        }
    }
    let places = point.map_or(0, |at| text.len() - at - 1);
    if text.len() == usize::from(point.is_some()) {
        return None;
    }
    let exponent = shift - i32::try_from(places).ok()?;
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    // Both operands are exact, so the result is rounded only once (W. D. Clinger, PLDI 1990).
    if mantissa < 1 << 53 {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let exact = mantissa as f64;
        return Some(if exponent < 0 {
            exact / power
        } else {
            exact * power
        });
    }
    slow(text, shift)
}

/// Numbers of this many digits fit in 64 bits.
const DIGITS: usize = 19;

/// Parses exponents (`2.1e+06`, as `%g` prints large ones) and numbers of many digits.
#[cold]
fn slow(text: &[u8], shift: i32) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    // Neither a sign nor `inf`: no number here is negative.
    if !text.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let (digits, exponent) = text
        .split_once(['e', 'E'])
        .map_or((text, Some(0)), |(digits, e)| (digits, e.parse().ok()));
    // Parsed as one number, so that it is rounded once here, too.
    let value: f64 = format!("{digits}e{}", i32::checked_add(exponent?, shift)?)
        .parse()
        .ok()?;
    Some(value).filter(|value| value.is_finite())
}

/// Numbers of this many digits are below 2^53.
const EXACT: usize = 15;

/// Limit of the columns of counts, which have 64 bits with a sign.
pub(crate) const BEYOND: f64 = (1u64 << 63) as f64;

/// No host has been up for 31 years, so a longer time is no measurement.
const LONGEST_S: f64 = 1e9;

/// Parses milliseconds as seconds.
pub(crate) fn millis(text: &[u8]) -> Option<f64> {
    decimal(text, -3).filter(|seconds| *seconds < LONGEST_S)
}

/// Parses a number for a column of counts; its fraction is cut off when it is stored.
pub(crate) fn whole(text: &[u8]) -> Option<f64> {
    decimal(text, 0).filter(|value| *value < BEYOND)
}

/// Parses the digits at the beginning of a text, at most 15; returns also their number.
#[inline]
pub(crate) fn leading_count(text: &[u8]) -> Option<(f64, usize)> {
    let (mut value, mut digits) = (0u64, 0);
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        digits += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let exact = value as f64;
    (1..=EXACT).contains(&digits).then_some((exact, digits))
}

/// Parses digits alone.
pub(crate) fn count(text: &[u8]) -> Option<f64> {
    if text.len() > EXACT {
        return if text.iter().all(u8::is_ascii_digit) {
            whole(text)
        } else {
            None
        };
    }
    let mut value = 0u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let exact = value as f64;
    if text.is_empty() { None } else { Some(exact) }
}

/// Parses `4762104bps` or `99.5Mbps`, in bit/s; prefixes are powers of 1000, or of 1024 with an
/// `i`.
pub(crate) fn rate(text: &[u8]) -> Option<f64> {
    scaled(text).filter(|bps| *bps <= 8.0 * BEYOND * 2.0)
}

fn scaled(text: &[u8]) -> Option<f64> {
    let number = text.strip_suffix(b"bps")?;
    let (&last, rest) = number.split_last()?;
    if last == b'i' {
        let (prefix, digits) = rest.split_last()?;
        let times = (1..=power_of_1000(*prefix)?).fold(1.0, |times, _| times * 1024.0);
        return Some(decimal(digits, 0)? * times);
    }
    match power_of_1000(last) {
        Some(power) => decimal(rest, 3 * power),
        None => decimal(number, 0),
    }
}

fn power_of_1000(prefix: u8) -> Option<i32> {
    match prefix {
        b'k' | b'K' => Some(1),
        b'M' => Some(2),
        b'G' => Some(3),
        b'T' => Some(4),
        b'P' => Some(5),
        _ => None,
    }
}

/// Parses the time left on a timer, in seconds: `078ms`, `1.078ms` (which is 1 s and 78 ms),
/// `14sec`, `3min12sec`, `119min`.
pub(crate) fn timer(text: &[u8]) -> Option<f64> {
    let (minutes, rest) = match memchr::memmem::find(text, b"min") {
        Some(at) => (count(&text[..at])?, &text[at + 3..]),
        None => (0.0, text),
    };
    let seconds = if rest.is_empty() && rest.len() < text.len() {
        0.0
    } else if let Some(seconds) = rest.strip_suffix(b"sec") {
        count(seconds)?
    } else if let Some(millis) = rest.strip_suffix(b"ms") {
        decimal(millis, if millis.contains(&b'.') { 0 } else { -3 })?
    } else {
        // If no time is left, `ss` prints nothing.
        return if rest.is_empty() { Some(0.0) } else { None };
    };
    Some(minutes * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_raw_or_scaled() {
        assert_eq!(rate(b"4762104bps"), Some(4_762_104.0));
        assert_eq!(rate(b"99.5Mbps"), Some(99_500_000.0));
        assert_eq!(rate(b"3.77Tbps"), Some(3_770_000_000_000.0));
        assert_eq!(rate(b"17034.3Mbps"), Some(17_034_300_000.0));
        assert_eq!(rate(b"1.5Kibps"), Some(1536.0));
        assert_eq!(
            [
                rate(b"bps"),
                rate(b"Mbps"),
                rate(b"12"),
                rate(b"1.2.3bps"),
                rate(b"-1bps")
            ],
            [None; 5]
        );
    }

    /// Texts as print_ms_timer() in iproute2's ss.c prints them.
    #[test]
    fn a_timer_is_as_ss_prints_it() {
        assert_eq!(timer(b"078ms"), Some(0.078));
        assert_eq!(timer(b"1.078ms"), Some(1.078));
        assert_eq!(timer(b"14sec"), Some(14.0));
        assert_eq!(timer(b"3min12sec"), Some(192.0));
        assert_eq!(timer(b"119min"), Some(7140.0));
        assert_eq!(timer(b""), Some(0.0));
        assert_eq!([timer(b"min"), timer(b"x"), timer(b"1hour")], [None; 3]);
    }

    #[test]
    fn many_digits_and_exponents_are_rounded_once() {
        assert_eq!(
            decimal(b"17179900136.424272", -3),
            Some(17_179_900.136_424_272)
        );
        assert_eq!(decimal(b"2.1e+06", -3), Some(2100.0));
        assert_eq!(
            [
                decimal(b"1e", 0),
                decimal(b"e5", 0),
                decimal(b"1e5e5", 0),
                decimal(b"1e400", 0)
            ],
            [None; 4]
        );
    }

    /// A number that a column of 64 bits can't hold is not a count, in any notation.
    #[test]
    fn a_count_has_63_bits() {
        assert_eq!(
            count(b"9223372036854774784"),
            Some(9_223_372_036_854_774_784.0),
            "the float below 2^63"
        );
        assert_eq!(
            [
                count(b"9223372036854775808"),
                count(b"18446744073709551616"),
                count(&[b'9'; 400])
            ],
            [None; 3]
        );
        assert_eq!(
            [
                whole(b"1e18"),
                whole(b"1e19"),
                whole(b"9223372036854775808")
            ],
            [Some(1e18), None, None]
        );
    }

    proptest! {
        #[test]
        fn a_decimal_is_the_nearest_float(text in "[0-9]{1,12}(\\.[0-9]{1,6})?") {
            prop_assert_eq!(decimal(text.as_bytes(), 0), text.parse().ok());
            let shifted = format!("{text}e-3").parse().ok();
            prop_assert_eq!(decimal(text.as_bytes(), -3), shifted);
        }

        #[test]
        fn nothing_makes_it_panic(text in prop::collection::vec(any::<u8>(), 0..30)) {
            for shift in [-6, -3, 0, 15] {
                prop_assert!(decimal(&text, shift).is_none_or(|value| value >= 0.0));
            }
            rate(&text);
            timer(&text);
        }
    }
}
