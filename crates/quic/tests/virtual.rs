//! QUIC in virtual time, by its results.

use quic::virtual_time;
use scenario::Scenario;
use sim::{Run, TraceLevel};

fn scenario(path: &str, flow: &str) -> Scenario {
    let text = format!("duration = \"10s\"\nmeasure_from = \"2s\"\n[path]\n{path}\n[[flow]]\n{flow}\n");
    Scenario::parse(&text, "test.toml").expect("a valid scenario")
}

const DSL: &str = "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"";

fn run(scenario: &Scenario, level: TraceLevel) -> Run {
    virtual_time::run(scenario, level).expect("a scenario for QUIC")
}

#[test]
fn one_flow_of_each_kind_fills_the_link() {
    for cc in ["newreno", "cubic", "bbr1", "bbr2", "bbr3", "ledbat++"] {
        let run = run(&scenario(DSL, &format!("cc = \"{cc}\"")), TraceLevel::Off);
        let flow = &run.summary.flows[0];
        eprintln!(
            "{cc}: {:?}",
            (flow.goodput_bps / 1e6, flow.rtt_s.mean, flow.retransmits, &flow.limited_by, run.summary.events)
        );
        // Of a packet of 1500 bytes some 1440 are the application's.
        assert!((17.5e6..19.3e6).contains(&flow.goodput_bps), "{cc}: {} Mbit/s", flow.goodput_bps / 1e6);
    }
}

#[test]
fn a_seed_gives_one_trace() {
    let lossy = "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\nloss = \"1%\"\njitter = \"5ms\"";
    for cc in ["cubic", "bbr3"] {
        let mut scenario = scenario(lossy, &format!("cc = \"{cc}\""));
        let hash = |scenario: &Scenario| run(scenario, TraceLevel::Acks).trace.expect("a trace").hash();
        let first = hash(&scenario);
        assert_eq!(first, hash(&scenario), "{cc}");
        scenario.seed += 1;
        assert_ne!(first, hash(&scenario), "{cc} with another seed");
    }
}
