//! The bottleneck's buffer: four ways to say its size, two ways to limit a queue.

use fullpipe_path::Limit;
use fullpipe_units::{Bytes, Rate, Span};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::raw_value::{ReadValue, Refusal};
use crate::values::{is_decimal, quantity, text_of, unit_fix};

/// How large a buffer is, as it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// That many packets.
    Packets(u64),
    /// That many bytes.
    Bytes(Bytes),
    /// What the link sends in that time.
    Time(Span),
    /// That many times rate x RTT.
    Bdp(f64),
}

impl Default for Buffer {
    /// Nothing.
    fn default() -> Buffer {
        Buffer::Packets(0)
    }
}

impl Buffer {
    /// The limit behind a link of `rate` on a path of `rtt`, rounded down to whole `packet`s unless
    /// given in bytes.
    pub fn limit(&self, rate: Rate, rtt: Span, packet: Bytes) -> Limit {
        match *self {
            Buffer::Packets(n) => Limit::Packets(n),
            Buffer::Bytes(bytes) => Limit::Bytes(bytes),
            Buffer::Time(span) => Limit::Packets(packets(rate, span, 1.0, packet)),
            Buffer::Bdp(factor) => Limit::Packets(packets(rate, rtt, factor, packet)),
        }
    }

    /// The same in bytes, rounded to no packet.
    pub fn limit_in_bytes(&self, rate: Rate, rtt: Span, packet: Bytes) -> Limit {
        Limit::Bytes(match *self {
            Buffer::Packets(n) => packet * n,
            other => other.limit(rate, rtt, Bytes::new(1)).bytes(Bytes::new(1)),
        })
    }
}

/// The whole packets in `factor` times what `rate` moves in `span`.
fn packets(rate: Rate, span: Span, factor: f64, packet: Bytes) -> u64 {
    let bits = rate.as_f64() * (span.as_nanos() as f64 / 1e9) * factor;
    let exact = bits / (8.0 * packet.as_f64());
    // A decimal factor is seldom exact in binary: what is short of a whole packet by rounding alone
    // counts as whole.
    (exact * (1.0 + 1e-12)) as u64
}

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
            _ if !is_decimal(number) => Err(Refusal::new("not a size of a buffer", fix())),
            "" => Err(Refusal::new("a buffer needs a unit, like \"1bdp\"", fix())),
            "packets" | "packet" => number.parse().map(Buffer::Packets).map_err(|_| {
                Refusal::new(
                    "not a whole number of packets",
                    "write it like \"400packets\"",
                )
            }),
            // Digits and a point always parse; too many of them parse as infinity, which the upper
            // bound refuses.
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
