//! Tests of routes over several links, which no scenario can say yet: the engine has them, the syntax comes later.

use path::{Limit, Link};
use scenario::Scenario;
use smallvec::smallvec;
use trace::{Summary, Window};
use units::{Rate, Span, Time};

use crate::engine::Simulation;
use crate::lane::Lane;
use crate::link::{Element, NetworkLink};
use crate::{Run, TraceLevel};

const TEXT: &str = r#"
    duration = "10s"
    [path]
    rate = "20mbit"
    rtt = "20ms"
    buffer = "50packets"
    [[flow]]
    cc = "cubic"
    [[flow]]
    cc = "bbr1"
    app_rate = "10mbit"
"#;

/// A second link of `forward` behind the bottleneck for the first flow, and one of `back` for all ACKs.
fn run(forward: Rate, back: Rate, stepping: bool) -> Run {
    let scenario = Scenario::parse(TEXT, "test.toml").expect("a valid scenario");
    let mut simulation =
        Simulation::new(&scenario, &cc::Registry::default(), TraceLevel::Acks).expect("a valid scenario");
    let window = Window { from: Time::ZERO, to: Time::ZERO + scenario.duration };
    for (name, rate) in [("second", forward), ("back", back)] {
        let link = Element::Constant(Link::new(rate, Limit::Packets(50)));
        simulation.network.links.push(NetworkLink::new(name, link, Span::from_millis(5), window));
    }
    simulation.flows[0].wire.route = smallvec![0, 1];
    simulation.flows[0].wire.lanes.push(Lane::default());
    for flow in &mut simulation.flows {
        flow.wire.reverse_route = smallvec![2];
        flow.wire.ack_lanes.push(Lane::default());
        flow.wire.blocks.push(std::collections::VecDeque::new());
    }
    if stepping {
        simulation.step_by_step();
    }
    while !simulation.advance(u64::MAX) {}
    simulation.finish()
}

fn goodput(summary: &Summary, flow: usize) -> f64 {
    summary.flows[flow].goodput_bps / 1e6
}

#[test]
fn the_slower_of_two_links_sets_the_rate() {
    let run = run(Rate::from_mbps(4), Rate::from_mbps(100), false);
    let payload = 1448.0 / 1500.0;
    assert!((goodput(&run.summary, 0) - 4.0 * payload).abs() < 0.2, "{}", goodput(&run.summary, 0));
    assert!(goodput(&run.summary, 1) > 9.8, "the other flow has what it wants of the first link");
    assert!(run.summary.links[1].utilisation > 0.9);
    assert!(run.summary.flows[0].rtt_s.min >= Some(0.030), "the propagation of all links on the way counts");
}

#[test]
fn a_congested_ack_path_holds_the_data_back() {
    let free = run(Rate::from_mbps(100), Rate::from_mbps(100), false);
    let congested = run(Rate::from_mbps(100), Rate::from_bps(200_000), false);
    assert!(congested.summary.links[2].utilisation > 0.9, "{:?}", congested.summary.links[2]);
    let total = |run: &Run| goodput(&run.summary, 0) + goodput(&run.summary, 1);
    assert!(total(&congested) < 0.9 * total(&free), "{} of {}", total(&congested), total(&free));
}

#[test]
fn short_cuts_equal_stepping_over_several_links() {
    for back in [200_000, 100_000_000] {
        let runs = [false, true].map(|stepping| run(Rate::from_mbps(4), Rate::from_bps(back), stepping));
        assert_eq!(runs[0].summary, runs[1].summary);
        let hash = |run: &Run| run.trace.as_ref().expect("traced").hash();
        assert_eq!(hash(&runs[0]), hash(&runs[1]));
    }
}
