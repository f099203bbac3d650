//! Resolving `[[flow]]`, and the keys that workloads share with it.

use std::collections::{BTreeMap, BTreeSet};

use fullpipe_units::{ParamValue, Span};

use super::acks::{ack_numbers, check_acks, usual_delayed_ack};
use super::datagram::check_transport;
use super::program::{check_flow, program};
use super::{Ground, optional};
use crate::app::{App, On};
use crate::error::Error;
use crate::model::{
    BOTTLENECK, EcnFeedback, Flow, Pacing, ReceiveWindow, Table, Transport, UNRESPONSIVE, Written,
};
use crate::program::named;
use crate::raw::{self, DELAYED_ACK, INITIAL_WINDOW, MOST_FLOWS};
use crate::raw_value::RawValue;
use crate::source::Source;
use crate::stack::Stack;
use crate::topology;
use crate::values::{Algorithm, Delay, Extra, Mss, Name, Whole};

/// Reads the flows and the programs, names unnamed ones, and expands counts.
pub(super) fn flows(raw: &raw::Scenario, ground: Ground<'_>) -> Result<Vec<Flow>, Error> {
    let mut tables = Vec::with_capacity(raw.flow.len() + raw.program.len());
    let mut total = 0;
    for (i, raw) in raw.flow.iter().enumerate() {
        let (flow, named, count) = flow(raw, i, ground)?;
        total += count;
        if total > MOST_FLOWS {
            let problem = format!("more than {MOST_FLOWS} flows in total");
            return Err(ground.source.error(
                &flow.key("count"),
                count,
                problem,
                "lower the counts",
            ));
        }
        tables.push((flow, named, count));
    }
    for (i, raw) in raw.program.iter().enumerate() {
        let (flow, named) = program(raw, i, ground)?;
        tables.push((flow, named, 1));
    }

    count_out(tables, ground.source)
}

/// Returns `count` flows for each table, each with a unique name.
fn count_out(tables: Vec<(Flow, bool, u64)>, source: &Source) -> Result<Vec<Flow>, Error> {
    // For each algorithm, the number of its unnamed flows, and the number of those that already
    // have a number.
    let mut unnamed: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (flow, _, count) in tables.iter().filter(|(_, named, _)| !named) {
        unnamed.entry(flow.name.clone()).or_default().0 += count;
    }

    let mut names = BTreeSet::new();
    let mut flows = Vec::new();
    for (flow, named, count) in tables {
        for n in 1..=count {
            let (all, number) = match unnamed.get_mut(&flow.name) {
                Some((all, before)) if !named => {
                    *before += 1;
                    (*all, *before)
                }
                _ => (count, n),
            };
            let name = match all {
                1 => flow.name.clone(),
                _ => format!("{}-{number}", flow.name),
            };
            let refuse = |problem: &str, fix| {
                Err(source.error(&flow.key("name"), format_args!("{name:?}"), problem, fix))
            };
            if name.len() > Name::LONGEST {
                let most = Name::LONGEST;
                let problem = format!("the numbered name has more than {most} characters");
                return refuse(&problem, "shorten the name");
            }
            if !names.insert(name.clone()) {
                return refuse("another flow has this name", "give each flow its own name");
            }
            flows.push(Flow {
                name,
                ..flow.clone()
            });
        }
    }
    Ok(flows)
}

