//! The flows of a workload in a run, one after the other, the same for every runner.

use std::fmt::Write as _;

use fullpipe_units::{Rng, Span, Time};
use fullpipe_workload::{Arrival, Arrivals, Best, Chunk, Delays};

use super::{Rtts, Workload};
use crate::model::{Flow, Scenario};

/// The flows of a workload, in order of time. Each is drawn after the previous one has arrived.
#[derive(Clone, Debug)]
pub struct ArrivalGenerator {
    /// The flow that arrived last.
    flow: Flow,
    /// Length of the workload's own name in that of `flow`.
    name: usize,
    seed: u64,
    arrivals: Arrivals,
    next: Option<Arrival>,
    rtts: Rtts,
    best: Best,
    from: Time,
    to: Time,
    count: u32,
}

impl ArrivalGenerator {
    /// Returns the time at which the next flow arrives, or `None` if the workload is over.
    pub fn next_at(&self) -> Option<Time> {
        let at = self
            .next
            .map(|arrival| self.from + arrival.at.since(Time::ZERO));
        at.filter(|at| *at < self.to)
    }

    /// Lets the next flow arrive, which [`ArrivalGenerator::flow`] then describes.
    pub fn arrive(&mut self) -> Option<Arrival> {
        let arrival = self.next.take()?;
        self.next = self.arrivals.next();
        self.flow.name.truncate(self.name);
        write!(self.flow.name, "#{}", self.count).expect("writing to a String never fails");
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

    /// Returns the flow that arrived last, with its name, bytes, RTT and connection settings, but
    /// without its start.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Returns the chunks that the flow writes over time; empty if it writes everything at its
    /// start.
    pub fn chunks(&self, arrival: Arrival) -> &[Chunk] {
        self.arrivals.chunks(arrival.chunks)
    }

    /// Returns the time that the flow that arrived last would take alone on the path at its best.
    pub fn alone(&self, arrival: Arrival) -> Span {
        self.best
            .alone(arrival.bytes, self.chunks(arrival), self.flow.extra_rtt)
    }

    /// Returns the lowest propagation delays of the flow that arrived last.
    pub fn delays(&self) -> Delays {
        self.best.delays.and(self.flow.extra_rtt)
    }
}

impl Scenario {
    /// Returns the flows of a workload in a run.
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
            best: self.best(workload),
            from,
            to,
            count: 0,
        }
    }
}
