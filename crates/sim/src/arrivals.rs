//! Flows that arrive during the run. Each occupies a slot, which a later flow reuses: memory grows
//! with the number of active flows.
//!
//! A connection is closed when all its data is acknowledged. Packets still in flight then (a
//! spurious retransmission, or its ACK) cross their links as usual, but have no receiver. When all
//! FIFOs of packets in flight are empty, the flow's slot is free.
//!
//! Only the next arrival of each workload is on the event queue; [`ArrivalGenerator`] draws it when
//! the previous flow has arrived. An event names the slot and the flow's number. Numbers are never
//! reused and break ties, and an event is stale if its number is not that of the slot's flow. So no
//! result depends on the slot; a test compares, bit for bit, with a run that never reuses one
//! (`Simulation::with_fresh_state`).

use fullpipe_cc::{Registry, Shared};
use fullpipe_scenario::{ArrivalGenerator, Error, Scenario};
use fullpipe_tcp::{App, LIMITS, Memory, MetricsCache, Parts};
use fullpipe_trace::{FlowMeter, MeasuredTime, Transfer, WorkloadMeter, WorkloadSummary};
use fullpipe_units::Time;
use fullpipe_workload::Arrival;

use crate::build;
use crate::event_queue::{EventKind, EventQueue, FlowKey};
use crate::flow::{AnySender, Flow};
use crate::lazy_timer::LazyTimer;
use fullpipe_setup::{Algorithms, Servers};

/// Most active flows at once, over all workloads; they take about a gigabyte. Further flows are
/// turned away.
const MOST_ACTIVE: usize = 200_000;

/// Capacity in packets that FIFOs keep for the slot's next flow.
pub(crate) const KEPT: usize = 256;

/// A workload in a run.
#[derive(Debug)]
struct Workload {
    algorithms: Algorithms,
    coming: ArrivalGenerator,
    meter: WorkloadMeter,
}

/// Identity of a flow that arrived: its workload, and its row among the transfers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    workload: u32,
    row: u32,
}

/// All workloads of a run.
#[derive(Debug)]
pub(crate) struct Workloads {
    all: Vec<Workload>,
    transfers: Vec<Transfer>,
    servers: Servers,
    caches: build::Caches,
    /// State that the controllers of this run share.
    shared: Shared,
    window: MeasuredTime,
    /// Number of flows from the scenario's `[[flow]]` tables, which occupy the first slots.
    pub(crate) others: usize,
    /// Slots whose flow has ended.
    free: Vec<u32>,
    active: usize,
    /// Whether slots are never reused, for the test that reuse does not change a run.
    pub(crate) fresh: bool,
}

impl Workloads {
    pub(crate) fn new(
        scenario: &Scenario,
        registry: &Registry,
        shared: Shared,
        window: MeasuredTime,
        caches: build::Caches,
    ) -> Result<Workloads, Error> {
        let others = scenario.flows.len();
        let all = scenario.workloads.iter().map(|workload| {
            let algorithms = build::algorithms(scenario, &workload.flow, registry)?;
            let meter = WorkloadMeter::new(window, LIMITS.len());
            Ok::<_, Error>(Workload {
                algorithms,
                coming: scenario.coming(workload),
                meter,
            })
        });
        let all = all.collect::<Result<_, _>>()?;
        let servers = Servers::new(scenario);
        Ok(Workloads {
            all,
            transfers: Vec::new(),
            servers,
            caches,
            shared,
            window,
            others,
            free: Vec::new(),
            active: 0,
            fresh: false,
        })
    }

    /// Puts the first arrival of each workload on the event queue.
    pub(crate) fn begin(&self, event_queue: &mut EventQueue) {
        self.all
            .iter()
            .enumerate()
            .for_each(|(index, workload)| workload.announce(index, event_queue));
    }

