//! Times of samples. `ss` does not print them, so they have to be written between or in front of
//! its lines.

const MICROS: i64 = 1_000_000;

/// A time, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Microseconds since 1970.
    pub(crate) micros: i64,
    /// Nanoseconds after these, below 1000.
    beyond: i64,
}

impl Moment {
    pub(crate) fn of_micros(micros: i64) -> Moment {
        Moment { micros, beyond: 0 }
    }

    /// Returns the nanoseconds since 1970; `None` before 1677 and after 2262.
    pub(crate) fn nanos(self) -> Option<i64> {
        self.micros.checked_mul(1000)?.checked_add(self.beyond)
    }

    /// Returns the moment some seconds and nanoseconds after 1970.
    fn of(seconds: i64, nanos: i64) -> Moment {
        Moment {
            micros: seconds * MICROS + nanos / 1000,
            beyond: nanos % 1000,
        }
    }
}

/// A time in front of a text, and the rest of the text.
pub(crate) struct Stamped<'a> {
    pub(crate) time: Moment,
    pub(crate) rest: &'a [u8],
}

/// Parses a line that consists of a time, perhaps with marks and a word in front of it:
/// `@1576576800.5`, `# 2019-12-17T10:00:00Z`, `=== 2019-12-17 10:00:00 ===`, `time: 1576576800`, or
/// the output of `date`, `date -R`, `date -Is` and `date +%s`.
pub(crate) fn line(text: &[u8]) -> Option<Moment> {
    let text = std::str::from_utf8(text).ok()?.trim();
    // Lines of sockets are longer, except truncated ones.
    if text.len() > 80 {
        return None;
    }
    let text = text.trim_matches(|mark: char| {
        matches!(
            mark,
            '#' | '=' | '-' | '@' | '*' | '[' | ']' | '<' | '>' | ' ' | '\t'
        )
    });
    let text = match text.split_once([':', '=', ' ']) {
        Some((word, rest)) if is_word(word) => rest.trim(),
        _ => text,
    };
    let text = text.strip_prefix('@').unwrap_or(text);
    match epoch_or_date(text.as_bytes()) {
        Some(Stamped { time, rest }) if rest.trim_ascii().is_empty() => Some(time),
        _ => of_date_command(text).map(Moment::of_micros),
    }
}

fn is_word(word: &str) -> bool {
    ["time", "timestamp", "ts", "date", "at", "epoch", "sample"]
        .contains(&word.to_ascii_lowercase().as_str())
}

/// Length of a date of the command `date`, like `Tue Dec 17 10:00:00 UTC 2019`, and place of its zone.
const DATE: usize = 28;
const ZONE: usize = 20;

/// Parses a time in front of a line, as moreutils' `ts` writes it with `%s`, `%.s` or a format that
/// begins with the whole date.
pub(crate) fn prefix(line: &[u8]) -> Option<Stamped<'_>> {
    let (bracket, at) = match line.first()? {
        b'[' => (true, 1),
        b'@' => (false, 1),
        b'0'..=b'9' => (false, 0),
        _ => {
            let (date, rest) = line.split_at_checked(DATE)?;
            if !matches!(&date[ZONE..ZONE + 4], b"UTC " | b"GMT ") {
                return None;
            }
            let time = Moment::of_micros(of_date_command(std::str::from_utf8(date).ok()?)?);
            let rest = rest.strip_prefix(b" ")?;
            return Some(Stamped { time, rest });
        }
    };
    let found = epoch_or_date(&line[at..])?;
    let rest = if bracket {
        found.rest.strip_prefix(b"]")?
    } else {
        found.rest
    };
    // One space separates time and line; further spaces belong to the line.
    Some(Stamped {
        time: found.time,
        rest: rest.strip_prefix(b" ")?,
    })
}

