//! Values over time: `rate_pattern = "sine 20mbit..100mbit every 10s"`,
//! `"walk 20mbit..100mbit step 200ms"`, `"mahimahi file cellular.trace"`;
//! `delay_trace = "file delays.csv every 60s"`.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use fullpipe_path::{Begin, DelayTrace, RatePattern};
use fullpipe_units::{Rate, Span};
use schemars::Schema;
use toml::Value as Toml;

use super::OFF;
use super::file::{self, Lines};
use super::words::{Part, Words, schema, toml};
use crate::raw_value::{ReadValue, Refusal};
use crate::values::text_of;

const KEY: &str = "rate_pattern";

/// Shortest period, and shortest step of a walk: rates of real links do not change faster, and each
/// change costs run time.
const SHORTEST: Span = Span::from_millis(1);

/// Length of the longest trace, in milliseconds: that of the longest run.
const LONGEST: u32 = 1_000_000_000;

impl ReadValue for RatePattern {
    fn read(value: &Toml) -> Result<RatePattern, Refusal> {
        RatePattern::read_in(value, Path::new(""))
    }

    fn read_in(value: &Toml, folder: &Path) -> Result<RatePattern, Refusal> {
        let words = Words::read(KEY, &text_of(value), folder)?;
        let range = || words.get("rates").map(|Range(low, high)| (low, high));
        Ok(match words.name() {
            "sine" => {
                let (low, high) = range()?;
                RatePattern::Sine(low, high, period(&words, "every")?)
            }
            "saw" => {
                let (low, high) = range()?;
                RatePattern::Saw(low, high, period(&words, "every")?)
            }
            "walk" => {
                let (low, high) = range()?;
                RatePattern::Walk(low, high, period(&words, "step")?)
            }
            "schedule" => words
                .get("rates")
                .map(|Steps(steps)| RatePattern::Schedule(steps))?,
            _ => {
                let Milliseconds(times) = words.get("trace")?;
                let length = Span::from_millis(times.last().copied().unwrap_or_default().into());
                let begin = begin(&words, Some(length))?;
                match begin {
                    Begin::At(at) if at.as_nanos() % 1_000_000 > 0 => {
                        let problem = format!("{FROM}: {at} is no whole number of milliseconds");
                        let fix = "give a whole number of milliseconds, as the trace has them";
                        return Err(Refusal::new(problem, fix));
                    }
                    _ => RatePattern::Mahimahi(times.into(), begin),
                }
            }
        })
    }

    /// The contents of a file are written out, so that a saved scenario does not depend on the
    /// file.
    fn write(&self) -> Toml {
        Toml::String(match self {
            RatePattern::Sine(low, high, every) => format!("sine {low}..{high} every {every}"),
            RatePattern::Saw(low, high, every) => format!("saw {low}..{high} every {every}"),
            RatePattern::Walk(low, high, step) => format!("walk {low}..{high} step {step}"),
            RatePattern::Schedule(steps) => {
                format!("schedule {}", written(steps))
            }
            RatePattern::Mahimahi(times, begin) => {
                let times: Vec<String> = times.iter().map(u32::to_string).collect();
                format!("mahimahi {}{}", times.join(", "), begun(*begin))
            }
        })
    }

    fn schema() -> Schema {
        schema(KEY, false)
    }
}

/// The argument of a trace that says where it begins.
const FROM: &str = "from";

impl Part for Begin {
    fn read(text: &str) -> Result<Begin, Refusal> {
        if text == "random" {
            return Ok(Begin::Random);
        }
        match ReadValue::read(&toml(text)) {
            Ok(at) => Ok(Begin::At(at)),
            Err(Refusal { problem, .. }) => Err(Refusal::new(
                problem,
                "give a time like \"10s\", or \"random\"",
            )),
        }
    }
}

/// Returns where a trace begins, which ends after `length` or stays at its last value.
fn begin(words: &Words<'_>, length: Option<Span>) -> Result<Begin, Refusal> {
    let begin = words.optional(FROM)?.unwrap_or(Begin::At(Span::ZERO));
    match (begin, length) {
        (Begin::At(at), Some(length)) if at >= length => {
            let problem = format!("{FROM}: {at} is not within the trace, which lasts {length}");
            Err(Refusal::new(
                problem,
                format!("give less than \"{length}\", or \"random\""),
            ))
        }
        (Begin::Random, None) => {
            let problem = format!("{FROM}: a trace that does not repeat has no random place");
            let fix = "add the period after which it repeats, like \"every 60s\"";
            Err(Refusal::new(problem, fix))
        }
        _ => Ok(begin),
    }
}

