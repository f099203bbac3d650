//! A policy's file: JSON with the spaces and the network.

use serde::Deserialize;

use crate::{Activation, Feature, Form, Layer, Network, Quantity, Rule, Spaces};

/// Version of the form that this program reads.
const VERSION: u64 = 1;

/// The contents of a policy's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Observations and actions.
    pub spaces: Spaces,
    /// Its network, with one output.
    pub network: Network,
}

/// The reason for which a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Key in the file; empty if it concerns the whole file.
    pub key: String,
    /// Problem.
    pub problem: String,
    /// Suggested fix.
    pub fix: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(rename = "fullpipe-policy")]
    version: u64,
    features: Vec<String>,
    history: usize,
    action: RawRule,
    interval: f64,
    warm_up: f64,
    #[serde(default)]
    #[expect(dead_code, reason = "for people")]
    about: serde_json::Value,
    network: RawNetwork,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    quantity: String,
    form: String,
    scale: f64,
    actions: (f64, f64),
    limits: (f64, f64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNetwork {
    shift: Vec<f64>,
    scale: Vec<f64>,
    clip: f64,
    layers: Vec<RawLayer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLayer {
    weights: Vec<Vec<f64>>,
    bias: Vec<f64>,
    activation: String,
}

/// Limits of a file's sizes: a policy acts within a packet's time.
const MOST_HISTORY: usize = 1000;

impl Read {
    /// Reads the text of a policy's file.
    ///
    /// # Errors If it is not a policy of this version, or its parts do not fit.
    pub fn of(text: &str) -> Result<Read, Refused> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| {
            refused(
                "",
                format!("not a policy: {error}"),
                "write it with fullpipe.gym.save_policy",
            )
        })?;
        if raw.version != VERSION {
            let problem = format!(
                "version {} of the form; this program reads {VERSION}",
                raw.version
            );
            return Err(refused(
                "fullpipe-policy",
                problem,
                "train or save it with this program",
            ));
        }
        let spaces = Spaces {
            features: features(&raw.features)?,
            history: raw.history,
            rule: rule(&raw.action)?,
            interval: raw.interval,
            warm_up: raw.warm_up,
        };
        check_spaces(&spaces)?;
        let network = network(raw.network, spaces.observed())?;
        Ok(Read { spaces, network })
    }
}

fn refused(key: &str, problem: String, fix: impl Into<String>) -> Refused {
    Refused {
        key: key.to_owned(),
        problem,
        fix: fix.into(),
    }
}

/// Returns the features with these names.
///
/// # Errors If a name is not that of a feature.
pub fn features(names: &[String]) -> Result<Vec<Feature>, Refused> {
    let known: Vec<&str> = Feature::ALL.iter().map(|known| known.name).collect();
    let of = |name: &String| {
        Feature::named(name).ok_or_else(|| {
            let fix = match fullpipe_units::nearest(name, &known) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("use some of {}", known.join(", ")),
            };
            refused(
                "features",
                format!("{name:?} is not a feature of an interval"),
                fix,
            )
        })
    };
    names.iter().map(of).collect()
}

fn rule(raw: &RawRule) -> Result<Rule, Refused> {
    let rule = Rule {
        quantity: Quantity::named(&raw.quantity)?,
        form: Form::named(&raw.form)?,
        scale: raw.scale,
        actions: raw.actions,
        limits: raw.limits,
    };
    rule.check()?;
    Ok(rule)
}

impl Quantity {
    /// Returns the quantity with this name.
    ///
    /// # Errors If no variant has it.
    pub fn named(name: &str) -> Result<Quantity, Refused> {
        match name {
            "rate" => Ok(Quantity::Rate),
            "window" => Ok(Quantity::Window),
            other => {
                let problem = format!("{other:?} is not a quantity of an action");
                Err(refused(
                    "action.quantity",
                    problem,
                    "write \"rate\" or \"window\"",
                ))
            }
        }
    }
}

impl Form {
    /// Returns the form with this name.
    ///
    /// # Errors If no variant has it.
    pub fn named(name: &str) -> Result<Form, Refused> {
        match name {
            "delta" => Ok(Form::Delta),
            "double" => Ok(Form::Double),
            other => {
                let problem = format!("{other:?} is not a form of an action");
                Err(refused(
                    "action.form",
                    problem,
                    "write \"delta\" or \"double\"",
                ))
            }
        }
    }
}

impl Rule {
    /// Checks the numbers of a rule.
    ///
    /// # Errors If a range is empty or a number is not finite.
    pub fn check(&self) -> Result<(), Refused> {
        if !(self.scale.is_finite() && self.scale > 0.0) {
            let problem = format!("a scale of {}", self.scale);
            return Err(refused("action.scale", problem, "give a positive number"));
        }
        for (key, (least, most), floor) in [
            ("action.actions", self.actions, f64::MIN),
            ("action.limits", self.limits, 1.0),
        ] {
            if !(least.is_finite() && most.is_finite() && floor <= least && least < most) {
                let problem = format!("a range from {least} to {most}");
                let fix = match self.quantity {
                    _ if floor == f64::MIN => "give a smaller and a larger number",
                    Quantity::Rate => "give two rates of at least 1 bit/s, the smaller first",
                    Quantity::Window => "give two numbers of packets from 1, the smaller first",
                };
                return Err(refused(key, problem, fix));
            }
        }
        Ok(())
    }
}

