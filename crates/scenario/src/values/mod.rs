//! The kinds of values: reading and writing them, and their schemas for editors.

mod names;

use std::fmt;
use std::str::FromStr;

use fullpipe_units::{Bytes, ParamValue, Rate, Span, UnitError, percent};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::model::{HEADER, ReceiveWindow};
use crate::raw_value::{ReadValue, Refusal};

pub(crate) use self::names::{Algorithm, Name};
pub use self::names::{algorithm_of, with_params};

/// A duration of at most [`Delay::LONGEST`].
#[derive(Debug)]
pub(crate) struct Delay(pub(crate) Span);
/// The end of the warm-up: a time, or `None` for the word `auto`.
#[derive(Debug)]
pub(crate) struct WarmUp(pub(crate) Option<Span>);
/// A propagation delay in addition to the path's: `"+20ms"`.
#[derive(Debug)]
pub(crate) struct Extra(pub(crate) Span);
/// A probability below 1: `"0.01%"`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Percent(pub(crate) f64);
/// The payload of a full segment.
#[derive(Debug)]
pub(crate) struct Mss(pub(crate) Bytes);
/// A whole number in MIN..=MAX.
#[derive(Debug)]
pub(crate) struct Whole<const MIN: u64, const MAX: u64>(pub(crate) u64);

impl Delay {
    pub(crate) const LONGEST: Span = Span::from_secs(100);
}

impl Percent {
    /// The problem with a value that is too large.
    pub(crate) const TOO_MUCH: &str = "must be below 100%";
}

const LONGEST: Span = Span::from_secs(1_000_000);
const FASTEST: Rate = Rate::from_mbps(10_000_000);

/// Reads a number with its unit. The fix for a number without a unit proposes `units`.
pub(crate) fn quantity<T: FromStr<Err = UnitError>>(
    value: &Toml,
    units: [&str; 3],
    example: &str,
) -> Result<T, Refusal> {
    let text = text_of(value);
    text.parse().map_err(|UnitError { problem, fix }| {
        Refusal::new(
            problem,
            fix.unwrap_or_else(|| unit_fix(&text, units, example)),
        )
    })
}

/// Returns a value as text, so that a TOML number reads as a quantity without a unit.
pub(crate) fn text_of(value: &Toml) -> String {
    match value {
        Toml::String(text) => text.trim().to_owned(),
        Toml::Table(_) | Toml::Array(_) => String::new(),
        other => other.to_string(),
    }
}

/// Returns the fix `write "100kbit", "100mbit" or "100gbit"` for a number without a unit, else the
/// example.
pub(crate) fn unit_fix(text: &str, [a, b, c]: [&str; 3], example: &str) -> String {
    // A number with more digits was probably meant in another unit.
    if is_decimal(text) && text.len() <= 6 {
        format!("write \"{text}{a}\", \"{text}{b}\" or \"{text}{c}\"")
    } else {
        format!("write it like \"{example}\"")
    }
}

/// Returns whether `text` consists of digits and at most one point.
pub(crate) fn is_decimal(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
        && text.matches('.').count() <= 1
}

fn duration(value: &Toml, longest: Span) -> Result<Span, Refusal> {
    let span: Span = quantity(value, ["us", "ms", "s"], "50ms")?;
    if span > longest {
        return Err(Refusal::new(
            format!("longer than {longest}"),
            format!("give at most \"{longest}\""),
        ));
    }
    Ok(span)
}

fn duration_schema(title: &str, prefix: &str, example: &str) -> Schema {
    json_schema!({
        "title": format!("{title} (ns, us, ms, s, min)"),
        "type": "string",
        "pattern": format!("^{prefix}[0-9.]+ *(ns|us|µs|ms|s|min)$"),
        "examples": [example],
    })
}

impl ReadValue for Span {
    fn read(value: &Toml) -> Result<Span, Refusal> {
        duration(value, LONGEST)
    }

    fn write(&self) -> Toml {
        Toml::String(self.to_string())
    }

    fn schema() -> Schema {
        duration_schema("duration", "", "5s")
    }
}

impl ReadValue for Delay {
    fn read(value: &Toml) -> Result<Delay, Refusal> {
        duration(value, Delay::LONGEST).map(Delay)
    }

    fn write(&self) -> Toml {
        self.0.write()
    }

    fn schema() -> Schema {
        duration_schema("duration", "", "50ms")
    }
}

