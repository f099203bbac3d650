//! Results of QUIC runs in virtual time.

use fullpipe_quic::virtual_time;
use fullpipe_scenario::Scenario;
use fullpipe_trace::Data;
use fullpipe_trace::{Run, TraceLevel};

fn scenario(path: &str, flow: &str) -> Scenario {
    let text =
        format!("duration = \"10s\"\nmeasure_from = \"2s\"\n[path]\n{path}\n[[flow]]\n{flow}\n");
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
            (
                flow.goodput_bps / 1e6,
                flow.rtt_s.mean,
                flow.retransmits,
                &flow.limited_by,
                run.summary.events
            )
        );
        // The application has about 1440 of a packet's 1500 bytes.
        assert!(
            (17.5e6..19.3e6).contains(&flow.goodput_bps),
            "{cc}: {} Mbit/s",
            flow.goodput_bps / 1e6
        );
    }
}

#[test]
fn several_connections_at_once_share_the_link() {
    let run = run(
        &scenario(DSL, "cc = \"cubic\"\ncount = 4"),
        TraceLevel::Acks,
    );
    let goodputs: Vec<f64> = run
        .summary
        .flows
        .iter()
        .map(|flow| flow.goodput_bps)
        .collect();
    assert_eq!(goodputs.len(), 4);
    assert!(
        (17.5e6..19.3e6).contains(&goodputs.iter().sum()),
        "{goodputs:?}"
    );
    assert!(run.summary.jain > Some(0.8), "{goodputs:?}");
    // One trace of four buffers, merged in order of time.
    let flows = run.trace.expect("a trace").tables.remove(0);
    let [Data::U64(times), Data::U32(numbers)] = [0, 1].map(|column| &flows.columns[column].data)
    else {
        panic!("time, flow")
    };
    assert!(
        times.is_sorted() && (0..4).all(|flow| numbers.contains(&flow)),
        "{} rows",
        times.len()
    );
}

#[test]
fn a_seed_gives_one_trace() {
    let lossy =
        "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\nloss = \"1%\"\njitter = \"5ms\"";
    for cc in ["cubic", "bbr3"] {
        let mut scenario = scenario(lossy, &format!("cc = \"{cc}\""));
        let hash = |scenario: &Scenario| {
            run(scenario, TraceLevel::Acks)
                .trace
                .expect("a trace")
                .hash()
        };
        let first = hash(&scenario);
        assert_eq!(first, hash(&scenario), "{cc}");
        scenario.seed += 1;
        assert_ne!(first, hash(&scenario), "{cc} with another seed");
    }
}
