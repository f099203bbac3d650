//! Queues count the simulator's own packets, 1500 bytes: a turn is one of them, and PIE's bound two.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_trace::{FlowSummary, TraceLevel};

/// Runs flows through a queue; returns their summaries after the first ten seconds.
fn run(rate: &str, queue: &str, flows: &str) -> Vec<FlowSummary> {
    let text = format!(
        "duration = \"60s\"\nmeasure_from = \"10s\"\n\
         [path]\nrate = \"{rate}\"\nrtt = \"40ms\"\nqueue = {queue}\n{flows}"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = fullpipe_sim::run(&scenario, &Registry::default(), TraceLevel::Off);
    run.unwrap_or_else(|error| panic!("{error}")).summary.flows
}

/// The longest queueing delay of a flow's packets, in ms.
fn longest_ms(flow: &FlowSummary) -> f64 {
    flow.queue_delay_s.max.expect("samples") * 1e3
}

/// RFC 8290 §4.2: a turn ends when the flow has used up its quantum. Of ten packets that arrive
/// 0.12 ms apart, the second leaves right after the first, since the flood has used up its turn, too.
/// From then on the two flows alternate. The tenth waits for nine packets of its own and eight of
/// the flood, 1.2 ms each, and for the rest of a transmission.
#[test]
fn a_full_packet_uses_up_a_turn() {
    let flows = "[[flow]]\ncc = \"none\"\napp_rate = \"20mbit\"\n\
                 [[flow]]\ncc = \"cubic\"\nstart = \"20s\"\nbytes = \"14480B\"\n";
    for queue in ["fq_codel", "cake"] {
        let flows = run("10mbit", &format!("\"{queue}\""), flows);
        let waited = longest_ms(&flows[1]);
        assert!((19.3..20.5).contains(&waited), "{queue}: {waited} ms");
    }
}

/// RFC 8033 §4.1 and RFC 9332 A.2: nothing is dropped while less than two full packets wait. At
/// 1 Mbit/s a packet takes 12 ms, so that the delay is always above the target. Arrivals above the
/// link's rate are dropped as soon as the bound permits it, and most packets wait for one other and
/// for the rest of a transmission.
#[test]
fn two_full_packets_are_enough_for_a_drop() {
    let flood = "[[flow]]\ncc = \"none\"\napp_rate = \"1.2mbit\"\n";
    for queue in ["pie", "dualpi2"] {
        let queue = format!("{{ kind = \"{queue}\", target = \"1ms\" }}");
        let flows = run("1mbit", &queue, flood);
        let waited = flows[0].queue_delay_s.p50.expect("samples") * 1e3;
        assert!((12.0..24.0).contains(&waited), "{queue}: {waited} ms");
    }
}