impl ReadValue for Extra {
    fn read(value: &Toml) -> Result<Extra, Refusal> {
        let text = text_of(value);
        let Some(more) = text.strip_prefix('+') else {
            let example = if text.parse::<Span>().is_ok() {
                text.as_str()
            } else {
                "20ms"
            };
            return Err(Refusal::new(
                "a flow's rtt is added to path.rtt and must start with \"+\"",
                format!("write \"+{example}\" for path.rtt + {example}"),
            ));
        };
        duration(&Toml::String(more.to_owned()), Delay::LONGEST).map(Extra)
    }

    fn write(&self) -> Toml {
        Toml::String(format!("+{}", self.0))
    }

    fn schema() -> Schema {
        duration_schema("\"+\" and a duration", "\\+", "+20ms")
    }
}

impl ReadValue for Rate {
    fn read(value: &Toml) -> Result<Rate, Refusal> {
        let rate: Rate = quantity(value, ["kbit", "mbit", "gbit"], "100mbit")?;
        match rate {
            Rate::ZERO => Err(Refusal::new(
                "must be greater than zero",
                "give a rate like \"100mbit\"",
            )),
            rate if rate > FASTEST => Err(Refusal::new(
                format!("faster than {FASTEST}"),
                format!("give at most \"{FASTEST}\""),
            )),
            rate => Ok(rate),
        }
    }

    fn write(&self) -> Toml {
        Toml::String(self.to_string())
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "rate (bit, kbit, mbit, gbit)",
            "type": "string",
            "pattern": "^[0-9.]+ *[kKmMgG]?([bB][iI][tT](/[sS])?|[bB][pP][sS])$",
            "examples": ["100mbit"],
        })
    }
}

impl ReadValue for Bytes {
    fn read(value: &Toml) -> Result<Bytes, Refusal> {
        match quantity(value, ["B", "kB", "MB"], "1.5MB")? {
            Bytes::ZERO => Err(Refusal::new(
                "must be greater than zero",
                "give a larger size, or omit the key",
            )),
            bytes => Ok(bytes),
        }
    }

    fn write(&self) -> Toml {
        Toml::String(self.to_string())
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "size (B, kB, MB, GB, KiB, MiB, GiB)",
            "type": "string",
            "pattern": "^[0-9.]+ *([kKmMgG][iI]?)?[bB]$",
            "examples": ["3MB"],
        })
    }
}

impl Mss {
    /// Linux's TCP_MIN_MSS.
    const LEAST: Bytes = Bytes::new(88);
    /// In an IP packet of at most 65535 bytes.
    const MOST: Bytes = Bytes::new(65_535 - HEADER.get());
}

impl ReadValue for Mss {
    fn read(value: &Toml) -> Result<Mss, Refusal> {
        let mss = Bytes::read(value)?;
        if (Mss::LEAST..=Mss::MOST).contains(&mss) {
            return Ok(Mss(mss));
        }
        let problem = format!("not between \"{}\" and \"{}\"", Mss::LEAST, Mss::MOST);
        Err(Refusal::new(
            problem,
            "give the payload of a full segment, like \"8948B\"",
        ))
    }

    fn write(&self) -> Toml {
        self.0.write()
    }

    fn schema() -> Schema {
        Bytes::schema()
    }
}

impl ReadValue for WarmUp {
    fn read(value: &Toml) -> Result<WarmUp, Refusal> {
        match value.as_str() {
            Some(AUTO) => Ok(WarmUp(None)),
            _ => match Span::read(value) {
                Ok(end) => Ok(WarmUp(Some(end))),
                Err(refusal) => Err(Refusal {
                    fix: format!("{}, or \"{AUTO}\"", refusal.fix),
                    ..refusal
                }),
            },
        }
    }

    fn write(&self) -> Toml {
        let WarmUp(end) = self;
        end.map_or_else(|| Toml::String(AUTO.to_owned()), |end| end.write())
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "duration (ns, us, ms, s, min), or \"auto\"",
            "type": "string",
            "pattern": "^([0-9.]+ *(ns|us|µs|ms|s|min)|auto)$",
            "examples": ["5s", "auto"],
        })
    }
}

/// The word for a value that follows from others.
const AUTO: &str = "auto";
/// Linux's tcp_rmem\[2\].
const RMEM_MAX: Bytes = Bytes::new(6 << 20);

