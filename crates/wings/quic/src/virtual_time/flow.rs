//! A flow in virtual time.

use std::collections::VecDeque;

use fullpipe_emulator::EmulatedPacket;
use fullpipe_path::Serializer;
use fullpipe_scenario::Scenario;
use fullpipe_units::{Rng, Span, Time};

use super::Payload;
use crate::data_source::DataSource;
use crate::endpoint_metrics::{Clock, addresses};
use crate::peer::Peer;
use crate::plan::Plan;
use crate::sink::Sink;
use crate::tls::Identity;

/// The two ends of a flow, and the packets that have left a server and not yet reached the path.
pub(super) struct Flow {
    pub(super) source: DataSource,
    pub(super) sink: Sink,
    pub(super) descriptor: &'static fullpipe_cc::Descriptor,
    pub(super) start: Time,
    pub(super) started: bool,
    pub(super) access: Serializer,
    pub(super) jitter: Option<(Rng, Span)>,
    pub(super) last_entry: Time,
    pub(super) entering: VecDeque<(Time, EmulatedPacket<Payload>)>,
    /// Time at which to call each end.
    pub(super) wakes: [Option<Time>; 2],
}

impl Flow {
    pub(super) fn new(scenario: &Scenario, plan: Plan, clock: Clock, identity: &Identity) -> Flow {
        let (descriptor, start) = (plan.descriptor, plan.start);
        let name = &scenario.flows[plan.index as usize].name;
        let jitter = (scenario.send_jitter > Span::ZERO).then(|| {
            (
                Rng::stream(scenario.seed, name, "jitter"),
                scenario.send_jitter,
            )
        });
        let (source, sink) = plan.ends(scenario, clock, identity, addresses());
        Flow {
            source,
            sink,
            descriptor,
            start,
            started: false,
            access: Serializer::new(scenario.access_rate()),
            jitter,
            last_entry: Time::ZERO,
            entering: VecDeque::new(),
            wakes: [None, None],
        }
    }

    /// Returns the time of the flow's next event.
    pub(super) fn next_at(&self) -> Option<Time> {
        let start = (!self.started).then_some(self.start);
        let entry = self.entering.front().map(|(at, _)| *at);
        [start, entry, self.wakes[0], self.wakes[1]]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns whether its connection has ended.
    pub(super) fn is_over(&self) -> bool {
        self.started && self.sink.ended().is_some() && self.source.ended().is_some()
    }
}
