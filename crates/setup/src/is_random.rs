use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_units::Span;

/// Returns whether another seed can change the run: through jitter, the path, hosts, random
/// arrivals, or an algorithm or application that uses random numbers.
pub fn is_random(scenario: &Scenario, registry: &Registry) -> bool {
    let starts = scenario.start_jitter > Span::ZERO && !scenario.flows.is_empty();
    let jitter = starts || scenario.send_jitter > Span::ZERO;
    let draws = |cc: &str| registry.get(cc).is_some_and(|descriptor| descriptor.random);
    let host = scenario
        .host
        .as_ref()
        .is_some_and(fullpipe_scenario::Host::is_random);
    let flow = |flow: &fullpipe_scenario::Flow| {
        draws(&flow.cc) || flow.app.is_some_and(|app| app.is_random())
    };
    let flows = scenario.flows.iter().any(flow);
    let arrives =
        |workload: &fullpipe_scenario::Workload| workload.is_random || flow(&workload.flow);
    let workloads = scenario.workloads.iter().any(arrives);
    jitter || scenario.has_random_path() || host || flows || workloads
}
