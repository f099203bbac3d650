//! Same scenario and seed, same trace; and the engine's shortcuts change nothing, to the bit.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_sim::Simulation;
use fullpipe_trace::{Run, TraceLevel};
use proptest::prelude::*;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(scenario: &Scenario, stepping: bool) -> Run {
    let mut simulation = Simulation::new(scenario, &Registry::default(), TraceLevel::Acks)
        .expect("a valid scenario");
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
    cc = "ledbat++"
    [[flow]]
    cc = "bbr3"
    receiver = "rledbat"
    receiver_params = { tick = 4 }
    [[flow]]
    cc = "none"
    app_rate = "1mbit"
"#;

/// Keys for [path] in [`MIXED`]: everything that a path does, in both directions.
const VARYING: &str = r#"
    policer = "30mbit burst 40kB"
    jitter = "2ms"
    reverse_jitter = "hold 5ms every 12ms"
    [[path.change]]
    at = "1s"
    rate = "7mbit"
    rtt = "90ms"
    [[path.change]]
    at = "2s"
    rate = "60mbit"
    buffer = "10packets"
    jitter = "8ms reorder"
    [[path.change]]
    at = "3s"
    rtt = "10ms"
    policer = "10mbit burst 20kB"
    reverse_jitter = "3ms"
    loss = "gilbert-elliott p 0.5% r 40% loss-good 0.1%"
    reverse_loss = "every 70"
    [[path.change]]
    at = "4500ms"
    jitter = "hold 30ms every 70ms"
    policer = "off"
    loss = "1%"
    reverse_loss = "0%"
"#;

fn mixed_varying() -> String {
    MIXED.replace(
        "reverse_loss = \"0.5%\"",
        &format!("reverse_loss = \"0.5%\"{VARYING}"),
    )
}

#[test]
fn one_seed_gives_one_trace_and_another_seed_another() {
    let first = scenario(MIXED);
    let again = hash(&run(&first, false));
    assert_eq!(hash(&run(&first, false)), again);
    let other = Scenario::parse_with(MIXED, "test.toml", &[], Some(2)).expect("a valid scenario");
    assert_ne!(hash(&run(&other, false)), again);
    let varying = scenario(&mixed_varying());
    assert_eq!(hash(&run(&varying, false)), hash(&run(&varying, false)));
    assert_ne!(hash(&run(&varying, false)), again);
}

#[test]
fn without_randomness_the_seed_does_not_matter() {
    let text = "duration = \"3s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"\n[[flow]]\ncc = \"cubic\"\n";
    let seeds = [1, 2].map(|seed| {
        Scenario::parse_with(text, "test.toml", &[], Some(seed)).expect("a valid scenario")
    });
    assert_eq!(hash(&run(&seeds[0], false)), hash(&run(&seeds[1], false)));
    assert!(!fullpipe_setup::is_random(&seeds[0], &Registry::default()));
}

#[test]
fn with_randomness_of_any_kind_the_seed_matters() {
    let plain = "duration = \"3s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"1bdp\"\n[[flow]]\ncc = \"cubic\"\n";
    let plain = &plain.replace(
        "[[flow]]",
        "[[path.change]]\nat = \"1s\"\nrtt = \"20ms\"\n[[flow]]",
    );
    assert!(!fullpipe_setup::is_random(
        &scenario(plain),
        &Registry::default()
    ));
    for (key, value) in [
        ("start_jitter", "10ms"),
        ("send_jitter", "1ms"),
        ("path.loss", "1%"),
        ("path.reverse_loss", "10%"),
        ("path.jitter", "1ms"),
        ("path.reverse_jitter", "1ms"),
        ("path.rate_pattern", "walk 5mbit..15mbit step 100ms"),
        ("path.change.0.loss", "1%"),
        ("path.loss", "gilbert-elliott p 1% r 30%"),
        ("path.reverse_loss", "gilbert-elliott p 5% r 30%"),
        ("path.change.0.reverse_loss", "10%"),
        ("path.change.0.jitter", "1ms reorder"),
        ("path.jitter", "gamma 2ms sigma 1ms"),
        ("path.duplicate", "1%"),
        ("path.reverse_duplicate", "1%"),
        ("path.change.0.duplicate", "1%"),
        ("path.wifi", "frames 8 overhead 200us backoff 100us"),
        ("path.suspend", "20ms every 200ms random"),
        ("path.change.0.suspend", "20ms every 200ms random"),
        ("path.change.0.reverse_jitter", "1ms"),
        ("flow.0.cc", "bbr1"),
        ("flow.0.app", "on exp 1s off 500ms"),
        ("flow.0.app", "on 100kB off pareto 100ms shape 2"),
        ("flow.0.app", "request exp 100kB"),
        ("flow.0.app", "request 100kB think exp 1s"),
        ("host.wake_max", "1ms"),
    ] {
        let wake = [("host.wake_min", "5us"), ("host.wake_median", "20us")];
        let wake = wake.iter().filter(|_| key == "host.wake_max");
        let overrides: Vec<(String, String)> = wake
            .chain(&[(key, value)])
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let seeds = [1, 2].map(|seed| {
            Scenario::parse_with(plain, "test.toml", &overrides, Some(seed))
                .expect("a valid scenario")
        });
        assert!(
            fullpipe_setup::is_random(&seeds[0], &Registry::default()),
            "{key} = {value}"
        );
        assert_ne!(
            hash(&run(&seeds[0], false)),
            hash(&run(&seeds[1], false)),
            "{key} = {value}"
        );
    }
}

#[test]
fn adding_a_flow_does_not_change_what_others_draw() {
    // The added flow begins when the others have ended: they must not be affected.
    let alone = "duration = \"4s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"\nloss = \"1%\"\n\
                 [[flow]]\nname = \"a\"\ncc = \"cubic\"\nbytes = \"200kB\"\n";
    let joined = format!("{alone}[[flow]]\nname = \"b\"\ncc = \"cubic\"\nstart = \"3900ms\"\n");
    let completion = |text: &str| {
        run(&scenario(text), false).summary.flows[0]
            .completion_s
            .expect("it completes")
    };
    assert_eq!(completion(alone), completion(&joined));
}

#[test]
fn short_cuts_equal_stepping_with_everything_mixed() {
    for text in [MIXED, &mixed_varying()] {
        let mixed = scenario(text);
        let (fast, slow) = (run(&mixed, false), run(&mixed, true));
        assert_eq!(hash(&fast), hash(&slow));
        assert_eq!(fast.summary, slow.summary);
    }
}

#[test]
fn a_schedule_that_changes_nothing_changes_nothing() {
    // The elements that may vary give the same result as the constant ones.
    let same = "[[path.change]]\nat = \"2s\"\nrate = \"20mbit\"\nrtt = \"30ms\"\nbuffer = \"1bdp\"\nloss = \"0.2%\"\n\
                reverse_loss = \"0.5%\"\npolicer = \"off\"\njitter = \"off\"\nreverse_jitter = \"off\"\n[[flow]]";
    let (plain, varying) = (
        scenario(MIXED),
        scenario(&MIXED.replacen("[[flow]]", same, 1)),
    );
    let (plain, mut varying) = (run(&plain, false), run(&varying, false));
    assert_eq!(hash(&plain), hash(&varying));
    let changes = &varying.summary.steadiness.changes;
    assert!(changes.starts_with("the path changes at 2s; "), "{changes}");
    varying.summary.steadiness = plain.summary.steadiness.clone();
    assert_eq!(plain.summary, varying.summary);
}

/// A path's impairments, as keys of [path] or of a [[path.change]].
fn impairments() -> impl Strategy<Value = String> {
    let jitter = || {
        prop_oneof![
            Just("off".to_owned()),
            (1_u32..20).prop_map(|ms| format!("{ms}ms")),
            (1_u32..20, 0_u32..30)
                .prop_map(|(hold, more)| format!("hold {hold}ms every {}ms", hold + more)),
        ]
    };
    let jitter = || {
        let names = prop_oneof![
            Just("normal"),
            Just("pareto"),
            Just("paretonormal"),
            Just("gamma")
        ];
        let random = (names, 2_u32..10, 1_u32..8, 0_u32..99).prop_map(|(name, mean, sigma, c)| {
            format!("{name} {mean}ms sigma {sigma}ms correlation {c}%")
        });
        prop_oneof![3 => jitter(), 2 => random, 1 => Just("histogram 0ms 5, 1ms 3, 4ms 0".to_owned())]
    };
    let reordering = prop_oneof![
        3 => jitter(),
        1 => jitter().prop_map(|jitter| match jitter.starts_with(['h', 'o']) {
            true => "5ms reorder".to_owned(),
            false => format!("{jitter} reorder"),
        }),
    ];
    let policer = prop_oneof![
        Just("off".to_owned()),
        (1_u32..40, 2_u32..60).prop_map(|(rate, burst)| format!("{rate}mbit burst {burst}kB")),
    ];
    let loss = || {
        prop_oneof![
            3 => (0_u32..3).prop_map(|p| format!("{p}%")),
            1 => (1_u32..5, 20_u32..90).prop_map(|(p, r)| format!("gilbert-elliott p {p}% r {r}% loss-good 0.5%")),
            1 => (5_u32..100).prop_map(|n| format!("every {n}")),
            1 => Just("list 1, 4, 5, 6, 30, 70".to_owned()),
        ]
    };
    let shaper = prop_oneof![
        2 => Just("off".to_owned()),
        1 => (1_u32..40, 2_u32..60).prop_map(|(rate, burst)| format!("{rate}mbit burst {burst}kB")),
    ];
    let copies = (0_u32..4, 0_u32..4).prop_map(|(data, acks)| {
        format!("duplicate = \"{data}%\"\nreverse_duplicate = \"{acks}%\"\n")
    });
    let wifi = (1_u32..30, 1_u32..900, 0_u32..300).prop_map(|(frames, us, more)| {
        format!("frames {frames} overhead {us}us backoff {more}us bytes 20kB")
    });
    let suspend = (1_u32..60, 1_u32..200, any::<bool>()).prop_map(|(hold, more, random)| {
        format!(
            "{hold}ms every {}ms{}",
            hold + more,
            if random { " random" } else { "" }
        )
    });
    let off = || Just("off".to_owned());
    let radio = (
        prop_oneof![2 => off(), 1 => wifi],
        prop_oneof![2 => off(), 1 => suspend],
    );
    (reordering, jitter(), (policer, shaper, radio), loss(), loss(), copies).prop_map(
        |(jitter, reverse, (policer, shaper, (wifi, suspend)), loss, reverse_loss, copies)| {
            copies
                + &format!("wifi = \"{wifi}\"\nsuspend = \"{suspend}\"\n")
                + &format!(
                    "jitter = \"{jitter}\"\nreverse_jitter = \"{reverse}\"\npolicer = \"{policer}\"\nshaper = \"{shaper}\"\n\
             loss = \"{loss}\"\nreverse_loss = \"{reverse_loss}\"\n"
                )
        },
    )
}

/// The way in which the link sends, as keys of [path], with or without a constant rate.
fn pattern() -> impl Strategy<Value = String> {
    let range = (1_u32..20, 1_u32..40, 1_u32..900);
    let swing = (0..3_usize, range).prop_map(|(kind, (low, more, ms))| {
        let (word, time) = [("sine", "every"), ("saw", "every"), ("walk", "step")][kind];
        format!("{word} {low}mbit..{}mbit {time} {ms}ms", low + more)
    });
    let schedule = (1_u32..40, 1_u32..1_400, 1_u32..40)
        .prop_map(|(first, at, then)| format!("schedule 0s {first}mbit, {at}ms {then}mbit"));
    let trace = prop::collection::vec(0_u32..30, 1..40).prop_map(|gaps| {
        let times = gaps
            .iter()
            .map(|gap| gap % 4 * (gap / 4))
            .scan(1, |at, gap| {
                *at += gap;
                Some(at.to_string())
            });
        times.collect::<Vec<_>>().join(", ")
    });
    let begin = prop_oneof![Just(""), Just(" from random")];
    let trace = (trace, begin).prop_map(|(times, begin)| format!("mahimahi {times}{begin}"));
    prop_oneof![swing, schedule, trace]
        .prop_map(|pattern| format!("rate_pattern = \"{pattern}\"\n"))
}

/// The delay of one direction as a trace, as a key of [path].
fn delays() -> impl Strategy<Value = String> {
    let times = (0_u32..60, 1_u32..700, 0_u32..60, 1_u32..700);
    (any::<bool>(), times, any::<bool>()).prop_map(|(back, (first, at, then, more), again)| {
        let key = ["delay_trace", "reverse_delay_trace"][usize::from(back)];
        let every = match again {
            true => format!(" every {}ms from random", at + more),
            false => String::new(),
        };
        format!("{key} = \"0s {first}ms, {at}ms {then}ms{every}\"\n")
    })
}

fn change() -> impl Strategy<Value = String> {
    (1_u32..50, 0_u32..60, 1_u32..80, impairments()).prop_map(|(rate, rtt, buffer, impairments)| {
        format!(
            "rate = \"{rate}mbit\"\nrtt = \"{rtt}ms\"\nbuffer = \"{buffer}packets\"\n{impairments}"
        )
    })
}

/// A queue, with thresholds low enough for a small buffer.
fn queue() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("\"pfifo\""),
        Just("\"bfifo\""),
        Just("{ kind = \"red\", min = \"500B\", max = \"1500B\", avpkt = \"100B\", ecn = true }"),
        Just("{ kind = \"codel\", target = \"1ms\", interval = \"10ms\", ecn = true }"),
        Just("{ kind = \"fq_codel\", flows = 3, target = \"1ms\", interval = \"10ms\" }"),
        Just("{ kind = \"sfq\", flows = 2, divisor = 2, depth = 4, perturb = \"1s\" }"),
        Just("{ kind = \"pie\", target = \"1ms\", tupdate = \"3ms\", ecn = true }"),
        Just(
            "{ kind = \"dualpi2\", target = \"1ms\", tupdate = \"3ms\", step_thresh = \"1packets\" }"
        ),
        Just("{ kind = \"cake\", rtt = \"10ms\" }"),
        Just("{ kind = \"cake\", rtt = \"10ms\", bandwidth = \"4mbit\" }"),
        Just("{ kind = \"step_ecn\", threshold = \"2packets\", drop_not_ect = true }"),
    ]
}

