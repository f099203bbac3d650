//! Changes of an application's rate during the run: `"2s 5mbit, 6s pause, 8s unlimited"`.

use fullpipe_units::{Rate, Span};
use schemars::{Schema, json_schema};
use toml::Value as Toml;

use crate::raw_value::{ReadValue, Refusal};
use crate::values::text_of;

/// Times of the run, in order, each with the application's rate from then on; `None` for unlimited.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AppSchedule(pub(crate) Vec<(Span, Option<Rate>)>);

const EXAMPLE: &str = "write it like \"2s 5mbit, 6s pause, 8s unlimited\"";

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
        let changes: Vec<_> = text
            .split(',')
            .map(|text| change(text.trim()))
            .collect::<Result<_, Refusal>>()?;
        if let Some(pair) = changes.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            let problem = format!("{} is not after {}", pair[1].0, pair[0].0);
            return Err(Refusal::new(problem, "write the changes in order of time"));
        }
        Ok(AppSchedule(changes))
    }

    fn write(&self) -> Toml {
        let word = |rate: Option<Rate>| match rate {
            None => "unlimited".to_owned(),
            Some(Rate::ZERO) => "pause".to_owned(),
            Some(rate) => rate.to_string(),
        };
        let changes: Vec<String> = self
            .0
            .iter()
            .map(|(at, rate)| format!("{at} {}", word(*rate)))
            .collect();
        Toml::String(changes.join(", "))
    }

    fn schema() -> Schema {
        let rate = "[0-9.]+ *[kKmMgG]?([bB][iI][tT](/[sS])?|[bB][pP][sS])";
        let change = format!("[0-9.]+(ns|us|µs|ms|s|min) +(pause|unlimited|{rate})");
        json_schema!({
            "title": "times with rates, \"pause\" or \"unlimited\"",
            "type": "string",
            "pattern": format!("^{change}( *, *{change})*$"),
            "examples": ["2s 5mbit, 6s pause, 8s unlimited"],
        })
    }
}
