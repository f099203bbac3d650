//! Two ideal servers, which no congestion control can match: fluid, without delay of their own, and
//! informed of everything at once. One knows the remaining data of each flow and serves the
//! smallest first; the other gives every flow an equal share of its rate.

use std::collections::BTreeSet;

use fullpipe_units::{Span, Time};

use crate::ideal::{Demand, Jobs};

impl Jobs {
    /// Returns the completion time of each flow if the least remaining work written so far is
    /// served first (SRPT), preemptively: no other order has a lower mean on one link.
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

    /// Returns the completion time of each flow if all flows with data to send share the rate
    /// equally (processor sharing).
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

/// Remaining work of each flow, in the server's terms, and the time at which it last ran out.
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
    /// Remaining work and flow; the first one is served.
    waiting: BTreeSet<(Span, u32)>,
    /// Remaining work of the waiting flows.
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

/// Times are in ns. Virtual time advances by the service that each flow gets, so the virtual time
/// at which a flow leaves is known when it arrives.
struct Sharing {
    now: f64,
    virtual_now: f64,
    /// Virtual time of leaving, as bits: positive numbers sort like their bits.
    waiting: BTreeSet<(u64, u32)>,
    /// Virtual time of leaving of the waiting flows.
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
            // Keeps virtual time small and therefore exact.
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
