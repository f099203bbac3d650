//! What a queue says of itself, once: scenario keys, command-line help and documentation come from
//! it.

use core::fmt;

use fullpipe_units::{Bytes, Rate, Span};

/// One static a queue.
#[derive(Debug)]
pub struct Descriptor {
    /// Its name, as in tc where tc has it.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub purpose: &'static str,
    /// What it follows, and how far: name and note.
    pub specifications: &'static [(&'static str, &'static str)],
    /// tc's default limit in packets; none where a limit must be given.
    pub limit: Option<u64>,
    /// Its limit is in bytes, not packets.
    pub in_bytes: bool,
    /// What can be set.
    pub params: &'static [Param],
    /// Whether it draws, so that another seed is another run.
    pub random: bool,
    /// Refuses what contradicts, given a limit of so many bytes.
    pub check: fn(&Config, Bytes) -> Result<(), Refusal>,
}

/// An option of a queue.
#[derive(Debug)]
pub struct Param {
    /// The key in `queue = { … }`, tc's where tc has it.
    pub name: &'static str,
    /// What may be given, and the default.
    pub domain: Domain,
    /// In words what holds when nothing is given and there is no default; else empty.
    pub otherwise: &'static str,
    /// What it does, in one sentence.
    pub purpose: &'static str,
    /// The specification's section.
    pub section: &'static str,
}

/// The values that an option takes: the default, and the least and largest.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// A duration.
    Time(Option<Span>, Span, Span),
    /// A size in bytes.
    Size(Option<Bytes>, Bytes, Bytes),
    /// A rate.
    Rate(Option<Rate>, Rate, Rate),
    /// A whole number.
    Count(Option<u64>, u64, u64),
    /// A number.
    Number(Option<f64>, f64, f64),
    /// True or false.
    Flag(bool),
    /// How much waits, in packets, bytes or time.
    Depth(Depth),
}

/// How much waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// In packets.
    Packets(u64),
    /// In bytes.
    Bytes(Bytes),
    /// In the time that the packet at the head has waited.
    Time(Span),
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Depth::Packets(n) => write!(f, "{n}packets"),
            Depth::Bytes(bytes) => bytes.fmt(f),
            Depth::Time(span) => span.fmt(f),
        }
    }
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionValue {
    /// Of [`Domain::Time`].
    Time(Span),
    /// Of [`Domain::Size`].
    Size(Bytes),
    /// Of [`Domain::Rate`].
    Rate(Rate),
    /// Of [`Domain::Count`].
    Count(u64),
    /// Of [`Domain::Number`].
    Number(f64),
    /// Of [`Domain::Flag`].
    Flag(bool),
    /// Of [`Domain::Depth`].
    Depth(Depth),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Time(span) => span.fmt(f),
            OptionValue::Size(bytes) => bytes.fmt(f),
            OptionValue::Rate(rate) => rate.fmt(f),
            OptionValue::Count(n) => n.fmt(f),
            OptionValue::Number(n) => n.fmt(f),
            OptionValue::Flag(flag) => flag.fmt(f),
            OptionValue::Depth(depth) => depth.fmt(f),
        }
    }
}

/// Why an option was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its name.
    pub name: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

impl Domain {
    /// What holds when nothing is given.
    pub fn default(&self) -> Option<OptionValue> {
        match *self {
            Domain::Time(default, ..) => default.map(OptionValue::Time),
            Domain::Size(default, ..) => default.map(OptionValue::Size),
            Domain::Rate(default, ..) => default.map(OptionValue::Rate),
            Domain::Count(default, ..) => default.map(OptionValue::Count),
            Domain::Number(default, ..) => default.map(OptionValue::Number),
            Domain::Flag(default) => Some(OptionValue::Flag(default)),
            Domain::Depth(default) => Some(OptionValue::Depth(default)),
        }
    }

    /// What may be given, in words.
    pub fn range(&self) -> String {
        match self {
            Domain::Time(_, min, max) => format!("{min} to {max}"),
            Domain::Size(_, min, max) => format!("{min} to {max}"),
            Domain::Rate(_, min, max) => format!("{min} to {max}"),
            Domain::Count(_, min, max) => format!("{min} to {max}"),
            Domain::Number(_, min, max) => format!("{min} to {max}"),
            Domain::Flag(_) => "true or false".to_owned(),
            Domain::Depth(_) => "packets, bytes or time".to_owned(),
        }
    }

    fn holds(&self, value: &OptionValue) -> bool {
        match (self, value) {
            (Domain::Time(_, min, max), OptionValue::Time(span)) => (min..=max).contains(&span),
            (Domain::Size(_, min, max), OptionValue::Size(bytes)) => (min..=max).contains(&bytes),
            (Domain::Rate(_, min, max), OptionValue::Rate(rate)) => (min..=max).contains(&rate),
            (Domain::Count(_, min, max), OptionValue::Count(n)) => (min..=max).contains(&n),
            (Domain::Number(_, min, max), OptionValue::Number(n)) => (min..=max).contains(&n),
            (Domain::Flag(_), OptionValue::Flag(_)) | (Domain::Depth(_), OptionValue::Depth(_)) => {
                true
            }
            _ => false,
        }
    }
}

