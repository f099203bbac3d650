//! The kinds of values in a `[[workload]]`.

use fullpipe_units::{Rng, Span};
use fullpipe_workload::{Described, MODELS};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::raw_value::{ReadValue, Refusal};
use crate::values::{Delay, Extra, text_of};

/// Any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) String);

impl ReadValue for Text {
    fn read(value: &Toml) -> Result<Text, Refusal> {
        match value.as_str() {
            Some("") => Err(Refusal::new("the name is empty", "write a name")),
            Some(text) => Ok(Text(text.to_owned())),
            None => Err(Refusal::new("must be text", "put quotes around it")),
        }
    }

    fn write(&self) -> Toml {
        Toml::String(self.0.clone())
    }

    fn schema() -> Schema {
        json_schema!({ "title": "text", "type": "string", "pattern": "^(.|\n)+$" })
    }
}

/// The model that generates flows from a source, and its text as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) text: String,
    pub(crate) model: fullpipe_workload::Model,
}

impl Model {
    /// Returns the default model.
    pub(crate) fn replay() -> Model {
        Model {
            text: "replay".to_owned(),
            model: fullpipe_workload::Model::Replay,
        }
    }
}

impl ReadValue for Model {
    fn read(value: &Toml) -> Result<Model, Refusal> {
        let text = text_of(value);
        match fullpipe_workload::Model::parse(&text) {
            Ok(model) => Ok(Model { text, model }),
            Err(fullpipe_workload::Refusal { problem, fix }) => Err(Refusal::new(problem, fix)),
        }
    }

    fn write(&self) -> Toml {
        Toml::String(self.text.clone())
    }

    fn schema() -> Schema {
        let pattern = |model: &Described| {
            let options: Vec<&str> = model.options.iter().map(|(name, _)| *name).collect();
            match options.is_empty() {
                true => model.name.to_owned(),
                false => format!(
                    "{}( +({}) +[0-9.]+[%A-Za-z]*,?)+",
                    model.name,
                    options.join("|")
                ),
            }
        };
        json_schema!({
            "title": MODELS.each_ref().map(|model| model.name).join(", "),
            "type": "string",
            "pattern": format!("^({})$", MODELS.each_ref().map(pattern).join("|")),
            "examples": MODELS.each_ref().map(|model| model.example),
        })
    }
}

/// A share of a link's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load(pub(crate) f64);

impl ReadValue for Load {
    fn read(value: &Toml) -> Result<Load, Refusal> {
        let number = value
            .as_float()
            .or_else(|| value.as_integer().map(|whole| whole as f64));
        match number {
            Some(load) if load > 0.0 && load < 1.0 => Ok(Load(load)),
            Some(load) if load >= 1.0 => Err(Refusal::new(
                "must be below 1: the link cannot carry more, and the number of flows would grow",
                "give less than 1",
            )),
            Some(_) => Err(Refusal::new(
                "must be greater than zero",
                "give a share of the link's rate, like 0.7",
            )),
            None => Err(Refusal::new(
                "not a number",
                "write a share of the link's rate, like 0.7",
            )),
        }
    }

    fn write(&self) -> Toml {
        Toml::Float(self.0)
    }

    fn schema() -> Schema {
        json_schema!({
            "title": "share of the link's rate, between 0 and 1",
            "type": "number",
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1,
            "examples": [0.7],
        })
    }
}

/// The propagation delays of flows in addition to the path's.
#[derive(Clone, Debug, PartialEq)]
pub enum Rtts {
    /// The same delay for all flows.
    Same(Span),
    /// Uniform between a lowest and a highest delay.
    Uniform(Span, Span),
    /// Lognormal, with the median and the standard deviation of the logarithm.
    Lognormal(Span, f64),
    /// One of these delays, each entry of the list with equal probability.
    OneOf(Vec<Span>),
}

const EXAMPLE: &str = "write it like \"+20ms\", \"uniform +0ms..+100ms\", \"lognormal +40ms sigma 0.8\" or \"one of +10ms, +80ms\"";

impl Rtts {
    /// Draws the delay of the next flow.
    pub fn draw(&self, rng: &mut Rng) -> Span {
        match self {
            Rtts::Same(span) => *span,
            Rtts::Uniform(low, high) => {
                *low + Span::from_nanos(rng.below((*high - *low).as_nanos() + 1))
            }
            Rtts::Lognormal(median, sigma) => {
                // Box–Muller; u is in (0, 1], so that its logarithm is finite.
                let (u, v) = (1.0 - rng.unit(), rng.unit());
                let normal = (-2.0 * libm::log(u)).sqrt() * libm::cos(core::f64::consts::TAU * v);
                median
                    .mul_f64(libm::exp(sigma * normal))
                    .min(Delay::LONGEST)
            }
            Rtts::OneOf(spans) => spans[rng.below(spans.len() as u64) as usize],
        }
    }

    /// Returns whether the delays of flows can differ.
    pub fn is_random(&self) -> bool {
        !matches!(self, Rtts::Same(_))
    }

