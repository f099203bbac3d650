//! What an algorithm says of itself, once: scenario keys, command-line help, documentation and
//! trace headers come from it.

use std::collections::BTreeMap;

use fullpipe_units::{Bytes, ParamValue};

use crate::{AnyController, FromParam, WindowController};

/// One static an algorithm: of the sender's, or with another `Build` of the
/// [receiver's](WindowDescriptor).
#[derive(Debug)]
pub struct Descriptor<Build = fn(&Config) -> AnyController> {
    /// The name in scenarios.
    pub name: &'static str,
    /// What it is for, in one sentence.
    pub purpose: &'static str,
    /// What it follows.
    pub specifications: &'static [Specification],
    /// What can be set.
    pub params: &'static [Param],
    /// Groups of other defaults, one for a word of the parameter `profile`; none where there is no
    /// such parameter, or where the word alone makes the difference.
    pub profiles: &'static [Profile],
    /// The algorithm that this is with another profile by default: its page is that one's.
    pub preset_of: Option<&'static str>,
    /// What [`Controller::observe`](crate::Controller::observe) pushes, in order.
    pub fields: &'static [Field],
    /// Who moves the window between `Enter` and `Exit`.
    pub recovery: RecoveryOwner,
    /// The signals that it can't do without.
    pub needs: Signals,
    /// Whether it draws from [`Context::rng`](crate::Context::rng), so that another seed is another
    /// run.
    pub random: bool,
    /// Makes one for a connection.
    pub build: Build,
}

/// One static an algorithm of the receiver.
pub type WindowDescriptor = Descriptor<fn(&Config) -> Box<dyn WindowController>>;

/// A document that an algorithm follows.
#[derive(Debug)]
pub struct Specification {
    /// Its name with its version: `RFC 9438`, `Linux 6.12 net/ipv4/tcp_bbr.c`.
    pub name: &'static str,
    /// What of it is followed, or where this departs from it.
    pub note: &'static str,
}

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key in `params = { … }`.
    pub name: &'static str,
    /// Unit of the number, or empty.
    pub unit: &'static str,
    /// What may be given, and the default.
    pub domain: Domain,
    /// What it does, in one sentence.
    pub purpose: &'static str,
    /// The specification's section.
    pub section: &'static str,
}

/// What the defaults are when `profile` has this word.
#[derive(Debug)]
pub struct Profile {
    /// One of the words that the parameter `profile` takes.
    pub name: &'static str,
    /// The parameters whose default is another than the declared one, and that.
    pub defaults: &'static [(&'static str, Default)],
}

/// A default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
}

impl<Build> Descriptor<Build> {
    /// The profile that is in force when none is given; empty without profiles.
    pub fn usual_profile(&self) -> &'static str {
        match self
            .params
            .iter()
            .find(|param| param.name == "profile")
            .map(|param| param.domain)
        {
            Some(Domain::Choice(words)) => words[0],
            _ => "",
        }
    }

    /// What `param` is when nothing is given, with `profile`.
    pub fn default_of(&self, param: &Param, profile: &str) -> ParamValue {
        let group = self.profiles.iter().find(|group| group.name == profile);
        let other =
            group.and_then(|group| group.defaults.iter().find(|(name, _)| *name == param.name));
        match (other, param.domain) {
            (Some((_, Default::Number(n))), _) => ParamValue::Number(*n),
            (Some((_, Default::Flag(b))), _) => ParamValue::Flag(*b),
            (None, domain) => domain.default(),
        }
    }
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// A number in min..=max.
    Number {
        /// Value when not given.
        default: f64,
        /// Smallest allowed.
        min: f64,
        /// Largest allowed.
        max: f64,
    },
    /// True or false.
    Flag {
        /// Value when not given.
        default: bool,
    },
    /// One of some words; the first is the default.
    Choice(&'static [&'static str]),
}

impl Domain {
    /// Whether `value` may be given.
    fn has(&self, value: &ParamValue) -> bool {
        match (self, value) {
            (Domain::Number { min, max, .. }, ParamValue::Number(n)) => (min..=max).contains(&n),
            (Domain::Flag { .. }, ParamValue::Flag(_)) => true,
            (Domain::Choice(words), ParamValue::Word(word)) => words.contains(&word.as_str()),
            _ => false,
        }
    }

    /// What may be given, in words.
    fn words(&self) -> String {
        match self {
            Domain::Number { min, max, .. } => format!("a number from {min} to {max}"),
            Domain::Flag { .. } => "true or false".to_owned(),
            Domain::Choice(words) => format!("one of \"{}\"", words.join("\", \"")),
        }
    }

    /// The value when none is given.
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
    /// The column's name.
    pub name: &'static str,
    /// Unit of the number, or empty.
    pub unit: &'static str,
    /// What it is.
    pub purpose: &'static str,
    /// For a state: the names behind 0, 1, 2…; empty for a number.
    pub labels: &'static [&'static str],
}

/// Who owns the window during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryOwner {
    /// The transport runs PRR (RFC 9937) towards the controller's `ssthresh`.
    Prr,
    /// The controller itself, as BBR does.
    Own,
    /// Whoever it is at the sender: this is a window of the receiver's.
    Sender,
}

