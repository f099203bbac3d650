//! The buffer of a link: four units of its size, and the limit of the queue that results.

use fullpipe_path::Limit;
use fullpipe_units::{Bytes, Rate, Span};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::raw_value::{ReadValue, Refusal};
use crate::values::{is_decimal, quantity, text_of, unit_fix};

/// The size of a buffer, as written in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// The data that the link sends in this time.
    Time(Span),
    /// A multiple of the BDP, rate x RTT.
    Bdp(f64),
}

impl Default for Buffer {
    /// Creates a buffer of size zero.
    fn default() -> Buffer {
        Buffer::Packets(0)
    }
}

impl Buffer {
    /// Returns the limit of the queue in front of a link of `rate` on a path of `rtt`, rounded down
    /// to whole `packet`s unless the buffer is given in bytes.
    pub fn limit(&self, rate: Rate, rtt: Span, packet: Bytes) -> Limit {
        match *self {
            Buffer::Packets(n) => Limit::Packets(n),
            Buffer::Bytes(bytes) => Limit::Bytes(bytes),
            Buffer::Time(span) => Limit::Packets(packets(rate, span, 1.0, packet)),
            Buffer::Bdp(factor) => Limit::Packets(packets(rate, rtt, factor, packet)),
        }
    }

    /// Returns the limit in bytes, not rounded to packets.
    pub fn limit_in_bytes(&self, rate: Rate, rtt: Span, packet: Bytes) -> Limit {
        Limit::Bytes(match *self {
            Buffer::Packets(n) => packet * n,
            other => other.limit(rate, rtt, Bytes::new(1)).bytes(Bytes::new(1)),
        })
    }
}

/// Returns the number of whole packets in `factor` times the bytes that `rate` moves in `span`.
fn packets(rate: Rate, span: Span, factor: f64, packet: Bytes) -> u64 {
    let bits = rate.as_f64() * (span.as_nanos() as f64 / 1e9) * factor;
    let exact = bits / (8.0 * packet.as_f64());
    // A decimal factor is seldom exact in binary: a result that is short of a whole packet only by
    // a rounding error counts as whole.
    (exact * (1.0 + 1e-12)) as u64
}

/// The buffer of a link as written: a size, or `None` for the word `default`, which leaves it to the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinkBuffer(pub(crate) Option<Buffer>);

/// The word for a queue's own limit.
const DEFAULT: &str = "default";
/// The buffer that the word stands for where a queue has no limit of its own.
pub(crate) const WITHOUT_LIMIT: Buffer = Buffer::Bdp(1.0);

const SIZES: &[&str] = &["b", "kb", "mb", "gb", "kib", "mib", "gib"];
const TIMES: &[&str] = &["ns", "us", "µs", "ms", "s", "min"];

impl ReadValue for Buffer {
    fn read(value: &Toml) -> Result<Buffer, Refusal> {
        let text = text_of(value);
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim().to_lowercase());
        let countable = if text.contains('.') { "MB" } else { "packets" };
        let fix = || unit_fix(&text, ["bdp", countable, "ms"], "1bdp");
        match unit.as_str() {
            _ if !is_decimal(number) => Err(Refusal::new("not a buffer size", fix())),
            "" => Err(Refusal::new("a buffer needs a unit, like \"1bdp\"", fix())),
            "packets" | "packet" => number.parse().map(Buffer::Packets).map_err(|_| {
                Refusal::new(
                    "not a whole number of packets",
                    "write it like \"400packets\"",
                )
            }),
            // Digits with a point always parse; too many digits parse as infinity, which the upper
            // limit refuses.
            "bdp" => Ok(Buffer::Bdp(number.parse().unwrap_or(f64::INFINITY))),
            unit if SIZES.contains(&unit) => {
                quantity(value, ["B", "kB", "MB"], "1.5MB").map(Buffer::Bytes)
            }
            unit if TIMES.contains(&unit) => {
                quantity(value, ["us", "ms", "s"], "100ms").map(Buffer::Time)
            }
            _ => Err(Refusal::new(
                format!(
                    "{unit:?} is not a unit of a buffer; use bdp, packets, B, kB, MB, us, ms or s"
                ),
                fix(),
            )),
        }
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            Buffer::Packets(n) => format!("{n}packets"),
            Buffer::Bytes(bytes) => bytes.to_string(),
            Buffer::Time(span) => span.to_string(),
            Buffer::Bdp(factor) => format!("{factor}bdp"),
        })
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "buffer (bdp, packets, B, kB, MB, us, ms, s)",
            "type": "string",
            "pattern": "^[0-9.]+ *([bB][dD][pP]|[pP][aA][cC][kK][eE][tT][sS]?|([kKmMgG][iI]?)?[bB]|ns|us|µs|ms|s|min)$",
            "examples": ["8bdp", "400packets", "1.5MB", "100ms"],
        })
    }
}

impl ReadValue for LinkBuffer {
    fn read(value: &Toml) -> Result<LinkBuffer, Refusal> {
        match value.as_str() {
            Some(DEFAULT) => Ok(LinkBuffer(None)),
            _ => Buffer::read(value).map(|buffer| LinkBuffer(Some(buffer))),
        }
    }

    fn write(&self) -> Toml {
        let LinkBuffer(buffer) = self;
        buffer.map_or_else(|| Toml::String(DEFAULT.to_owned()), |buffer| buffer.write())
    }

    fn schema() -> Schema {
        let mut schema = Buffer::schema();
        schema.insert(
            "title".to_owned(),
            "buffer (bdp, packets, B, kB, MB, us, ms, s), or \"default\"".into(),
        );
        if let Some(pattern) = schema.get("pattern").and_then(|pattern| pattern.as_str()) {
            let either = format!("^{DEFAULT}$|{pattern}");
            schema.insert("pattern".to_owned(), either.into());
        }
        schema
    }
}
