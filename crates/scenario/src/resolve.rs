//! From keys to meaning: reads every value, then refuses what contradicts.

use std::collections::{BTreeMap, BTreeSet};

use path::{Config, Limit, RatePattern};
use units::{Bytes, Span};

use crate::app::{App, On};
use crate::buffer::Buffer;
use crate::choices::Switch;
use crate::error::Error;
use crate::expect::Conditions;
use crate::impairment::InOrder;
use crate::kinds::{Algorithm, Delay, Extra, Name, Percent, Whole};
use crate::leaf::{Kind, Leaf};
use crate::model::{
    BOTTLENECK, Change, EcnFeedback, Flow, Host, Link, PACKET, Pacing, Path, Quic, ReceiveWindow, Scenario, Table,
    UNRESPONSIVE, Value, Wake, Written,
};
use crate::profile::Applied;
use crate::queue;
use crate::raw::{self, ACK_DELAY, DELAYED_ACK, MOST_FLOWS, QUICK_ACKS};
use crate::source::{Source, join};
use crate::topology;
use crate::workload::{Library, check_loads, workloads};

/// More than this no queue can be meant to hold.
const LARGEST_BUFFER: Bytes = Bytes::new(1_000_000_000_000_000);

pub(crate) fn resolve(
    raw: &raw::Scenario,
    source: Source,
    title: Option<String>,
    profile: Option<Applied>,
    library: &dyn Library,
) -> Result<Scenario, Error> {
    let Whole(seed) = raw.seed.get(&source, "seed")?;
    let Delay(send_jitter) = raw.send_jitter.get(&source, "send_jitter")?;
    let path = path(&raw.path, &source)?;
    let more_links = topology::links(&raw.link, &path, &source)?;
    let names: Vec<&str> = std::iter::once(&path.link).chain(&more_links).map(|link| link.name.as_str()).collect();
    let flows = flows(&raw.flow, &names, &source)?;
    let workloads = workloads(&raw.workload, &flows, &names, &source, library)?;
    let all = || flows.iter().chain(workloads.iter().map(|workload| &workload.flow));
    topology::check_used(std::iter::once(&path.link).chain(&more_links), all(), &source)?;
    let mut scenario = Scenario {
        title,
        profile,
        duration: raw.duration.get(&source, "duration")?,
        measure_from: raw.measure_from.get(&source, "measure_from")?,
        seed,
        start_jitter: raw.start_jitter.get(&source, "start_jitter")?,
        send_jitter,
        expect: optional(&raw.expect, &source, "expect")?.map_or_else(Vec::new, |Conditions(texts)| texts),
        path,
        more_links,
        host: raw.host.as_ref().map(|raw| host(raw, &source)).transpose()?,
        quic: raw.quic.as_ref().map(|raw| quic(raw, &source)).transpose()?.unwrap_or_default(),
        flows,
        workloads,
        written: Written(source),
    };
    check_times(&scenario, raw)?;
    check_loads(&mut scenario, &raw.workload)?;
    Ok(scenario)
}

fn check_times(scenario: &Scenario, raw: &raw::Scenario) -> Result<(), Error> {
    let Scenario { duration, measure_from, start_jitter, .. } = *scenario;
    let refuse =
        |key: &str, leaf: &Leaf<Span>, problem: &str, fix: String| Err(scenario.error(key, leaf.show(), problem, fix));
    if duration == Span::ZERO {
        let fix = "give more, like \"60s\"".to_owned();
        return refuse("duration", &raw.duration, "a run of no time shows nothing", fix);
    }
    let before_end = format!("give less than the duration, \"{duration}\", or a longer duration");
    if measure_from >= duration {
        return refuse("measure_from", &raw.measure_from, "nothing is left to measure", before_end);
    }
    for change in &scenario.path.changes {
        let at = &raw.path.change[change.table.0].at;
        let key = format!("path.change.{}.at", change.table.0);
        if change.at == Span::ZERO {
            let fix = "put it into [path] itself, or give a later time".to_owned();
            return refuse(&key, at, "a change at the start is none", fix);
        }
        if change.at >= duration {
            return refuse(&key, at, "the run is over before the path changes", before_end);
        }
    }
    for workload in &scenario.workloads {
        let (start, Table::Workload(i)) = (workload.flow.start, workload.flow.table.0) else { continue };
        if start >= duration {
            let written = &raw.workload[i].start;
            return refuse(&workload.key("start"), written, "the run is over before a flow arrives", before_end);
        }
    }
    for flow in &scenario.flows {
        let Table::Flow(i) = flow.table.0 else { continue };
        if flow.start >= duration {
            let start = &raw.flow[i].start;
            return refuse(&flow.key("start"), start, "the run is over before the flow starts", before_end);
        }
        if let Some((at, _)) = flow.app_schedule.last().filter(|(at, _)| *at >= duration) {
            let problem = format!("the run is over before {at}");
            let written = raw.flow[i].app_schedule.as_ref().map_or_else(String::new, Leaf::show);
            return Err(scenario.error(&flow.key("app_schedule"), written, problem, before_end));
        }
        if flow.start + start_jitter > duration {
            let problem = format!("flow {} may start after the end of the run", flow.name);
            let fix = format!("give at most \"{}\", or a longer duration", duration - flow.start);
            return refuse("start_jitter", &raw.start_jitter, &problem, fix);
        }
    }
    Ok(())
}