/// Reads one `[[flow]]`. Returns the flow, which has the name of its cc if it is unnamed, whether
/// it is named, and its count.
fn flow(raw: &raw::Flow, i: usize, ground: Ground<'_>) -> Result<(Flow, bool, u64), Error> {
    let source = ground.source;
    let table = Table::Flow(i);
    let key = |name: &str| table.key(name);
    let name = optional(&raw.name, source, &key("name"))?;
    let named = name.is_some();
    let app = optional(&raw.app, source, &key("app"))?;
    let usual = match app {
        Some(App::Media(_)) => Transport::Datagram,
        _ => Transport::Tcp,
    };
    let transport = optional(&raw.transport, source, &key("transport"))?.unwrap_or(usual);
    let flow = tcp(&raw.cc, &raw.tcp, table, transport, ground)?;
    let Whole(count) = raw.count.get(source, &key("count"))?;
    let Extra(extra_rtt) = raw.rtt.get(source, &key("rtt"))?;
    let app_rate = optional(&raw.app_rate, source, &key("app_rate"))?;
    let app_schedule = optional(&raw.app_schedule, source, &key("app_schedule"))?
        .unwrap_or_default()
        .until(ground.duration, app_rate)
        .map_err(|refusal| {
            let shown = raw
                .app_schedule
                .as_ref()
                .map_or_else(String::new, RawValue::show);
            source.error(&key("app_schedule"), shown, refusal.problem, refusal.fix)
        })?;
    let flow = Flow {
        name: name.map_or(flow.name, |Name(name)| name),
        start: raw.start.get(source, &key("start"))?,
        app,
        bytes: optional(&raw.bytes, source, &key("bytes"))?,
        app_rate,
        app_schedule,
        extra_rtt,
        group: optional(&raw.group, source, &key("group"))?.map(|Name(group)| group),
        ..flow
    };
    check_flow(&flow, raw, ground)?;
    check_unresponsive(&flow, raw, ground)?;
    check_app(&flow, raw, source)?;
    check_transport(&flow, raw, ground)?;
    if let (Some(App::Request { .. }), Some(app)) = (&flow.app, &raw.app)
        && flow.optimistic_acks != Span::ZERO
    {
        let problem =
            "a client needs its answers, and a receiver with optimistic_acks conceals losses";
        return Err(ground.source.error(
            &flow.key("app"),
            app.show(),
            problem,
            "remove one of the two",
        ));
    }
    Ok((flow, named, count))
}

/// Reads the connection of a flow. Returns the flow with the name of its cc, the default start and
/// no application.
pub(crate) fn tcp(
    cc: &RawValue<Algorithm>,
    raw: &raw::Tcp,
    table: Table,
    transport: Transport,
    ground: Ground<'_>,
) -> Result<Flow, Error> {
    let Ground {
        links,
        stack,
        source,
        ..
    } = ground;
    let key = |name: &str| table.key(name);
    let stack = match transport {
        Transport::Tcp => stack,
        Transport::Datagram => Stack::Rfc,
    };
    let algorithm = cc.get(source, &key("cc"))?;
    let Delay(ack_delay) = raw.ack_delay.get(source, &key("ack_delay"))?;
    let Delay(gro) = raw.gro.get(source, &key("gro"))?;
    let Delay(optimistic_acks) = raw.optimistic_acks.get(source, &key("optimistic_acks"))?;
    let Mss(mss) = raw.mss.get(source, &key("mss"))?;
    let Whole(initial_window) = raw.initial_window.get(source, &key("initial_window"))?;
    let delayed_ack = optional(&raw.delayed_ack, source, &key("delayed_ack"))?;
    let delayed_ack = delayed_ack.map_or(u64::from(usual_delayed_ack(transport)), |Whole(n)| n);
    let Whole(quick_acks) = raw.quick_acks.get(source, &key("quick_acks"))?;
    let ack_number = raw.delayed_ack.is_some()
        || quick_acks != u64::from(raw::QUICK_ACKS)
        || ack_delay != raw::ACK_DELAY;
    let params = |table: &str, raw: &BTreeMap<String, RawValue<ParamValue>>| {
        let value = |(name, leaf): (&String, &RawValue<ParamValue>)| {
            Ok((
                name.clone(),
                leaf.get(source, &key(&format!("{table}.{name}")))?,
            ))
        };
        raw.iter()
            .map(value)
            .collect::<Result<BTreeMap<_, _>, Error>>()
    };
    let receiver =
        optional(&raw.receiver, source, &key("receiver"))?.map(|Name(receiver)| receiver);
    let route = topology::route(&raw.route, &key("route"), links, source)?;
    if route.is_empty() {
        let fix = format!("name at least one link, like [\"{BOTTLENECK}\"]");
        return Err(source.error(&key("route"), "[]", "data packets must cross a link", fix));
    }
    let mut given = params("params", &raw.params)?;
    for (name, value) in &algorithm.params {
        // A resolved scenario has every parameter.
        if given
            .insert(name.clone(), value.clone())
            .is_some_and(|other| other != *value)
        {
            let problem = format!("{name} is given here and in params");
            return Err(source.error(&key("cc"), cc.show(), problem, "remove one of the two"));
        }
    }
    let (program, given) = match named(&algorithm.name, &given) {
        Some((program, params)) => (Some(program), params),
        None => (None, given),
    };
    // The queue of the device paces what the kernel sends.
    let usual_pacing =
        match stack == Stack::LinuxFq && program.is_none() && algorithm.name != UNRESPONSIVE {
            true => Pacing::On,
            false => Pacing::Auto,
        };
    let flow = Flow {
        name: algorithm.short(),
        called: algorithm.written(),
        cc: algorithm.name,
        params: given,
        program,
        transport,
        start: Span::ZERO,
        app: None,
        bytes: None,
        app_rate: None,
        app_schedule: Vec::new(),
        ecn: raw.ecn.get(source, &key("ecn"))?,
        ecn_feedback: raw.ecn_feedback.get(source, &key("ecn_feedback"))?,
        route,
        reverse_route: topology::route(&raw.reverse_route, &key("reverse_route"), links, source)?,
        extra_rtt: Span::ZERO,
        group: None,
        pacing: optional(&raw.pacing, source, &key("pacing"))?.unwrap_or(usual_pacing),
        mss,
        initial_window: u32::try_from(initial_window).expect("its kind allows at most 1000"),
        receiver,
        receiver_params: params("receiver_params", &raw.receiver_params)?,
        receive_window: optional(&raw.receive_window, source, &key("receive_window"))?,
        delayed_ack: u32::try_from(delayed_ack).expect("its kind allows at most 64"),
        quick_acks: u32::try_from(quick_acks).expect("its kind allows at most a million"),
        ack_delay,
        gro,
        optimistic_acks,
        stack: raw.stack.read(stack, ack_number, table, source)?,
        table: Written(table),
    };
    check_receiver(&flow, raw, source)?;
    check_optimistic(&flow, raw, source)?;
    if transport == Transport::Tcp {
        check_acks(&flow, raw, source)?;
    }
    Ok(flow)
}