/// Costs of a flow's ends: CPUs that keep up or not, and wake-ups.
fn host() -> impl Strategy<Value = String> {
    let wake = "wake_min = \"5us\"\nwake_median = \"40us\"\nwake_max = \"3ms\"\n";
    let costs = (0_u32..300, 0_u32..300, 0_u32..50, 0_u32..100, 1_u32..20);
    let host = (costs, any::<bool>()).prop_map(move |((send, receive, ack, call, batch), wakes)| {
        format!(
            "[host]\nsend = \"{send}us\"\nreceive = \"{receive}us\"\nack = \"{ack}us\"\ncall = \"{call}us\"\n\
             batch = {batch}\nvariation = \"20%\"\n{}",
            if wakes { wake } else { "" }
        )
    });
    prop_oneof![2 => Just(String::new()), 1 => host]
}

fn stack() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("rfc"), Just("linux"), Just("linux-fq")]
}

fn flow() -> impl Strategy<Value = String> {
    let name = |name: &str| match name {
        "lia" => "lia\"\ngroup = \"phone".to_owned(),
        _ => name.to_owned(),
    };
    let mut names: Vec<_> = Registry::default().names().into_iter().map(name).collect();
    names.push("cubic\"\necn = \"ect0\"\necn_feedback = \"classic".to_owned());
    let algorithm = proptest::sample::select(names);
    let options = prop_oneof![
        Just(""),
        Just("bytes = \"300kB\"\n"),
        Just("app_rate = \"2mbit\"\n"),
        Just("pacing = \"on\"\n"),
        Just("rtt = \"+5ms\"\n"),
        Just("ack_policy = \"fixed\"\ndelayed_ack = 1\n"),
        Just("gro = \"1ms\"\n"),
        Just("receive_window = \"30kB\"\n"),
        Just("app = \"on 100ms off exp 50ms\"\n"),
        Just("app = \"on exp 100ms off 20ms\"\napp_rate = \"3mbit\"\n"),
        Just("app = \"on 50kB off exp 30ms\"\n"),
        Just("app = \"request 40kB\"\n"),
        Just("app = \"request pareto 20kB shape 1.5 think exp 30ms\"\ngro = \"1ms\"\n"),
        Just(
            "app = \"request exp 5kB think 60ms\"\nack_policy = \"fixed\"\ndelayed_ack = 4\nreceive_window = \"30kB\"\n"
        ),
    ];
    let window = prop_oneof![3 => Just(""), 1 => Just("receive_window = \"auto max 300kB\"\n")];
    let responsive =
        (algorithm, options, window, 0_u32..500).prop_map(|(algorithm, options, window, start)| {
            let window = if algorithm == "rledbat" || options.contains("receive_window") {
                ""
            } else {
                window
            };
            format!("[[flow]]\ncc = \"{algorithm}\"\nstart = \"{start}ms\"\n{options}{window}")
        });
    let codepoint = prop_oneof![Just("off"), Just("ect0"), Just("ect1")];
    let unresponsive = codepoint.prop_map(|ecn| {
        format!("[[flow]]\ncc = \"none\"\napp_rate = \"3mbit\"\necn = \"{ecn}\"\n")
    });
    prop_oneof![5 => responsive, 1 => unresponsive]
}

