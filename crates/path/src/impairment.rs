//! Descriptions of the impairments, from which parser, schema, help and documentation are derived.

use crate::{delay_trace, duplicator, jitter, loss, outage, pattern, policer, radio, shaper};

/// An impairment: a kind of value of a path key, written in words, like `normal 10ms sigma 2ms`.
/// Each impairment has one static.
#[derive(Debug)]
pub struct Impairment {
    /// Name in lists.
    pub name: &'static str,
    /// Keys of a path that accept it.
    pub keys: &'static [&'static str],
    /// Whether its text begins with the name.
    pub named: bool,
    /// Purpose, in one sentence.
    pub purpose: &'static str,
    /// Parts written after the name. An argument without a name precedes the others, which may have
    /// any order.
    pub arguments: &'static [Argument],
    /// An example of its text.
    pub example: &'static str,
    /// Source or specification.
    pub source: &'static str,
}

/// A part of an impairment's text.
#[derive(Debug)]
pub struct Argument {
    /// Name of the argument.
    pub name: &'static str,
    /// Whether the name is written in front of the value.
    pub named: bool,
    /// Kind of value.
    pub unit: Unit,
    /// Value if the argument is left out, as written or in words; `None` for a required argument.
    pub default: Option<&'static str>,
    /// Purpose, in one sentence.
    pub purpose: &'static str,
}

/// Kind of value of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A duration.
    Time,
    /// A size in bytes.
    Size,
    /// A rate.
    Rate,
    /// A percentage, 0% to 100%.
    Share,
    /// A whole number, at least 1.
    Count,
    /// Whole numbers of at least 1, separated by commas, or `file` and the name of a file with
    /// them.
    Counts,
    /// Durations, each with a count, separated by commas, or `file` and the name of a file with
    /// them.
    Bins,
    /// Two rates with `..` between, the lower first.
    Rates,
    /// Times, each with a rate, separated by commas, or `file` and the name of a file with them.
    Schedule,
    /// Times, each with a duration, separated by commas, or `file` and the name of a file with
    /// them.
    Delays,
    /// Ascending whole numbers, separated by commas, or `file` and the name of a file with them.
    Milliseconds,
    /// A time after the start of a trace, or `random`.
    Begin,
    /// The name alone, without a value.
    Flag,
}

impl Unit {
    /// Whether a value may be `file` and the name of a file.
    pub fn takes_file(self) -> bool {
        use Unit::{Bins, Counts, Delays, Milliseconds, Schedule};
        matches!(self, Counts | Bins | Schedule | Delays | Milliseconds)
    }
}

/// Description of a unit.
#[derive(Debug)]
pub struct Described {
    /// Name.
    pub name: &'static str,
    /// Short name.
    pub short: &'static str,
    /// Regular expression of the accepted text.
    pub pattern: String,
}

impl Unit {
    /// Returns the unit's name, short name and pattern.
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
            Unit::Begin => ("place", "place", format!("({TIME}|random)")),
            Unit::Flag => ("keyword without a value", "", String::new()),
        };
        Described {
            name,
            short,
            pattern,
        }
    }

    /// Returns the unit's name.
    pub fn name(self) -> &'static str {
        self.described().name
    }
}

impl Argument {
    /// Declares a required argument without a name, which precedes all others.
    pub(crate) const fn first(name: &'static str, unit: Unit, purpose: &'static str) -> Argument {
        Argument {
            name,
            named: false,
            unit,
            default: None,
            purpose,
        }
    }

    /// Declares a required argument behind its name.
    pub(crate) const fn needed(name: &'static str, unit: Unit, purpose: &'static str) -> Argument {
        Argument {
            name,
            named: true,
            unit,
            default: None,
            purpose,
        }
    }

    /// Declares an optional argument behind its name.
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

    /// Declares where a trace begins.
    pub(crate) const fn begin() -> Argument {
        Argument::optional(
            "from",
            Unit::Begin,
            "0s",
            "The time of the trace at which the run begins, like 10s; \"random\" draws it for each seed, the same for traces \
             of the same length.",
        )
    }

    /// Declares an optional keyword.
    pub(crate) const fn flag(name: &'static str, purpose: &'static str) -> Argument {
        Argument::optional(name, Unit::Flag, "off", purpose)
    }
}

/// ECN stripping, implemented by the engine.
static ECN_STRIP: Impairment = Impairment {
    name: "ecn-strip",
    keys: &["ecn"],
    named: false,
    purpose: "The link clears the ECN field, so that later queues drop packets that they would have marked.",
    arguments: &[Argument::first(
        "strip",
        Unit::Flag,
        "Clears the field; \"keep\" leaves it unchanged (the default).",
    )],
    example: "strip",
    source: "RFC 3168 §18: forbidden to middleboxes",
};

/// ACK filtering, implemented by the engine.
static ACK_FILTER: Impairment = Impairment {
    name: "ack-filter",
    keys: &["ack_filter"],
    named: false,
    purpose: "A new ACK replaces a waiting ACK of its flow that it supersedes, which reduces the number of ACKs.",
    arguments: &[Argument::first(
        "on",
        Unit::Flag,
        "Filters ACKs; \"off\" keeps every ACK (the default).",
    )],
    example: "on",
    source: "RFC 3449 §5.2.1; tc-cake(8), ack-filter",
};

/// All impairments that a path may have.
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
