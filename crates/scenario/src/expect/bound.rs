//! Reading the bounds of conditions as numbers.

use fullpipe_units::{Bytes, Rate, Span, UnitError, percent};

use crate::model::Scenario;
use crate::raw_value::Refusal;
use crate::values::is_decimal;
use fullpipe_trace::metrics::Dimension;

/// A number, and the unit to show it in.
type Bound = (f64, &'static str);

/// Reads a bound as a number in the metric's unit. The unit `rtt` stands for the RTT without
/// queueing: that of the flow, including its own delay, or else that of the path. The unit `bdp`
/// stands for the BDP of the path, in packets.
pub(super) fn read(
    text: &str,
    dimension: Dimension,
    flow: Option<usize>,
    scenario: &Scenario,
) -> Result<Bound, Refusal> {
    let refused = |fix: &'static str| move |error: UnitError| Refusal::new(error.problem, fix);
    match dimension {
        Dimension::Rate => text
            .parse()
            .map(|rate: Rate| (rate.as_f64(), "bit/s"))
            .map_err(refused("write it like \"90mbit\"")),
        Dimension::Time => time(text, flow, scenario),
        Dimension::Packets => packets(text, scenario),
        Dimension::Volume => text
            .parse()
            .map(|bytes: Bytes| (bytes.as_f64(), "B"))
            .map_err(refused("write it like \"20MB\"")),
        Dimension::Count | Dimension::Factor => {
            times(text, "").map(|count| (count, "")).ok_or_else(|| {
                let problem = format!("{text:?} is not a number");
                Refusal::new(problem, "write it like \"100\"")
            })
        }
        Dimension::Share | Dimension::Index => share(text),
    }
}

fn time(text: &str, flow: Option<usize>, scenario: &Scenario) -> Result<Bound, Refusal> {
    let rtt = flow
        .and_then(|flow| scenario.flows.get(flow))
        .map_or(scenario.path.rtt, |flow| scenario.rtt(flow));
    match (times(text, "rtt"), text.parse::<Span>()) {
        (Some(factor), _) => Ok((factor * rtt.as_secs_f64(), "s")),
        (None, Ok(span)) => Ok((span.as_secs_f64(), "s")),
        (None, Err(error)) => Err(Refusal::new(
            error.problem,
            "write it like \"20ms\" or \"0.5rtt\"",
        )),
    }
}

fn packets(text: &str, scenario: &Scenario) -> Result<Bound, Refusal> {
    let path = &scenario.path;
    let count = || times(text, "packets").or_else(|| times(text, ""));
    match times(text, "bdp") {
        Some(factor) => {
            let bdp =
                path.link.rate.as_f64() * path.rtt.as_secs_f64() / (8.0 * scenario.packet.as_f64());
            Ok((factor * bdp, "packets"))
        }
        None => count().map(|count| (count, "packets")).ok_or_else(|| {
            Refusal::new(
                format!("{text:?} is not a number of packets"),
                "write it like \"100\" or \"0.5bdp\"",
            )
        }),
    }
}

fn share(text: &str) -> Result<Bound, Refusal> {
    match (times(text, "%"), times(text, "")) {
        (Some(_), _) => {
            let share = percent(text.trim_end_matches('%'));
            Ok((share.unwrap_or(f64::NAN), ""))
        }
        (None, Some(share)) => Ok((share, "")),
        (None, None) => Err(Refusal::new(
            format!("{text:?} is not a share"),
            "write it like \"0.8\" or \"80%\"",
        )),
    }
}

/// Returns the number in front of `unit`, or `None` if `text` is not a number with that unit.
fn times(text: &str, unit: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    let number = lower.strip_suffix(unit)?.trim();
    is_decimal(number).then(|| number.parse().ok()).flatten()
}
