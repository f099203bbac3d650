//! What arrives of a workload in a run, one flow after the other: the same, whoever lets it arrive.

use std::fmt::Write as _;

use fullpipe_units::{Rng, Time};
use fullpipe_workload::{Arrival, Arrivals, Chunk, Wire};

use super::{Rtts, Workload};
use crate::model::{Flow, Scenario};

/// The flows of a workload, in order of time. Each is drawn when the one before it has arrived.
#[derive(Clone, Debug)]
pub struct ArrivalGenerator {
    /// What the latest is like.
    flow: Flow,
    /// The length of the workload's own name in that of `flow`.
    name: usize,
    seed: u64,
    arrivals: Arrivals,
    next: Option<Arrival>,
    rtts: Rtts,
    wire: Wire,
    from: Time,
    to: Time,
    count: u32,
}

impl ArrivalGenerator {
    /// When the next one arrives, if there is one while the workload lasts.
    pub fn next_at(&self) -> Option<Time> {
        let at = self
            .next
            .map(|arrival| self.from + arrival.at.since(Time::ZERO));
        at.filter(|at| *at < self.to)
    }

    /// The next one arrives: [`ArrivalGenerator::flow`] is like it from now on.
    pub fn arrive(&mut self) -> Option<Arrival> {
        let arrival = self.next.take()?;
        self.next = self.arrivals.next();
        self.flow.name.truncate(self.name);
        write!(self.flow.name, "#{}", self.count).expect("text takes what is written to it");
        self.count += 1;
        self.flow.bytes = Some(arrival.bytes);
        self.flow.extra_rtt = match self.rtts.is_random() {
            true => self
                .rtts
                .draw(&mut Rng::stream(self.seed, &self.flow.name, "rtt")),
            false => self.rtts.longest(),
        };
        Some(arrival)
    }

    /// The one that has arrived, in all but its start: name, bytes, RTT and how its connection is
    /// set.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// When it writes what; empty where everything is written at its start.
    pub fn chunks(&self, arrival: Arrival) -> &[Chunk] {
        self.arrivals.chunks(arrival.chunks)
    }

    /// The bottleneck that it would have to itself.
    pub fn wire(&self) -> &Wire {
        &self.wire
    }
}

impl Scenario {
    /// What arrives of a workload in a run.
    pub fn coming(&self, workload: &Workload) -> ArrivalGenerator {
        let flow = workload.flow.clone();
        let (from, stop) = (
            Time::ZERO + flow.start,
            Time::ZERO + workload.stop.unwrap_or(self.duration),
        );
        let to = stop.min(Time::ZERO + self.duration);
        let mut arrivals = workload
            .arriving()
            .arrivals(self.seed, &flow.name, to.since(from));
        ArrivalGenerator {
            name: flow.name.len(),
            flow,
            seed: self.seed,
            next: arrivals.next(),
            arrivals,
            rtts: workload.rtts.clone(),
            wire: self.wire(workload),
            from,
            to,
            count: 0,
        }
    }
}
