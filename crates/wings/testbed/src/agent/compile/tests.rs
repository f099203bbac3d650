use super::*;
use fullpipe_units::{Draw, Rng};

fn text(flow: &str) -> String {
    format!(
        "duration = \"10s\"\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n[[flow]]\n{flow}\n"
    )
}

fn plan(flow: &str) -> Result<Plan, String> {
    plan_of(&text(flow))
}

fn plan_of(text: &str) -> Result<Plan, String> {
    plan_at(text, Span::from_millis(10))
}

fn plan_at(text: &str, interval: Span) -> Result<Plan, String> {
    let scenario = Scenario::parse(text, "test.toml").map_err(|error| error.to_string())?;
    let offered: Vec<String> = ["reno", "bbr", "cubic", "vegas", "fp_copa"]
        .map(str::to_owned)
        .into();
    let ends = Ends {
        receiver: Ipv4Addr::new(10, 0, 0, 2),
        first_port: 5001,
        interval,
        offered: Some(&offered),
        runner: "kernel",
        arrivals: true,
        programs: false,
        routes: false,
    };
    Plan::of(&scenario, &ends).map_err(|error| error.to_string())
}

#[test]
fn algorithms_have_the_kernels_names() {
    for (cc, kernel) in [
        ("newreno", "reno"),
        ("bbr1", "bbr"),
        ("cubic", "cubic"),
        ("vegas", "vegas"),
        ("copa", "fp_copa"),
        ("bbr", "bbr"),
    ] {
        let plan = plan(&format!("cc = \"{cc}\"")).expect("the kernel has it");
        assert_eq!(plan.flows[0].congestion, kernel);
    }
}

#[test]
fn a_refusal_names_a_module_only_if_linux_has_one() {
    for (cc, words) in [
        ("bbr3", "on sim; fullpipe's version for the kernel is built"),
        ("swift", "on sim: Linux has no such algorithm"),
        ("delayaimd", "on sim: Linux has no such algorithm"),
        ("mine:Vegas", "on sim: Linux has no such algorithm"),
        ("dctcp", "load a module (modprobe tcp_dctcp)"),
        ("westwood", "load a module (modprobe tcp_westwood)"),
    ] {
        let refused = plan(&format!("cc = \"{cc}\"")).expect_err("the kernel has it not");
        assert!(refused.contains(words), "{cc}: {refused}");
    }
}

#[test]
fn what_says_what_linux_does_is_taken() {
    for flow in [
        "cc = \"cubic\"\nparams = { profile = \"linux\", slow_start = \"hystart\" }\npacing = \"on\"",
        "cc = \"cubic\"\nparams = { profile = \"linux\" }",
        // Its name is the kernel's, and it has the profile.
        "cc = \"vegas\"\nparams = { profile = \"linux\", alpha = 2 }",
        "cc = \"newreno\"\nparams = { profile = \"linux\" }\nreceive_window = \"32MiB\"",
        "cc = \"cubic\"\necn = \"ect0\"\necn_feedback = \"classic\"",
        "cc = \"cubic\"\nack_policy = \"linux\"\nsack_compression = \"5%\"",
        // The value that `resolved` writes.
        "cc = \"newreno\"\nparams = { abc_limit = 1000000 }",
    ] {
        plan(flow).expect("the kernel does this");
    }
}

#[test]
fn what_a_kernel_has_not_got_is_refused_by_its_key() {
    for (flow, key) in [
        (
            "cc = \"bbr3\"",
            "flow.0.cc = \"bbr3\": the kernel of --on kernel has no algorithm \"bbr3\"",
        ),
        (
            "cc = \"dctcp\"",
            "flow.0.cc = \"dctcp\": the kernel of --on kernel has no algorithm \"dctcp\"",
        ),
        (
            "cc = \"none\"\napp_rate = \"1mbit\"",
            "flow.0.cc = \"none\"",
        ),
        (
            "cc = \"cubic\"\ntransport = \"datagram\"",
            "flow.0.transport = \"datagram\": --on kernel runs the kernel's TCP, which has no datagrams",
        ),
        (
            "cc = \"cubic\"\napp = \"media 50fps from 1mbit to 2mbit\"",
            "flow.0.transport = \"datagram\"",
        ),
        (
            "cc = \"cubic\"\nparams = { beta = 0.5 }",
            "flow.0.params.beta = 0.5",
        ),
        (
            "cc = \"vegas\"\nparams = { profile = \"linux\", alpha = 3 }",
            "flow.0.params.alpha = 3",
        ),
        (
            "cc = \"cubic\"\nparams = { slow_start = \"classic\" }",
            "flow.0.params.slow_start = \"classic\"",
        ),
        (
            "cc = \"cubic\"\nparams = { profile = \"linux\", beta = 0.6 }",
            "flow.0.params.beta = 0.6",
        ),
        (
            "cc = \"cubic\"\nparams = { profile = \"linux\", slow_start = \"hystart++\" }",
            "flow.0.params.slow_start = \"hystart++\"",
        ),
        (
            "cc = \"cubic\"\nreceiver = \"rledbat\"",
            "flow.0.receiver = \"rledbat\"",
        ),
        ("cc = \"cubic\"\napp = \"on 500kB off 1s\"", "flow.0.app"),
        ("cc = \"cubic\"\necn = \"ect1\"", "flow.0.ecn = \"ect1\""),
        ("cc = \"cubic\"\necn = \"ect0\"", "flow.0.ecn = \"ect0\""),
        ("cc = \"bbr1\"\npacing = \"off\"", "flow.0.pacing = \"off\""),
        ("cc = \"cubic\"\ndelayed_ack = 4", "flow.0.delayed_ack = 4"),
        (
            "cc = \"cubic\"\nack_delay = \"1ms\"",
            "flow.0.ack_delay = \"1ms\"",
        ),
        (
            "cc = \"cubic\"\ngroup = \"phone\"",
            "flow.0.group = \"phone\"",
        ),
        ("cc = \"cubic\"\nmss = \"1449B\"", "flow.0.mss = \"1449B\""),
        (
            "cc = \"cubic\"\ninitial_window = 11",
            "flow.0.initial_window = 11",
        ),
        (
            "cc = \"cubic\"\nsack_compression = \"33%\"",
            "flow.0.sack_compression = \"33%\"",
        ),
        (
            "cc = \"cubic\"\nmetrics_cache = \"ssthresh\"",
            "flow.0.metrics_cache = \"ssthresh\"",
        ),
        ("cc = \"cubic\"\n[host]\nsend = \"1us\"", "host"),
    ] {
        let error = plan(flow).expect_err(flow);
        assert!(
            error.contains(key) && error.contains("fix: "),
            "{flow}: {error}"
        );
    }
}

