//! The port that identifies a flow in every packet: its receiver's, or its sender's if the flow
//! arrives, since all flows of a workload have one receiver.

use std::ops::Range;

use crate::arriving::LAST_PORT;

/// Assignment of ports to flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    first: u16,
    flows: u16,
    workloads: u16,
    arrivals: u16,
}

impl Ports {
    /// Assigns the ports of a scenario in which `arrivals` flows arrive.
    pub(crate) fn new(
        first: u16,
        scenario: &fullpipe_scenario::Scenario,
        arrivals: usize,
    ) -> Ports {
        let count = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        let (flows, workloads) = (count(scenario.flows.len()), count(scenario.workloads.len()));
        Ports {
            first,
            flows,
            workloads,
            arrivals: count(arrivals),
        }
    }

    /// Returns the number of flows that can arrive before the ports run out.
    pub(crate) fn room(first: u16, scenario: &fullpipe_scenario::Scenario) -> u16 {
        LAST_PORT.saturating_sub(Ports::new(first, scenario, 0).arrivals().start)
    }

    /// Returns the port at which a workload's receiver listens.
    pub(crate) fn workload(self, number: usize) -> u16 {
        self.first + self.flows + number as u16
    }

    /// Returns the ports of the senders of arriving flows, in order.
    pub(crate) fn arrivals(self) -> Range<u16> {
        let start = self
            .first
            .saturating_add(self.flows)
            .saturating_add(self.workloads);
        start..start.saturating_add(self.arrivals)
    }

    /// Returns the index of a packet's flow, where arriving flows follow the others, and whether
    /// the packet goes forward; `None` if it belongs to no flow.
    pub(crate) fn way(self, source: u16, destination: u16) -> Option<(u32, bool)> {
        let flow = |port: u16| {
            port.checked_sub(self.first)
                .filter(|flow| *flow < self.flows)
                .map(u32::from)
        };
        let arrivals = self.arrivals();
        let receivers = self.first + self.flows..arrivals.start;
        let arrival = |near: u16, far: u16| {
            let known = arrivals.contains(&near) && receivers.contains(&far);
            known.then(|| u32::from(self.flows) + u32::from(near - arrivals.start))
        };
        let forward = flow(destination)
            .or_else(|| arrival(source, destination))
            .map(|flow| (flow, true));
        forward.or_else(|| {
            Some((
                flow(source).or_else(|| arrival(destination, source))?,
                false,
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_known_by_its_receivers_port_and_an_arrival_by_its_senders() {
        let ports = Ports {
            first: 5001,
            flows: 2,
            workloads: 1,
            arrivals: 50_000,
        };
        assert_eq!((ports.workload(0), ports.arrivals().start), (5003, 5004));
        assert_eq!(ports.way(60_777, 5002), Some((1, true)));
        assert_eq!(ports.way(5001, 60_777), Some((0, false)));
        assert_eq!(ports.way(5004, 5003), Some((2, true)));
        assert_eq!(ports.way(5003, 5014), Some((12, false)));
        assert_eq!(
            (ports.way(5004, 9), ports.way(40_000, 5004)),
            (None, None),
            "of no flow"
        );
        assert_eq!(
            (ports.way(55_003, 5003), ports.way(55_004, 5003)),
            (Some((50_001, true)), None)
        );
        let alone = Ports {
            first: 5001,
            flows: 0,
            workloads: 2,
            arrivals: 1,
        };
        assert_eq!(
            (alone.way(5003, 5002), alone.way(5001, 5003)),
            (Some((0, true)), Some((0, false)))
        );
        assert_eq!(alone.way(5002, 5001), None);
    }
}