/// Writes where a trace begins in the form in which it is read.
fn begun(begin: Begin) -> String {
    match begin {
        Begin::At(Span::ZERO) => String::new(),
        Begin::At(at) => format!(" {FROM} {at}"),
        Begin::Random => format!(" {FROM} random"),
    }
}

fn period(words: &Words<'_>, name: &str) -> Result<Span, Refusal> {
    let span: Span = words.get(name)?;
    if span < SHORTEST {
        return Err(Refusal::new(
            format!("{name}: shorter than {SHORTEST}"),
            format!("give at least \"{SHORTEST}\""),
        ));
    }
    Ok(span)
}

/// A range of rates: `20mbit..100mbit`.
struct Range(Rate, Rate);

impl Part for Range {
    fn read(text: &str) -> Result<Range, Refusal> {
        let Some((low, high)) = text.split_once("..") else {
            let problem = format!("\"{text}\" is not a range of rates");
            return Err(Refusal::new(
                problem,
                "write the lowest and the highest rate, like \"20mbit..100mbit\"",
            ));
        };
        let (low, high) = (
            <Rate as ReadValue>::read(&toml(low))?,
            <Rate as ReadValue>::read(&toml(high))?,
        );
        if low >= high {
            let problem = format!("\"{low}\" is not below \"{high}\"");
            return Err(Refusal::new(
                problem,
                "write the lower rate first; without a pattern the rate is constant",
            ));
        }
        Ok(Range(low, high))
    }
}

/// A quantity with a value from each of several times on.
trait Step: ReadValue + Display {
    const NAME: &'static str;
    const FIRST: &'static str;
    const LATER: &'static str;

    fn value(text: &str) -> Result<Self, Refusal> {
        ReadValue::read(&toml(text))
    }
}

impl Step for Rate {
    const NAME: &'static str = "rate";
    const FIRST: &'static str = "0s, 20mbit";
    const LATER: &'static str = "5s 50mbit";
}

impl Step for Span {
    const NAME: &'static str = "delay";
    const FIRST: &'static str = "0s, 20ms";
    const LATER: &'static str = "5s 50ms";

    fn value(text: &str) -> Result<Span, Refusal> {
        Part::read(text)
    }
}

/// Times, in order and starting at zero, each with the value from then on.
struct Steps<T>(Arc<[(Span, T)]>);

impl<T: Step> Part for Steps<T> {
    fn read(text: &str) -> Result<Steps<T>, Refusal> {
        let mut last = None;
        text.split(',')
            .map(|step| one_step(step, &mut last))
            .collect::<Result<_, _>>()
            .map(Steps)
    }

    /// Reads a file with one step per line.
    fn read_in(text: &str, folder: &Path) -> Result<Steps<T>, Refusal> {
        let Some(lines) = Lines::named(text, folder)? else {
            return Steps::read(text);
        };
        let mut last = None;
        let steps = lines.read(|line| one_step(line, &mut last))?;
        if steps.is_empty() {
            let fix = format!(
                "give a time and a {} per line, like \"{}\"",
                T::NAME,
                T::FIRST
            );
            return Err(Refusal::new("the schedule is empty", fix));
        }
        Ok(Steps(steps.into()))
    }
}

/// Reads one step, `5s 50mbit` or `5s, 50mbit`, which must be after `last`.
fn one_step<T: Step>(text: &str, last: &mut Option<Span>) -> Result<(Span, T), Refusal> {
    let text = text.trim();
    let Some((at, value)) = text
        .split_once(',')
        .or_else(|| text.split_once(char::is_whitespace))
    else {
        let problem = format!("\"{text}\" is not a time followed by a {}", T::NAME);
        let fix = match file::meant(text) {
            Some(name) => format!("name a file by \"file {name}\""),
            None => format!("write both with their units, like \"{}\"", T::LATER),
        };
        return Err(Refusal::new(problem, fix));
    };
    let at = <Span as ReadValue>::read(&toml(at))?;
    let value = T::value(value)?;
    match *last {
        None if at > Span::ZERO => {
            let name = T::NAME;
            let problem = format!("the first time is {at}, so the {name} before it is missing");
            Err(Refusal::new(problem, format!("begin with \"0s {value}\"")))
        }
        Some(before) if at <= before => Err(Refusal::new(
            format!("{at} is not after {before}"),
            "write the times in order, each once",
        )),
        _ => {
            *last = Some(at);
            Ok((at, value))
        }
    }
}

