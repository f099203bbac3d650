//! Conversion of a scenario back to its keys, with every default written out.

use std::collections::BTreeMap;

use fullpipe_units::{ParamValue, Span};

use crate::app_schedule::AppSchedule;
use crate::buffer::LinkBuffer;
use crate::enums::{PathKind, Switch};
use crate::expect::Conditions;
use crate::host::{self, Wake};
use crate::model;
use crate::path_keys::{self, ChangeKeys, LinkKeys, PathKeys};
use crate::raw::{
    Change, Flow, Host, Link, NamedLink, Path, Program, Quic, Scenario, Tcp, Workload, one_flow,
};
use crate::raw_value::{RawValue, ReadValue};
use crate::stack::StackKeys;
use crate::topology::Route;
use crate::values::{Algorithm, Delay, Extra, Mss, Name, Percent, WarmUp, Whole};
use crate::workload::{Load, Text};

impl From<&model::Scenario> for Scenario {
    fn from(scenario: &model::Scenario) -> Scenario {
        Scenario {
            duration: RawValue::of(&scenario.duration),
            measure_from: RawValue::of(&WarmUp(Some(scenario.measure_from))),
            seed: RawValue::of(&Whole(scenario.seed)),
            stack: RawValue::of(&scenario.stack),
            start_jitter: RawValue::of(&scenario.start_jitter),
            send_jitter: RawValue::of(&Delay(scenario.send_jitter)),
            expect: (!scenario.expect.is_empty())
                .then(|| RawValue::of(&Conditions(scenario.expect.clone()))),
            path: Path::from(&scenario.path),
            link: scenario.links().skip(1).map(NamedLink::from).collect(),
            host: Host::of(scenario),
            quic: (scenario.quic != host::Quic::default()).then(|| Quic::from(&scenario.quic)),
            flow: scenario
                .flows
                .iter()
                .filter(|flow| !Program::is_table_of(flow))
                .map(|flow| Flow::of(flow, scenario))
                .collect(),
            program: scenario
                .flows
                .iter()
                .filter(|flow| Program::is_table_of(flow))
                .filter_map(Program::of)
                .collect(),
            workload: scenario
                .workloads
                .iter()
                .map(|workload| Workload::of(workload, scenario))
                .collect(),
            sweep: None,
        }
    }
}

impl Host {
    fn of(scenario: &model::Scenario) -> Option<Host> {
        let host = scenario.host.as_ref()?;
        let wake = |of: fn(&Wake) -> Span| {
            host.wake
                .as_ref()
                .map(|wake| RawValue::of(&Delay(of(wake))))
        };
        Some(Host {
            send: RawValue::of(&Delay(host.send)),
            receive: RawValue::of(&Delay(host.receive)),
            ack: RawValue::of(&Delay(host.ack)),
            call: RawValue::of(&Delay(host.call)),
            batch: RawValue::of(&Whole(u64::from(host.batch))),
            rate_interval: RawValue::of(&Delay(host.rate_interval)),
            wake_min: wake(|wake| wake.min),
            wake_median: wake(|wake| wake.median),
            wake_max: wake(|wake| wake.max),
            variation: RawValue::of(&Percent(host.variation)),
        })
    }
}

impl From<&host::Quic> for Quic {
    fn from(quic: &host::Quic) -> Quic {
        let cpu = |cpu: Option<u32>| cpu.map(|cpu| RawValue::of(&Whole(u64::from(cpu))));
        Quic {
            server_cpu: cpu(quic.server_cpu),
            client_cpu: cpu(quic.client_cpu),
            busy_poll: RawValue::of(&Switch(quic.busy_poll)),
        }
    }
}

impl From<&path_keys::Path> for Path {
    fn from(path: &path_keys::Path) -> Path {
        Path {
            profile: None,
            kind: path.loopback.then(|| RawValue::of(&PathKind::Loopback)),
            link: Link::from(&path.link),
            rtt: RawValue::of(&Delay(path.rtt)),
            keys: PathKeys::from(path),
            change: path.changes.iter().map(Change::from).collect(),
        }
    }
}

impl From<&path_keys::Link> for Link {
    fn from(link: &path_keys::Link) -> Link {
        Link {
            rate: optional(&Some(link.rate)),
            rate_pattern: optional(&link.rate_pattern),
            buffer: optional(&Some(LinkBuffer(Some(link.buffer)))),
            keys: LinkKeys::from(link),
        }
    }
}

impl From<&path_keys::Link> for NamedLink {
    fn from(link: &path_keys::Link) -> NamedLink {
        NamedLink {
            name: RawValue::of(&Name(link.name.clone())),
            link: Link::from(link),
            delay: RawValue::of(&Delay(link.delay)),
        }
    }
}