#[test]
fn segments_have_the_flows_size() {
    let sizes: Vec<u32> = plan("cc = \"cubic\"\n[[flow]]\ncc = \"cubic\"\nmss = \"536B\"")
        .expect("smaller segments fit")
        .flows
        .iter()
        .map(|flow| flow.segment)
        .collect();
    assert_eq!(sizes, [1448, 536]);
}

/// Stored runs and the points of a sweep have every default written out.
#[test]
fn a_scenario_with_every_default_written_out_is_the_same_one() {
    let as_linux = "cc = \"cubic\"\nparams = { profile = \"linux\", slow_start = \"hystart\" }";
    for flow in ["cc = \"cubic\"", as_linux, "cc = \"bbr1\""] {
        let scenario = Scenario::parse(&text(flow), "test.toml").expect("a scenario");
        let written =
            fullpipe_setup::resolved(&scenario, &fullpipe_cc::Registry::default()).to_toml();
        assert!(written.contains("[flow.params]"), "{written}");
        let mut plans = [plan_of(&written), plan(flow)].map(|plan| plan.expect("a plan"));
        // The default window sets no limit in the plan. Written out, it sets one that nothing
        // reaches.
        plans
            .iter_mut()
            .for_each(|plan| plan.flows[0].window_clamp = None);
        assert_eq!(plans[0], plans[1], "{written}");
    }
}

#[test]
fn samples_come_each_millisecond_at_most() {
    let interval = |us| {
        plan_at(&text("cc = \"cubic\""), Span::from_micros(us))
            .expect("a plan")
            .interval
    };
    assert_eq!(
        [10, 1_000, 5_000].map(interval),
        [1_000_000, 1_000_000, 5_000_000]
    );
}

#[test]
fn two_limits_of_auto_tuning_are_refused() {
    let tuned = |max: &str| format!("cc = \"cubic\"\nreceive_window = \"auto max {max}\"\n");
    let two = |other| {
        format!(
            "{}[[flow]]\nname = \"other\"\n{}",
            tuned("1MiB"),
            tuned(other)
        )
    };
    assert!(plan(&two("1MiB")).is_ok());
    let error = plan(&two("2MiB")).expect_err("the kernel has one tcp_rmem");
    assert!(
        error.contains("flow.1.receive_window") && error.contains("one limit for all flows"),
        "{error}"
    );
}

#[test]
fn buffers_limit_nothing_unless_they_shall() {
    let free = plan("cc = \"cubic\"").expect("a plan").flows[0].clone();
    assert_eq!(
        (free.receive_buffer, free.window_clamp, free.auto_tuning),
        (Some(8 << 20), None, None)
    );
    let fixed = plan("cc = \"cubic\"\nreceive_window = \"64kB\"")
        .expect("a plan")
        .flows[0]
        .clone();
    assert_eq!(
        (fixed.receive_buffer, fixed.window_clamp),
        (Some(8 << 20), Some(64_000))
    );
    let tuned = plan("cc = \"cubic\"\nreceive_window = \"auto\"")
        .expect("a plan")
        .flows[0]
        .clone();
    assert_eq!((tuned.receive_buffer, tuned.window_clamp), (None, None));
    assert!(tuned.auto_tuning.is_some());
}

#[test]
fn pauses_and_answers_are_drawn_from_the_simulators_streams() {
    let AppPlan::Writes {
        changes,
        from_opening,
        ..
    } = &plan("cc = \"cubic\"\napp = \"on 2s off 1s\"")
        .unwrap()
        .flows[0]
        .app
    else {
        panic!("it writes")
    };
    let second = 1_000_000_000;
    let expected = [
        (2 * second, Some(0)),
        (3 * second, None),
        (5 * second, Some(0)),
    ];
    assert_eq!((&changes[..3], *from_opening), (&expected[..], true));
    let AppPlan::Answers { sizes, thinks } =
        &plan("cc = \"cubic\"\napp = \"request exp 100kB think exp 1s\"")
            .unwrap()
            .flows[0]
            .app
    else {
        panic!("it answers")
    };
    let mut rng = Rng::stream(1, "cubic", "app");
    let draw = Draw::Exponential {
        mean: Bytes::new(100_000),
    };
    assert_eq!(sizes[..5], [0; 5].map(|_| draw.next(&mut rng).get()));
    assert_eq!(
        (sizes.len(), thinks.len()),
        (252, 252),
        "one per round trip, and two more"
    );
}