/// A set of signals: what an algorithm needs, or what a runner provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals(u16);

impl Signals {
    /// None.
    pub const NONE: Signals = Signals(0);
    /// Delivery-rate samples.
    pub const RATE_SAMPLE: Signals = Signals(1);
    /// A call for each lost packet, with its snapshot.
    pub const LOST_EACH: Signals = Signals(1 << 1);
    /// The in-flight data when each packet was sent.
    pub const TX_INFLIGHT: Signals = Signals(1 << 2);
    /// Counts of CE marks.
    pub const ECN_COUNTS: Signals = Signals(1 << 3);
    /// Sending with ECT(1).
    pub const ECT1: Signals = Signals(1 << 4);
    /// Notice of spurious losses.
    pub const SPURIOUS: Signals = Signals(1 << 5);
    /// Pacing at the controller's rate.
    pub const PACING: Signals = Signals(1 << 6);
    /// Timestamps of the peer.
    pub const TIMESTAMPS: Signals = Signals(1 << 7);
    /// All of the above.
    pub const ALL: Signals = Signals((1 << 8) - 1);

    const NAMES: [&'static str; 8] = [
        "delivery-rate samples",
        "per-packet losses",
        "in-flight data at send time",
        "ECN counts",
        "ECT(1)",
        "spurious-loss notices",
        "pacing",
        "timestamps",
    ];

    /// Both sets.
    pub const fn and(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }

    /// The names of what is in `self` and not in `provided`.
    pub fn missing_from(self, provided: Signals) -> Vec<&'static str> {
        let lack = self.0 & !provided.0;
        Self::NAMES
            .iter()
            .enumerate()
            .filter(|(bit, _)| lack >> bit & 1 == 1)
            .map(|(_, name)| *name)
            .collect()
    }
}

/// Why a parameter was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamError {
    /// The key that was given.
    pub name: String,
    /// The value that was given.
    pub value: ParamValue,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

/// What [`Descriptor::build`] gets: the connection's constants and every parameter, checked, with
/// its default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The name of the algorithm, as its descriptor has it.
    pub algorithm: &'static str,
    /// Sender maximum segment size.
    pub smss: Bytes,
    /// Initial window.
    pub initial_cwnd: Bytes,
    params: BTreeMap<&'static str, ParamValue>,
}

impl Config {
    /// Checks `given` against what `descriptor` declares and fills in the defaults.
    pub fn new<Build>(
        descriptor: &Descriptor<Build>,
        given: &BTreeMap<String, ParamValue>,
        smss: Bytes,
        initial_cwnd: Bytes,
    ) -> Result<Config, ParamError> {
        let profile = match given.get("profile") {
            Some(ParamValue::Word(word)) => word,
            _ => descriptor.usual_profile(),
        };
        let mut params: BTreeMap<_, _> = descriptor
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
            let Some(param) = descriptor.params.iter().find(|param| param.name == *name) else {
                let known: Vec<&str> = descriptor.params.iter().map(|param| param.name).collect();
                return refuse(
                    format!("{} has no parameter {name:?}", descriptor.name),
                    unknown_fix(name, &known),
                );
            };
            if !param.domain.has(value) {
                return refuse(
                    format!("{name} can't be {value}"),
                    format!("give {}", param.domain.words()),
                );
            }
            params.insert(param.name, value.clone());
        }
        Ok(Config {
            algorithm: descriptor.name,
            smss,
            initial_cwnd,
            params,
        })
    }

    /// The defaults of `descriptor` at a segment of 1448 bytes and an initial window of ten.
    ///
    /// # Panics
    /// Never: defaults are declared within their own range, which a test checks for every built-in
    /// algorithm.
    pub fn defaults<Build>(descriptor: &Descriptor<Build>) -> Config {
        let smss = Bytes::new(1448);
        Config::new(descriptor, &BTreeMap::new(), smss, smss * 10)
            .expect("no parameter is given, so none is refused")
    }

    /// The parameter that `row` declares; its default if the descriptor leaves it out.
    ///
    /// # Panics
    /// When the descriptor declares another kind of value by that name: a bug of the algorithm.
    pub fn get<T: FromParam>(&self, row: &Param) -> T {
        let default = || row.domain.default();
        let value = self.params.get(row.name).cloned().unwrap_or_else(default);
        T::from_param(&value, row)
            .unwrap_or_else(|| panic!("{} is {value:?}, not as declared", row.name))
    }

    /// Every parameter with its value, by name.
    pub fn params(&self) -> impl Iterator<Item = (&'static str, &ParamValue)> {
        self.params.iter().map(|(name, value)| (*name, value))
    }
}

/// "did you mean …" for an unknown name, or the list of what is known.
fn unknown_fix(name: &str, known: &[&str]) -> String {
    match fullpipe_units::nearest(name, known) {
        Some(near) => format!("did you mean {near:?}? it has {}", known.join(", ")),
        None if known.is_empty() => "it has none".to_owned(),
        None => format!("it has {}", known.join(", ")),
    }
}