/// Refuses keys that contradict `app`.
fn check_app(flow: &Flow, raw: &raw::Flow, source: &Source) -> Result<(), Error> {
    let (Some(app), Some(leaf)) = (&flow.app, &raw.app) else {
        return Ok(());
    };
    let given = [
        ("bytes", raw.bytes.as_ref().map(RawValue::show)),
        ("app_rate", raw.app_rate.as_ref().map(RawValue::show)),
        (
            "app_schedule",
            raw.app_schedule.as_ref().map(RawValue::show),
        ),
    ];
    for (name, value) in given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    {
        if name != "app_schedule"
            && matches!(
                app,
                App::OnOff {
                    on: On::Time(_),
                    ..
                }
            )
        {
            continue;
        }
        let problem = format!(
            "app = {} already determines when data are written",
            leaf.show()
        );
        return Err(source.error(&flow.key(name), value, problem, "remove one of the two"));
    }
    Ok(())
}

/// Refuses parameters without a receiver's algorithm, a window below one packet, and a tuned window
/// with an algorithm.
fn check_receiver(flow: &Flow, raw: &raw::Tcp, source: &Source) -> Result<(), Error> {
    let shown = || {
        raw.receive_window
            .as_ref()
            .map_or_else(String::new, RawValue::show)
    };
    match raw.receiver_params.iter().next() {
        Some((name, value)) if flow.receiver.is_none() => {
            let problem = "parameters without a receiver's algorithm";
            let fix = "add receiver = \"rledbat\", or use params with cc = \"rledbat\"";
            Err(source.error(
                &flow.key(&format!("receiver_params.{name}")),
                value.show(),
                problem,
                fix,
            ))
        }
        _ if flow
            .receive_window
            .is_some_and(|window| window.most() < flow.packet()) =>
        {
            let (packet, auto) = (
                flow.packet(),
                matches!(flow.receive_window, Some(ReceiveWindow::Auto { .. })),
            );
            let least = if auto { packet * 2 } else { packet };
            let problem = format!(
                "{}less than one packet of {} bytes",
                if auto {
                    "half of this buffer, the advertised window, is "
                } else {
                    ""
                },
                packet.get()
            );
            let fix = match auto {
                true => format!("give at least \"{least}\", like \"auto max 6MB\""),
                false => format!("give at least \"{least}\""),
            };
            Err(source.error(&flow.key("receive_window"), shown(), problem, fix))
        }
        _ if flow.receiver.is_some()
            && matches!(flow.receive_window, Some(ReceiveWindow::Auto { .. })) =>
        {
            let problem = "the receiver's algorithm already sets the window";
            Err(source.error(
                &flow.key("receive_window"),
                shown(),
                problem,
                "give a size, or remove receiver",
            ))
        }
        _ => Ok(()),
    }
}