/// Checks the numbers of spaces.
///
/// # Errors If a length is out of its range.
pub fn check_spaces(spaces: &Spaces) -> Result<(), Refused> {
    if !(1..=MOST_HISTORY).contains(&spaces.history) {
        let fix = format!("give a number of intervals from 1 to {MOST_HISTORY}");
        return Err(refused(
            "history",
            format!("a history of {}", spaces.history),
            fix,
        ));
    }
    for (key, factor) in [("interval", spaces.interval), ("warm_up", spaces.warm_up)] {
        if !(0.01..=1000.0).contains(&factor) {
            let problem = format!("{factor} RTTs");
            return Err(refused(
                key,
                problem,
                "give a number of RTTs from 0.01 to 1000",
            ));
        }
    }
    spaces.rule.check()
}

fn network(raw: RawNetwork, inputs: usize) -> Result<Network, Refused> {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    for (key, values) in [("network.shift", &raw.shift), ("network.scale", &raw.scale)] {
        if values.len() != inputs || !finite(values) {
            let problem = format!("{} values for an observation of {inputs}", values.len());
            return Err(refused(
                key,
                problem,
                "give one finite number per value of the observation",
            ));
        }
    }
    if raw.clip.is_nan() || raw.clip <= 0.0 {
        return Err(refused(
            "network.clip",
            raw.clip.to_string(),
            "give a positive number",
        ));
    }
    let mut width = inputs;
    let mut layers = Vec::with_capacity(raw.layers.len());
    for (place, layer) in raw.layers.into_iter().enumerate() {
        let key = format!("network.layers.{place}");
        let fits = layer.weights.len() == layer.bias.len()
            && !layer.bias.is_empty()
            && finite(&layer.bias)
            && layer
                .weights
                .iter()
                .all(|row| row.len() == width && finite(row));
        if !fits {
            let problem = "weights and bias do not fit".to_owned();
            let fix = format!("give rows of {width} finite numbers, and as many biases as rows");
            return Err(refused(&key, problem, fix));
        }
        width = layer.bias.len();
        let activation = match layer.activation.as_str() {
            "linear" => Activation::Linear,
            "tanh" => Activation::Tanh,
            "relu" => Activation::Relu,
            other => {
                let problem = format!("{other:?} is not an activation");
                let key = format!("{key}.activation");
                return Err(refused(
                    &key,
                    problem,
                    "write \"linear\", \"tanh\" or \"relu\"",
                ));
            }
        };
        layers.push(Layer {
            weights: layer.weights,
            bias: layer.bias,
            activation,
        });
    }
    if layers.is_empty() || width != 1 {
        let problem = format!("{width} outputs of {} layers", layers.len());
        return Err(refused(
            "network.layers",
            problem,
            "let the last layer have one output",
        ));
    }
    Ok(Network {
        shift: raw.shift,
        scale: raw.scale,
        clip: raw.clip,
        layers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = r#"{"fullpipe-policy": 1, "features": ["loss-ratio", "latency-ratio"], "history": 1,
        "interval": 1.0, "warm_up": 1.0,
        "action": {"quantity": "rate", "form": "double", "scale": 1.0, "actions": [-1, 1], "limits": [1e5, 1e9]},
        "network": {"shift": [0, 1], "scale": [1, 2], "clip": 10,
            "layers": [{"weights": [[1, -1]], "bias": [0.5], "activation": "linear"}]}}"#;

    #[test]
    fn a_file_has_spaces_and_a_network() {
        let read = Read::of(TEXT).expect("a policy");
        assert_eq!(read.spaces.observed(), 2);
        // 0.5 + 0.25 x 1 - (1.5 - 1) x 2, worked by hand.
        assert_eq!(read.network.outputs(&[0.25, 1.5]), [-0.25]);
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_key_and_a_fix() {
        for (from, to, key) in [
            (
                "\"fullpipe-policy\": 1",
                "\"fullpipe-policy\": 2",
                "fullpipe-policy",
            ),
            ("latency-ratio", "latency-ration", "features"),
            ("\"history\": 1", "\"history\": 0", "history"),
            ("\"interval\": 1.0", "\"interval\": 0", "interval"),
            ("\"rate\"", "\"speed\"", "action.quantity"),
            ("\"double\"", "\"add\"", "action.form"),
            ("[1e5, 1e9]", "[1e9, 1e5]", "action.limits"),
            ("[-1, 1]", "[1, 1]", "action.actions"),
            ("\"shift\": [0, 1]", "\"shift\": [0]", "network.shift"),
            ("\"clip\": 10", "\"clip\": 0", "network.clip"),
            ("[[1, -1]]", "[[1]]", "network.layers.0"),
            ("[0.5]", "[]", "network.layers.0"),
            ("linear", "swish", "network.layers.0.activation"),
            ("\"warm_up\": 1.0,", "", ""),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let refused = Read::of(&TEXT.replace(from, to)).expect_err(to);
            assert_eq!(refused.key, key, "{to}");
            assert!(!refused.fix.is_empty());
        }
    }

    proptest! {
        /// A text that is cut, or has another byte somewhere, is read or refused.
        #[test]
        fn a_damaged_file_is_no_panic(cut in 0..TEXT.len(), at in 0..TEXT.len(), byte in 0x20..0x7f_u8) {
            let mut bytes = TEXT.as_bytes().to_vec();
            bytes[at] = byte;
            for text in [&TEXT.as_bytes()[..cut], &bytes] {
                let text = std::str::from_utf8(text).expect("ASCII");
                if let Ok(read) = Read::of(text) {
                    prop_assert_eq!(read.network.outputs(&vec![1.0; read.spaces.observed()]).len(), 1);
                }
            }
        }
    }
}