fn path(raw: &raw::Path, source: &Source) -> Result<Path, Error> {
    let Delay(rtt) = raw.rtt.get(source, "path.rtt")?;
    let Percent(duplicate) = raw.duplicate.get(source, "path.duplicate")?;
    let Percent(reverse_duplicate) = raw.reverse_duplicate.get(source, "path.reverse_duplicate")?;
    let InOrder(reverse_jitter) = raw.reverse_jitter.get(source, "path.reverse_jitter")?;
    let path = Path {
        loopback: optional(&raw.kind, source, "path.kind")?.is_some(),
        link: link(&raw.link, "path", rtt, source)?,
        rtt,
        reverse_loss: raw.reverse_loss.get(source, "path.reverse_loss")?,
        duplicate,
        reverse_duplicate,
        wifi: raw.wifi.get(source, "path.wifi")?,
        suspend: raw.suspend.get(source, "path.suspend")?,
        jitter: raw.jitter.get(source, "path.jitter")?,
        reverse_jitter,
        changes: changes(&raw.change, source)?,
    };
    check_radio(&path, raw, source)?;
    for Change { rate, buffer, table: Written(i), .. } in &path.changes {
        if rate.is_some() && path.link.rate_pattern.is_some() {
            let shown = raw.change[*i].rate.as_ref().map_or_else(String::new, Leaf::show);
            let problem = "path.rate_pattern says what the rate is at any time";
            let fix = "keep one of the two; \"schedule 0s 20mbit, 5s 50mbit\" is a pattern, too";
            return Err(source.error(&format!("path.change.{i}.rate"), shown, problem, fix));
        }
        if let Some(buffer) = buffer {
            let limit = path.link.limit(*buffer, rtt);
            check_buffer(limit, raw.change[*i].buffer.as_ref(), &format!("path.change.{i}.buffer"), source)?;
        }
    }
    Ok(path)
}

/// Refuses a radio at a trace, which says itself when packets leave.
fn check_radio(path: &Path, raw: &raw::Path, source: &Source) -> Result<(), Error> {
    if !matches!(path.link.rate_pattern, Some(RatePattern::Mahimahi(_))) {
        return Ok(());
    }
    let is_there = |change: &Change| change.wifi.flatten().is_some() || change.suspend.flatten().is_some();
    let given = match path.changes.iter().find(|change| is_there(change)) {
        _ if path.wifi.is_some() => ("path.wifi".to_owned(), raw.wifi.show()),
        _ if path.suspend.is_some() => ("path.suspend".to_owned(), raw.suspend.show()),
        Some(Change { table: Written(i), .. }) => (format!("path.change.{i}"), String::new()),
        None => return Ok(()),
    };
    let problem = "the trace of path.rate_pattern says itself when packets leave";
    Err(source.error(&given.0, given.1, problem, "keep one of the two"))
}