impl From<&path_keys::Change> for Change {
    fn from(change: &path_keys::Change) -> Change {
        Change {
            at: RawValue::of(&change.at),
            rate: optional(&change.rate),
            rtt: optional(&change.rtt.map(Delay)),
            buffer: optional(&change.buffer),
            keys: ChangeKeys::from(change),
        }
    }
}

fn optional<T: ReadValue>(value: &Option<T>) -> Option<RawValue<T>> {
    value.as_ref().map(RawValue::of)
}

fn written(params: &BTreeMap<String, ParamValue>) -> BTreeMap<String, RawValue<ParamValue>> {
    params
        .iter()
        .map(|(name, value)| (name.clone(), RawValue::of(value)))
        .collect()
}

impl Flow {
    fn of(flow: &model::Flow, scenario: &model::Scenario) -> Flow {
        Flow {
            name: Some(RawValue::of(&Name(flow.name.clone()))),
            cc: RawValue::of(&Algorithm::from(flow.called.clone())),
            tcp: Tcp::of(flow, scenario),
            transport: flow.is_datagram().then(|| RawValue::of(&flow.transport)),
            start: RawValue::of(&flow.start),
            app: optional(&flow.app),
            bytes: optional(&flow.bytes),
            app_rate: optional(&flow.app_rate),
            app_schedule: (!flow.app_schedule.is_empty())
                .then(|| RawValue::of(&AppSchedule::of(&flow.app_schedule))),
            rtt: RawValue::of(&Extra(flow.extra_rtt)),
            group: optional(&flow.group.clone().map(Name)),
            count: one_flow(),
        }
    }
}

impl Program {
    /// Returns whether the flow was written as a `[[program]]`.
    fn is_table_of(flow: &model::Flow) -> bool {
        matches!(flow.table.0, model::Table::Program(_))
    }

    fn of(flow: &model::Flow) -> Option<Program> {
        let program = flow.program.as_ref()?;
        let text = |of: &Option<String>| optional(&of.clone().map(Text));
        Some(Program {
            name: Some(RawValue::of(&Name(flow.name.clone()))),
            recipe: optional(&program.recipe.clone().map(Name)),
            params: written(&flow.params),
            server: text(&program.server),
            client: text(&program.client),
            start: RawValue::of(&flow.start),
            rtt: RawValue::of(&Extra(flow.extra_rtt)),
            qlog: text(&program.qlog),
        })
    }
}

impl Tcp {
    fn of(flow: &model::Flow, scenario: &model::Scenario) -> Tcp {
        let names = |route: &[usize]| {
            RawValue::of(&Route(
                scenario
                    .route(route)
                    .map(|link| link.name.clone())
                    .collect(),
            ))
        };
        Tcp {
            ecn: RawValue::of(&flow.ecn),
            ecn_feedback: RawValue::of(&flow.ecn_feedback),
            route: names(&flow.route),
            reverse_route: names(&flow.reverse_route),
            pacing: Some(RawValue::of(&flow.pacing)),
            mss: RawValue::of(&Mss(flow.mss)),
            initial_window: RawValue::of(&Whole(u64::from(flow.initial_window))),
            receiver: flow
                .receiver
                .clone()
                .map(|receiver| RawValue::of(&Name(receiver))),
            receiver_params: written(&flow.receiver_params),
            receive_window: optional(&flow.receive_window),
            delayed_ack: Some(RawValue::of(&Whole(u64::from(flow.delayed_ack)))),
            quick_acks: RawValue::of(&Whole(u64::from(flow.quick_acks))),
            ack_delay: RawValue::of(&Delay(flow.ack_delay)),
            gro: RawValue::of(&Delay(flow.gro)),
            optimistic_acks: RawValue::of(&Delay(flow.optimistic_acks)),
            stack: StackKeys::from(&flow.stack),
            params: written(&flow.params),
        }
    }
}

impl Workload {
    fn of(workload: &crate::Workload, scenario: &model::Scenario) -> Workload {
        Workload {
            name: Some(RawValue::of(&Name(workload.flow.name.clone()))),
            source: optional(&workload.source.clone().map(Text)),
            model: RawValue::of(&workload.model),
            load: optional(&workload.load.map(Load)),
            cc: RawValue::of(&Algorithm::from(workload.flow.called.clone())),
            tcp: Tcp::of(&workload.flow, scenario),
            start: RawValue::of(&workload.flow.start),
            stop: optional(&workload.stop),
            rtt: RawValue::of(&workload.rtts),
            fingerprint: optional(&workload.fingerprint.clone().map(Text)),
        }
    }
}
