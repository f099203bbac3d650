//! Environments: what a step is, and what its result depends on.

use std::sync::Arc;

use fullpipe_cc::{Registry, steered};
use fullpipe_gym::{Batch, Episode, Options, Reward, Spec};
use fullpipe_policy::{Feature, Form, Quantity, Rule, Spaces};
use fullpipe_scenario::{Scenario, Template};
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Rng, Time};
use proptest::prelude::*;

const TEXT: &str = r#"
    duration = "20s"
    [path]
    rate = "10mbit"
    rtt = "20ms"
    buffer = "2bdp"
    loss = "0.5%"
    [[flow]]
    name = "me"
    cc = "agent"
"#;

const WITH_OTHERS: &str = r#"
    duration = "10s"
    start_jitter = "100ms"
    [path]
    rate = "20mbit"
    rtt = "30ms"
    buffer = "1bdp"
    [[path.change]]
    at = "1s"
    rate = "5mbit"
    [[flow]]
    name = "one"
    cc = "agent"
    [[flow]]
    name = "late"
    cc = "agent"
    start = "700ms"
    [[flow]]
    name = "cross"
    cc = "cubic"
"#;

fn spaces(quantity: Quantity, interval: f64) -> Spaces {
    Spaces {
        features: vec![
            Feature::LatencyInflation,
            Feature::LatencyRatio,
            Feature::SendRatio,
            Feature::LossRatio,
        ],
        history: 3,
        rule: Rule {
            quantity,
            form: Form::Double,
            scale: 1.0,
            actions: (-1.0, 1.0),
            limits: if quantity == Quantity::Rate {
                (1e5, 1e9)
            } else {
                (2.0, 1e5)
            },
        },
        interval,
        warm_up: 1.0,
    }
}

fn options(quantity: Quantity) -> Options {
    Options {
        prior: vec![
            ("path.rate".to_owned(), "2mbit..50mbit log".to_owned()),
            ("path.rtt".to_owned(), "10ms..100ms log".to_owned()),
            ("path.loss".to_owned(), "0%,1%".to_owned()),
        ],
        spaces: spaces(quantity, 1.0),
        columns: vec!["flows.cwnd".to_owned(), "links.queue_bytes".to_owned()],
        reward: Reward::Power,
        max_steps: Some(40),
        start: None,
    }
}

fn spec(text: &str, options: Options) -> Arc<Spec> {
    let template = Template::read(text, "t.toml").expect("a scenario");
    Arc::new(Spec::new(template, options, Registry::default()).expect("an environment"))
}

/// FNV-1a over the bits of everything that a batch returns in `rounds` rounds of random actions.
fn fingerprint(batch: &Batch, seeds: &[u64], rounds: usize) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3);
    let chosen: Vec<_> = seeds.iter().copied().map(Some).enumerate().collect();
    batch.reset(&chosen).expect("episodes begin");
    let mut rng = Rng::stream(1, "actions", "test");
    for _ in 0..rounds {
        let count = seeds.len() * batch.spec().agents().len();
        let actions: Vec<f32> = (0..count).map(|_| rng.unit() as f32 * 2.0 - 1.0).collect();
        batch.step(&actions).expect("episodes continue");
        batch.read(|_, outcome| {
            outcome
                .observations
                .iter()
                .for_each(|value| add(u64::from(value.to_bits())));
            outcome
                .rewards
                .iter()
                .for_each(|value| add(value.to_bits()));
            outcome
                .info
                .iter()
                .flatten()
                .for_each(|value| add(value.to_bits()));
            add(outcome.seed ^ u64::from(outcome.truncated));
        });
    }
    hash
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for text in [TEXT, WITH_OTHERS] {
        let spec = spec(text, options(Quantity::Rate));
        let seeds: Vec<u64> = (0..13).collect();
        let with = |threads| {
            fingerprint(
                &Batch::new(Arc::clone(&spec), 13, threads, true),
                &seeds,
                100,
            )
        };
        let one = with(1);
        assert_eq!([with(2), with(3), with(8)], [one; 3]);
        let other: Vec<u64> = (1..14).collect();
        assert_ne!(
            fingerprint(&Batch::new(Arc::clone(&spec), 13, 2, true), &other, 100),
            one
        );
    }
}

#[test]
fn an_environment_of_a_batch_is_the_one_alone() {
    let spec = spec(TEXT, options(Quantity::Window));
    let batch = Batch::new(Arc::clone(&spec), 3, 2, true);
    batch
        .reset(&[(0, Some(5)), (1, Some(6)), (2, Some(7))])
        .expect("episodes begin");
    let mut alone = Episode::new(Arc::clone(&spec));
    alone.reset(Some(6)).expect("an episode begins");
    for step in 0..100 {
        let action = (step % 5) as f32 / 4.0 - 0.5;
        batch.step(&[0.3, action, -0.3]).expect("episodes continue");
        if alone.is_over() {
            alone.reset(None).expect("the next episode begins");
        } else {
            alone.step(&[action]);
        }
        batch.read(|place, outcome| {
            if place == 1 {
                assert_eq!(outcome, alone.outcome());
            }
        });
    }
}