/// The link that the table `at` describes: the bottleneck, if nothing else is said.
pub(crate) fn link(raw: &raw::Link, at: &str, rtt: Span, source: &Source) -> Result<Link, Error> {
    let key = |name: &str| format!("{at}.{name}");
    let queue = raw.queue.get(source, &key("queue"))?;
    let Switch(ack_filter) = raw.ack_filter.get(source, &key("ack_filter"))?;
    let rate_pattern = optional(&raw.rate_pattern, source, &key("rate_pattern"))?;
    let rate = match (optional(&raw.rate, source, &key("rate"))?, &rate_pattern) {
        (Some(rate), _) => rate,
        (None, Some(pattern)) => pattern.mean(),
        (None, None) => return Err(source.error(&key("rate"), "", "missing", "add rate = \"100mbit\"")),
    };
    let link = Link {
        name: BOTTLENECK.to_owned(),
        delay: Span::ZERO,
        rate,
        rate_pattern,
        buffer: buffer(raw, &queue, &key("buffer"), source)?,
        queue,
        loss: raw.loss.get(source, &key("loss"))?,
        policer: raw.policer.get(source, &key("policer"))?,
        shaper: raw.shaper.get(source, &key("shaper"))?,
        ecn: raw.ecn.get(source, &key("ecn"))?,
        ack_filter,
        table: None,
    };
    let limit = link.limit(link.buffer, rtt);
    check_buffer(limit, raw.buffer.as_ref(), &key("buffer"), source)?;
    check_queue(&link, limit, &key("queue"), source)?;
    Ok(link)
}

/// The buffer that was given, or the limit that the queue has in tc.
fn buffer(raw: &raw::Link, queue: &Config, key: &str, source: &Source) -> Result<Buffer, Error> {
    let descriptor = queue.descriptor();
    match (optional(&raw.buffer, source, key)?, descriptor.limit) {
        (Some(buffer), _) => Ok(buffer),
        (None, Some(packets)) => Ok(Buffer::Packets(packets)),
        (None, None) => {
            let problem = format!("missing: {} has no limit of its own", descriptor.name);
            Err(source.error(key, "", problem, "add buffer = \"8bdp\""))
        }
    }
}

/// Refuses options of the queue that contradict each other, or the buffer.
fn check_queue(link: &Link, limit: Limit, key: &str, source: &Source) -> Result<(), Error> {
    (link.queue.descriptor().check)(&link.queue, limit.bytes(PACKET)).map_err(|refused| {
        let shown = queue::shown(&link.queue, refused.name);
        source.error(&join(key, refused.name), shown, refused.problem, refused.fix)
    })
}

fn check_buffer(limit: Limit, leaf: Option<&Leaf<Buffer>>, key: &str, source: &Source) -> Result<(), Error> {
    let shown = || leaf.map_or(String::new(), Leaf::show);
    let refuse = |problem: String, fix: &str| Err(source.error(key, shown(), problem, fix));
    if limit.bytes(PACKET) < PACKET {
        let holds = match limit {
            Limit::Packets(_) => "less than one packet of 1500 bytes".to_owned(),
            Limit::Bytes(bytes) => format!("{bytes}, less than one packet of 1500 bytes"),
        };
        return refuse(format!("this buffer holds {holds}"), "give more, like \"100packets\"");
    }
    if limit.bytes(PACKET) > LARGEST_BUFFER {
        return refuse(format!("this buffer holds more than {LARGEST_BUFFER}"), "give less, like \"8bdp\"");
    }
    Ok(())
}

/// Reads the changes, and puts them in order.
fn changes(raw: &[raw::Change], source: &Source) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::with_capacity(raw.len());
    // What is changed already: (key, when).
    let mut known = BTreeSet::new();
    for (i, raw) in raw.iter().enumerate() {
        let key = |name: &str| format!("path.change.{i}.{name}");
        let change = Change {
            at: raw.at.get(source, &key("at"))?,
            rate: optional(&raw.rate, source, &key("rate"))?,
            rtt: optional(&raw.rtt, source, &key("rtt"))?.map(|Delay(rtt)| rtt),
            buffer: optional(&raw.buffer, source, &key("buffer"))?,
            loss: optional(&raw.loss, source, &key("loss"))?,
            reverse_loss: optional(&raw.reverse_loss, source, &key("reverse_loss"))?,
            duplicate: optional(&raw.duplicate, source, &key("duplicate"))?.map(|Percent(p)| p),
            reverse_duplicate: optional(&raw.reverse_duplicate, source, &key("reverse_duplicate"))?.map(|Percent(p)| p),
            wifi: optional(&raw.wifi, source, &key("wifi"))?,
            suspend: optional(&raw.suspend, source, &key("suspend"))?,
            policer: optional(&raw.policer, source, &key("policer"))?,
            shaper: optional(&raw.shaper, source, &key("shaper"))?,
            jitter: optional(&raw.jitter, source, &key("jitter"))?,
            reverse_jitter: optional(&raw.reverse_jitter, source, &key("reverse_jitter"))?
                .map(|InOrder(jitter)| jitter),
            table: Written(i),
        };
        let given = raw.given();
        if given.is_empty() {
            let fix = "add what is different from then on, like rate = \"50mbit\"";
            return Err(source.error(&format!("path.change.{i}"), "", "this changes nothing", fix));
        }
        for (name, value) in given {
            if !known.insert((name, change.at)) {
                let problem = format!("path.{name} is changed by another table at {}, too", change.at);
                return Err(source.error(&key(name), value, problem, "keep one of the two"));
            }
        }
        changes.push(change);
    }
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

