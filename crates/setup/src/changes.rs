use fullpipe_scenario::Scenario;
use fullpipe_trace::{FlowSummary, MeasuredTime};
use fullpipe_units::{Span, Time};

/// Returns the measured window of a run. Its tested part ends when the first workload stops, if that is in its
/// second half: from then on the number of active flows falls on purpose.
pub fn window(scenario: &Scenario) -> MeasuredTime {
    let whole = MeasuredTime::of_run(scenario.measure_from, scenario.duration);
    let stops = scenario
        .workloads
        .iter()
        .filter_map(|workload| workload.stop);
    let first = stops
        .map(|stop| Time::ZERO + stop)
        .filter(|stop| *stop > whole.from && *stop < whole.to)
        .min();
    let half = whole.to.since(whole.from) / 2;
    let late = first.filter(|stop| stop.since(whole.from) >= half);
    MeasuredTime {
        tested_to: late.unwrap_or(whole.to),
        ..whole
    }
}

/// Returns what changes on purpose within the tested part of the measured window, one clause each: changes of the path, rates
/// and delays from a trace, flows and workloads that begin or end, and changes of an application's rate.
pub fn changes(scenario: &Scenario, flows: &[FlowSummary]) -> Vec<String> {
    let (from, to) = (
        scenario.measure_from,
        window(scenario).tested_to.since(Time::ZERO),
    );
    let within = |at: Span| at > from && at < to;
    let mut changes = Vec::new();
    let times: Vec<Span> = scenario
        .path
        .changes
        .iter()
        .map(|change| change.at)
        .filter(|at| within(*at))
        .collect();
    if let Some(first) = times.first() {
        changes.push(match times.len() {
            1 => format!("the path changes at {first}"),
            many => format!("the path changes {many} times, first at {first}"),
        });
    }
    for link in scenario.links().filter(|link| link.rate_pattern.is_some()) {
        changes.push(format!("the rate of {} varies", link.name));
    }
    if scenario.path.delay_trace.is_some() || scenario.path.reverse_delay_trace.is_some() {
        changes.push("the delay of the path varies".to_owned());
    }
    for (spec, flow) in scenario.flows.iter().zip(flows) {
        if spec.start > from {
            changes.push(format!("flow {} starts at {}", spec.name, spec.start));
        }
        let start = scenario.start(spec).as_secs_f64();
        if let Some(took) = flow.completion_s
            && start + took > from.as_secs_f64()
        {
            changes.push(format!("flow {} ends at {:.3} s", spec.name, start + took));
        }
        if let Some((at, _)) = spec.app_schedule.iter().find(|(at, _)| within(*at)) {
            changes.push(format!(
                "the application's rate of flow {} changes at {at}",
                spec.name
            ));
        }
    }
    for workload in &scenario.workloads {
        let name = &workload.flow.name;
        if workload.flow.start > from {
            changes.push(format!("workload {name} starts at {}", workload.flow.start));
        }
        if let Some(stop) = workload.stop.filter(|stop| within(*stop)) {
            changes.push(format!("workload {name} stops at {stop}"));
        }
    }
    changes
}
