//! Resolving `[host]` and `[quic]`.

use fullpipe_units::Span;

use super::optional;
use crate::enums::Switch;
use crate::error::Error;
use crate::host::{Host, Quic, Wake};
use crate::raw;
use crate::raw_value::RawValue;
use crate::source::Source;
use crate::values::{Delay, Percent, Whole};

/// Reads the costs; returns `None` if everything is done at once.
pub(super) fn host(raw: &raw::Host, source: &Source) -> Result<Option<Host>, Error> {
    let get = |leaf: &RawValue<Delay>, name: &str| {
        leaf.get(source, &format!("host.{name}"))
            .map(|Delay(span)| span)
    };
    let Whole(batch) = raw.batch.get(source, "host.batch")?;
    let Percent(variation) = raw.variation.get(source, "host.variation")?;
    let host = Host {
        send: get(&raw.send, "send")?,
        receive: get(&raw.receive, "receive")?,
        ack: get(&raw.ack, "ack")?,
        call: get(&raw.call, "call")?,
        batch: u32::try_from(batch).expect("its kind allows at most 1000"),
        rate_interval: get(&raw.rate_interval, "rate_interval")?,
        wake: wake(raw, source)?,
        variation,
    };
    Ok((host != Host::default()).then_some(host))
}

pub(super) fn quic(raw: &raw::Quic, source: &Source) -> Result<Quic, Error> {
    let cpu = |leaf: &Option<RawValue<_>>, key: &str| -> Result<_, Error> {
        Ok(optional(leaf, source, key)?.map(|Whole(cpu)| cpu as u32))
    };
    let Switch(busy_poll) = raw.busy_poll.get(source, "quic.busy_poll")?;
    Ok(Quic {
        server_cpu: cpu(&raw.server_cpu, "quic.server_cpu")?,
        client_cpu: cpu(&raw.client_cpu, "quic.client_cpu")?,
        busy_poll,
    })
}

/// Reads the wake-up times: all three or none.
fn wake(raw: &raw::Host, source: &Source) -> Result<Option<Wake>, Error> {
    let named = [
        ("wake_min", &raw.wake_min),
        ("wake_median", &raw.wake_median),
        ("wake_max", &raw.wake_max),
    ];
    if named.iter().all(|(_, leaf)| leaf.is_none()) {
        return Ok(None);
    }
    let mut spans = [Span::ZERO; 3];
    for (span, (name, leaf)) in spans.iter_mut().zip(named) {
        let key = format!("host.{name}");
        let Some(leaf) = leaf else {
            let fix = "give wake_min, wake_median and wake_max, or none of them";
            return Err(source.error(
                &key,
                "",
                "missing: the distribution needs all three wake-up times",
                fix,
            ));
        };
        let Delay(given) = leaf.get(source, &key)?;
        if given == Span::ZERO {
            return Err(source.error(
                &key,
                leaf.show(),
                "must be greater than zero",
                "give at least \"1ns\"",
            ));
        }
        *span = given;
    }
    let [min, median, max] = spans;
    // The median of a bounded Pareto distribution is below the geometric mean of its ends.
    let [low, middle, high] = spans.map(|span| u128::from(span.as_nanos()));
    if !(min == max && median == min || low < middle && middle * middle < low * high) {
        let mean = Span::from_nanos((low * high).isqrt() as u64);
        let shown = raw
            .wake_median
            .as_ref()
            .map(RawValue::show)
            .unwrap_or_default();
        let problem =
            format!("no bounded Pareto distribution from \"{min}\" to \"{max}\" has this median");
        let fix = match low < high {
            true => format!(
                "give more than wake_min and less than the geometric mean of wake_min and wake_max, \"{mean}\""
            ),
            false => "give a wake_max above wake_min, or three equal times".to_owned(),
        };
        return Err(source.error("host.wake_median", shown, problem, fix));
    }
    Ok(Some(Wake { min, median, max }))
}