pub(crate) fn optional<T: Kind>(leaf: &Option<Leaf<T>>, source: &Source, key: &str) -> Result<Option<T>, Error> {
    leaf.as_ref().map(|leaf| leaf.get(source, key)).transpose()
}

fn host(raw: &raw::Host, source: &Source) -> Result<Host, Error> {
    let get = |leaf: &Leaf<Delay>, name: &str| leaf.get(source, &format!("host.{name}")).map(|Delay(span)| span);
    let Whole(batch) = raw.batch.get(source, "host.batch")?;
    let Percent(variation) = raw.variation.get(source, "host.variation")?;
    Ok(Host {
        send: get(&raw.send, "send")?,
        receive: get(&raw.receive, "receive")?,
        ack: get(&raw.ack, "ack")?,
        call: get(&raw.call, "call")?,
        batch: u32::try_from(batch).expect("its kind allows at most 1000"),
        rate_interval: get(&raw.rate_interval, "rate_interval")?,
        wake: wake(raw, source)?,
        variation,
    })
}

fn quic(raw: &raw::Quic, source: &Source) -> Result<Quic, Error> {
    let cpu = |leaf: &Option<Leaf<_>>, key: &str| -> Result<_, Error> {
        Ok(optional(leaf, source, key)?.map(|Whole(cpu)| cpu as u32))
    };
    let Switch(busy_poll) = raw.busy_poll.get(source, "quic.busy_poll")?;
    Ok(Quic {
        server_cpu: cpu(&raw.server_cpu, "quic.server_cpu")?,
        client_cpu: cpu(&raw.client_cpu, "quic.client_cpu")?,
        busy_poll,
    })
}

/// The times of waking up: all three or none.
fn wake(raw: &raw::Host, source: &Source) -> Result<Option<Wake>, Error> {
    let named = [("wake_min", &raw.wake_min), ("wake_median", &raw.wake_median), ("wake_max", &raw.wake_max)];
    if named.iter().all(|(_, leaf)| leaf.is_none()) {
        return Ok(None);
    }
    let mut spans = [Span::ZERO; 3];
    for (span, (name, leaf)) in spans.iter_mut().zip(named) {
        let key = format!("host.{name}");
        let Some(leaf) = leaf else {
            let fix = "give wake_min, wake_median and wake_max, or none of them";
            return Err(source.error(&key, "", "missing: the others do not make a distribution", fix));
        };
        let Delay(given) = leaf.get(source, &key)?;
        if given == Span::ZERO {
            return Err(source.error(&key, leaf.show(), "a tail can't grow from zero", "give at least \"1ns\""));
        }
        *span = given;
    }
    let [min, median, max] = spans;
    // The tail of a Pareto distribution has its median below the geometric mean of its ends.
    let [low, middle, high] = spans.map(|span| u128::from(span.as_nanos()));
    if !(min == max && median == min || low < middle && middle * middle < low * high) {
        let mean = Span::from_nanos((low * high).isqrt() as u64);
        let shown = raw.wake_median.as_ref().map(Leaf::show).unwrap_or_default();
        let problem = format!("no long tail from \"{min}\" to \"{max}\" has this median");
        let fix = match low < high {
            true => format!("give more than wake_min and less than the geometric mean of both, \"{mean}\""),
            false => "give a wake_max above wake_min, or three equal times".to_owned(),
        };
        return Err(source.error("host.wake_median", shown, problem, fix));
    }
    Ok(Some(Wake { min, median, max }))
}

