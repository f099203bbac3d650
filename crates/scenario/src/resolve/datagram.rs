//! Checks of a flow's transport: keys that make no sense for datagrams.

use super::Ground;
use crate::app::{App, On};
use crate::error::Error;
use crate::model::{EcnFeedback, Flow, Scenario, UNRESPONSIVE};
use crate::raw;
use crate::raw::QUICK_ACKS;
use crate::raw_value::RawValue;
use fullpipe_units::Span;

/// Refuses a media source over TCP, and keys that make no sense for a datagram flow.
pub(super) fn check_transport(
    flow: &Flow,
    raw: &raw::Flow,
    ground: Ground<'_>,
) -> Result<(), Error> {
    let source = ground.source;
    let written = || {
        raw.transport
            .as_ref()
            .map_or_else(String::new, RawValue::show)
    };
    if !flow.is_datagram() {
        return match flow.app {
            Some(App::Media(_)) => Err(source.error(
                &flow.key("transport"),
                written(),
                "a media source sends datagrams: a frame can't wait for retransmissions",
                "remove transport, or use an application like \"on 2s off 1s\"",
            )),
            _ => Ok(()),
        };
    }
    if flow.cc == UNRESPONSIVE {
        let problem = "a flow with cc = \"none\" has no congestion control and receives no reports";
        let fix = "remove transport, or give the flow a cc";
        return Err(source.error(&flow.key("transport"), written(), problem, fix));
    }
    let Some((key, value, problem)) = senseless(flow, raw) else {
        return Ok(());
    };
    let fix = format!("remove {key}, or set transport = \"tcp\"");
    Err(source.error(&flow.key(&key), value, problem, fix))
}

/// Returns a given key that makes no sense for a datagram flow, with its value and the problem.
fn senseless(flow: &Flow, raw: &raw::Flow) -> Option<(String, String, String)> {
    const ENDS: &str = "a datagram flow does not end: data that was lost is not sent again";
    const WAITS: &str =
        "this application waits until data has arrived, and lost datagrams never arrive";
    const WINDOW: &str = "no effect: a receiver of datagrams advertises no window";
    let waits = matches!(
        flow.app,
        Some(
            App::Request { .. }
                | App::OnOff {
                    on: On::Size(_),
                    ..
                }
        )
    );
    let bytes = raw.bytes.as_ref().map(RawValue::show);
    let window = raw.tcp.receive_window.as_ref().map(RawValue::show);
    let receiver = raw.tcp.receiver.as_ref().map(RawValue::show);
    let app = raw.app.as_ref().filter(|_| waits).map(RawValue::show);
    let feedback =
        (flow.ecn_feedback != EcnFeedback::Accurate).then(|| raw.tcp.ecn_feedback.show());
    let quick = (flow.quick_acks != QUICK_ACKS).then(|| raw.tcp.quick_acks.show());
    let gro = (flow.gro != Span::ZERO).then(|| raw.tcp.gro.show());
    let optimistic = (flow.optimistic_acks != Span::ZERO).then(|| raw.tcp.optimistic_acks.show());
    let given = [
        ("bytes", bytes, ENDS),
        ("app", app, WAITS),
        ("receive_window", window, WINDOW),
        ("receiver", receiver, WINDOW),
        (
            "ecn_feedback",
            feedback,
            "no effect: the reports of a datagram flow have the mark of each packet",
        ),
        (
            "quick_acks",
            quick,
            "no effect: a receiver of datagrams has no quick ACKs",
        ),
        ("gro", gro, "no effect: datagrams are not merged"),
        (
            "optimistic_acks",
            optimistic,
            "no effect: datagrams are not acknowledged",
        ),
    ];
    let first = given
        .into_iter()
        .find_map(|(key, value, problem)| Some((key.to_owned(), value?, problem.to_owned())));
    first.or_else(|| {
        let (key, value) = raw.tcp.stack.altered(&flow.stack).pop()?;
        let problem = "no effect: a datagram flow has no part of an operating system's TCP";
        Some((key.to_owned(), value, problem.to_owned()))
    })
}

/// Refuses a datagram flow on hosts with costs.
pub(super) fn check_host(scenario: &Scenario) -> Result<(), Error> {
    let flow = scenario.flows.iter().find(|flow| flow.is_datagram());
    match (&scenario.host, flow) {
        (Some(_), Some(flow)) => Err(scenario.error(
            &flow.key("transport"),
            "\"datagram\"",
            "the model of hosts, [host], has no datagram flows",
            "remove [host], or use a flow over TCP",
        )),
        _ => Ok(()),
    }
}