/// Writes steps in the form in which they are read.
fn written<T: Display>(steps: &[(Span, T)]) -> String {
    let steps: Vec<String> = steps
        .iter()
        .map(|(at, value)| format!("{at} {value}"))
        .collect();
    steps.join(", ")
}

const TRACE: &str = "delay_trace";

/// A duration of up to the longest run.
struct Long(Span);

impl Part for Long {
    fn read(text: &str) -> Result<Long, Refusal> {
        ReadValue::read(&toml(text)).map(Long)
    }
}

impl ReadValue for Option<DelayTrace> {
    fn read(value: &Toml) -> Result<Option<DelayTrace>, Refusal> {
        ReadValue::read_in(value, Path::new(""))
    }

    fn read_in(value: &Toml, folder: &Path) -> Result<Option<DelayTrace>, Refusal> {
        let text = text_of(value);
        if text == OFF {
            return Ok(None);
        }
        let words = Words::read(TRACE, &text, folder)?;
        let Steps(steps) = words.get("delays")?;
        let every = words.optional("every")?.map(|Long(every)| every);
        let (last, _) = steps[steps.len() - 1];
        match every {
            Some(every) if every <= last => {
                let problem = format!("every: must be longer than the trace's last time, {last}");
                let fix = "give a longer time, or omit it to keep the last delay";
                Err(Refusal::new(problem, fix))
            }
            _ => {
                let begin = begin(&words, every)?;
                Ok(Some(DelayTrace {
                    steps,
                    every,
                    begin,
                }))
            }
        }
    }

    /// The contents of a file are written out, as with a rate pattern.
    fn write(&self) -> Toml {
        Toml::String(match self {
            None => OFF.to_owned(),
            Some(DelayTrace {
                steps,
                every,
                begin,
            }) => {
                let every = every.map_or(String::new(), |every| format!(" every {every}"));
                format!("{}{every}{}", written(steps), begun(*begin))
            }
        })
    }

    fn schema() -> Schema {
        schema(TRACE, true)
    }
}

/// A trace in mahimahi's format: whole milliseconds in order, one for each delivery opportunity.
struct Milliseconds(Vec<u32>);

impl Part for Milliseconds {
    fn read(text: &str) -> Result<Milliseconds, Refusal> {
        let mut last = 0;
        let times = text
            .split(',')
            .map(|time| one_time(time, &mut last))
            .collect::<Result<Vec<_>, _>>()?;
        Milliseconds::new(times)
    }

    /// Reads a file with one time per line.
    fn read_in(text: &str, folder: &Path) -> Result<Milliseconds, Refusal> {
        let Some(lines) = Lines::named(text, folder)? else {
            return Milliseconds::read(text);
        };
        let mut last = 0;
        Milliseconds::new(lines.read(|line| one_time(line, &mut last))?)
    }
}

impl Milliseconds {
    fn new(times: Vec<u32>) -> Result<Milliseconds, Refusal> {
        match times.last() {
            None => Err(Refusal::new(
                "the trace has no delivery opportunities",
                "give one opportunity per line, in milliseconds, like \"12\"",
            )),
            Some(0) => Err(Refusal::new(
                "all delivery opportunities are at 0, so the trace has no length",
                "give times up to the end of the trace, in milliseconds",
            )),
            Some(_) => Ok(Milliseconds(times)),
        }
    }
}

fn one_time(text: &str, last: &mut u32) -> Result<u32, Refusal> {
    let text = text.trim();
    // Any other text may be very long, so errors show only its beginning.
    let shown: String = text.chars().take(40).collect();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        _ if !digits => {
            let problem = format!("\"{shown}\" is not a whole number of milliseconds");
            Err(Refusal::new(
                problem,
                "write the time of each delivery opportunity, like \"12\", or a file, like \"mahimahi file cellular.trace\"",
            ))
        }
        Ok(time) if time <= LONGEST && time >= *last => {
            *last = time;
            Ok(time)
        }
        Ok(time) if time <= LONGEST => Err(Refusal::new(
            format!("{time} follows the later time {last}"),
            "write the delivery opportunities in order of time",
        )),
        _ => {
            let fix = format!("give at most {LONGEST}, in milliseconds from the trace's start");
            Err(Refusal::new(
                format!("{shown} ms is longer than any run"),
                fix,
            ))
        }
    }
}
