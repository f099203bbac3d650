//! The application of a flow over time: `"on 2s off exp 1s"`, `"request 100kB think 1s"`, `"media
//! 50fps from 500kbit to 20mbit"`.

use fullpipe_units::{Bytes, Draw, Rate, Span};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::raw_value::{ReadValue, Refusal};
use crate::values::{Percent, text_of};

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
    /// An encoder of video, whose rate the congestion control sets.
    Media(Media),
}

/// An encoder of video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Media {
    /// Frames per second.
    pub fps: u32,
    /// Lowest rate of the encoder.
    pub from: Rate,
    /// Highest rate of the encoder.
    pub to: Rate,
    /// Largest share by which a frame's size differs from that of the rate; sizes are distributed
    /// uniformly.
    pub vary: f64,
    /// Age of the oldest waiting data above which the sender discards all waiting data.
    pub discard: Option<Span>,
}

impl Media {
    /// Returns the time between two frames.
    pub fn frame_period(&self) -> Span {
        Span::from_secs(1) / u64::from(self.fps)
    }
}

/// The data that an application writes before it pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum On {
    /// Data at `app_rate` or without limit, for this time.
    Time(Draw<Span>),
    /// This amount at once; the pause begins when it has been acknowledged.
    Size(Draw<Bytes>),
}

const EXAMPLE: &str = "write it like \"on 2s off 1s\", \"on 500kB off exp 1s\", \"request 100kB think 1s\" or \"media 50fps from 500kbit to 20mbit\"";

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
            App::Media(media) => media.vary > 0.0,
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
        if let Some(rest) = text.strip_prefix("media ") {
            return media(rest).map(App::Media);
        }
        let Some(rest) = text.strip_prefix("request ") else {
            return Err(Refusal::new(
                "neither \"on … off …\" nor \"request …\" nor \"media …\"",
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
            App::Media(media) => {
                let mut text = format!(
                    "media {}fps from {} to {}",
                    media.fps,
                    text_of(&media.from.write()),
                    text_of(&media.to.write()),
                );
                if media.vary > 0.0 {
                    text += &format!(" vary {}", text_of(&Percent(media.vary).write()));
                }
                if let Some(age) = media.discard {
                    text += &format!(" discard {}", text_of(&age.write()));
                }
                text
            }
        })
    }

    fn schema() -> Schema {
        let drawn = |unit: &str| {
            let quantity = format!("[0-9.]+ *{unit}");
            format!("({quantity}|exp +{quantity}|pareto +{quantity} +shape +[0-9.]+)")
        };
        let (rate, age) = ("[0-9.]+ *[kmgKMG]?bit", "[0-9.]+ *(ns|us|µs|ms|s|min)");
        let (time, size) = (drawn("(ns|us|µs|ms|s|min)"), drawn("([kKmMgG][iI]?)?[bB]"));
        json_schema!({
            "title": "\"on\" time or size \"off\" time, or \"request\" size \"think\" time; each may be random: \"exp\" mean, \"pareto\" mean \"shape\" number; or \"media\" frames per second \"from\" rate \"to\" rate, with \"vary\" share and \"discard\" time",
            "type": "string",
            "pattern": format!("^(on +({time}|{size}) +off +{time}|request +{size}( +think +{time})?|media +[0-9]+fps +from +{rate} +to +{rate}( +vary +[0-9.]+%)?( +discard +{age})?)$"),
            "examples": ["on 2s off exp 1s", "on 500kB off 1s", "request pareto 100kB shape 1.2 think exp 1s", "media 50fps from 500kbit to 20mbit"],
        })
    }
}

/// Reads the part of a media source after its first word: `50fps from 500kbit to 20mbit`, with `vary
/// 20%` and `discard 100ms` behind it.
fn media(text: &str) -> Result<Media, Refusal> {
    let (text, discard) = split(text, " discard ");
    let (text, vary) = split(text, " vary ");
    let (text, to) = split(text, " to ");
    let (fps, from) = split(text, " from ");
    let fps = fps
        .strip_suffix("fps")
        .map(str::trim)
        .map(str::parse::<u32>);
    let (Some(Ok(fps @ 1..=1000)), Some(from), Some(to)) = (fps, from, to) else {
        let problem = "a media source needs 1 to 1000 frames per second and two rates";
        return Err(Refusal::new(problem, EXAMPLE));
    };
    let (from, to) = (read::<Rate>(from)?, read::<Rate>(to)?);
    if from > to {
        let problem = "the lowest rate is above the highest";
        return Err(Refusal::new(problem, "give the lower rate after \"from\""));
    }
    let Percent(vary) = vary.map_or(Ok(Percent(0.0)), read)?;
    Ok(Media {
        fps,
        from,
        to,
        vary,
        discard: discard.map(read).transpose()?,
    })
}

fn split<'a>(text: &'a str, word: &str) -> (&'a str, Option<&'a str>) {
    match text.rsplit_once(word) {
        Some((text, rest)) => (text, Some(rest)),
        None => (text, None),
    }
}

fn read<T: ReadValue>(text: &str) -> Result<T, Refusal> {
    T::read(&Toml::String(text.trim().to_owned()))
}

/// Reads `1s`, `exp 1s` or `pareto 1s shape 1.5`.
fn draw<T: ReadValue>(text: &str) -> Result<Draw<T>, Refusal> {
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
