//! The descriptor of an algorithm. Scenario keys, command-line help, documentation and trace
//! columns are generated from it.

use std::collections::BTreeMap;

use fullpipe_units::{Bytes, ParamValue, Rate, Span};

use crate::{AnyController, FromParam, Marks, ReceiverController, Shared, Signals};

/// The declaration of an algorithm, one static each: of the sender's algorithms, or, with another
/// `Build`, of the [receiver's](ReceiverDescriptor).
#[derive(Debug)]
pub struct Descriptor<Build = fn(&Config, &mut Shared) -> AnyController> {
    /// Name in scenarios.
    pub name: &'static str,
    /// Purpose, in one sentence.
    pub purpose: &'static str,
    /// Specifications that it follows.
    pub specifications: &'static [Specification],
    /// Parameters.
    pub params: &'static [Param],
    /// Groups of other defaults, each for one keyword of the parameter `profile`. Empty if there is
    /// no such parameter, or if the keyword itself makes the difference.
    pub profiles: &'static [Profile],
    /// The algorithm that this is a preset of, with another default profile; a preset has no
    /// documentation page of its own.
    pub preset_of: Option<&'static str>,
    /// The trace fields whose values [`Controller::observe`](crate::Controller::observe) pushes, in
    /// order.
    pub fields: &'static [Field],
    /// The owner of the window between `Enter` and `Exit`.
    pub recovery: RecoveryOwner,
    /// Signals that it requires.
    pub needs: Signals,
    /// Response to CE marks with these parameters, if the scenario makes its packets ECN-capable or
    /// it does so itself. For a receiver's algorithm, that of the sender.
    pub marks: fn(&Config) -> Marks,
    /// Whether it draws from [`Context::rng`](crate::Context::rng), so that another seed gives
    /// another run.
    pub random: bool,
    /// Creates a controller for a connection, in the run whose shared state is given.
    pub build: Build,
}

/// The declaration of a receiver's algorithm, one static each.
pub type ReceiverDescriptor = Descriptor<fn(&Config) -> Box<dyn ReceiverController>>;

/// A document that an algorithm follows.
#[derive(Debug)]
pub struct Specification {
    /// Name with version: `RFC 9438`, `Linux 6.12 net/ipv4/tcp_bbr.c`.
    pub name: &'static str,
    /// The parts that are followed, or the deviations.
    pub note: &'static str,
}

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Key in `params = { … }`.
    pub name: &'static str,
    /// Unit of the number; may be empty.
    pub unit: &'static str,
    /// Allowed values, and the default.
    pub domain: Domain,
    /// Effect, as a phrase.
    pub purpose: &'static str,
    /// Section of the specification.
    pub section: &'static str,
}

/// The defaults for a keyword of `profile`.
#[derive(Debug)]
pub struct Profile {
    /// The keyword of the parameter `profile`.
    pub name: &'static str,
    /// The parameters whose defaults differ from the declared ones, with these defaults.
    pub defaults: &'static [(&'static str, Default)],
}

/// A default value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// One of the parameter's keywords.
    Word(&'static str),
}

/// The rules that an algorithm follows if no profile is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// Those of its specification.
    #[default]
    Specification,
    /// Those of Linux, where it has them.
    Linux,
}

/// The keyword of the profile that follows Linux.
pub const LINUX: &str = "linux";

impl<Build> Descriptor<Build> {
    /// Returns the profile in force if none is given; empty without profiles. A preset has its own
    /// under all rules.
    pub fn usual_profile(&self, rules: Rules) -> &'static str {
        let Some(Domain::Choice(words)) = self
            .params
            .iter()
            .find(|param| param.name == "profile")
            .map(|param| param.domain)
        else {
            return "";
        };
        match rules == Rules::Linux && self.preset_of.is_none() && words.contains(&LINUX) {
            true => LINUX,
            false => words[0],
        }
    }

    /// Returns the value of `param` if none is given, with `profile`.
    pub fn default_of(&self, param: &Param, profile: &str) -> ParamValue {
        if param.name == "profile" {
            return ParamValue::Word(profile.to_owned());
        }
        let group = self.profiles.iter().find(|group| group.name == profile);
        let other =
            group.and_then(|group| group.defaults.iter().find(|(name, _)| *name == param.name));
        match (other, param.domain) {
            (Some((_, Default::Number(n))), _) => ParamValue::Number(*n),
            (Some((_, Default::Flag(b))), _) => ParamValue::Flag(*b),
            (Some((_, Default::Word(word))), _) => ParamValue::Word((*word).to_owned()),
            (None, domain) => domain.default(),
        }
    }
}

