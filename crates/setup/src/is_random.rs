use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_units::Span;

/// Whether another seed can give another run: by jitter, by random loss, by hosts, or by a queue,
/// an algorithm or an application that draws.
pub fn is_random(scenario: &Scenario, registry: &Registry) -> bool {
    let starts = scenario.start_jitter > Span::ZERO && !scenario.flows.is_empty();
    let jitter = starts || scenario.send_jitter > Span::ZERO;
    let path = &scenario.path;
    let losses = path
        .changes
        .iter()
        .flat_map(|change| change.loss.iter().chain(&change.reverse_loss));
    let loss = losses
        .chain(scenario.links().map(|link| &link.loss))
        .chain([&path.reverse_loss])
        .any(fullpipe_path::Loss::is_random);
    let jitters = path
        .changes
        .iter()
        .flat_map(|change| change.jitter.iter().chain(&change.reverse_jitter));
    let late = jitters
        .chain([&path.jitter, &path.reverse_jitter])
        .any(fullpipe_path::Jitter::is_random);
    let copies = path
        .changes
        .iter()
        .flat_map(|change| change.duplicate.iter().chain(&change.reverse_duplicate));
    let doubled = copies
        .chain([&path.duplicate, &path.reverse_duplicate])
        .any(|p| *p > 0.0);
    let backoff = path
        .schedule(|change| change.wifi)
        .map(|(_, wifi)| wifi)
        .chain([path.wifi])
        .flatten();
    let contends = backoff.into_iter().any(|wifi| wifi.backoff > Span::ZERO);
    let suspends = path
        .schedule(|change| change.suspend)
        .map(|(_, suspend)| suspend)
        .chain([path.suspend])
        .flatten();
    let radio = contends || suspends.into_iter().any(|suspend| suspend.random);
    let draws = |cc: &str| registry.get(cc).is_some_and(|descriptor| descriptor.random);
    let host = scenario
        .host
        .as_ref()
        .is_some_and(|host| host.wake.is_some() || host.variation > 0.0);
    let queue = scenario.links().any(|link| link.queue.descriptor().random);
    let pattern = scenario
        .links()
        .filter_map(|link| link.rate_pattern.as_ref())
        .any(fullpipe_path::RatePattern::is_random);
    let flow = |flow: &fullpipe_scenario::Flow| {
        draws(&flow.cc) || flow.app.is_some_and(|app| app.is_random())
    };
    let flows = scenario.flows.iter().any(flow);
    let arrives =
        |workload: &fullpipe_scenario::Workload| workload.is_random || flow(&workload.flow);
    let workloads = scenario.workloads.iter().any(arrives);
    jitter || loss || late || doubled || radio || host || queue || pattern || flows || workloads
}
