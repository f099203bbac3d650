//! Token buckets: `policer = "10mbit burst 60kB"` and `shaper = "20mbit burst 30kB"`.

use std::path::Path;

use fullpipe_units::{Bytes, Rate};
use schemars::Schema;
use toml::Value as Toml;

use super::OFF;
use super::words::{Part, Words, schema, toml};
use crate::model::PACKET;
use crate::raw_value::{ReadValue, Refusal};
use crate::values::{quantity, text_of};

/// A token bucket that drops packets for which it has too few tokens: `"10mbit burst 60kB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// Rate at which tokens arrive.
    pub rate: Rate,
    /// Capacity of the bucket.
    pub burst: Bytes,
}

/// A token bucket that delays packets until it has tokens for them: `"20mbit burst 30kB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Rate at which tokens arrive.
    pub rate: Rate,
    /// Capacity of the bucket.
    pub burst: Bytes,
}

const POLICER: &str = "policer";
const SHAPER: &str = "shaper";

impl ReadValue for Option<Policer> {
    fn read(value: &Toml) -> Result<Option<Policer>, Refusal> {
        Ok(read(POLICER, value)?.map(|(rate, burst)| Policer { rate, burst }))
    }

    fn write(&self) -> Toml {
        write(self.map(|policer| (policer.rate, policer.burst)))
    }

    fn schema() -> Schema {
        schema(POLICER, true)
    }
}

impl ReadValue for Option<Shaper> {
    fn read(value: &Toml) -> Result<Option<Shaper>, Refusal> {
        Ok(read(SHAPER, value)?.map(|(rate, burst)| Shaper { rate, burst }))
    }

    fn write(&self) -> Toml {
        write(self.map(|shaper| (shaper.rate, shaper.burst)))
    }

    fn schema() -> Schema {
        schema(SHAPER, true)
    }
}

fn read(key: &'static str, value: &Toml) -> Result<Option<(Rate, Bytes)>, Refusal> {
    let text = text_of(value);
    if text == OFF {
        return Ok(None);
    }
    let words = Words::read(key, &text, Path::new(""))?;
    let rate = words.get("rate")?;
    let Burst(burst) = words.get("burst")?;
    Ok(Some((rate, burst)))
}

fn write(bucket: Option<(Rate, Bytes)>) -> Toml {
    Toml::String(bucket.map_or_else(
        || OFF.to_owned(),
        |(rate, burst)| format!("{rate} burst {burst}"),
    ))
}

/// Largest capacity of a bucket.
const LARGEST_BURST: Bytes = Bytes::new(1_000_000_000_000);

/// The capacity of a token bucket, at least one packet.
struct Burst(Bytes);

impl Part for Burst {
    fn read(text: &str) -> Result<Burst, Refusal> {
        let burst: Bytes = quantity(&toml(text), ["B", "kB", "MB"], "60kB")?;
        if burst < PACKET {
            let problem = format!(
                "a burst below one packet of {} bytes lets no packet pass",
                PACKET.get()
            );
            return Err(Refusal::new(
                problem,
                "give at least \"1500B\", better 10 packets or more",
            ));
        }
        if burst > LARGEST_BURST {
            let fix = format!("give at most \"{LARGEST_BURST}\", or \"off\"");
            return Err(Refusal::new(
                "a burst this large lets every packet pass",
                fix,
            ));
        }
        Ok(Burst(burst))
    }
}