    /// Lets the next flow of a workload arrive; returns the slot in which it is about to start, or
    /// `None` if it is turned away.
    pub(crate) fn arrive(
        &mut self,
        scenario: &Scenario,
        flows: &mut Vec<Flow>,
        event_queue: &mut EventQueue,
        index: usize,
        now: Time,
    ) -> Option<usize> {
        let workload = &mut self.all[index];
        let arrival = workload.coming.arrive()?;
        workload.announce(index, event_queue);
        if self.active == MOST_ACTIVE.min(FlowKey::SLOTS - self.others) {
            workload.meter.on_refused(now);
            return None;
        }
        self.active += 1;
        workload.meter.on_arrival(now);

        let row = self.transfers.len() as u32;
        let rtt = scenario.rtt(workload.coming.flow());
        let chunks = workload.coming.chunks(arrival);
        self.servers
            .add(now, arrival.bytes, chunks, workload.coming.delays());
        self.transfers.push(Transfer {
            workload: index as u32,
            start: now,
            bytes: arrival.bytes,
            rtt,
            alone: workload.coming.alone(arrival),
            completion: None,
        });
        let reused = if self.fresh { None } else { self.free.pop() };
        let slot = reused.map_or(flows.len(), |slot| slot as usize);
        let key = FlowKey::new(self.others as u32 + row, slot);
        let account = (self.others + index) as u32;
        let arrived = Arrived {
            workload: index as u32,
            row,
        };
        let old = reused.map(|slot| &mut flows[slot as usize]);
        let flow = workload.flow(
            (scenario, &mut self.shared),
            arrival,
            arrived,
            (key, account),
            self.caches.of(workload.coming.flow()),
            self.window,
            now,
            old,
        );
        match reused {
            Some(slot) => flows[slot as usize] = flow,
            None => flows.push(flow),
        }
        Some(slot)
    }

    /// Handles an event of a closed flow: takes over its measurements, and frees its slot once none
    /// of its packets are in flight.
    #[cold]
    pub(crate) fn tidy(&mut self, flow: &mut Flow) {
        let Some(arrived) = flow.arrived else { return };
        if !flow.settled {
            self.settle(flow, arrived);
        }
        if flow.path.is_empty() && flow.path.gone {
            self.all[arrived.workload as usize]
                .meter
                .take(&mut flow.meter);
            flow.arrived = None;
            self.free.push(flow.key.slot() as u32);
        }
    }

    fn settle(&mut self, flow: &mut Flow, arrived: Arrived) {
        let meter = &mut self.all[arrived.workload as usize].meter;
        let closed = flow.closed.unwrap_or(self.window.to);
        let start = flow.meter.started();
        let transfer = &mut self.transfers[arrived.row as usize];
        if let Some(end) = flow.meter.ended() {
            transfer.completion = Some(end - start);
            meter.on_complete(start, end, transfer.bytes);
            meter.on_departure(closed);
        }
        let until = flow.meter.ended().unwrap_or(self.window.to);
        if let Some(sender) = flow.source.connection() {
            meter.on_limits(&sender.limits().held(until));
        }
        meter.take(&mut flow.meter);
        (flow.settled, self.active) = (true, self.active - 1);
    }

    /// Returns the number of active flows of each workload, as (workload, flows).
    pub(crate) fn active(&self) -> impl Iterator<Item = (u32, u64)> {
        (0..).zip(self.all.iter().map(|workload| workload.meter.active()))
    }

    /// Ends the run: takes over the remaining measurements of the flows, then returns the metrics,
    /// warnings about them, and all transfers.
    pub(crate) fn finish(
        mut self,
        scenario: &Scenario,
        flows: &mut [Flow],
        tally: impl Fn(u32) -> Vec<fullpipe_trace::FlowCounters>,
    ) -> (Vec<WorkloadSummary>, Vec<String>, Vec<Transfer>) {
        for flow in &mut flows[self.others..] {
            match flow.arrived {
                Some(arrived) if !flow.settled => self.settle(flow, arrived),
                Some(arrived) => self.all[arrived.workload as usize]
                    .meter
                    .take(&mut flow.meter),
                None => {}
            }
        }
        let slowdowns = self
            .servers
            .slowdowns(&self.transfers, self.all.len(), self.window);
        let (mut summaries, mut warnings) = (Vec::new(), Vec::new());
        let each = self.all.into_iter().zip(&scenario.workloads).zip(slowdowns);
        for (index, ((mut workload, spec), slowdown)) in each.enumerate() {
            tally((self.others + index) as u32)
                .into_iter()
                .for_each(|tallied| workload.meter.on_tally(tallied));
            let spec = &spec.flow;
            let summary = WorkloadSummary::new(
                spec.name.clone(),
                spec.called.clone(),
                workload.meter,
                slowdown,
                &LIMITS,
            );
            if summary.refused > 0 {
                warnings.push(format!(
                    "{} flows of {} were turned away: {MOST_ACTIVE} were under way at once",
                    summary.refused, spec.name
                ));
            }
            summaries.push(summary);
        }
        (summaries, warnings, self.transfers)
    }
}

