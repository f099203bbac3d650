//! Descriptions of the queues, from which scenario keys, command-line help and documentation are
//! derived.

use core::fmt;

use fullpipe_units::{Bytes, Rate, Span};

/// A kind of queue. Each has one static.
#[derive(Debug)]
pub struct Descriptor {
    /// Name, as in tc where tc has the queue.
    pub name: &'static str,
    /// Purpose, in one sentence.
    pub purpose: &'static str,
    /// Specifications that it follows: name, and the parts that are implemented.
    pub specifications: &'static [(&'static str, &'static str)],
    /// tc's default limit in packets; `None` where a limit must be given.
    pub limit: Option<u64>,
    /// Whether its limit is in bytes, not packets.
    pub in_bytes: bool,
    /// Options.
    pub params: &'static [Param],
    /// Whether it drops or marks before it is full (an AQM), so that its delay stays below that of a full buffer.
    pub aqm: bool,
    /// Whether it uses random numbers, so that another seed gives another run.
    pub random: bool,
    /// Refuses contradictory options, given a limit in bytes.
    pub check: fn(&Config, Bytes) -> Result<(), Refusal>,
}

/// An option of a queue.
#[derive(Debug)]
pub struct Param {
    /// Key in `queue = { … }`, tc's where tc has it.
    pub name: &'static str,
    /// Accepted values, and the default.
    pub domain: Domain,
    /// Behavior if there is no value and no default, in words; empty otherwise.
    pub otherwise: &'static str,
    /// Purpose, as a phrase.
    pub purpose: &'static str,
    /// Section of the specification.
    pub section: &'static str,
}

/// The values that an option accepts: the default, the least and the largest.
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
    /// An amount of waiting data, in packets, bytes or time.
    Depth(Depth),
}

/// An amount of waiting data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Number of packets.
    Packets(u64),
    /// Number of bytes.
    Bytes(Bytes),
    /// Time that the packet at the head of the queue has waited.
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
    /// A value for [`Domain::Time`].
    Time(Span),
    /// A value for [`Domain::Size`].
    Size(Bytes),
    /// A value for [`Domain::Rate`].
    Rate(Rate),
    /// A value for [`Domain::Count`].
    Count(u64),
    /// A value for [`Domain::Number`].
    Number(f64),
    /// A value for [`Domain::Flag`].
    Flag(bool),
    /// A value for [`Domain::Depth`].
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

/// The reason why an option was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the option.
    pub name: &'static str,
    /// Problem with the value.
    pub problem: String,
    /// Suggested fix.
    pub fix: String,
}

impl Domain {
    /// Returns the default value.
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

    /// Returns the accepted values, in words.
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
    /// Values, in the descriptor's order.
    values: Vec<Option<OptionValue>>,
}

impl PartialEq for Config {
    fn eq(&self, other: &Config) -> bool {
        self.descriptor.name == other.descriptor.name && self.values == other.values
    }
}

impl Config {
    /// Returns the queue with all options at their defaults.
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

    /// Returns the queue's descriptor.
    pub fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    /// Returns the configuration with another value for `param`, which the descriptor declares.
    ///
    /// # Errors If the value is out of range.
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

    /// Returns all options that have a value.
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
        place.unwrap_or_else(|| panic!("queue {} declares no option {name}", self.descriptor.name))
    }

    fn get(&self, name: &str) -> Option<OptionValue> {
        self.values[self.place(name)]
    }

    /// Returns the duration `name`, if it has a value.
    ///
    /// # Panics If the queue does not declare a duration of that name, which is a bug in the queue.
    /// The other getters panic in the same way.
    pub fn time(&self, name: &str) -> Option<Span> {
        match self.get(name) {
            Some(OptionValue::Time(span)) => Some(span),
            None => None,
            other => panic!("option {name} is {other:?}, not a duration"),
        }
    }

    /// Returns the size `name`, if it has a value.
    ///
    /// # Panics If the queue does not declare a size of that name.
    pub fn size(&self, name: &str) -> Option<Bytes> {
        match self.get(name) {
            Some(OptionValue::Size(bytes)) => Some(bytes),
            None => None,
            other => panic!("option {name} is {other:?}, not a size"),
        }
    }

    /// Returns the rate `name`, if it has a value.
    ///
    /// # Panics If the queue does not declare a rate of that name.
    pub fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            Some(OptionValue::Rate(rate)) => Some(rate),
            None => None,
            other => panic!("option {name} is {other:?}, not a rate"),
        }
    }

    /// Returns the whole number `name`, if it has a value.
    ///
    /// # Panics If the queue does not declare a whole number of that name.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(OptionValue::Count(n)) => Some(n),
            None => None,
            other => panic!("option {name} is {other:?}, not a whole number"),
        }
    }

    /// Returns the number `name`.
    ///
    /// # Panics If the queue does not declare a number of that name with a default.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(OptionValue::Number(n)) => n,
            other => panic!("option {name} is {other:?}, not a number"),
        }
    }

    /// Returns the flag `name`.
    ///
    /// # Panics If the queue does not declare a flag of that name.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(OptionValue::Flag(flag)) => flag,
            other => panic!("option {name} is {other:?}, not a flag"),
        }
    }

    /// Returns the depth `name`.
    ///
    /// # Panics If the queue does not declare a depth of that name.
    pub fn depth(&self, name: &str) -> Depth {
        match self.get(name) {
            Some(OptionValue::Depth(depth)) => depth,
            other => panic!("option {name} is {other:?}, not a depth"),
        }
    }

    /// Returns the duration `name`, which has a default.
    pub(super) fn some_time(&self, name: &str) -> Span {
        self.time(name)
            .expect("an option with a default has a value")
    }

    /// Returns the size `name`, which has a default.
    pub(super) fn some_size(&self, name: &str) -> Bytes {
        self.size(name)
            .expect("an option with a default has a value")
    }

    /// Returns the whole number `name`, which has a default.
    pub(super) fn some_count(&self, name: &str) -> u64 {
        self.count(name)
            .expect("an option with a default has a value")
    }
}

/// Accepts any options: the check of queues whose options never contradict each other.
pub(super) fn no_check(_: &Config, _: Bytes) -> Result<(), Refusal> {
    Ok(())
}
