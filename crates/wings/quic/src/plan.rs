//! Plans: from a scenario to the ends of its flows.

use std::net::SocketAddr;

use fullpipe_cc::{AnyController, Controller, Descriptor, EcnCodepoint, Shared, Signals};
use fullpipe_scenario::{EcnSetting, Error, Flow, Scenario};
use fullpipe_tcp::Pacing;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{FlowMeter, MeasuredTime};
use fullpipe_units::{Bytes, Rng, Span, Time};

use crate::check::{Runner, check, check_flow};
use crate::congestion_driver::CongestionDriverConfig;
use crate::data_source::{DataSource, Parts};
use crate::endpoint_metrics::{Clock, MTU, Settings};
use crate::peer::BATCH;
use crate::sink::Sink;
use crate::tls::Identity;
use crate::trace_buffer::{self, TraceBuffer};

/// The ACK behavior of QUIC (RFC 9000 §13.2.1, §18.2) and of a scenario by default: two packets per
/// ACK. The maximum delay is 25 ms in QUIC and 40 ms in a scenario.
const USUAL_ACKS: (u32, Span) = (2, Span::from_millis(40));

/// Idle timeout on the loopback, where silence means that the other end has stopped, not that the
/// path has an outage.
const PATIENCE: Span = Span::from_secs(5);

/// The parts and settings of a flow's two ends.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) index: u32,
    pub(crate) start: Time,
    pub(crate) settings: Settings,
    pub(crate) driver: CongestionDriverConfig,
    pub(crate) meter: FlowMeter,
    pub(crate) ecn: bool,
    /// Maximum datagrams per system call.
    pub(crate) batch: usize,
    pub(crate) buffer: TraceBuffer,
    pub(crate) descriptor: &'static Descriptor,
}

impl Plan {
    /// Creates the two ends of the flow, with the server's and the client's address.
    pub(crate) fn ends(
        self,
        scenario: &Scenario,
        clock: Clock,
        identity: &Identity,
        (server, client): (SocketAddr, SocketAddr),
    ) -> (DataSource, Sink) {
        let spec = &scenario.flows[self.index as usize];
        let sink = Sink::new(
            clock,
            identity,
            &self.settings,
            server,
            spec.bytes,
            self.meter.clone(),
            self.start,
        );
        let parts = Parts {
            driver: self.driver,
            meter: self.meter,
            rate: spec.app_rate,
            ecn: self.ecn,
            batch: self.batch,
            buffer: self.buffer,
        };
        let source = DataSource::new(clock, identity, &self.settings, client, parts);
        (source, sink)
    }
}

/// Returns the plans of all flows.
///
/// # Errors
/// When this runner does not support the scenario.
pub(crate) fn plans(
    scenario: &Scenario,
    runner: Runner,
    level: TraceLevel,
) -> Result<Vec<Plan>, Error> {
    check(scenario, runner)?;
    let mut shared = Shared::default();
    let flows = scenario.flows.iter().enumerate();
    flows
        .map(|(index, spec)| plan((scenario, &mut shared), runner, index, spec, level))
        .collect()
}

fn plan(
    (scenario, shared): (&Scenario, &mut Shared),
    runner: Runner,
    index: usize,
    spec: &Flow,
    level: TraceLevel,
) -> Result<Plan, Error> {
    let (descriptor, config) = check_flow(scenario, spec, &fullpipe_policy::registry())?;
    let index = index as u32;
    let start = Time::ZERO + scenario.start(spec);
    let window = MeasuredTime::new(
        Time::ZERO + scenario.measure_from,
        Time::ZERO + scenario.duration,
    );
    let controller = (descriptor.build)(&config, shared);
    let ecn = is_ecn_capable(spec, &controller);
    let buffer = trace_buffer(scenario, index, spec, descriptor, level)?;
    let host = scenario.host.as_ref();
    Ok(Plan {
        index,
        start,
        settings: settings(scenario, runner, spec),
        driver: CongestionDriverConfig {
            controller,
            owner: descriptor.recovery,
            acked_each: descriptor.needs.has(Signals::ACKED_EACH),
            pacing: pacing(spec),
            ecn: if ecn {
                EcnCodepoint::Ect0
            } else {
                EcnCodepoint::NotEct
            },
            rate_interval: host.map_or(Span::ZERO, |host| host.rate_interval),
            rng: Rng::stream(scenario.seed, &spec.name, "controller"),
            smss: Bytes::new(MTU.into()),
            initial_cwnd: config.initial_cwnd,
            measure_from: window.from,
        },
        meter: FlowMeter::new(window, start).with_course(),
        ecn,
        batch: host.map_or(BATCH, |host| BATCH.min(host.batch as usize)),
        buffer,
        descriptor,
    })
}

/// Returns noq's settings.
fn settings(scenario: &Scenario, runner: Runner, spec: &Flow) -> Settings {
    let delayed_ack = (spec.delayed_ack, spec.ack_delay);
    Settings {
        receive_window: scenario.receive_window(spec),
        delayed_ack: (delayed_ack != USUAL_ACKS).then_some(delayed_ack),
        patience: (runner == Runner::Real && scenario.path.loopback).then_some(PATIENCE),
        seed: Rng::stream(scenario.seed, &spec.name, "quic").next_u64(),
    }
}

/// Returns whether data packets are ECN-capable; the controller decides if the scenario does not.
fn is_ecn_capable(spec: &Flow, controller: &AnyController) -> bool {
    match spec.ecn {
        EcnSetting::Auto => controller.decision().ecn != EcnCodepoint::NotEct,
        ecn => ecn == EcnSetting::Ect0,
    }
}

fn pacing(spec: &Flow) -> Pacing {
    match spec.pacing {
        fullpipe_scenario::Pacing::Auto => Pacing::Auto,
        fullpipe_scenario::Pacing::On => Pacing::On,
        fullpipe_scenario::Pacing::Off => Pacing::Off,
    }
}

/// Allocates memory for the maximum number of rows of a flow.
fn trace_buffer(
    scenario: &Scenario,
    index: u32,
    spec: &Flow,
    descriptor: &Descriptor,
    level: TraceLevel,
) -> Result<TraceBuffer, Error> {
    // Each ACK answers at least one packet; the path and the duration bound the number of packets.
    let bytes = spec
        .bytes
        .map_or(u64::MAX, Bytes::get)
        .min(scenario.fastest().bytes_in(scenario.duration).get());
    let acks = bytes / u64::from(MTU) + 1024;
    let rows = match level {
        TraceLevel::Every(interval) => {
            acks.min(scenario.duration.as_nanos() / interval.as_nanos() + 1)
        }
        TraceLevel::Off | TraceLevel::Acks => acks,
    };
    let fields = descriptor.fields.len();
    trace_buffer::reserve(index, level, fields, rows, available()).map_err(|problem| {
        let duration = format!("\"{}\"", scenario.duration);
        scenario.error("duration", duration, problem, "use a longer trace interval")
    })
}

/// Returns the available memory, as estimated by Linux.
fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib << 10)
}
