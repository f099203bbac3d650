//! Same scenario and seed, same trace; and the engine's short cuts change nothing, to the bit.

use cc::Registry;
use proptest::prelude::*;
use scenario::Scenario;
use sim::{Run, Simulation, TraceLevel};

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(scenario: &Scenario, stepping: bool) -> Run {
    let mut simulation = Simulation::new(scenario, &Registry::default(), TraceLevel::Acks).expect("a valid scenario");
    if stepping {
        simulation.step_by_step();
    }
    while !simulation.advance(10_000) {}
    simulation.finish()
}

fn hash(run: &Run) -> u64 {
    run.trace.as_ref().expect("traced").hash()
}

const MIXED: &str = r#"
    duration = "8s"
    start_jitter = "30ms"
    send_jitter = "200us"
    [path]
    rate = "20mbit"
    rtt = "30ms"
    buffer = "1bdp"
    loss = "0.2%"
    reverse_loss = "0.5%"
    [[flow]]
    cc = "cubic"
    count = 2
    [[flow]]
    cc = "bbr1"
    rtt = "+17ms"
    [[flow]]
    cc = "newreno"
    bytes = "1MB"
    start = "1s"
    gro = "300us"
    [[flow]]
    cc = "none"
    app_rate = "1mbit"
"#;

#[test]
fn one_seed_gives_one_trace_and_another_seed_another() {
    let first = scenario(MIXED);
    let again = hash(&run(&first, false));
    assert_eq!(hash(&run(&first, false)), again);
    let other = Scenario::parse_with(MIXED, "test.toml", &[], Some(2)).expect("a valid scenario");
    assert_ne!(hash(&run(&other, false)), again);
}

#[test]
fn without_randomness_the_seed_does_not_matter() {
    let text =
        "duration = \"3s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"\n[[flow]]\ncc = \"cubic\"\n";
    let seeds = [1, 2].map(|seed| Scenario::parse_with(text, "test.toml", &[], Some(seed)).expect("a valid scenario"));
    assert_eq!(hash(&run(&seeds[0], false)), hash(&run(&seeds[1], false)));
    assert!(!sim::is_random(&seeds[0], &Registry::default()));
}

#[test]
fn with_randomness_of_any_kind_the_seed_matters() {
    let plain =
        "duration = \"3s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n[[flow]]\ncc = \"cubic\"\n";
    for (key, value) in [
        ("start_jitter", "10ms"),
        ("send_jitter", "1ms"),
        ("path.loss", "1%"),
        ("path.reverse_loss", "10%"),
        ("flow.0.cc", "bbr1"),
    ] {
        let overrides = [(key.to_owned(), value.to_owned())];
        let seeds = [1, 2]
            .map(|seed| Scenario::parse_with(plain, "test.toml", &overrides, Some(seed)).expect("a valid scenario"));
        assert!(sim::is_random(&seeds[0], &Registry::default()), "{key}");
        assert_ne!(hash(&run(&seeds[0], false)), hash(&run(&seeds[1], false)), "{key}");
    }
}

#[test]
fn adding_a_flow_does_not_change_what_others_draw() {
    // The added flow begins when the others have ended: they must not notice.
    let alone = "duration = \"4s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"\nloss = \"1%\"\n\
                 [[flow]]\nname = \"a\"\ncc = \"cubic\"\nbytes = \"200kB\"\n";
    let joined = format!("{alone}[[flow]]\nname = \"b\"\ncc = \"cubic\"\nstart = \"3900ms\"\n");
    let completion = |text: &str| run(&scenario(text), false).summary.flows[0].completion_s.expect("it completes");
    assert_eq!(completion(alone), completion(&joined));
}

#[test]
fn short_cuts_equal_stepping_with_everything_mixed() {
    let mixed = scenario(MIXED);
    let (fast, slow) = (run(&mixed, false), run(&mixed, true));
    assert_eq!(hash(&fast), hash(&slow));
    assert_eq!(fast.summary, slow.summary);
}

fn flow() -> impl Strategy<Value = String> {
    let algorithm = prop_oneof![Just("cubic"), Just("bbr1"), Just("newreno")];
    let options = prop_oneof![
        Just(""),
        Just("bytes = \"300kB\"\n"),
        Just("app_rate = \"2mbit\"\n"),
        Just("pacing = \"on\"\n"),
        Just("rtt = \"+5ms\"\n"),
        Just("delayed_ack = 1\n"),
        Just("gro = \"1ms\"\n"),
        Just("receive_window = \"30kB\"\n"),
    ];
    let responsive = (algorithm, options, 0_u32..500).prop_map(|(algorithm, options, start)| {
        format!("[[flow]]\ncc = \"{algorithm}\"\nstart = \"{start}ms\"\n{options}")
    });
    let unresponsive = Just("[[flow]]\ncc = \"none\"\napp_rate = \"3mbit\"\n".to_owned());
    prop_oneof![5 => responsive, 1 => unresponsive]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn short_cuts_equal_stepping_bit_for_bit(
        rate in 1_u32..50, rtt in 0_u32..60, buffer in 1_u32..80, jitter in 0_u32..300, loss in 0_u32..3,
        seed in 0_u64..1_000, flows in prop::collection::vec(flow(), 1..5),
    ) {
        let text = format!(
            "duration = \"1500ms\"\nseed = {seed}\nsend_jitter = \"{jitter}us\"\n[path]\nrate = \"{rate}mbit\"\n\
             rtt = \"{rtt}ms\"\nbuffer = \"{buffer}packets\"\nloss = \"{loss}%\"\nreverse_loss = \"{loss}%\"\n{}",
            flows.concat(),
        );
        let scenario = scenario(&text);
        let (fast, slow) = (run(&scenario, false), run(&scenario, true));
        prop_assert_eq!(hash(&fast), hash(&slow));
        prop_assert_eq!(fast.summary, slow.summary);
    }
}
