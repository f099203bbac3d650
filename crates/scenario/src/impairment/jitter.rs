//! `jitter = "5ms"`, `"5ms reorder"`, `"hold 20ms every 100ms"`.

use std::path::Path;

use path::Jitter;
use schemars::Schema;
use toml::Value as Toml;
use units::Span;

use super::OFF;
use super::words::{Words, schema};
use crate::kinds::text_of;
use crate::leaf::{Kind, Refusal};

const KEY: &str = "jitter";

/// The same for ACKs, which keep their order.
#[derive(Debug)]
pub(crate) struct InOrder(pub(crate) Jitter);

impl Kind for Jitter {
    fn read(value: &Toml) -> Result<Jitter, Refusal> {
        Jitter::read_in(value, Path::new(""))
    }

    fn read_in(value: &Toml, folder: &Path) -> Result<Jitter, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(Jitter::Off);
        }
        let words = Words::read(KEY, &text, folder)?;
        match words.name() {
            "hold" => hold_every(&words),
            _ => match words.get("most")? {
                Span::ZERO => Ok(Jitter::Off),
                most => Ok(Jitter::Random { most, reorder: words.has("reorder") }),
            },
        }
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            Jitter::Off => OFF.to_owned(),
            Jitter::Random { most, reorder: false } => most.to_string(),
            Jitter::Random { most, reorder: true } => format!("{most} reorder"),
            Jitter::Hold { hold, every } => format!("hold {hold} every {every}"),
        })
    }

    fn schema() -> Schema {
        schema(KEY, true)
    }
}

impl Kind for InOrder {
    fn read(value: &Toml) -> Result<InOrder, Refusal> {
        InOrder::read_in(value, Path::new(""))
    }

    fn read_in(value: &Toml, folder: &Path) -> Result<InOrder, Refusal> {
        match Jitter::read_in(value, folder)? {
            Jitter::Random { reorder: true, .. } => {
                Err(Refusal::new("ACKs stay in order", "give it without \"reorder\"; path.jitter can reorder data"))
            }
            jitter => Ok(InOrder(jitter)),
        }
    }

    fn write(&self) -> Toml {
        self.0.write()
    }

    fn schema() -> Schema {
        schema(KEY, true)
    }
}

/// `20ms every 100ms`, or `10ms` for all of the time.
fn hold_every(words: &Words<'_>) -> Result<Jitter, Refusal> {
    let hold: Span = words.get("for")?;
    let every = words.optional("every")?.unwrap_or(hold);
    if hold == Span::ZERO || every == Span::ZERO {
        return Err(Refusal::new("held for no time", "give more, like \"hold 20ms every 100ms\", or \"off\""));
    }
    if hold > every {
        let problem = format!("held for longer than it is from one hold to the next, {every}");
        return Err(Refusal::new(problem, format!("hold for at most \"{every}\"")));
    }
    Ok(Jitter::Hold { hold, every })
}
