//! The application of a flow over time: `"on 2s off exp 1s"`, `"request 100kB think 1s"`.

use fullpipe_units::{Bytes, Draw, Span};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::raw_value::{ReadValue, Refusal};
use crate::values::text_of;

/// An application that writes with pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum App {
    /// Writing and pausing, in turn.
    OnOff {
        /// Duration or size of the writing.
        on: On,
        /// Duration of the pause.
        off: Draw<Span>,
    },
    /// A client sends a request, and the server answers immediately. After the answer has arrived,
    /// the client thinks and sends the next request.
    Request {
        /// Size of an answer.
        size: Draw<Bytes>,
        /// Time that the client thinks.
        think: Draw<Span>,
    },
}

/// The data that an application writes before it pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum On {
    /// Data at `app_rate` or without limit, for this time.
    Time(Draw<Span>),
    /// This amount at once; the pause begins when it has been acknowledged.
    Size(Draw<Bytes>),
}

const EXAMPLE: &str =
    "write it like \"on 2s off 1s\", \"on 500kB off exp 1s\" or \"request 100kB think 1s\"";

impl App {
    /// Returns whether a time or a size is random, so that another seed changes the run.
    pub fn is_random(&self) -> bool {
        match self {
            App::OnOff {
                on: On::Time(on),
                off,
            } => on.is_random() || off.is_random(),
            App::OnOff {
                on: On::Size(size),
                off,
            } => size.is_random() || off.is_random(),
            App::Request { size, think } => size.is_random() || think.is_random(),
        }
    }
}

impl ReadValue for App {
    fn read(value: &Toml) -> Result<App, Refusal> {
        let text = text_of(value);
        if let Some((on, off)) = text
            .strip_prefix("on ")
            .and_then(|rest| rest.split_once(" off "))
        {
            // The unit of a size ends with B.
            let size = on
                .split(" shape ")
                .next()
                .is_some_and(|quantity| quantity.trim_end().ends_with(['b', 'B']));
            let on = if size {
                On::Size(draw(on)?)
            } else {
                On::Time(some_time(draw(on)?)?)
            };
            return Ok(App::OnOff {
                on,
                off: some_time(draw(off)?)?,
            });
        }
        let Some(rest) = text.strip_prefix("request ") else {
            return Err(Refusal::new(
                "neither \"on … off …\" nor \"request …\"",
                EXAMPLE,
            ));
        };
        let (size, think) = match rest.split_once(" think ") {
            Some((size, think)) => (draw(size)?, draw(think)?),
            None => (draw(rest)?, Draw::Constant(Span::ZERO)),
        };
        Ok(App::Request { size, think })
    }

    fn write(&self) -> Toml {
        Toml::String(match self {
            App::OnOff {
                on: On::Time(on),
                off,
            } => format!("on {} off {}", shown(on), shown(off)),
            App::OnOff {
                on: On::Size(size),
                off,
            } => format!("on {} off {}", shown(size), shown(off)),
            App::Request { size, think } => {
                format!("request {} think {}", shown(size), shown(think))
            }
        })
    }

    fn schema() -> Schema {
        let drawn = |unit: &str| {
            let quantity = format!("[0-9.]+ *{unit}");
            format!("({quantity}|exp +{quantity}|pareto +{quantity} +shape +[0-9.]+)")
        };
        let (time, size) = (drawn("(ns|us|µs|ms|s|min)"), drawn("([kKmMgG][iI]?)?[bB]"));
        json_schema!({
            "title": "\"on\" time or size \"off\" time, or \"request\" size \"think\" time; each may be random: \"exp\" mean, \"pareto\" mean \"shape\" number",
            "type": "string",
            "pattern": format!("^(on +({time}|{size}) +off +{time}|request +{size}( +think +{time})?)$"),
            "examples": ["on 2s off exp 1s", "on 500kB off 1s", "request pareto 100kB shape 1.2 think exp 1s"],
        })
    }
}

/// Reads `1s`, `exp 1s` or `pareto 1s shape 1.5`.
fn draw<T: ReadValue>(text: &str) -> Result<Draw<T>, Refusal> {
    let read = |text: &str| T::read(&Toml::String(text.trim().to_owned()));
    let text = text.trim();
    if let Some(mean) = text.strip_prefix("exp ") {
        return Ok(Draw::Exponential { mean: read(mean)? });
    }
    let Some(rest) = text.strip_prefix("pareto ") else {
        return read(text).map(Draw::Constant);
    };
    let (mean, shape) = rest.split_once(" shape ").unwrap_or((rest, ""));
    match shape.trim().parse() {
        Ok(shape) if shape > 1.0 && shape <= 100.0 => Ok(Draw::Pareto {
            mean: read(mean)?,
            shape,
        }),
        _ => {
            let problem = "the shape of a Pareto distribution must be above 1 and at most 100";
            Err(Refusal::new(
                problem,
                format!("write it like \"pareto {} shape 1.5\"", mean.trim()),
            ))
        }
    }
}

/// Refuses a time of zero, or one too short to have an effect.
fn some_time(draw: Draw<Span>) -> Result<Draw<Span>, Refusal> {
    let (Draw::Constant(mean) | Draw::Exponential { mean } | Draw::Pareto { mean, .. }) = draw;
    if mean < SHORTEST {
        let problem = format!("the times of on and off must be at least {SHORTEST}");
        return Err(Refusal::new(
            problem,
            format!("give at least \"{SHORTEST}\", or omit app"),
        ));
    }
    Ok(draw)
}

/// Shortest time of on or off: a shorter one would not show in a run.
const SHORTEST: Span = Span::from_micros(1);

fn shown<T: ReadValue + Copy>(draw: &Draw<T>) -> String {
    let text = |value: &T| text_of(&value.write());
    match draw {
        Draw::Constant(value) => text(value),
        Draw::Exponential { mean } => format!("exp {}", text(mean)),
        Draw::Pareto { mean, shape } => format!("pareto {} shape {shape}", text(mean)),
    }
}