/// Returns the time in a file's name: `ss-1576576800.txt`, `ss_2019-12-17_10-00-00`,
/// `20191217T100000Z.ss.gz`.
pub(crate) fn in_name(name: &str) -> Option<i64> {
    let bytes = name.as_bytes();
    let mut digits = bytes.split(|byte| !byte.is_ascii_digit());
    if let Some(time) = dense_date(bytes) {
        return Some(time);
    }
    if let Some(epoch) = digits.find(|run| run.len() == 10 || run.len() == 13) {
        let value: i64 = std::str::from_utf8(epoch).ok()?.parse().ok()?;
        return if epoch.len() == 13 {
            value.checked_mul(1000)
        } else {
            value.checked_mul(MICROS)
        };
    }
    None
}

/// Finds `20191217…100000` or `2019-12-17…10-00-00` anywhere in a name; the time of day is
/// optional.
fn dense_date(name: &[u8]) -> Option<i64> {
    let runs: Vec<&[u8]> = name
        .split(|byte| !byte.is_ascii_digit())
        .filter(|run| !run.is_empty())
        .collect();
    let number = |run: &[u8]| std::str::from_utf8(run).ok()?.parse::<i64>().ok();
    for (at, run) in runs.iter().enumerate() {
        let (date, then) = match run.len() {
            14 => (
                [&run[..4], &run[4..6], &run[6..8]],
                vec![&run[8..10], &run[10..12], &run[12..]],
            ),
            8 => ([&run[..4], &run[4..6], &run[6..8]], parts(&runs[at + 1..])),
            4 if runs.len() > at + 2 && runs[at + 1].len() == 2 && runs[at + 2].len() == 2 => {
                ([*run, runs[at + 1], runs[at + 2]], parts(&runs[at + 3..]))
            }
            _ => continue,
        };
        let days = match (number(date[0])?, number(date[1])?, number(date[2])?) {
            (year @ 1990..=2200, month @ 1..=12, day @ 1..=31) => days(year, month, day),
            _ => continue,
        };
        let clock: Vec<i64> = then.iter().filter_map(|part| number(part)).collect();
        let seconds = match clock.as_slice() {
            [hour @ 0..24, minute @ 0..60, second @ 0..61, ..] => {
                hour * 3600 + minute * 60 + second
            }
            [hour @ 0..24, minute @ 0..60] => hour * 3600 + minute * 60,
            _ => 0,
        };
        return Some((days * 86_400 + seconds) * MICROS);
    }
    None
}

/// Splits hours, minutes and seconds, with or without separators.
fn parts<'a>(runs: &[&'a [u8]]) -> Vec<&'a [u8]> {
    match runs {
        [run, ..] if run.len() == 6 => vec![&run[..2], &run[2..4], &run[4..]],
        [run, ..] if run.len() == 4 => vec![&run[..2], &run[2..]],
        [hour, minute, second, ..] if hour.len() == 2 && minute.len() == 2 && second.len() == 2 => {
            vec![hour, minute, second]
        }
        _ => Vec::new(),
    }
}

/// Parses `1576576800`, `1576576800.123`, or `2019-12-17T10:00:00.5+09:00`; the default zone is
/// UTC.
pub(crate) fn epoch_or_date(text: &[u8]) -> Option<Stamped<'_>> {
    let run = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match run {
        10 => {
            let (nanos, used) = fraction(&text[10..]);
            Some(Stamped {
                time: Moment::of(integer(&text[..10])?, nanos),
                rest: &text[10 + used..],
            })
        }
        4 => date(text),
        _ => None,
    }
}