impl Workload {
    /// Puts the workload's next arrival on the event queue, if there is one within the run.
    fn announce(&self, index: usize, event_queue: &mut EventQueue) {
        if let Some(at) = self.coming.next_at() {
            event_queue.push(at, EventKind::Arrive, FlowKey::other(index), 0);
        }
    }

    /// Builds the flow that has arrived, in the memory of one that has ended, if any.
    #[expect(
        clippy::too_many_arguments,
        reason = "a flow is made of all these parts"
    )]
    fn flow(
        &self,
        (scenario, shared): (&Scenario, &mut Shared),
        arrival: Arrival,
        arrived: Arrived,
        (key, account): (FlowKey, u32),
        cache: Option<MetricsCache>,
        window: MeasuredTime,
        now: Time,
        old: Option<&mut Flow>,
    ) -> Flow {
        let spec = self.coming.flow();
        let app = match self.coming.chunks(arrival) {
            [] => App::Transfer {
                bytes: arrival.bytes,
            },
            chunks => App::Parts(Box::new(Parts::new(
                chunks.iter().map(|chunk| (now + chunk.offset, chunk.bytes)),
                spec.mss,
            ))),
        };
        let (mut memory, mut in_flights, mut meter) = (Memory::default(), None, None);
        if let Some(old) = old {
            memory = old.source.take_memory();
            in_flights = Some(old.path.take_in_flights());
            meter = Some(std::mem::replace(
                &mut old.meter,
                FlowMeter::new(window, now),
            ));
        }
        let mut meter = meter.unwrap_or_else(|| FlowMeter::new(window, now));
        meter.restart(now);
        let ends = build::connection(
            (scenario, shared),
            spec,
            &self.algorithms,
            app,
            (memory, cache),
            now,
            window.from,
        );
        let mut path = build::flow_path(scenario, spec, account, now);
        if let Some(in_flights) = in_flights {
            path = path.with_in_flights(in_flights);
        }
        Flow {
            finished: true,
            watched: true,
            arrived: Some(arrived),
            ..Flow::new(key, ends, path, meter, Some(arrival.bytes))
        }
    }
}

impl AnySender {
    /// Returns the TCP sender, including that of a closed connection.
    fn connection(&mut self) -> Option<&mut fullpipe_tcp::Sender<fullpipe_cc::AnyController>> {
        match self {
            AnySender::Closed(sender) => Some(sender),
            source => source.tcp(),
        }
    }

    /// Takes the memory that the next flow can reuse.
    fn take_memory(&mut self) -> Memory {
        match std::mem::replace(self, AnySender::Gone) {
            AnySender::Closed(sender) => sender.into_memory(),
            _ => Memory::default(),
        }
    }
}

impl Flow {
    /// Closes the connection at `now`, since everything is acknowledged.
    #[cold]
    pub(crate) fn close(&mut self, now: Time) {
        self.source = match std::mem::replace(&mut self.source, AnySender::Gone) {
            AnySender::Tcp(sender) => AnySender::Closed(sender),
            AnySender::Hosted(host) => AnySender::Closed(host.into_sender()),
            other => other,
        };
        self.closed = Some(now);
        (self.timer, self.departure) = (LazyTimer::default(), LazyTimer::default());
        self.path.close();
    }
}
