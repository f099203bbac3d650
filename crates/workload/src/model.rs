//! How flows are made of what a workload was told: the model, as it is written.

use core::str::FromStr;

use fullpipe_units::{Bytes, nearest};

use crate::law::{BoundedPareto, Lognormal};

/// What may be written, once: errors, schema, help and documentation come from it.
#[derive(Debug)]
pub struct Described {
    /// The word that it begins with.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub purpose: &'static str,
    /// What is written behind the word: names with what they mean, each followed by its value.
    pub options: &'static [(&'static str, &'static str)],
    /// As it may be written.
    pub example: &'static str,
    /// What it needs for a source.
    pub source: Needs,
}

/// What a model needs for a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Flows that were seen, or a preset.
    Flows,
    /// A file of sizes with shares.
    Cdf,
    /// None: it says everything itself.
    Nothing,
}

/// The models.
pub const MODELS: [Described; 6] = [
    Described {
        name: "replay",
        purpose: "flows as they were seen: each chunk at its offset, pauses kept",
        options: &[],
        example: "replay",
        source: Needs::Flows,
    },
    Described {
        name: "collapsed",
        purpose: "each flow as one transfer at its start, without pauses",
        options: &[],
        example: "collapsed",
        source: Needs::Flows,
    },
    Described {
        name: "synthetic",
        purpose: "gaps between starts and volumes shuffled, each by itself; without pauses",
        options: &[],
        example: "synthetic",
        source: Needs::Flows,
    },
    Described {
        name: "cdf",
        purpose: "volumes of the distribution in a file, arrivals at random (Poisson)",
        options: &[],
        example: "cdf",
        source: Needs::Cdf,
    },
    Described {
        name: "bounded_pareto",
        purpose: "volumes of a Pareto distribution between two bounds, arrivals at random (Poisson)",
        options: &[
            (
                "shape",
                "exponent of the tail: the part of flows above x falls as x^-shape",
            ),
            ("min", "no flow is smaller"),
            ("max", "no flow is larger"),
        ],
        example: "bounded_pareto shape 0.6 min 400B max 2GB",
        source: Needs::Nothing,
    },
    Described {
        name: "lognormal",
        purpose: "volumes of lognormal distributions, each with its share, arrivals at random (Poisson)",
        options: &[
            (
                "share",
                "the part of all flows that are of this one, 100% where there is one",
            ),
            ("median", "half of them are smaller"),
            ("sigma", "standard deviation of the natural logarithm"),
            ("max", "no flow is larger; 1TB where nothing is said"),
        ],
        example: "lognormal share 90% median 1.5kB sigma 1.3, share 10% median 100kB sigma 2 max 2GB",
        source: Needs::Nothing,
    },
];

/// How flows are made of what a workload was told.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// As they were seen.
    Replay,
    /// Each as one transfer.
    Collapsed,
    /// Gaps and volumes shuffled.
    Synthetic,
    /// Volumes by a file.
    Cdf,
    /// Volumes by a bounded Pareto distribution.
    BoundedPareto(BoundedPareto),
    /// Volumes by lognormal distributions.
    Lognormal(Vec<Lognormal>),
}

/// Why something was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead.
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

/// No flow is larger where nothing else is said.
const LARGEST: Bytes = Bytes::new(1_000_000_000_000);

impl Model {
    /// Reads a model with its options.
    ///
    /// # Errors
    /// With the nearest name, or what is missing.
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

    /// What it says of itself.
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
            format!("min {} and max {} hold no flow", law.min, law.max),
            format!("let min be 1B or more, max more than that and at most {LARGEST}"),
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
        // Draws beyond max are made anew: below the median that would be most of them.
        if part.median == Bytes::ZERO || part.max < part.median || part.max > LARGEST {
            let fix =
                format!("let median be 1B or more, and max at least that and at most {LARGEST}");
            return Err(Refusal::new(
                format!("median {} and max {} hold no flow", part.median, part.max),
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
            format!("the shares sum up to {}%", all * 100.0),
            "let them sum up to 100%",
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
        _ => Err(Refusal::new(format!("\"{text}\" is no share"), like)),
    }
}

/// Names, each with its value behind it.
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
                    format!("there is no option \"{name}\""),
                    format!("options are {}", known.join(", ")),
                ));
            }
            let [_, value] = pair else {
                return Err(Refusal::new(format!("{name} has no value"), like));
            };
            if pairs.iter().any(|(before, _)| *before == name) {
                return Err(Refusal::new(format!("{name} is there twice"), like));
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

    /// Of a tail, or a logarithm's deviation: beyond 20 it is a slip.
    fn number(&self, name: &str) -> Result<f64, Refusal> {
        let text = self.text(name)?;
        match text.parse::<f64>() {
            Ok(value) if (0.01..=20.0).contains(&value) => Ok(value),
            _ => Err(Refusal::new(
                format!("{name} {text} is not within 0.01 to 20"),
                self.like,
            )),
        }
    }
}
