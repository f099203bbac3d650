//! What a path does to packets besides queueing them, each in one value, so that a schedule or `--set` can change it.

use schemars::{Schema, json_schema};
use toml::Value as Toml;
use units::{Bytes, Rate, Span};

use crate::kinds::{Delay, quantity, text_of};
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

/// How a delay varies from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Not at all.
    Off,
    /// Each packet is up to so much later, uniformly: `"5ms"`, `"5ms reorder"`.
    Random {
        /// The longest.
        most: Span,
        /// Packets may overtake each other.
        reorder: bool,
    },
    /// At each multiple of `every`, all that comes is held for `hold`, then released at once: `"hold 20ms every 100ms"`.
    Hold {
        /// How long.
        hold: Span,
        /// How often.
        every: Span,
    },
}

/// The same for ACKs, which keep their order.
#[derive(Debug)]
pub(crate) struct InOrder(pub(crate) Jitter);

const OFF: &str = "off";
const NUMBER: &str = "[0-9.]+ *";
const TIME: &str = "(ns|us|µs|ms|s|min)";

impl Kind for Option<Policer> {
    fn read(value: &Toml) -> Result<Option<Policer>, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(None);
        }
        let Some((rate, burst)) = text.split_once("burst") else {
            return Err(Refusal::new(
                "a policer has a rate and a burst",
                "write it like \"10mbit burst 60kB\", or \"off\"",
            ));
        };
        let rate = Rate::read(&part(rate))?;
        let burst: Bytes = quantity(&part(burst), ["B", "kB", "MB"], "60kB")?;
        if burst < PACKET {
            let problem = format!("a burst below one packet of {} bytes lets none pass", PACKET.get());
            return Err(Refusal::new(problem, "give at least \"1500B\", better 10 packets or more"));
        }
        if burst > LARGEST_BURST {
            let fix = format!("give at most \"{LARGEST_BURST}\", or \"off\"");
            return Err(Refusal::new("a burst this large polices nothing", fix));
        }
        Ok(Some(Policer { rate, burst }))
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            None => OFF.to_owned(),
            Some(Policer { rate, burst }) => format!("{rate} burst {burst}"),
        })
    }

    fn schema() -> Schema {
        let rate = "[kKmMgG]?([bB][iI][tT](/[sS])?|[bB][pP][sS])";
        json_schema!({
            "title": "\"off\", or rate \"burst\" size",
            "type": "string",
            "pattern": format!("^(off|{NUMBER}{rate} *burst *{NUMBER}([kKmMgG][iI]?)?[bB])$"),
            "examples": ["10mbit burst 60kB", "off"],
        })
    }
}

/// No policer's bucket is meant to hold more.
const LARGEST_BURST: Bytes = Bytes::new(1_000_000_000_000);

impl Kind for Jitter {
    fn read(value: &Toml) -> Result<Jitter, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(Jitter::Off);
        }
        if let Some(hold) = text.strip_prefix("hold") {
            return hold_every(hold);
        }
        let (most, reorder) = text.strip_suffix("reorder").map_or((text.as_str(), false), |most| (most, true));
        match span(most)? {
            Span::ZERO => Ok(Jitter::Off),
            most => Ok(Jitter::Random { most, reorder }),
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
        schema(" *(reorder)?", &["5ms", "5ms reorder", "hold 20ms every 100ms", "off"])
    }
}

impl Kind for InOrder {
    fn read(value: &Toml) -> Result<InOrder, Refusal> {
        match Jitter::read(value)? {
            Jitter::Random { most, reorder: true } => {
                let fix = format!("write \"{most}\"; path.jitter can reorder data");
                Err(Refusal::new("ACKs stay in order", fix))
            }
            jitter => Ok(InOrder(jitter)),
        }
    }

    fn write(&self) -> Toml {
        self.0.write()
    }

    fn schema() -> Schema {
        schema("", &["5ms", "hold 10ms", "off"])
    }
}

fn schema(reorder: &str, examples: &[&str]) -> Schema {
    json_schema!({
        "title": "\"off\", duration, or \"hold\" duration \"every\" duration",
        "type": "string",
        "pattern": format!("^(off|{NUMBER}{TIME}{reorder}|hold *{NUMBER}{TIME}( *every *{NUMBER}{TIME})?)$"),
        "examples": examples,
    })
}

/// `20ms every 100ms`, or `10ms` for all of the time.
fn hold_every(text: &str) -> Result<Jitter, Refusal> {
    let (hold, every) = match text.split_once("every") {
        Some((hold, every)) => (span(hold)?, span(every)?),
        None => (span(text)?, span(text)?),
    };
    if hold == Span::ZERO || every == Span::ZERO {
        return Err(Refusal::new("held for no time", "give more, like \"hold 20ms every 100ms\", or \"off\""));
    }
    if hold > every {
        let problem = format!("held for longer than it is from one hold to the next, {every}");
        return Err(Refusal::new(problem, format!("hold for at most \"{every}\"")));
    }
    Ok(Jitter::Hold { hold, every })
}

fn span(text: &str) -> Result<Span, Refusal> {
    Delay::read(&part(text)).map(|Delay(span)| span)
}

fn part(text: &str) -> Toml {
    Toml::String(text.trim().to_owned())
}