/// The values that a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A number in min..=max.
    Number {
        /// Default value.
        default: f64,
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// True or false.
    Flag {
        /// Default value.
        default: bool,
    },
    /// One of these keywords; the first is the default.
    Choice(&'static [&'static str]),
}

impl Domain {
    /// Returns whether the parameter accepts `value`.
    fn has(&self, value: &ParamValue) -> bool {
        match (self, value) {
            (Domain::Number { min, max, .. }, ParamValue::Number(n)) => (min..=max).contains(&n),
            (Domain::Flag { .. }, ParamValue::Flag(_)) => true,
            (Domain::Choice(words), ParamValue::Word(word)) => words.contains(&word.as_str()),
            _ => false,
        }
    }

    /// Describes the accepted values, for an error message.
    fn words(&self) -> String {
        match self {
            Domain::Number { min, max, .. } => format!("a number from {min} to {max}"),
            Domain::Flag { .. } => "true or false".to_owned(),
            Domain::Choice(words) => format!("one of \"{}\"", words.join("\", \"")),
        }
    }

    /// Returns the default value.
    pub fn default(&self) -> ParamValue {
        match *self {
            Domain::Number { default, .. } => ParamValue::Number(default),
            Domain::Flag { default } => ParamValue::Flag(default),
            Domain::Choice(words) => ParamValue::Word(words[0].to_owned()),
        }
    }
}

/// A column of the trace that an algorithm fills.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name of the column.
    pub name: &'static str,
    /// Unit of the number; may be empty.
    pub unit: &'static str,
    /// Meaning, as a phrase.
    pub purpose: &'static str,
    /// For a state, the names of the values 0, 1, 2…; empty for a number.
    pub labels: &'static [&'static str],
}

/// The owner of the window during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryOwner {
    /// The transport, which runs PRR (RFC 9937) toward the controller's `ssthresh`.
    Prr,
    /// The controller, as in BBR.
    Own,
    /// The sender's algorithm: this one is a receiver's window.
    Sender,
}

/// The reason for which a parameter was rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamError {
    /// The given key.
    pub name: String,
    /// The given value.
    pub value: ParamValue,
    /// Description of the problem.
    pub problem: String,
    /// Suggested fix.
    pub fix: String,
}

/// A media source: an encoder that follows [`Decision::source_rate`](crate::Decision::source_rate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaSource {
    /// Lowest rate at which it encodes.
    pub min: Rate,
    /// Highest rate at which it encodes.
    pub max: Rate,
    /// Time between two frames.
    pub frame_period: Span,
}

/// The configuration of a connection, passed to [`Descriptor::build`]: constants, and all
/// parameters, checked and with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Name of the algorithm, as in its descriptor.
    pub algorithm: &'static str,
    /// Sender maximum segment size.
    pub smss: Bytes,
    /// Initial window.
    pub initial_cwnd: Bytes,
    /// The group with which the controller may [share](Shared) state.
    pub group: Option<String>,
    /// The media source whose rate the algorithm may set; `None` for any other application.
    pub source: Option<MediaSource>,
    /// In the order of the descriptor.
    params: Vec<(&'static str, ParamValue)>,
}

impl Config {
    /// Checks `given` against the descriptor's declarations and fills in the defaults of the
    /// specification.
    pub fn new<Build>(
        descriptor: &Descriptor<Build>,
        given: &BTreeMap<String, ParamValue>,
        smss: Bytes,
        initial_cwnd: Bytes,
    ) -> Result<Config, ParamError> {
        Config::following(Rules::Specification, descriptor, given, smss, initial_cwnd)
    }