/// Reads the flows, gives a name to those that have none, and counts them out.
fn flows(raw: &[raw::Flow], links: &[&str], source: &Source) -> Result<Vec<Flow>, Error> {
    let mut tables = Vec::with_capacity(raw.len());
    let mut total = 0;
    for (i, raw) in raw.iter().enumerate() {
        let (flow, named, count) = flow(raw, i, links, source)?;
        total += count;
        if total > MOST_FLOWS {
            let problem = format!("more than {MOST_FLOWS} flows in all");
            return Err(source.error(&flow.key("count"), count, problem, "lower the counts"));
        }
        tables.push((flow, named, count));
    }

    // How many unnamed flows each algorithm has, and how many of them have their name already.
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
            let name = if all == 1 { flow.name.clone() } else { format!("{}-{number}", flow.name) };
            if name.len() > Name::LONGEST {
                let problem = format!("with its number this name has more than {} characters", Name::LONGEST);
                return Err(source.error(&flow.key("name"), format_args!("{name:?}"), problem, "shorten it"));
            }
            if !names.insert(name.clone()) {
                let problem = "another flow has this name";
                return Err(source.error(&flow.key("name"), format_args!("{name:?}"), problem, "give each its own"));
            }
            flows.push(Flow { name, ..flow.clone() });
        }
    }
    Ok(flows)
}

/// One `[[flow]]`: the flow, under its cc's name if it has none; whether it has one; how many there are of it.
fn flow(raw: &raw::Flow, i: usize, links: &[&str], source: &Source) -> Result<(Flow, bool, u64), Error> {
    let table = Table::Flow(i);
    let key = |name: &str| table.key(name);
    let name = optional(&raw.name, source, &key("name"))?;
    let named = name.is_some();
    let flow = tcp(&raw.cc, &raw.tcp, table, links, source)?;
    let Whole(count) = raw.count.get(source, &key("count"))?;
    let Extra(extra_rtt) = raw.rtt.get(source, &key("rtt"))?;
    let flow = Flow {
        name: name.map_or(flow.name, |Name(name)| name),
        start: raw.start.get(source, &key("start"))?,
        app: optional(&raw.app, source, &key("app"))?,
        bytes: optional(&raw.bytes, source, &key("bytes"))?,
        app_rate: optional(&raw.app_rate, source, &key("app_rate"))?,
        app_schedule: optional(&raw.app_schedule, source, &key("app_schedule"))?.unwrap_or_default().0,
        extra_rtt,
        ..flow
    };
    check_unresponsive(&flow, raw, source)?;
    check_app(&flow, raw, source)?;
    Ok((flow, named, count))
}

/// A flow under its cc's name, of whose start and application nothing is said.
pub(crate) fn tcp(
    cc: &Leaf<Algorithm>,
    raw: &raw::Tcp,
    table: Table,
    links: &[&str],
    source: &Source,
) -> Result<Flow, Error> {
    let key = |name: &str| table.key(name);
    let algorithm = cc.get(source, &key("cc"))?;
    let Delay(ack_delay) = raw.ack_delay.get(source, &key("ack_delay"))?;
    let Delay(gro) = raw.gro.get(source, &key("gro"))?;
    let Whole(delayed_ack) = raw.delayed_ack.get(source, &key("delayed_ack"))?;
    let Whole(quick_acks) = raw.quick_acks.get(source, &key("quick_acks"))?;
    let params = |table: &str, raw: &BTreeMap<String, Leaf<Value>>| {
        let value = |(name, leaf): (&String, &Leaf<Value>)| {
            Ok((name.clone(), leaf.get(source, &key(&format!("{table}.{name}")))?))
        };
        raw.iter().map(value).collect::<Result<BTreeMap<_, _>, Error>>()
    };
    let receiver = optional(&raw.receiver, source, &key("receiver"))?.map(|Name(receiver)| receiver);
    let route = topology::route(&raw.route, &key("route"), links, source)?;
    if route.is_empty() {
        let fix = format!("name at least one link, like [\"{BOTTLENECK}\"]");
        return Err(source.error(&key("route"), "[]", "data packets have to meet a link", fix));
    }
    let flow = Flow {
        name: algorithm.short().to_owned(),
        cc: algorithm.0,
        params: params("params", &raw.params)?,
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
        pacing: raw.pacing.get(source, &key("pacing"))?,
        receiver,
        receiver_params: params("receiver_params", &raw.receiver_params)?,
        receive_window: optional(&raw.receive_window, source, &key("receive_window"))?,
        delayed_ack: u32::try_from(delayed_ack).expect("its kind allows at most 64"),
        quick_acks: u32::try_from(quick_acks).expect("its kind allows at most a million"),
        ack_delay,
        gro,
        table: Written(table),
    };
    check_receiver(&flow, raw, source)?;
    Ok(flow)
}

