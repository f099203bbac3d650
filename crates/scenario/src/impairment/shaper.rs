//! `shaper = "20mbit burst 30kB"`.

use std::path::Path;

use schemars::Schema;
use toml::Value as Toml;
use units::{Bytes, Rate};

use super::OFF;
use super::policer::Burst;
use super::words::{Words, schema};
use crate::kinds::text_of;
use crate::leaf::{Kind, Refusal};

/// A token bucket that holds what does not conform: `"20mbit burst 30kB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// The rate at which tokens come.
    pub rate: Rate,
    /// The most that the bucket holds.
    pub burst: Bytes,
}

const KEY: &str = "shaper";

impl Kind for Option<Shaper> {
    fn read(value: &Toml) -> Result<Option<Shaper>, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(None);
        }
        let words = Words::read(KEY, &text, Path::new(""))?;
        let rate = words.get("rate")?;
        let Burst(burst) = words.get("burst")?;
        Ok(Some(Shaper { rate, burst }))
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            None => OFF.to_owned(),
            Some(Shaper { rate, burst }) => format!("{rate} burst {burst}"),
        })
    }

    fn schema() -> Schema {
        schema(KEY, true)
    }
}
