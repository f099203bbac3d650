//! What an impairment says of itself, once: reading, schema, help and documentation come from it.

use crate::{delay_trace, duplicator, jitter, loss, outage, pattern, policer, radio, shaper};

/// One static an impairment: a value of a key, written in words, like `normal 10ms sigma 2ms`.
#[derive(Debug)]
pub struct Impairment {
    /// Its name in lists.
    pub name: &'static str,
    /// The keys of a path of which it is a value.
    pub keys: &'static [&'static str],
    /// Whether what is written begins with the name.
    pub named: bool,
    /// What it does, in one sentence.
    pub purpose: &'static str,
    /// What is written behind the name, in any order but for one that has no word of its own and
    /// comes first.
    pub arguments: &'static [Argument],
    /// As it may be written.
    pub example: &'static str,
    /// What it follows.
    pub source: &'static str,
}

/// A part of what is written.
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Whether the name is written in front of it.
    pub named: bool,
    /// What it is.
    pub unit: Unit,
    /// What holds when it is left out, as written or in words; none for what must be there.
    pub default: Option<&'static str>,
    /// What it does, in one sentence.
    pub purpose: &'static str,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A duration.
    Time,
    /// A size in bytes.
    Size,
    /// A rate.
    Rate,
    /// A part of all, 0% to 100%.
    Share,
    /// A whole number from 1 on.
    Count,
    /// Whole numbers from 1 on with commas between, or `file` and the name of a file of them.
    Counts,
    /// Durations, each with a count, with commas between, or `file` and the name of a file of them.
    Bins,
    /// Two rates with `..` between, the lower first.
    Rates,
    /// Times, each with a rate, with commas between, or `file` and the name of a file of them.
    Schedule,
    /// Times, each with a duration, with commas between, or `file` and the name of a file of them.
    Delays,
    /// Whole numbers in order with commas between, or `file` and the name of a file of them.
    Milliseconds,
    /// Nothing but its name.
    Flag,
}

/// What is said of a unit.
#[derive(Debug)]
pub struct Described {
    /// What it is called.
    pub name: &'static str,
    /// The same in short.
    pub short: &'static str,
    /// What may be written, as a regular expression.
    pub pattern: String,
}

impl Unit {
    /// What is said of it.
    pub fn described(self) -> Described {
        const TIME: &str = "[0-9.]+ *(ns|us|µs|ms|s|min)";
        const RATE: &str = "[0-9.]+ *[kKmMgG]?([bB][iI][tT](/[sS])?|[bB][pP][sS])";
        let list = |one: &str| format!("({one}( *, *{one})*|file +.+)");
        let (name, short, pattern) = match self {
            Unit::Time => ("duration", "duration", TIME.to_owned()),
            Unit::Size => ("size", "size", "[0-9.]+ *([kKmMgG][iI]?)?[bB]".to_owned()),
            Unit::Rate => ("rate", "rate", RATE.to_owned()),
            Unit::Share => ("percentage", "percentage", "[0-9.]+ *%".to_owned()),
            Unit::Count => ("whole number", "number", "[0-9]+".to_owned()),
            Unit::Counts => ("whole numbers", "numbers", list("[0-9]+")),
            Unit::Bins => {
                let bin = "[0-9.]+(ns|us|µs|ms|s|min) +[0-9]+";
                ("durations with counts", "bins", list(bin))
            }
            Unit::Rates => {
                let range = format!("{RATE} *\\.\\. *{RATE}");
                ("two rates", "range of rates", range)
            }
            Unit::Schedule => {
                let step = format!("{TIME} +{RATE}");
                ("times with rates", "times with rates", list(&step))
            }
            Unit::Delays => {
                let step = format!("{TIME} +{TIME}");
                ("times with delays", "times with delays", list(&step))
            }
            Unit::Milliseconds => ("milliseconds", "milliseconds", list("[0-9]+")),
            Unit::Flag => ("a word by itself", "", String::new()),
        };
        Described {
            name,
            short,
            pattern,
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.described().name
    }
}

impl Argument {
    /// What comes first, without a word.
    pub(crate) const fn first(name: &'static str, unit: Unit, purpose: &'static str) -> Argument {
        Argument {
            name,
            named: false,
            unit,
            default: None,
            purpose,
        }
    }

    /// What must be there.
    pub(crate) const fn needed(name: &'static str, unit: Unit, purpose: &'static str) -> Argument {
        Argument {
            name,
            named: true,
            unit,
            default: None,
            purpose,
        }
    }

    /// What may be left out.
    pub(crate) const fn optional(
        name: &'static str,
        unit: Unit,
        default: &'static str,
        purpose: &'static str,
    ) -> Argument {
        Argument {
            name,
            named: true,
            unit,
            default: Some(default),
            purpose,
        }
    }

    /// A word that may be there.
    pub(crate) const fn flag(name: &'static str, purpose: &'static str) -> Argument {
        Argument::optional(name, Unit::Flag, "off", purpose)
    }
}

/// What a link does to the ECN field, in the engine.
static ECN_STRIP: Impairment = Impairment {
    name: "ecn-strip",
    keys: &["ecn"],
    named: false,
    purpose: "The link clears the ECN field, so that queues from there on drop where they would mark.",
    arguments: &[Argument::first(
        "strip",
        Unit::Flag,
        "\"keep\" leaves the field as it is, the default.",
    )],
    example: "strip",
    source: "RFC 3168 §18: what a middlebox must not do",
};

/// What a link does to ACKs that wait, in the engine.
static ACK_FILTER: Impairment = Impairment {
    name: "ack-filter",
    keys: &["ack_filter"],
    named: false,
    purpose: "An ACK takes the place of an older one of its flow that waits and says nothing more: ACKs are thinned.",
    arguments: &[Argument::first(
        "on",
        Unit::Flag,
        "\"off\" lets every ACK wait by itself, the default.",
    )],
    example: "on",
    source: "RFC 3449 §5.2.1; tc-cake(8), ack-filter",
};

/// The impairments that a path may have.
pub static IMPAIRMENTS: &[&Impairment] = &[
    &loss::RANDOM,
    &loss::GILBERT_ELLIOTT,
    &loss::EVERY,
    &loss::LIST,
    &duplicator::DUPLICATE,
    &policer::POLICER,
    &shaper::SHAPER,
    &pattern::SINE,
    &pattern::SAW,
    &pattern::WALK,
    &pattern::SCHEDULE,
    &pattern::MAHIMAHI,
    &radio::WIFI,
    &outage::SUSPEND,
    &jitter::UNIFORM,
    &jitter::NORMAL,
    &jitter::PARETO,
    &jitter::PARETO_NORMAL,
    &jitter::GAMMA,
    &jitter::HISTOGRAM,
    &jitter::HOLD,
    &delay_trace::DELAY_TRACE,
    &ECN_STRIP,
    &ACK_FILTER,
];