/// A queue with its options, each within its range.
#[derive(Clone, Debug)]
pub struct Config {
    descriptor: &'static Descriptor,
    /// In the descriptor's order.
    values: Vec<Option<OptionValue>>,
}

impl PartialEq for Config {
    fn eq(&self, other: &Config) -> bool {
        self.descriptor.name == other.descriptor.name && self.values == other.values
    }
}

impl Config {
    /// The defaults.
    pub fn new(descriptor: &'static Descriptor) -> Config {
        Config {
            descriptor,
            values: descriptor
                .params
                .iter()
                .map(|param| param.domain.default())
                .collect(),
        }
    }

    /// What it is about.
    pub fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    /// The same with another value for `param`, which is the descriptor's.
    ///
    /// # Errors
    /// When the value is out of range.
    pub fn with(mut self, name: &str, value: OptionValue) -> Result<Config, Refusal> {
        let place = self.place(name);
        let param = &self.descriptor.params[place];
        if !param.domain.holds(&value) {
            let range = param.domain.range();
            return Err(Refusal {
                name: param.name,
                problem: format!("not in {range}"),
                fix: format!("give {range}"),
            });
        }
        self.values[place] = Some(value);
        Ok(self)
    }

    /// Each option that has a value.
    pub fn values(&self) -> impl Iterator<Item = (&'static Param, OptionValue)> {
        self.descriptor
            .params
            .iter()
            .zip(&self.values)
            .filter_map(|(param, value)| Some((param, (*value)?)))
    }

    fn place(&self, name: &str) -> usize {
        let place = self
            .descriptor
            .params
            .iter()
            .position(|param| param.name == name);
        place.unwrap_or_else(|| panic!("{} declares no option {name}", self.descriptor.name))
    }

    fn get(&self, name: &str) -> Option<OptionValue> {
        self.values[self.place(name)]
    }

    /// The duration of that name, if there is one.
    ///
    /// # Panics
    /// As all of these: when the queue does not declare it so, which is a bug of the queue.
    pub fn time(&self, name: &str) -> Option<Span> {
        match self.get(name) {
            Some(OptionValue::Time(span)) => Some(span),
            None => None,
            other => panic!("option {name} is {other:?}, not a duration"),
        }
    }

    /// The size of that name, if there is one.
    ///
    /// # Panics
    /// When the queue does not declare it so.
    pub fn size(&self, name: &str) -> Option<Bytes> {
        match self.get(name) {
            Some(OptionValue::Size(bytes)) => Some(bytes),
            None => None,
            other => panic!("option {name} is {other:?}, not a size"),
        }
    }

    /// The rate of that name, if there is one.
    ///
    /// # Panics
    /// When the queue does not declare it so.
    pub fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            Some(OptionValue::Rate(rate)) => Some(rate),
            None => None,
            other => panic!("option {name} is {other:?}, not a rate"),
        }
    }

    /// The whole number of that name, if there is one.
    ///
    /// # Panics
    /// When the queue does not declare it so.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(OptionValue::Count(n)) => Some(n),
            None => None,
            other => panic!("option {name} is {other:?}, not a whole number"),
        }
    }

    /// The number of that name.
    ///
    /// # Panics
    /// When the queue does not declare it so, with a default.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(OptionValue::Number(n)) => n,
            other => panic!("option {name} is {other:?}, not a number"),
        }
    }

    /// The flag of that name.
    ///
    /// # Panics
    /// When the queue does not declare it so.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(OptionValue::Flag(flag)) => flag,
            other => panic!("option {name} is {other:?}, not a flag"),
        }
    }

    /// The depth of that name.
    ///
    /// # Panics
    /// When the queue does not declare it so.
    pub fn depth(&self, name: &str) -> Depth {
        match self.get(name) {
            Some(OptionValue::Depth(depth)) => depth,
            other => panic!("option {name} is {other:?}, not a depth"),
        }
    }

    /// The duration of that name, which has a default.
    pub(super) fn some_time(&self, name: &str) -> Span {
        self.time(name)
            .expect("an option with a default has a value")
    }

    /// The size of that name, which has a default.
    pub(super) fn some_size(&self, name: &str) -> Bytes {
        self.size(name)
            .expect("an option with a default has a value")
    }

    /// The whole number of that name, which has a default.
    pub(super) fn some_count(&self, name: &str) -> u64 {
        self.count(name)
            .expect("an option with a default has a value")
    }
}

/// For queues of which no two options contradict.
pub(super) fn no_check(_: &Config, _: Bytes) -> Result<(), Refusal> {
    Ok(())
}
