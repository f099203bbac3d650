//! `rate_pattern = "sine 20mbit..100mbit every 10s"`, `"walk 20mbit..100mbit step 200ms"`,
//! `"mahimahi file cellular.trace"`.

use std::path::Path;

use fullpipe_path::RatePattern;
use fullpipe_units::{Rate, Span};
use schemars::Schema;
use toml::Value as Toml;

use super::file::Lines;
use super::words::{Part, Words, schema, toml};
use crate::raw_value::{ReadValue, Refusal};
use crate::values::text_of;

const KEY: &str = "rate_pattern";

/// The shortest period, and the shortest step of a walk: no link's rate is meant to change faster,
/// and a run takes time for each change.
const SHORTEST: Span = Span::from_millis(1);

/// The longest trace, in milliseconds: as long as the longest run.
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
                .map(|Steps(steps)| RatePattern::Schedule(steps.into()))?,
            _ => words
                .get("trace")
                .map(|Milliseconds(times)| RatePattern::Mahimahi(times.into()))?,
        })
    }

    /// What a file holds is written out, so that a scenario that is kept does not depend on it.
    fn write(&self) -> Toml {
        Toml::String(match self {
            RatePattern::Sine(low, high, every) => format!("sine {low}..{high} every {every}"),
            RatePattern::Saw(low, high, every) => format!("saw {low}..{high} every {every}"),
            RatePattern::Walk(low, high, step) => format!("walk {low}..{high} step {step}"),
            RatePattern::Schedule(steps) => {
                let steps: Vec<String> = steps
                    .iter()
                    .map(|(at, rate)| format!("{at} {rate}"))
                    .collect();
                format!("schedule {}", steps.join(", "))
            }
            RatePattern::Mahimahi(times) => {
                let times: Vec<String> = times.iter().map(u32::to_string).collect();
                format!("mahimahi {}", times.join(", "))
            }
        })
    }

    fn schema() -> Schema {
        schema(KEY, false)
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

/// `20mbit..100mbit`.
struct Range(Rate, Rate);

impl Part for Range {
    fn read(text: &str) -> Result<Range, Refusal> {
        let Some((low, high)) = text.split_once("..") else {
            let problem = format!("\"{text}\" is not a range of rates");
            return Err(Refusal::new(
                problem,
                "write the lowest and the highest, like \"20mbit..100mbit\"",
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

/// Times with rates, in order, the first at zero.
struct Steps(Vec<(Span, Rate)>);

impl Part for Steps {
    fn read(text: &str) -> Result<Steps, Refusal> {
        let mut last = None;
        let steps = text
            .split(',')
            .map(|step| one_step(step, &mut last))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Steps(steps))
    }

    /// A step a line.
    fn read_in(text: &str, folder: &Path) -> Result<Steps, Refusal> {
        let Some(lines) = Lines::named(text, folder)? else {
            return Steps::read(text);
        };
        let mut last = None;
        let steps = lines.read(|line| one_step(line, &mut last))?;
        if steps.is_empty() {
            return Err(Refusal::new(
                "an empty schedule",
                "give a time and a rate a line, like \"0s, 20mbit\"",
            ));
        }
        Ok(Steps(steps))
    }
}

/// `5s 50mbit` or `5s, 50mbit`, after `last`.
fn one_step(text: &str, last: &mut Option<Span>) -> Result<(Span, Rate), Refusal> {
    let text = text.trim();
    let Some((at, rate)) = text
        .split_once(',')
        .or_else(|| text.split_once(char::is_whitespace))
    else {
        let problem = format!("\"{text}\" is not a time and a rate");
        return Err(Refusal::new(
            problem,
            "write both with their units, like \"5s 50mbit\"",
        ));
    };
    let at = <Span as ReadValue>::read(&toml(at))?;
    let rate = <Rate as ReadValue>::read(&toml(rate))?;
    match *last {
        None if at > Span::ZERO => {
            let problem =
                format!("the first time is {at}, and nothing says what the rate is before");
            Err(Refusal::new(problem, format!("begin with \"0s {rate}\"")))
        }
        Some(before) if at <= before => Err(Refusal::new(
            format!("{at} does not come after {before}"),
            "write the times in order, each once",
        )),
        _ => {
            *last = Some(at);
            Ok((at, rate))
        }
    }
}

/// A trace of mahimahi: whole milliseconds in order, one for each opportunity.
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

    /// One a line.
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
                "a trace without opportunities",
                "give one a line, in milliseconds, like \"12\"",
            )),
            Some(0) => Err(Refusal::new(
                "all opportunities are at 0, so that the trace lasts for no time",
                "give times up to the end of the trace, in milliseconds",
            )),
            Some(_) => Ok(Milliseconds(times)),
        }
    }
}

fn one_time(text: &str, last: &mut u32) -> Result<u32, Refusal> {
    let text = text.trim();
    // A trace has one number a line, so whatever else stands there is shown, but not a megabyte of
    // it.
    let shown: String = text.chars().take(40).collect();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        _ if !digits => {
            let problem = format!("\"{shown}\" is not a whole number of milliseconds");
            Err(Refusal::new(
                problem,
                "write when each opportunity comes, like \"12\"; a file is \"mahimahi file cellular.trace\"",
            ))
        }
        Ok(time) if time <= LONGEST && time >= *last => {
            *last = time;
            Ok(time)
        }
        Ok(time) if time <= LONGEST => Err(Refusal::new(
            format!("{time} comes after {last}"),
            "write the opportunities in order of time",
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
