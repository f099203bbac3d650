//! Results of QUIC runs in virtual time.

use fullpipe_cc::Registry;
use fullpipe_quic::{PROVIDES, virtual_time};
use fullpipe_scenario::Scenario;
use fullpipe_trace::Data;
use fullpipe_trace::{Run, TraceLevel};
use fullpipe_units::Span;

fn scenario(path: &str, flow: &str) -> Scenario {
    let text = format!(
        "stack = \"rfc\"\nduration = \"10s\"\nmeasure_from = \"2s\"\n[path]\n{path}\n[[flow]]\n{flow}\n"
    );
    Scenario::parse(&text, "test.toml").expect("a valid scenario")
}

const DSL: &str = "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"";

fn run(scenario: &Scenario, level: TraceLevel) -> Run {
    virtual_time::run(scenario, level).expect("a scenario for QUIC")
}

#[test]
fn one_flow_of_each_algorithm_fills_the_link() {
    let registry = Registry::default();
    let known = registry.iter().filter(|known| PROVIDES.has(known.needs));
    for cc in known.map(|known| known.name) {
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
            (17.4e6..19.3e6).contains(&flow.goodput_bps),
            "{cc}: {} Mbit/s",
            flow.goodput_bps / 1e6
        );
    }
}

#[test]
fn the_connections_of_a_group_are_coupled() {
    // Three flows at one bottleneck, measured after 20 s: what two subflows take together, in multiples
    // of what the third takes. Mean of six runs.
    let ratio = |cc: &str, seed: u64| {
        let flows =
            format!("cc = \"newreno\"\n[[flow]]\ncc = \"{cc}\"\ngroup = \"phone\"\ncount = 2");
        let mut scenario = scenario(DSL, &flows);
        scenario.duration = Span::from_secs(80);
        scenario.measure_from = Span::from_secs(20);
        scenario.seed = seed;
        let run = run(&scenario, TraceLevel::Off);
        let goodputs: Vec<f64> = run
            .summary
            .flows
            .iter()
            .map(|flow| flow.goodput_bps)
            .collect();
        (goodputs[1] + goodputs[2]) / goodputs[0]
    };
    let mean = |cc: &str| (1..=6).map(|seed| ratio(cc, seed)).sum::<f64>() / 6.0;
    let (coupled, uncoupled) = (mean("lia"), mean("newreno"));
    assert!(
        (0.8..1.5).contains(&coupled) && uncoupled > 1.7,
        "{coupled}, {uncoupled}"
    );
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

#[test]
fn a_larger_initial_window_saves_a_round_trip() {
    let completion = |window: u32| {
        let flow = format!("cc = \"newreno\"\nbytes = \"29kB\"\ninitial_window = {window}");
        let path = "rate = \"1gbit\"\nrtt = \"100ms\"\nbuffer = \"2bdp\"";
        let text =
            format!("stack = \"rfc\"\nduration = \"10s\"\n[path]\n{path}\n[[flow]]\n{flow}\n");
        let scenario = Scenario::parse(&text, "test.toml").expect("a valid scenario");
        let summary = run(&scenario, TraceLevel::Off).summary;
        summary.flows[0].completion_s.expect("it ends")
    };
    let (usual, large) = (completion(10), completion(32));
    assert!(
        (usual - large - 0.1).abs() < 0.01,
        "{usual} s and {large} s"
    );
}

/// The parts of an operating system's TCP are left out, and the algorithm has Linux's rules.
#[test]
fn the_usual_stack_is_taken_without_its_tcp() {
    let text = format!("duration = \"2s\"\n[path]\n{DSL}\n[[flow]]\ncc = \"cubic\"\n");
    let with = |stack: &str| {
        let scenario = Scenario::parse(&format!("{stack}{text}"), "test.toml");
        let run = run(&scenario.expect("a scenario"), TraceLevel::Off);
        format!("{:?}", run.summary.flows[0])
    };
    assert_eq!(with(""), with("stack = \"linux\"\n"));
    assert_ne!(with(""), with("stack = \"rfc\"\n"));
}

#[test]
fn what_noq_decides_is_refused_by_its_key() {
    for (key, flow) in [
        ("flow.0.mss", "mss = \"8948B\""),
        ("flow.0.ack_policy", "ack_policy = \"linux\""),
        ("flow.0.sack_compression", "sack_compression = \"5%\""),
        ("flow.0.tso", "tso = \"on\""),
        ("flow.0.cwnd_validation", "cwnd_validation = \"linux\""),
    ] {
        let scenario = scenario(DSL, &format!("cc = \"cubic\"\n{flow}"));
        let error = virtual_time::run(&scenario, TraceLevel::Off).expect_err(flow);
        assert!(error.to_string().contains(key), "{error}");
    }
}