fn date(text: &[u8]) -> Option<Stamped<'_>> {
    let field = |from: usize, to: usize| integer(text.get(from..to)?);
    let at = |place: usize, marks: &[u8]| text.get(place).is_some_and(|byte| marks.contains(byte));
    if !(at(4, b"-/") && at(7, b"-/") && at(10, b"T _") && at(13, b":") && at(16, b":")) {
        return None;
    }
    let (year, month, day) = (field(0, 4)?, field(5, 7)?, field(8, 10)?);
    let (hour, minute, second) = (field(11, 13)?, field(14, 16)?, field(17, 19)?);
    if !((1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60)
    {
        return None;
    }
    let (nanos, used) = fraction(&text[19..]);
    let mut rest = &text[19 + used..];
    let mut seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let zone = rest
        .strip_prefix(b" ")
        .filter(|zone| matches!(zone.first(), Some(b'+' | b'-')))
        .unwrap_or(rest);
    if let Some(behind) = rest
        .strip_prefix(b"Z")
        .or_else(|| rest.strip_prefix(b" UTC"))
        .or_else(|| rest.strip_prefix(b"UTC"))
    {
        rest = behind;
    } else if let Some((offset, behind)) = offset(zone) {
        seconds -= offset;
        rest = behind;
    }
    Some(Stamped {
        time: Moment::of(seconds, nanos),
        rest,
    })
}

/// Parses `.123456` or `,123`; returns nanoseconds, and the length of the text.
fn fraction(text: &[u8]) -> (i64, usize) {
    if !matches!(text.first(), Some(b'.' | b',')) {
        return (0, 0);
    }
    let digits = text[1..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let nanos = (0..9).fold(0, |nanos, at| {
        let digit = if at < digits {
            i64::from(text[1 + at] - b'0')
        } else {
            0
        };
        nanos * 10 + digit
    });
    if digits == 0 {
        (0, 0)
    } else {
        (nanos, 1 + digits)
    }
}

/// Parses `+09:00` or `+0900`, in seconds.
fn offset(text: &[u8]) -> Option<(i64, &[u8])> {
    let sign = match text.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = integer(text.get(1..3)?)?;
    let colon = usize::from(text.get(3) == Some(&b':'));
    let minutes = integer(text.get(3 + colon..5 + colon)?)?;
    Some((sign * (hours * 3600 + minutes * 60), &text[5 + colon..]))
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Parses the output of `date`, and dates of logs: `Tue Dec 17 10:00:00 UTC 2019`, `Tue Dec 17
/// 10:00:00 AM UTC 2019`, `Tue, 17 Dec 2019 10:00:00 +0000`, `17/Dec/2019:10:00:00 +0000`. The only
/// names of zones are UTC and GMT: others are ambiguous.
pub(crate) fn of_date_command(text: &str) -> Option<i64> {
    let (mut year, mut month, mut day, mut clock, mut zone, mut noon) =
        (None, None, None, None, 0, None);
    for word in text.split([' ', ',', '/']).filter(|word| !word.is_empty()) {
        if let Some(at) = MONTHS
            .iter()
            .position(|name| word.get(..3) == Some(name) && word.chars().all(char::is_alphabetic))
        {
            month = i64::try_from(at + 1).ok();
        } else if let Some((first, rest)) = word.split_once(':') {
            // In a log's form, the year precedes the time of day.
            let of_day = if first.len() == 4 {
                year = integer(first.as_bytes());
                rest
            } else {
                word
            };
            let parts: Vec<&str> = of_day.split(':').collect();
            let [hour, minute, second] = parts.as_slice() else {
                return None;
            };
            let [hour, minute, second] =
                [hour, minute, second].map(|part| integer(part.as_bytes()));
            clock = Some((
                hour.filter(|hour| *hour < 24)?,
                minute.filter(|minute| *minute < 60)?,
                second.filter(|s| *s <= 60)?,
            ));
        } else if word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit()) {
            year = integer(word.as_bytes());
        } else if word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit()) {
            day = integer(word.as_bytes()).filter(|day| (1..=31).contains(day));
        } else if matches!(word, "AM" | "PM") {
            noon = Some(word);
        } else if let Some((seconds, b"")) = offset(word.as_bytes()) {
            zone = seconds;
        } else if !(matches!(word, "UTC" | "GMT")
            || ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&word))
        {
            return None;
        }
    }
    let (mut hour, minute, second) = clock?;
    match noon {
        Some("AM") if hour == 12 => hour = 0,
        Some("PM") if hour < 12 => hour += 12,
        _ => {}
    }
    Some((days(year?, month?, day?) * 86_400 + hour * 3600 + minute * 60 + second - zone) * MICROS)
}