#[test]
fn an_episode_is_cut_after_its_steps_or_at_the_end_of_its_scenario() {
    let cut = |max_steps| {
        let options = Options {
            max_steps,
            ..options(Quantity::Rate)
        };
        let mut episode = Episode::new(spec(TEXT, options));
        episode.reset(Some(3)).expect("an episode begins");
        let mut steps = 0;
        while !episode.is_over() {
            episode.step(&[0.0]);
            steps += 1;
        }
        assert_eq!(
            (
                episode.outcome().truncated,
                &episode.outcome().terminated[..]
            ),
            (true, &[false][..])
        );
        (steps, episode.outcome().info[0][0])
    };
    assert_eq!(cut(Some(40)).0, 40);
    let (steps, time) = cut(None);
    assert!(steps > 40);
    assert_eq!(time, 20.0);
}

#[test]
fn a_transfer_terminates_with_its_last_byte() {
    let mut options = options(Quantity::Rate);
    options.prior = vec![("flow.0.bytes".to_owned(), "100kB".to_owned())];
    let mut episode = Episode::new(spec(TEXT, options));
    episode.reset(Some(3)).expect("an episode begins");
    for _ in 0..39 {
        if episode.is_over() {
            break;
        }
        episode.step(&[1.0]);
    }
    assert_eq!(
        (
            episode.outcome().truncated,
            &episode.outcome().terminated[..]
        ),
        (false, &[true][..])
    );
}

/// A flow sends at the rate of its order: the interval after an order, on a path that is
/// faster, has the packets that the rate has room for.
#[test]
fn an_action_sets_the_rate_of_the_next_interval() {
    let mut options = options(Quantity::Rate);
    options.prior = vec![
        ("path.rate".to_owned(), "100mbit".to_owned()),
        ("path.loss".to_owned(), "0%".to_owned()),
    ];
    options.start = Some("0.05".to_owned());
    let mut episode = Episode::new(spec(TEXT, options));
    episode.reset(Some(1)).expect("an episode begins");
    episode.step(&[0.0]);
    for (action, rate) in [(1.0, 10e6), (1.0, 20e6), (-1.0, 10e6), (0.0, 10e6)] {
        episode.step(&[action]);
        let [_, seconds, _, _, _, packets, told, _] = episode.outcome().info[0];
        assert!((told - rate).abs() < 1.0, "{told}");
        let sent = packets * 1448.0 * 8.0 / seconds;
        // The pacer releases whole packets.
        let packet = 1448.0 * 8.0 / seconds;
        assert!((sent - rate).abs() <= packet * 1.5, "{sent} for {rate}");
    }
}

#[test]
fn a_late_agent_is_neutral_before_its_first_packet() {
    let options = Options {
        prior: vec![],
        max_steps: None,
        ..options(Quantity::Window)
    };
    let spec = spec(WITH_OTHERS, options);
    assert_eq!(spec.agents(), ["one", "late"]);
    let mut episode = Episode::new(Arc::clone(&spec));
    episode.reset(Some(1)).expect("an episode begins");
    let width = spec.observed();
    let (mut before, mut after) = (0, 0);
    while !episode.is_over() {
        episode.step(&[0.0, 0.0]);
        let outcome = episode.outcome();
        let late = &outcome.observations[width..][..12];
        let time = outcome.info[1][0];
        if time < 0.7 {
            before += 1;
            assert_eq!(late, [0.0, 1.0, 1.0, 0.0].repeat(3));
            assert_eq!(outcome.rewards[1], 0.0);
        } else if time > 1.2 {
            after += 1;
            assert!(outcome.info[1][1] > 0.0);
            // Both agents act at the same times from then on.
            assert_eq!(outcome.info[0][1], outcome.info[1][1]);
        }
    }
    assert!(before > 3 && after > 50, "{before} {after}");
}