impl ReadValue for ReceiveWindow {
    fn read(value: &Toml) -> Result<ReceiveWindow, Refusal> {
        let text = text_of(value);
        let Some(rest) = text.strip_prefix(AUTO) else {
            return Bytes::read(value).map(ReceiveWindow::Fixed);
        };
        let max = match rest.trim().strip_prefix("max") {
            None if rest.is_empty() => RMEM_MAX,
            None => {
                return Err(Refusal::new(
                    "only \"max\" and a size may follow \"auto\"",
                    "write it like \"auto max 6MB\"",
                ));
            }
            Some(max) => Bytes::read(&Toml::String(max.trim().to_owned()))?,
        };
        Ok(ReceiveWindow::Auto { max })
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            ReceiveWindow::Fixed(window) => window.to_string(),
            ReceiveWindow::Auto { max } => format!("auto max {max}"),
        })
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "size (B, kB, MB, GB, KiB, MiB, GiB), \"auto\", or \"auto max\" size",
            "type": "string",
            "pattern": "^((auto max +)?[0-9.]+ *([kKmMgG][iI]?)?[bB]|auto)$",
            "examples": ["3MB", "auto", "auto max 6MB"],
        })
    }
}

impl fmt::Display for Percent {
    /// Shifts the decimal point in the shortest text of the float, so that it reads back exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let digits = format!("{:0<2}", text.strip_prefix("0.").unwrap_or_default());
        let (whole, rest) = digits.split_at(2);
        let whole = if whole == "00" {
            "0"
        } else {
            whole.trim_start_matches('0')
        };
        let point = if rest.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{rest}%")
    }
}

impl From<f64> for Percent {
    fn from(fraction: f64) -> Percent {
        Percent(fraction)
    }
}

impl From<Percent> for f64 {
    fn from(Percent(fraction): Percent) -> f64 {
        fraction
    }
}

impl ReadValue for Percent {
    fn read(value: &Toml) -> Result<Percent, Refusal> {
        let text = text_of(value);
        let number = text.strip_suffix('%').map_or(text.as_str(), str::trim_end);
        if !is_decimal(number) {
            return Err(Refusal::new("not a percentage", "write it like \"0.01%\""));
        }
        if number == text {
            // A number below 1 may be meant as a share.
            let fix = match number.parse() {
                Ok(share) if share > 0.0 && share < 1.0 => {
                    format!("write \"{}\" or \"{number}%\"", Percent(share))
                }
                _ => format!("write \"{number}%\""),
            };
            return Err(Refusal::new("the % sign is missing", fix));
        }
        match percent(number) {
            Some(fraction) if fraction < 1.0 => Ok(Percent(fraction)),
            _ => Err(Refusal::new(Percent::TOO_MUCH, "give less than \"100%\"")),
        }
    }

    fn write(&self) -> Toml {
        Toml::String(self.to_string())
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "percentage (%)",
            "type": "string",
            "pattern": "^[0-9.]+ *%$",
            "examples": ["0.01%"],
        })
    }
}

impl<const MIN: u64, const MAX: u64> ReadValue for Whole<MIN, MAX> {
    fn read(value: &Toml) -> Result<Whole<MIN, MAX>, Refusal> {
        let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
        number
            .filter(|n| (MIN..=MAX).contains(n))
            .map(Whole)
            .ok_or_else(|| {
                Refusal::new(
                    format!("not a whole number from {MIN} to {MAX}"),
                    format!("write a whole number from {MIN} to {MAX}, without quotes"),
                )
            })
    }

    fn write(&self) -> Toml {
        Toml::Integer(i64::try_from(self.0).expect("MAX is at most i64::MAX, the largest of TOML"))
    }

    fn schema() -> Schema {
        json_schema!({ "title": "whole number", "type": "integer", "minimum": MIN, "maximum": MAX, "examples": [MIN.max(1)] })
    }
}

impl ReadValue for ParamValue {
    fn read(value: &Toml) -> Result<ParamValue, Refusal> {
        match value {
            Toml::Integer(n) => Ok(ParamValue::Number(*n as f64)),
            Toml::Float(n) if n.is_finite() => Ok(ParamValue::Number(*n)),
            Toml::Boolean(flag) => Ok(ParamValue::Flag(*flag)),
            Toml::String(word) => Ok(ParamValue::Word(word.clone())),
            _ => Err(Refusal::new(
                "not a valid value of a parameter",
                "give a finite number, true, false or a word in quotes",
            )),
        }
    }

    fn write(&self) -> Toml {
        match self {
            ParamValue::Number(n) => Toml::Float(*n),
            ParamValue::Flag(flag) => Toml::Boolean(*flag),
            ParamValue::Word(word) => Toml::String(word.clone()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "title": "parameter", "type": ["number", "boolean", "string"] })
    }
}
