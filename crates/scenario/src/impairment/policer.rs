//! `policer = "10mbit burst 60kB"`.

use std::path::Path;

use schemars::Schema;
use toml::Value as Toml;
use units::{Bytes, Rate};

use super::OFF;
use super::words::{Part, Words, schema, toml};
use crate::kinds::{quantity, text_of};
use crate::leaf::{Kind, Refusal};
use crate::model::PACKET;

/// A token bucket that drops what does not conform: `"10mbit burst 60kB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// The rate at which tokens come.
    pub rate: Rate,
    /// The most that the bucket holds.
    pub burst: Bytes,
}

/// No policer's bucket is meant to hold more.
const LARGEST_BURST: Bytes = Bytes::new(1_000_000_000_000);

const KEY: &str = "policer";

impl Kind for Option<Policer> {
    fn read(value: &Toml) -> Result<Option<Policer>, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(None);
        }
        let words = Words::read(KEY, &text, Path::new(""))?;
        let rate = words.get("rate")?;
        let Burst(burst) = words.get("burst")?;
        Ok(Some(Policer { rate, burst }))
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            None => OFF.to_owned(),
            Some(Policer { rate, burst }) => format!("{rate} burst {burst}"),
        })
    }

    fn schema() -> Schema {
        schema(KEY, true)
    }
}

/// What a token bucket holds: a packet at least.
pub(super) struct Burst(pub(super) Bytes);

impl Part for Burst {
    fn read(text: &str) -> Result<Burst, Refusal> {
        let burst: Bytes = quantity(&toml(text), ["B", "kB", "MB"], "60kB")?;
        if burst < PACKET {
            let problem = format!("less than one packet of {} bytes lets none pass", PACKET.get());
            return Err(Refusal::new(problem, "give at least \"1500B\", better 10 packets or more"));
        }
        if burst > LARGEST_BURST {
            let fix = format!("give at most \"{LARGEST_BURST}\", or \"off\"");
            return Err(Refusal::new("a burst this large lets everything pass", fix));
        }
        Ok(Burst(burst))
    }
}