/// The observations of a policy's network: the environment feeds them to it step by step, a run with
/// the policy as an algorithm has its own. Both runs are the same at every pause.
fn environment_and_run_agree(text: &str, quantity: Quantity, seed: u64) {
    let file = std::env::temp_dir().join(format!(
        "fullpipe-gym-{}-{quantity:?}.json",
        std::process::id()
    ));
    let (word, limits) = match quantity {
        Quantity::Rate => ("rate", "[1e5, 1e9]"),
        Quantity::Window => ("window", "[2, 1e5]"),
    };
    let zeros = ["0"; 12].join(",");
    let ones = ["1"; 12].join(",");
    // Slows down when the RTT ratio, a send ratio or a loss ratio grows, else speeds up.
    let weights = "0,0,0,0,0,0,0,0,-2,-0.4,-0.2,-3";
    let policy = format!(
        r#"{{"fullpipe-policy": 1, "features": ["latency-inflation", "latency-ratio", "send-ratio", "loss-ratio"],
        "history": 3, "interval": 1.0, "warm_up": 1.0,
        "action": {{"quantity": "{word}", "form": "double", "scale": 1.0, "actions": [-1, 1], "limits": {limits}}},
        "network": {{"shift": [{zeros}], "scale": [{ones}], "clip": 10, "layers": [
            {{"weights": [[{weights}]], "bias": [0.8], "activation": "tanh"}}]}}}}"#
    );
    std::fs::write(&file, &policy).expect("a writable directory");
    let loaded = fullpipe_policy::load(&file, &format!("policy:{word}")).expect("a policy");
    std::fs::remove_file(&file).expect("the file that was written");
    let network = fullpipe_policy::Read::of(&policy)
        .expect("a policy")
        .network;

    let options = Options {
        prior: vec![],
        columns: vec![],
        max_steps: None,
        ..options(quantity)
    };
    let mut episode = Episode::new(spec(text, options));
    episode.reset(Some(seed)).expect("an episode begins");

    let text = text.replace("\"agent\"", &format!("{:?}", loaded.descriptor.name));
    let overrides = [("seed".to_owned(), seed.to_string())];
    let template = Template::read(&text, "t.toml").expect("a scenario");
    let scenario = Scenario::of(template, &overrides, None).expect("a scenario");
    let registry = Registry::default().with(loaded.descriptor);
    let mut simulation = Simulation::new(&scenario, &registry, TraceLevel::Off).expect("a run");
    let mut steps = 0;
    while !episode.is_over() {
        let observations = &episode.outcome().observations;
        let action = network.outputs(observations)[0] as f32;
        let pause = episode.outcome().info[0][0];
        simulation.advance_to(Time::ZERO + fullpipe_units::Span::from_secs_f64(pause));
        let socket = simulation.socket(0).expect("a TCP flow");
        let [.., rate, cwnd] = episode.outcome().info[0];
        assert_eq!(socket.cwnd.as_f64(), cwnd, "step {steps} at {pause} s");
        if quantity == Quantity::Rate {
            assert_eq!(
                socket.pacing_rate.map_or(0.0, |rate| rate.as_f64()),
                rate,
                "step {steps}"
            );
        }
        episode.step(&[action]);
        steps += 1;
    }
    assert!(steps > 100, "{steps}");
}

#[test]
fn a_policy_runs_as_in_its_environment() {
    environment_and_run_agree(TEXT, Quantity::Rate, 1);
    environment_and_run_agree(TEXT, Quantity::Window, 2);
}

#[test]
fn the_steered_controller_keeps_the_contract() {
    fullpipe_cc::check::contract(&steered::DESCRIPTOR, 200).expect("no breach");
}

#[test]
fn a_prior_without_an_agent_is_refused() {
    let refused = |text: &str, change: &dyn Fn(&mut Options)| {
        let mut options = options(Quantity::Rate);
        change(&mut options);
        let template = Template::read(text, "t.toml").expect("a scenario");
        Spec::new(template, options, Registry::default())
            .expect_err("a mistake")
            .to_string()
    };
    let keep = |_: &mut Options| {};
    let without = refused(&TEXT.replace("agent", "cubic"), &keep);
    assert!(
        without.contains("no flow has the algorithm \"agent\""),
        "{without}"
    );
    let column = refused(TEXT, &|options| {
        options.columns = vec!["flows.cwmd".to_owned()]
    });
    assert!(column.contains("did you mean \"flows.cwnd\"?"), "{column}");
    let link = refused(TEXT, &|options| {
        options.columns = vec!["links.drops@core".to_owned()]
    });
    assert!(link.contains("the scenario has no link \"core\""), "{link}");
    let start = refused(TEXT, &|options| options.start = Some("-1".to_owned()));
    assert!(start.contains("share of the bottleneck's rate"), "{start}");
    let edge = refused(TEXT, &|options| {
        options.prior[1].1 = "10ms..100ms,5".to_owned()
    });
    assert!(edge.contains("path.rtt"), "{edge}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the actions, observations and rewards are finite, and each interval accounts for the
    /// time: it grows with each step.
    #[test]
    fn any_actions_give_finite_numbers(
        seed in 0_u64..1 << 40, rate: bool,
        actions in prop::collection::vec(prop_oneof![-1e12..1e12_f32, -1.0..1.0_f32, Just(f32::NAN), Just(f32::INFINITY)], 60),
    ) {
        let quantity = if rate { Quantity::Rate } else { Quantity::Window };
        let mut options = options(quantity);
        options.spaces.rule.limits = if rate { (1e5, 1e8) } else { (2.0, 2000.0) };
        let mut episode = Episode::new(spec(WITH_OTHERS, options));
        episode.reset(Some(seed)).expect("an episode begins");
        let mut time = episode.outcome().info[0][0];
        for pair in actions.chunks_exact(2) {
            episode.step(pair);
            let outcome = episode.outcome();
            prop_assert!(outcome.observations.iter().all(|value| value.is_finite()));
            prop_assert!(outcome.rewards.iter().all(|value| value.is_finite()));
            prop_assert!(outcome.info[0][0] > time, "time goes on");
            time = outcome.info[0][0];
            if episode.is_over() {
                break;
            }
        }
    }
}