/// Refuses keys that have no effect on a receiver that acknowledges whatever arrives.
fn check_optimistic(flow: &Flow, raw: &raw::Tcp, source: &Source) -> Result<(), Error> {
    if flow.optimistic_acks == Span::ZERO {
        return Ok(());
    }
    let given = [
        (flow.gro != Span::ZERO).then(|| ("gro", raw.gro.show())),
        raw.receiver
            .as_ref()
            .map(|receiver| ("receiver", receiver.show())),
        // A written scenario has the default.
        raw.delayed_ack
            .as_ref()
            .filter(|_| flow.delayed_ack != DELAYED_ACK)
            .map(|every| ("delayed_ack", every.show())),
    ];
    let Some((key, value)) = given.into_iter().flatten().next() else {
        return Ok(());
    };
    let problem = "no effect: a receiver with optimistic_acks acknowledges each packet at once";
    Err(source.error(&flow.key(key), value, problem, "remove one of the two"))
}

/// Refuses an unresponsive flow without a rate, or with keys that need a congestion control or
/// ACKs.
fn check_unresponsive(flow: &Flow, raw: &raw::Flow, ground: Ground<'_>) -> Result<(), Error> {
    let source = ground.source;
    if flow.cc != UNRESPONSIVE {
        return Ok(());
    }
    if flow.app_rate.is_none() {
        let problem = "missing: a flow with cc = \"none\" needs a sending rate";
        return Err(source.error(
            &flow.key("app_rate"),
            "",
            problem,
            "add app_rate = \"5mbit\", or give the flow a cc",
        ));
    }
    if let Some(schedule) = &raw.app_schedule
        && flow.app_schedule.iter().any(|(_, rate)| rate.is_none())
    {
        let problem = "a flow with cc = \"none\" can't send without a limit";
        return Err(source.error(
            &flow.key("app_schedule"),
            schedule.show(),
            problem,
            "write a rate instead of unlimited, or give the flow a cc",
        ));
    }
    let Some((key, value)) = without_effect(flow, raw).next() else {
        return Ok(());
    };
    let problem =
        "no effect: a flow with cc = \"none\" has no congestion control and receives no ACKs";
    Err(source.error(
        &flow.key(&key),
        value,
        problem,
        format!("remove {key}, or give the flow a cc"),
    ))
}

/// Returns the given keys that need a congestion control or ACKs, each with its value.
fn without_effect<'a>(
    flow: &Flow,
    raw: &'a raw::Flow,
) -> impl Iterator<Item = (String, String)> + use<'a> {
    let given: [Option<(&'static str, String)>; 11] = [
        (!flow.reverse_route.is_empty()).then(|| ("reverse_route", raw.tcp.reverse_route.show())),
        raw.app.as_ref().map(|app| ("app", app.show())),
        raw.group.as_ref().map(|group| ("group", group.show())),
        (flow.ecn_feedback != EcnFeedback::Accurate)
            .then(|| ("ecn_feedback", raw.tcp.ecn_feedback.show())),
        raw.tcp
            .receiver
            .as_ref()
            .map(|receiver| ("receiver", receiver.show())),
        raw.bytes.as_ref().map(|bytes| ("bytes", bytes.show())),
        raw.tcp
            .receive_window
            .as_ref()
            .map(|window| ("receive_window", window.show())),
        raw.tcp
            .pacing
            .as_ref()
            .filter(|_| flow.pacing != Pacing::Auto)
            .map(|pacing| ("pacing", pacing.show())),
        (flow.initial_window != INITIAL_WINDOW)
            .then(|| ("initial_window", raw.tcp.initial_window.show())),
        (flow.gro != Span::ZERO).then(|| ("gro", raw.tcp.gro.show())),
        (flow.optimistic_acks != Span::ZERO)
            .then(|| ("optimistic_acks", raw.tcp.optimistic_acks.show())),
    ];
    let given = given
        .into_iter()
        .chain(ack_numbers(flow, &raw.tcp))
        .flatten()
        .chain(raw.tcp.stack.altered(&flow.stack))
        .map(|(name, value)| (name.to_owned(), value));
    let params = raw
        .tcp
        .params
        .iter()
        .map(|(name, value)| (format!("params.{name}"), value.show()));
    given.chain(params)
}