/// Refuses other keys for what `app` says already.
fn check_app(flow: &Flow, raw: &raw::Flow, source: &Source) -> Result<(), Error> {
    let (Some(app), Some(leaf)) = (&flow.app, &raw.app) else { return Ok(()) };
    let given = [
        ("bytes", raw.bytes.as_ref().map(Leaf::show)),
        ("app_rate", raw.app_rate.as_ref().map(Leaf::show)),
        ("app_schedule", raw.app_schedule.as_ref().map(Leaf::show)),
    ];
    for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        if name != "app_schedule" && matches!(app, App::OnOff { on: On::Time(_), .. }) {
            continue;
        }
        let problem = format!("app = {} says what is written, and when", leaf.show());
        return Err(source.error(&flow.key(name), value, problem, "remove one of the two"));
    }
    Ok(())
}

/// Refuses parameters of nothing, and two who decide the window.
fn check_receiver(flow: &Flow, raw: &raw::Tcp, source: &Source) -> Result<(), Error> {
    match raw.receiver_params.iter().next() {
        Some((name, value)) if flow.receiver.is_none() => {
            let problem = "parameters of a receiver that is not given";
            let fix = "add receiver = \"rledbat\"; with cc = \"rledbat\" its parameters are params";
            Err(source.error(&flow.key(&format!("receiver_params.{name}")), value.show(), problem, fix))
        }
        _ if flow.receiver.is_some() && matches!(flow.receive_window, Some(ReceiveWindow::Auto { .. })) => {
            let problem = "the receiver's algorithm decides the window";
            let shown = raw.receive_window.as_ref().map_or_else(String::new, Leaf::show);
            Err(source.error(&flow.key("receive_window"), shown, problem, "give a size, or remove receiver"))
        }
        _ => Ok(()),
    }
}

/// Refuses what an unresponsive flow lacks, and what has a meaning only with a congestion control and ACKs.
fn check_unresponsive(flow: &Flow, raw: &raw::Flow, source: &Source) -> Result<(), Error> {
    if flow.cc != UNRESPONSIVE {
        return Ok(());
    }
    if flow.app_rate.is_none() {
        let problem = "a flow with cc = \"none\" needs the rate at which it sends";
        return Err(source.error(&flow.key("app_rate"), "", problem, "add app_rate = \"5mbit\", or give it a cc"));
    }
    if let Some(schedule) = &raw.app_schedule {
        let problem = "a flow with cc = \"none\" sends at one rate";
        return Err(source.error(
            &flow.key("app_schedule"),
            schedule.show(),
            problem,
            "remove it, or give the flow a cc",
        ));
    }
    let given: [Option<(&str, String)>; 11] = [
        (!flow.reverse_route.is_empty()).then(|| ("reverse_route", raw.tcp.reverse_route.show())),
        raw.app.as_ref().map(|app| ("app", app.show())),
        (flow.ecn_feedback != EcnFeedback::Accurate).then(|| ("ecn_feedback", raw.tcp.ecn_feedback.show())),
        raw.tcp.receiver.as_ref().map(|receiver| ("receiver", receiver.show())),
        raw.bytes.as_ref().map(|bytes| ("bytes", bytes.show())),
        raw.tcp.receive_window.as_ref().map(|window| ("receive_window", window.show())),
        (flow.pacing != Pacing::Auto).then(|| ("pacing", raw.tcp.pacing.show())),
        (flow.delayed_ack != DELAYED_ACK).then(|| ("delayed_ack", raw.tcp.delayed_ack.show())),
        (flow.quick_acks != QUICK_ACKS).then(|| ("quick_acks", raw.tcp.quick_acks.show())),
        (flow.ack_delay != ACK_DELAY).then(|| ("ack_delay", raw.tcp.ack_delay.show())),
        (flow.gro != Span::ZERO).then(|| ("gro", raw.tcp.gro.show())),
    ];
    let given = given.into_iter().flatten().map(|(name, value)| (name.to_owned(), value));
    let params = raw.tcp.params.iter().map(|(name, value)| (format!("params.{name}"), value.show()));
    let Some((key, value)) = given.chain(params).next() else { return Ok(()) };
    let problem = "without effect: a flow with cc = \"none\" has no congestion control and gets no ACKs";
    Err(source.error(&flow.key(&key), value, problem, format!("remove {key}, or give the flow a cc")))
}
