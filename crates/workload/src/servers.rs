//! Two servers that no congestion control can be: fluid, without delay of their own, told of all at
//! once. One knows what each flow still has to send and serves the least of it first; the other
//! gives every flow the same part of its rate.

use std::collections::BTreeSet;

use fullpipe_units::{Span, Time};

use crate::ideal::{Demand, Jobs};

impl Jobs {
    /// How long each flow takes where the least remaining work that was written is served first
    /// (SRPT), whatever is under way: no other order has a lower mean on one link.
    pub fn shortest_remaining_first(&mut self) -> Vec<Span> {
        let mut server = Shortest {
            now: Time::ZERO,
            waiting: BTreeSet::new(),
            flows: Flows::idle(self.count(), Span::ZERO),
        };
        for demand in self.in_order() {
            server.advance(demand.at);
            server.add(*demand);
        }
        server.advance(Time::MAX);
        self.completions(&server.flows.served)
    }

    /// How long each flow takes where all that have something to send share the rate equally
    /// (processor sharing).
    pub fn shared(&mut self) -> Vec<Span> {
        let mut server = Sharing {
            now: 0.0,
            virtual_now: 0.0,
            waiting: BTreeSet::new(),
            flows: Flows::idle(self.count(), 0.0),
        };
        for demand in self.in_order() {
            server.advance(demand.at.as_nanos() as f64);
            server.add(*demand);
        }
        server.advance(f64::INFINITY);
        self.completions(&server.flows.served)
    }
}

/// Of each flow: what is known of its work, and when it last had none.
struct Flows<W> {
    work: Vec<W>,
    served: Vec<Time>,
}

impl<W: Copy> Flows<W> {
    fn idle(count: usize, nothing: W) -> Flows<W> {
        Flows {
            work: vec![nothing; count],
            served: vec![Time::ZERO; count],
        }
    }
}

struct Shortest {
    now: Time,
    /// Remaining work and flow; the first is served.
    waiting: BTreeSet<(Span, u32)>,
    /// The remaining work of those that wait.
    flows: Flows<Span>,
}

impl Shortest {
    /// Serves up to `until`.
    fn advance(&mut self, until: Time) {
        while let Some((remaining, flow)) = self.waiting.pop_first() {
            let end = self.now + remaining;
            if end > until {
                let left = remaining.saturating_sub(until.since(self.now));
                self.flows.work[flow as usize] = left;
                self.waiting.insert((left, flow));
                break;
            }
            self.now = end;
            self.flows.work[flow as usize] = Span::ZERO;
            self.flows.served[flow as usize] = end;
        }
        self.now = until;
    }

    fn add(&mut self, demand: Demand) {
        let remaining = &mut self.flows.work[demand.flow as usize];
        self.waiting.remove(&(*remaining, demand.flow));
        *remaining += demand.work;
        self.waiting.insert((*remaining, demand.flow));
    }
}

/// Time in ns. Virtual time goes on by what each flow gets, so a flow leaves at a virtual time that
/// is known when it comes.
struct Sharing {
    now: f64,
    virtual_now: f64,
    /// The virtual time of leaving, as bits: those of positive numbers are in the order of the
    /// numbers.
    waiting: BTreeSet<(u64, u32)>,
    /// The virtual time of leaving of those that wait.
    flows: Flows<f64>,
}

impl Sharing {
    fn advance(&mut self, until: f64) {
        while let Some(&(bits, flow)) = self.waiting.first() {
            let leaves = f64::from_bits(bits);
            let sharers = self.waiting.len() as f64;
            let end = self.now + (leaves - self.virtual_now) * sharers;
            if end > until {
                self.virtual_now += (until - self.now) / sharers;
                break;
            }
            self.waiting.pop_first();
            (self.now, self.virtual_now) = (end, leaves);
            self.flows.served[flow as usize] = Time::from_nanos(nearest(end));
        }
        if self.waiting.is_empty() {
            // So virtual time stays small, and exact.
            self.virtual_now = 0.0;
        }
        self.now = until;
    }

    fn add(&mut self, demand: Demand) {
        let leaves = &mut self.flows.work[demand.flow as usize];
        let waits = self.waiting.remove(&(leaves.to_bits(), demand.flow));
        let from = if waits { *leaves } else { self.virtual_now };
        *leaves = from + demand.work.as_nanos() as f64;
        self.waiting.insert((leaves.to_bits(), demand.flow));
    }
}

fn nearest(ns: f64) -> u64 {
    (ns + 0.5) as u64
}