fn integer(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        digits
            .iter()
            .fold(0, |value, byte| value * 10 + i64::from(byte - b'0')),
    )
}

/// Returns the days since 1970-01-01 in the Gregorian calendar (H. Hinnant, days_from_civil).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2019-12-17 10:00:00 UTC, by `date -u -d`.
    const TIME: i64 = 1_576_576_800 * MICROS;

    #[test]
    fn a_line_of_time_has_many_forms() {
        for text in [
            "@1576576800",
            "1576576800",
            "# 1576576800",
            "time: 1576576800",
            "# time 1576576800",
            "ts=1576576800.000000",
            "2019-12-17T10:00:00Z",
            "=== 2019-12-17 10:00:00 ===",
            "# 2019-12-17T19:00:00+09:00",
            "2019-12-17 05:30:00 -0430",
            "2019-12-17 10:00:00 UTC",
            "Tue Dec 17 10:00:00 UTC 2019",
            "Tue Dec 17 10:00:00 AM UTC 2019",
            "Tue, 17 Dec 2019 11:00:00 +0100",
            "Tue 17 Dec 2019 10:00:00 AM UTC",
        ] {
            assert_eq!(
                line(text.as_bytes()).map(|time| time.micros),
                Some(TIME),
                "{text}"
            );
        }
        let exact = line(b"@1795251986.699440123").unwrap();
        assert_eq!(exact.micros, 1_795_251_986_699_440);
        assert_eq!(exact.nanos(), Some(1_795_251_986_699_440_123));
        for text in [
            "",
            "#",
            "# a comment",
            "Tue Dec 17 10:00:00 JST 2019",
            "0 0 10.0.0.1:80 10.0.0.2:1234",
            "2019-13-17 10:00:00",
        ] {
            assert_eq!(line(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_time_in_front_of_a_line_leaves_the_line() {
        let found = prefix(b"1576576800.5 \t cubic rto:204").unwrap();
        assert_eq!(
            (found.time.micros, found.rest),
            (TIME + 500_000, &b"\t cubic rto:204"[..])
        );
        assert_eq!(
            prefix(b"2019-12-17 10:00:00 ESTAB 0 0").unwrap().rest,
            b"ESTAB 0 0"
        );
        assert_eq!(
            prefix(b"[2019-12-17T10:00:00Z] ESTAB").unwrap().rest,
            b"ESTAB"
        );
        for text in ["@1576576800 ESTAB", "Tue Dec 17 10:00:00 UTC 2019 ESTAB"] {
            let found = prefix(text.as_bytes()).unwrap();
            assert_eq!((found.time.micros, found.rest), (TIME, &b"ESTAB"[..]));
        }
        assert!(prefix(b"0 398200 10.0.0.1:80 10.0.0.2:1234").is_none());
    }

    #[test]
    fn a_file_may_be_named_by_its_time() {
        assert_eq!(in_name("ss-1576576800.txt"), Some(TIME));
        assert_eq!(in_name("ss-1576576800123.txt"), Some(TIME + 123_000));
        assert_eq!(in_name("ss_2019-12-17_10-00-00.gz"), Some(TIME));
        assert_eq!(in_name("20191217T100000Z.ss"), Some(TIME));
        assert_eq!(in_name("tokyo-1.20191217100000"), Some(TIME));
        assert_eq!(in_name("ss-2019-12-17.txt"), Some(TIME - 36_000 * MICROS));
        assert_eq!(in_name("host-10.ss"), None);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(
            [days(1970, 1, 1), days(2000, 2, 29), days(2026, 11, 22)],
            [0, 11_016, 20_779]
        );
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in prop::collection::vec(any::<u8>(), 0..60), name in ".{0,40}", near in "[0-9T:. +-]{0,40}") {
            line(&text);
            prefix(&text);
            in_name(&name);
            for text in [near.as_str(), name.as_str()] {
                line(text.as_bytes());
                prefix(text.as_bytes());
                in_name(text);
            }
        }
    }
}
