//! Every profile runs, on the path given by its sources.

use fullpipe_cc::Registry;
use fullpipe_scenario::{Scenario, profiles};
use fullpipe_sim::Simulation;
use fullpipe_trace::{Run, TraceLevel};

fn run(profile: &str, duration: &str) -> (Scenario, Run) {
    let text = format!(
        "duration = \"{duration}\"\n[path]\nprofile = \"{profile}\"\n[[flow]]\ncc = \"cubic\"\n"
    );
    let scenario = Scenario::parse(&text, "profile.toml").unwrap();
    let mut simulation = Simulation::new(&scenario, &Registry::default(), TraceLevel::Off).unwrap();
    while !simulation.advance(100_000) {}
    (scenario, simulation.finish())
}

#[test]
fn every_profile_carries_a_flow() {
    for profile in profiles() {
        let (scenario, run) = run(profile.name, "3s");
        let flow = &run.summary.flows[0];
        assert!(
            flow.goodput_bps > 0.0 && flow.goodput_bps < scenario.path.link.rate.as_bps() as f64,
            "{}",
            profile.name
        );
        let least = flow.rtt_s.min.unwrap();
        assert!(
            least >= scenario.path.rtt.as_secs_f64(),
            "{}: {least}",
            profile.name
        );
    }
}