/// Further links; the last keys are those that a queue needs.
fn link(name: &'static str) -> impl Strategy<Value = String> {
    let buffer = prop_oneof![3 => Just("\"pfifo\""), 2 => queue()];
    (1_u32..50, 0_u32..20, 1_u32..60, buffer, 0_u32..3, any::<[bool; 3]>()).prop_map(
        move |(rate, delay, buffer, queue, loss, [filter, strip, police])| {
            let on = |yes, word: &str, otherwise: &str| if yes { word.to_owned() } else { otherwise.to_owned() };
            format!(
                "[[link]]\nname = \"{name}\"\nrate = \"{rate}mbit\"\ndelay = \"{delay}ms\"\nbuffer = \"{buffer}packets\"\n\
                 queue = {queue}\nloss = \"{loss}%\"\nack_filter = \"{}\"\necn = \"{}\"\npolicer = \"{}\"\n",
                on(filter, "on", "off"),
                on(strip, "strip", "keep"),
                on(police, "20mbit burst 20kB", "off"),
            )
        },
    )
}

/// A route over some links in each direction; the first flow uses all of them.
fn routes() -> impl Strategy<Value = (String, String)> {
    let links =
        || prop::sample::subsequence(vec!["bottleneck", "a", "b", "c"], 1..=4).prop_shuffle();
    (links(), prop_oneof![Just(Vec::new()), links()])
        .prop_map(|(there, back)| (format!("{there:?}"), format!("{back:?}")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn short_cuts_equal_stepping_over_any_links(
        path in change(), a in link("a"), b in link("b"), c in link("c"), changes in prop::collection::vec((1_u32..1400, change()), 0..2),
        jitter in 0_u32..300, seed in 0_u64..1_000, host in host(), stack in stack(), flows in prop::collection::vec((flow(), routes()), 1..4),
    ) {
        let mut text = format!("stack = \"{stack}\"\nduration = \"1500ms\"\nseed = {seed}\nsend_jitter = \"{jitter}us\"\n[path]\n{path}");
        let mut times = std::collections::BTreeSet::new();
        for (at, change) in changes.iter().filter(|(at, _)| times.insert(*at)) {
            text += &format!("[[path.change]]\nat = \"{at}ms\"\n{change}");
        }
        text += &host;
        // All links are used.
        text += "[[flow]]\ncc = \"newreno\"\nroute = [\"a\", \"bottleneck\", \"b\", \"c\"]\nreverse_route = [\"c\", \"a\"]\n";
        for (flow, (there, back)) in &flows {
            text += &format!("{flow}route = {there}\n");
            if !flow.contains("\"none\"") {
                text += &format!("reverse_route = {back}\n");
            }
        }
        for link in [a, b, c] {
            // Marks stay where a flow needs them.
            let needs = text.contains("dctcp") || text.contains("prague");
            text += &if needs { link.replace("\"strip\"", "\"keep\"") } else { link };
        }
        let scenario = scenario(&text);
        let (fast, slow) = (run(&scenario, false), run(&scenario, true));
        prop_assert_eq!(hash(&fast), hash(&slow));
        prop_assert_eq!(&fast.summary, &slow.summary);
        let flows = &fast.summary.flows;
        let links = &fast.summary.links;
        prop_assert_eq!(
            flows.iter().map(|flow| flow.drops).sum::<u64>(),
            links.iter().map(|link| link.drops + link.losses + link.policed).sum::<u64>()
        );
        prop_assert_eq!(flows.iter().map(|flow| flow.marks).sum::<u64>(), links.iter().map(|link| link.marks).sum::<u64>());
        // ACKs dropped by the path's reverse_loss are counted at no link.
        prop_assert!(
            flows.iter().map(|flow| flow.ack_drops).sum::<u64>() >= links.iter().map(|link| link.ack_drops).sum::<u64>()
        );
    }

    #[test]
    fn short_cuts_equal_stepping_bit_for_bit(
        rate in 1_u32..50, rtt in 0_u32..60, buffer in 1_u32..80, jitter in 0_u32..300, loss in 0_u32..3,
        seed in 0_u64..1_000, host in host(), stack in stack(), flows in prop::collection::vec(flow(), 1..5),
    ) {
        let text = format!(
            "stack = \"{stack}\"\nduration = \"1500ms\"\nseed = {seed}\nsend_jitter = \"{jitter}us\"\n[path]\nrate = \"{rate}mbit\"\n\
             rtt = \"{rtt}ms\"\nbuffer = \"{buffer}packets\"\nloss = \"{loss}%\"\nreverse_loss = \"{loss}%\"\n{host}{}",
            flows.concat(),
        );
        let scenario = scenario(&text);
        let (fast, slow) = (run(&scenario, false), run(&scenario, true));
        prop_assert_eq!(hash(&fast), hash(&slow));
        prop_assert_eq!(fast.summary, slow.summary);
    }

    #[test]
    fn short_cuts_equal_stepping_whatever_the_path_does(
        path in change(), delays in prop::option::of(delays()), pattern in prop::option::of(pattern()), queue in queue(), changes in prop::collection::vec((1_u32..1400, change()), 0..4), jitter in 0_u32..300,
        seed in 0_u64..1_000, host in host(), stack in stack(), flows in prop::collection::vec(flow(), 1..4),
    ) {
        let mut text = format!("stack = \"{stack}\"\nduration = \"1500ms\"\nseed = {seed}\nsend_jitter = \"{jitter}us\"\n[path]\n{path}");
        text += &format!("queue = {queue}\n{}{}", delays.unwrap_or_default(), pattern.as_deref().unwrap_or_default());
        let mut times = std::collections::BTreeSet::new();
        for (at, change) in changes.iter().filter(|(at, _)| times.insert(*at)) {
            let rate = change.lines().next().filter(|_| pattern.is_some()).unwrap_or_default();
            text += &format!("[[path.change]]\nat = \"{at}ms\"\n{}", change.replacen(rate, "", 1));
        }
        if text.contains("mahimahi") {
            // A trace itself defines when packets leave.
            text = text.lines().filter(|line| !line.starts_with("wifi") && !line.starts_with("suspend")).map(|line| line.to_owned() + "\n").collect();
        }
        let scenario = scenario(&(text + &host + &flows.concat()));
        let (fast, slow) = (run(&scenario, false), run(&scenario, true));
        prop_assert_eq!(hash(&fast), hash(&slow));
        prop_assert_eq!(&fast.summary, &slow.summary);
        let lost: u64 = fast.summary.flows.iter().map(|flow| flow.drops).sum();
        let link = &fast.summary.links[0];
        prop_assert_eq!(lost, link.drops + link.losses + link.policed);
        prop_assert_eq!(fast.summary.flows.iter().map(|flow| flow.marks).sum::<u64>(), link.marks);
    }
}
