//! The caches of metrics, one for each pair of hosts.

use std::collections::BTreeMap;

use fullpipe_scenario::Flow;
use fullpipe_tcp::MetricsCache;
use fullpipe_units::Span;

/// The hosts at the ends of a flow: those of all flows with the same route and RTT.
type Hosts = (Vec<usize>, Vec<usize>, Span);

/// The caches of a run.
#[derive(Debug, Default)]
pub(crate) struct Caches(BTreeMap<Hosts, MetricsCache>);

impl Caches {
    /// Returns the cache for a connection, if it has one.
    pub(crate) fn of(&mut self, spec: &Flow) -> Option<MetricsCache> {
        let mut shared = || {
            let Flow {
                route,
                reverse_route,
                extra_rtt,
                ..
            } = spec;
            let hosts = (route.clone(), reverse_route.clone(), *extra_rtt);
            self.0.entry(hosts).or_default().clone()
        };
        match spec.stack.metrics_cache {
            fullpipe_scenario::MetricsCache::Off => None,
            fullpipe_scenario::MetricsCache::Linux => Some(shared()),
            fullpipe_scenario::MetricsCache::Ssthresh => Some(shared().with_thresholds()),
        }
    }
}
