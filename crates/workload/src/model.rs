//! Workload models: the ways in which flows are made from a source, as written in a scenario.

use core::str::FromStr;

use fullpipe_units::{Bytes, nearest};

use crate::law::{BoundedPareto, Lognormal};

/// The description of a model, from which errors, schema, help and documentation are derived.
#[derive(Debug)]
pub struct Described {
    /// Name, with which the text begins.
    pub name: &'static str,
    /// Purpose, as a phrase.
    pub purpose: &'static str,
    /// Options after the name: names with their meaning. In the text, each name is followed by its
    /// value.
    pub options: &'static [(&'static str, &'static str)],
    /// An example of the text.
    pub example: &'static str,
    /// Kind of source that it needs.
    pub source: Needs,
}

/// Kind of source that a model needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Recorded flows, or a preset.
    Flows,
    /// A file of sizes with shares.
    Cdf,
    /// No source: its options define everything.
    Nothing,
}

/// All models.
pub const MODELS: [Described; 6] = [
    Described {
        name: "replay",
        purpose: "recorded flows, unchanged: each chunk at its offset, with its pauses",
        options: &[],
        example: "replay",
        source: Needs::Flows,
    },
    Described {
        name: "collapsed",
        purpose: "each recorded flow as one transfer at its start, without pauses",
        options: &[],
        example: "collapsed",
        source: Needs::Flows,
    },
    Described {
        name: "synthetic",
        purpose: "gaps between starts and flow sizes of the recorded flows, shuffled independently; without pauses",
        options: &[],
        example: "synthetic",
        source: Needs::Flows,
    },
    Described {
        name: "cdf",
        purpose: "flow sizes from the distribution in a file, Poisson arrivals",
        options: &[],
        example: "cdf",
        source: Needs::Cdf,
    },
    Described {
        name: "bounded_pareto",
        purpose: "flow sizes from a Pareto distribution between two bounds, Poisson arrivals",
        options: &[
            (
                "shape",
                "exponent of the tail: the share of flows larger than x falls as x^-shape",
            ),
            ("min", "size of the smallest flow"),
            ("max", "size of the largest flow"),
        ],
        example: "bounded_pareto shape 0.6 min 400B max 2GB",
        source: Needs::Nothing,
    },
    Described {
        name: "lognormal",
        purpose: "flow sizes from a mix of lognormal distributions, each with a share of the flows, Poisson arrivals",
        options: &[
            (
                "share",
                "share of the flows from this distribution; 100% if it is the only one",
            ),
            ("median", "median size"),
            (
                "sigma",
                "standard deviation of the natural logarithm of the size",
            ),
            ("max", "size of the largest flow; 1TB by default"),
        ],
        example: "lognormal share 90% median 1.5kB sigma 1.3, share 10% median 100kB sigma 2 max 2GB",
        source: Needs::Nothing,
    },
];

/// A workload model: the way in which flows are made from a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// Recorded flows, unchanged.
    Replay,
    /// Each recorded flow as one transfer.
    Collapsed,
    /// Gaps and sizes of the recorded flows, shuffled.
    Synthetic,
    /// Sizes from a distribution in a file.
    Cdf,
    /// Sizes from a bounded Pareto distribution.
    BoundedPareto(BoundedPareto),
    /// Sizes from lognormal distributions.
    Lognormal(Vec<Lognormal>),
}

/// The reason why a value was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Problem with the value.
    pub problem: String,
    /// Suggested fix.
    pub fix: String,
}

impl Refusal {
    pub(crate) fn new(problem: impl Into<String>, fix: impl Into<String>) -> Refusal {
        Refusal {
            problem: problem.into(),
            fix: fix.into(),
        }
    }
}

/// Size of the largest flow by default.
const LARGEST: Bytes = Bytes::new(1_000_000_000_000);

impl Model {
    /// Reads a model with its options.
    ///
    /// # Errors
    /// An unknown name, with the nearest one, or a problem with the options.
    pub fn parse(text: &str) -> Result<Model, Refusal> {
        let (name, options) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let Some(described) = MODELS.iter().find(|described| described.name == name) else {
            let names: Vec<&str> = MODELS.iter().map(|described| described.name).collect();
            let fix = match nearest(name, &names) {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => format!("models are {}", names.join(", ")),
            };
            return Err(Refusal::new(format!("there is no model \"{name}\""), fix));
        };
        let like = format!("write \"{}\"", described.example);
        match name {
            "bounded_pareto" => pareto(options, described, &like).map(Model::BoundedPareto),
            "lognormal" => lognormal(options, described, &like).map(Model::Lognormal),
            _ if !options.trim().is_empty() => Err(Refusal::new(
                format!("{name} takes no options, like \"{}\"", options.trim()),
                like,
            )),
            "replay" => Ok(Model::Replay),
            "collapsed" => Ok(Model::Collapsed),
            "synthetic" => Ok(Model::Synthetic),
            _ => Ok(Model::Cdf),
        }
    }

