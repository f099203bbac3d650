//! Radios: `wifi = "frames 32 overhead 200us"`, `suspend = "200ms every 2s"`.

use std::path::Path;

use fullpipe_path::Aggregation;
use fullpipe_units::{Bytes, Span};
use schemars::Schema;
use toml::Value as Toml;

use super::OFF;
use super::words::{Count, Part, Words, schema, toml};
use crate::model::PACKET;
use crate::raw_value::{ReadValue, Refusal};
use crate::values::{quantity, text_of};

/// The silence of a radio, once in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspend {
    /// Length of the silence.
    pub hold: Span,
    /// Length of the period.
    pub every: Span,
    /// Whether the silence begins at a random time in the period, not at its start.
    pub random: bool,
}

const WIFI: &str = "wifi";
const SUSPEND: &str = "suspend";

/// Largest A-MPDU of 802.11n.
const LARGEST_HT: Bytes = Bytes::new(65_535);

impl ReadValue for Option<Aggregation> {
    fn read(value: &Toml) -> Result<Option<Aggregation>, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(None);
        }
        let words = Words::read(WIFI, &text, Path::new(""))?;
        let Count(frames) = words.get("frames")?;
        let overhead = words.get("overhead")?;
        let bytes = words
            .optional("bytes")?
            .map_or(LARGEST_HT, |Size(bytes)| bytes);
        let backoff = words.optional("backoff")?.unwrap_or(Span::ZERO);
        if overhead == Span::ZERO && backoff == Span::ZERO {
            return Err(Refusal::new(
                "without overhead, aggregation has no effect",
                "give an overhead greater than zero, or \"off\"",
            ));
        }
        Ok(Some(Aggregation {
            frames,
            bytes,
            overhead,
            backoff,
        }))
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            None => OFF.to_owned(),
            Some(Aggregation {
                frames,
                bytes,
                overhead,
                backoff,
            }) => {
                format!("frames {frames} overhead {overhead} bytes {bytes} backoff {backoff}")
            }
        })
    }

    fn schema() -> Schema {
        schema(WIFI, true)
    }
}

/// A size of at least one packet.
struct Size(Bytes);

impl Part for Size {
    fn read(text: &str) -> Result<Size, Refusal> {
        match quantity(&toml(text), ["B", "kB", "MB"], "65535B")? {
            bytes if bytes < PACKET => {
                let problem = format!("less than one packet of {} bytes", PACKET.get());
                Err(Refusal::new(problem, "give at least \"1500B\""))
            }
            bytes => Ok(Size(bytes)),
        }
    }
}

impl ReadValue for Option<Suspend> {
    fn read(value: &Toml) -> Result<Option<Suspend>, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(None);
        }
        let words = Words::read(SUSPEND, &text, Path::new(""))?;
        let (hold, every): (Span, Span) = (words.get("for")?, words.get("every")?);
        if hold == Span::ZERO {
            return Err(Refusal::new(
                "the silence must be longer than zero",
                "give a time greater than zero, like \"200ms every 2s\", or \"off\"",
            ));
        }
        if hold >= every {
            return Err(Refusal::new(
                "the silence must be shorter than its period",
                format!("give less than \"{every}\", or a longer period"),
            ));
        }
        Ok(Some(Suspend {
            hold,
            every,
            random: words.has("random"),
        }))
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            None => OFF.to_owned(),
            Some(Suspend {
                hold,
                every,
                random,
            }) => {
                format!(
                    "{hold} every {every}{}",
                    if *random { " random" } else { "" }
                )
            }
        })
    }

    fn schema() -> Schema {
        schema(SUSPEND, true)
    }
}
