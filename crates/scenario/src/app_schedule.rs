//! Changes of an application's rate during the run: `"2s 5mbit, 6s pause, 8s unlimited"`, or again
//! and again: `"100ms pause every 1s"`.

use fullpipe_units::{Rate, Span};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::raw_value::{ReadValue, Refusal};
use crate::values::text_of;

/// Times of the run, in order, each with the application's rate from then on; `None` for unlimited.
type Changes = Vec<(Span, Option<Rate>)>;

/// Changes of the rate, and the period after which they begin anew, if any.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AppSchedule {
    changes: Changes,
    every: Option<Span>,
}

const EXAMPLE: &str =
    "write it like \"2s 5mbit, 6s pause, 8s unlimited\" or \"100ms pause every 1s\"";

/// The largest number of changes that a run has.
const MOST: u64 = 1_000_000;

impl AppSchedule {
    /// Returns a schedule without a period.
    pub(crate) fn of(changes: &[(Span, Option<Rate>)]) -> AppSchedule {
        AppSchedule {
            changes: changes.to_vec(),
            every: None,
        }
    }

    /// Returns all changes of a run of this length. Each period begins with the rate `first`.
    pub(crate) fn until(self, duration: Span, first: Option<Rate>) -> Result<Changes, Refusal> {
        let Some(every) = self.every else {
            return Ok(self.changes);
        };
        let periods = duration.as_nanos().div_ceil(every.as_nanos());
        if periods.saturating_mul(self.changes.len() as u64 + 1) > MOST {
            let problem = format!("the run would have more than {MOST} changes");
            return Err(Refusal::new(problem, "write a longer period"));
        }
        let starts_anew = self
            .changes
            .first()
            .is_some_and(|(at, _)| *at == Span::ZERO);
        let period = |number: u64| {
            let from = every * number;
            let begin = (number > 0 && !starts_anew).then_some((from, first));
            let changes = self
                .changes
                .iter()
                .map(move |(at, rate)| (from + *at, *rate));
            begin.into_iter().chain(changes)
        };
        let all = (0..periods).flat_map(period);
        Ok(all.take_while(|(at, _)| *at < duration).collect())
    }
}

/// Reads one change: `6s pause`.
fn change(text: &str) -> Result<(Span, Option<Rate>), Refusal> {
    let refuse = |problem: String| Err(Refusal::new(problem, EXAMPLE));
    let Some((time, rate)) = text.split_once(char::is_whitespace) else {
        return refuse(format!("\"{text}\" is not a time followed by a rate"));
    };
    let at = Span::read(&Toml::String(time.to_owned()))?;
    match rate.trim() {
        "pause" => Ok((at, Some(Rate::ZERO))),
        "unlimited" => Ok((at, None)),
        rate if rate.starts_with(|first: char| first.is_ascii_digit()) => {
            Ok((at, Some(Rate::read(&Toml::String(rate.to_owned()))?)))
        }
        word => refuse(format!(
            "\"{word}\" is neither a rate nor \"pause\" or \"unlimited\""
        )),
    }
}

impl ReadValue for AppSchedule {
    fn read(value: &Toml) -> Result<AppSchedule, Refusal> {
        let text = text_of(value);
        let (text, every) = match text.split_once(" every ") {
            Some((text, every)) => {
                let every = Span::read(&Toml::String(every.trim().to_owned()))?;
                (text.to_owned(), Some(every))
            }
            None => (text, None),
        };
        let changes: Changes = text
            .split(',')
            .map(|text| change(text.trim()))
            .collect::<Result<_, Refusal>>()?;
        if let Some(pair) = changes.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            let problem = format!("{} is not after {}", pair[1].0, pair[0].0);
            return Err(Refusal::new(problem, "write the changes in order of time"));
        }
        if let (Some((last, _)), Some(every)) = (changes.last(), every)
            && *last >= every
        {
            let problem = format!("{last} is not within the period of {every}");
            return Err(Refusal::new(problem, "write a longer period"));
        }
        Ok(AppSchedule { changes, every })
    }

    fn write(&self) -> Toml {
        let word = |rate: Option<Rate>| match rate {
            None => "unlimited".to_owned(),
            Some(Rate::ZERO) => "pause".to_owned(),
            Some(rate) => rate.to_string(),
        };
        let changes: Vec<String> = self
            .changes
            .iter()
            .map(|(at, rate)| format!("{at} {}", word(*rate)))
            .collect();
        let every = self
            .every
            .map_or_else(String::new, |every| format!(" every {every}"));
        Toml::String(format!("{}{every}", changes.join(", ")))
    }

    fn schema() -> Schema {
        let rate = "[0-9.]+ *[kKmMgG]?([bB][iI][tT](/[sS])?|[bB][pP][sS])";
        let change = format!("[0-9.]+(ns|us|µs|ms|s|min) +(pause|unlimited|{rate})");
        json_schema!({
            "title": "times with rates, \"pause\" or \"unlimited\"",
            "type": "string",
            "pattern": format!("^{change}( *, *{change})*( every +[0-9.]+(ns|us|µs|ms|s|min))?$"),
            "examples": ["2s 5mbit, 6s pause, 8s unlimited", "100ms pause every 1s"],
        })
    }
}