    /// Returns the longest delay; for the unbounded lognormal distribution, its quantile at 4
    /// sigma.
    pub fn longest(&self) -> Span {
        match self {
            Rtts::Same(span) | Rtts::Uniform(_, span) => *span,
            Rtts::Lognormal(median, sigma) => {
                median.mul_f64(libm::exp(4.0 * sigma)).min(Delay::LONGEST)
            }
            Rtts::OneOf(spans) => spans.iter().copied().max().unwrap_or(Span::ZERO),
        }
    }
}

impl ReadValue for Rtts {
    fn read(value: &Toml) -> Result<Rtts, Refusal> {
        let text = text_of(value);
        let one =
            |text: &str| Extra::read(&Toml::String(text.trim().to_owned())).map(|Extra(span)| span);
        if let Some(rest) = text.strip_prefix("uniform ") {
            let Some((low, high)) = rest.split_once("..") else {
                return Err(Refusal::new("\"uniform\" needs two delays", EXAMPLE));
            };
            let (low, high) = (one(low)?, one(high)?);
            if low > high {
                return Err(Refusal::new(
                    "the first delay is longer than the second",
                    format!("write \"uniform +{high}..+{low}\""),
                ));
            }
            return Ok(Rtts::Uniform(low, high));
        }
        if let Some(rest) = text.strip_prefix("lognormal ") {
            let (median, sigma) = rest.split_once(" sigma ").unwrap_or((rest, ""));
            return match sigma.trim().parse::<f64>() {
                Ok(sigma) if sigma > 0.0 && sigma <= 5.0 => {
                    Ok(Rtts::Lognormal(one(median)?, sigma))
                }
                _ => Err(Refusal::new(
                    "the sigma of a lognormal distribution must be above 0 and at most 5",
                    EXAMPLE,
                )),
            };
        }
        match text.strip_prefix("one of ") {
            Some(rest) => rest
                .split(',')
                .map(one)
                .collect::<Result<_, _>>()
                .map(Rtts::OneOf),
            None => one(&text).map(Rtts::Same),
        }
    }

    fn write(&self) -> Toml {
        let more = |span: &Span| format!("+{span}");
        Toml::String(match self {
            Rtts::Same(span) => more(span),
            Rtts::Uniform(low, high) => format!("uniform {}..{}", more(low), more(high)),
            Rtts::Lognormal(median, sigma) => format!("lognormal {} sigma {sigma}", more(median)),
            Rtts::OneOf(spans) => format!(
                "one of {}",
                spans.iter().map(more).collect::<Vec<_>>().join(", ")
            ),
        })
    }

    fn schema() -> Schema {
        let more = "\\+[0-9.]+ *(ns|us|µs|ms|s|min)";
        json_schema!({
            "title": "\"+\" and a duration, or \"uniform\" two of them, \"lognormal\" median \"sigma\" number, \"one of\" several",
            "type": "string",
            "pattern": format!("^({more}|uniform +{more}\\.\\.{more}|lognormal +{more} +sigma +[0-9.]+|one of +{more}( *, *{more})*)$"),
            "examples": ["+20ms", "uniform +0ms..+100ms", "lognormal +40ms sigma 0.8", "one of +10ms, +80ms"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Rtts, Refusal> {
        Rtts::read(&Toml::String(text.to_owned()))
    }

    #[test]
    fn what_is_written_reads_as_the_same() {
        for text in [
            "+20ms",
            "uniform +0s..+100ms",
            "lognormal +40ms sigma 0.8",
            "one of +10ms, +80ms",
        ] {
            let rtts = read(text).unwrap_or_else(|refusal| panic!("{text}: {}", refusal.problem));
            assert_eq!(rtts.write().as_str(), Some(text));
        }
        for text in [
            "20ms",
            "uniform +1ms",
            "uniform +2ms..+1ms",
            "lognormal +1ms",
            "one of",
            "lognormal +1ms sigma 9",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn draws_have_the_distribution_that_is_named() {
        let mut rng = Rng::stream(1, "web", "rtt");
        let mut draws = |text: &str| {
            let rtts = read(text).expect("well written");
            let mut drawn: Vec<f64> = (0..20_000)
                .map(|_| rtts.draw(&mut rng).as_secs_f64() * 1e3)
                .collect();
            drawn.sort_unstable_by(f64::total_cmp);
            drawn
        };
        let uniform = draws("uniform +10ms..+30ms");
        assert!(uniform[0] >= 10.0 && uniform[19_999] <= 30.0);
        assert!(
            (uniform.iter().sum::<f64>() / 2e4 - 20.0).abs() < 0.2,
            "sigma of the mean is 0.04"
        );
        let lognormal = draws("lognormal +40ms sigma 0.5");
        assert!(
            (lognormal[10_000] / 40.0 - 1.0).abs() < 0.02,
            "the median: {}",
            lognormal[10_000]
        );
        // Quantile of one sigma, 84.1 %: exp(0.5) times the median.
        assert!(
            (lognormal[16_827] / 40.0 / libm::exp(0.5) - 1.0).abs() < 0.03,
            "{}",
            lognormal[16_827]
        );
        let listed = draws("one of +10ms, +80ms");
        assert!((9_700..10_300).contains(&listed.iter().filter(|ms| **ms == 10.0).count()));
    }
}