    /// Checks `given` against the descriptor's declarations and fills in the defaults under `rules`.
    pub fn following<Build>(
        rules: Rules,
        descriptor: &Descriptor<Build>,
        given: &BTreeMap<String, ParamValue>,
        smss: Bytes,
        initial_cwnd: Bytes,
    ) -> Result<Config, ParamError> {
        let profile = match given.get("profile") {
            Some(ParamValue::Word(word)) => word,
            _ => descriptor.usual_profile(rules),
        };
        let mut params: Vec<_> = descriptor
            .params
            .iter()
            .map(|param| (param.name, descriptor.default_of(param, profile)))
            .collect();
        for (name, value) in given {
            let refuse = |problem: String, fix: String| {
                Err(ParamError {
                    name: name.clone(),
                    value: value.clone(),
                    problem,
                    fix,
                })
            };
            let Some(place) = params.iter().position(|(known, _)| known == name) else {
                let known: Vec<&str> = params.iter().map(|(known, _)| *known).collect();
                return refuse(
                    format!("{} has no parameter {name:?}", descriptor.name),
                    unknown_fix(name, &known),
                );
            };
            let domain = descriptor.params[place].domain;
            if !domain.has(value) {
                return refuse(
                    format!("{name} can't be {value}"),
                    format!("give {}", domain.words()),
                );
            }
            params[place].1 = value.clone();
        }
        Ok(Config {
            algorithm: descriptor.name,
            smss,
            initial_cwnd,
            group: None,
            source: None,
            params,
        })
    }

    /// Sets the group.
    #[must_use]
    pub fn in_group(self, group: Option<String>) -> Config {
        Config { group, ..self }
    }

    /// Returns the defaults of `descriptor`, with segments of 1448 bytes and an initial window of
    /// ten segments.
    ///
    /// # Panics
    /// Never: a test checks for every built-in algorithm that its defaults are within their ranges.
    pub fn defaults<Build>(descriptor: &Descriptor<Build>) -> Config {
        let smss = Bytes::new(1448);
        Config::new(descriptor, &BTreeMap::new(), smss, smss * 10)
            .expect("no parameter is given, so none is rejected")
    }

    /// Returns the values, to be read in the order of the descriptor.
    pub fn values(&self) -> Values<'_> {
        Values {
            params: &self.params,
            next: 0,
        }
    }

    /// Returns all parameters with their values, sorted by name.
    pub fn params(&self) -> impl Iterator<Item = (&'static str, &ParamValue)> {
        let mut params: Vec<_> = self
            .params
            .iter()
            .map(|(name, value)| (*name, value))
            .collect();
        params.sort_unstable_by_key(|(name, _)| *name);
        params.into_iter()
    }
}

/// Reads the values of a [`Config`] in order. Searching for each name at the start of a connection
/// would cost short flows a tenth of their run time.
#[derive(Debug)]
pub struct Values<'a> {
    params: &'a [(&'static str, ParamValue)],
    next: usize,
}

impl Values<'_> {
    /// Returns the parameter that `row` declares, or its default if the descriptor omits it.
    ///
    /// # Panics
    /// If the descriptor declares another kind of value under this name, which is a bug in the
    /// algorithm.
    pub fn take<T: FromParam>(&mut self, row: &Param) -> T {
        let is_it = |(name, _): &(&str, ParamValue)| *name == row.name;
        let place = if self.params.get(self.next).is_some_and(is_it) {
            Some(self.next)
        } else {
            self.params.iter().position(is_it)
        };
        let value = match place {
            Some(place) => {
                self.next = place + 1;
                T::from_param(&self.params[place].1, row)
            }
            None => T::from_param(&row.domain.default(), row),
        };
        value.unwrap_or_else(|| panic!("{} is not what {row:?} declares", row.name))
    }
}

/// Suggests "did you mean …" for an unknown name, or lists the known names.
fn unknown_fix(name: &str, known: &[&str]) -> String {
    match fullpipe_units::related(name, known) {
        Some(near) => format!("did you mean {near:?}? it has {}", known.join(", ")),
        None if known.is_empty() => "it has no parameters".to_owned(),
        None => format!("it has {}", known.join(", ")),
    }
}