    /// Returns the model's description.
    pub fn described(&self) -> &'static Described {
        let place = match self {
            Model::Replay => 0,
            Model::Collapsed => 1,
            Model::Synthetic => 2,
            Model::Cdf => 3,
            Model::BoundedPareto(_) => 4,
            Model::Lognormal(_) => 5,
        };
        &MODELS[place]
    }
}

fn pareto(options: &str, described: &Described, like: &str) -> Result<BoundedPareto, Refusal> {
    let words = Words::read(options, described, like)?;
    let law = BoundedPareto {
        shape: words.number("shape")?,
        min: words.needed("min")?,
        max: words.needed("max")?,
    };
    if law.min == Bytes::ZERO || law.min >= law.max || law.max > LARGEST {
        return Err(Refusal::new(
            format!("min {} and max {} allow no flow", law.min, law.max),
            format!("give a min of 1B or more, and a max above it of at most {LARGEST}"),
        ));
    }
    Ok(law)
}

fn lognormal(options: &str, described: &Described, like: &str) -> Result<Vec<Lognormal>, Refusal> {
    let parts: Vec<&str> = options.split(',').collect();
    let read = |part: &&str| {
        let words = Words::read(part, described, like)?;
        let share = match words.get("share") {
            None if parts.len() == 1 => 1.0,
            None => {
                return Err(Refusal::new(
                    format!("\"{}\" has no share", part.trim()),
                    like,
                ));
            }
            Some(text) => share(text, like)?,
        };
        let max = words
            .get("max")
            .map_or(Ok(LARGEST), |_| words.needed("max"))?;
        let part = Lognormal {
            share,
            median: words.needed("median")?,
            sigma: words.number("sigma")?,
            max,
        };
        // Draws beyond max are repeated: with max below the median, that would be most of them.
        if part.median == Bytes::ZERO || part.max < part.median || part.max > LARGEST {
            let fix =
                format!("give a median of 1B or more, and a max from it to at most {LARGEST}");
            return Err(Refusal::new(
                format!("median {} and max {} allow no flow", part.median, part.max),
                fix,
            ));
        }
        Ok(part)
    };
    let parts = parts
        .iter()
        .map(read)
        .collect::<Result<Vec<Lognormal>, Refusal>>()?;
    let all: f64 = parts.iter().map(|part| part.share).sum();
    if (all - 1.0).abs() > 1e-6 {
        return Err(Refusal::new(
            format!("the shares add up to {}%", all * 100.0),
            "make them add up to 100%",
        ));
    }
    Ok(parts)
}

fn share(text: &str, like: &str) -> Result<f64, Refusal> {
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.parse::<f64>().ok());
    match number {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(Refusal::new(
            format!("\"{text}\" is not a percentage above 0% and up to 100%"),
            like,
        )),
    }
}

/// Names, each followed by its value.
struct Words<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    like: &'a str,
}

impl<'a> Words<'a> {
    fn read(text: &'a str, described: &Described, like: &'a str) -> Result<Words<'a>, Refusal> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for pair in words.chunks(2) {
            let name = pair[0];
            let known: Vec<&str> = described.options.iter().map(|(name, _)| *name).collect();
            if !known.contains(&name) {
                return Err(Refusal::new(
                    format!("unknown option \"{name}\""),
                    format!("options are {}", known.join(", ")),
                ));
            }
            let [_, value] = pair else {
                return Err(Refusal::new(format!("{name} has no value"), like));
            };
            if pairs.iter().any(|(before, _)| *before == name) {
                return Err(Refusal::new(format!("{name} is given twice"), like));
            }
            pairs.push((name, value));
        }
        Ok(Words { pairs, like })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.pairs
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    fn text(&self, name: &str) -> Result<&'a str, Refusal> {
        self.get(name)
            .ok_or_else(|| Refusal::new(format!("{name} is missing"), self.like))
    }

    fn needed(&self, name: &str) -> Result<Bytes, Refusal> {
        let text = self.text(name)?;
        Bytes::from_str(text).map_err(|error| Refusal::new(format!("{name}: {error}"), self.like))
    }

    /// Returns the exponent of a tail or the deviation of a logarithm; a value above 20 is
    /// certainly a mistake.
    fn number(&self, name: &str) -> Result<f64, Refusal> {
        let text = self.text(name)?;
        match text.parse::<f64>() {
            Ok(value) if (0.01..=20.0).contains(&value) => Ok(value),
            _ => Err(Refusal::new(
                format!("{name} {text} must be 0.01 to 20"),
                self.like,
            )),
        }
    }
}
