//! A scenario on this machine's own TCP. Where namespaces or TUN devices are not allowed, the tests
//! report that and pass. Their assertions also hold on a busy machine.

use fullpipe_scenario::Scenario;
use fullpipe_testbed::kernel::{self, NAME};
use fullpipe_testbed::reconstruct::Measured;
use fullpipe_trace::{Column, Data};
use fullpipe_units::Span;

fn scenario(duration: &str, flows: &str) -> Scenario {
    let text = format!(
        "duration = \"{duration}\"\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\n{flows}"
    );
    Scenario::parse(&text, "test.toml").expect("a valid scenario")
}

fn run(scenario: &Scenario) -> Option<Measured> {
    let mut run = match kernel::start(scenario, Span::from_millis(10), true, Vec::new())
        .expect("the kernel supports all of it")
    {
        Ok(run) => run,
        Err(trouble) => {
            crate::skip(&trouble);
            return None;
        }
    };
    let mut heard = 0;
    while let Some(said) = run.sandbox.hear().expect("it can be heard") {
        heard += u32::from(said["progress_s"].is_number());
        if let Some(trouble) = said.get("trouble") {
            let problem = trouble["problem"].as_str().unwrap_or_default();
            assert!(
                problem.contains("does not allow") || problem.contains("/dev/net/tun"),
                "{trouble}"
            );
            crate::skip(&trouble);
            return None;
        }
        if let Some(done) = said.get("done") {
            assert!(
                heard > 0 || scenario.duration < Span::from_millis(500),
                "it reports progress"
            );
            return Some(run.finish(done).expect("the recordings are whole"));
        }
    }
    panic!("it ends without a report");
}

fn column<'a>(measured: &'a Measured, table: &str, name: &str) -> &'a Column {
    let tables = &measured.trace.as_ref().expect("it was asked for").tables;
    let table = tables
        .iter()
        .find(|known| known.name == table)
        .expect("there is such a table");
    table
        .columns
        .iter()
        .find(|column| column.name == name)
        .unwrap_or_else(|| panic!("no column {name}"))
}

#[test]
fn flows_of_two_algorithms_give_the_simulators_metrics() {
    let scenario = scenario(
        "3s",
        "[[flow]]\ncc = \"cubic\"\n[[flow]]\ncc = \"newreno\"\nstart = \"500ms\"\n",
    );
    let Some(measured) = run(&scenario) else {
        return;
    };
    let summary = &measured.summary;
    assert_eq!((summary.runner.as_str(), NAME), ("kernel", "kernel"));
    for fact in ["kernel", "cpu", "clock source", "offloads", "lateness"] {
        assert!(!summary.host[fact].is_empty(), "{fact}");
    }
    let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_bps).sum();
    assert!(
        goodput > 5e6 && goodput < 11e6,
        "{goodput} bit/s of 10 Mbit/s"
    );
    for flow in &summary.flows {
        let (rtt, queue) = (&flow.rtt_s, &flow.queue_delay_s);
        // The second flow finds the queue of the first.
        let (least, most) = (
            rtt.min.expect("ACKs came"),
            if flow.name == "cubic" { 0.050 } else { 0.125 },
        );
        assert!(
            (0.040..most).contains(&least),
            "an RTT of {least} s, where the path has 40 ms"
        );
        // 66 packets of 1.2 ms. The queueing delay is exact, however busy the machine is.
        assert!(queue.max.expect("packets came") <= 0.081, "{queue:?}");
        assert!(rtt.mean >= queue.mean, "{rtt:?} has {queue:?} in it");
        assert!(flow.sent > 100 && flow.retransmits <= flow.sent);
        assert!(
            (flow.limited_by.values().sum::<f64>() - 1.0).abs() < 1e-9,
            "{:?}",
            flow.limited_by
        );
        assert!(
            flow.limited_by["receive_window"] < 0.01,
            "{:?}",
            flow.limited_by
        );
    }
    let drops: u64 = summary.flows.iter().map(|flow| flow.drops).sum();
    assert_eq!(
        drops, summary.links[0].drops,
        "each packet that the link dropped belongs to a flow"
    );
    assert!(summary.links[0].utilization > 0.4 && summary.links[0].utilization <= 1.0);

    let Data::U64(cwnd) = &column(&measured, "flows", "cwnd").data else {
        panic!("bytes are whole")
    };
    assert!(
        cwnd.len() > 300 && cwnd.iter().all(|bytes| bytes % 1448 == 0),
        "a row each 10 ms, in whole segments"
    );
    let Data::F32(rtts) = &column(&measured, "flows", "rtt").data else {
        panic!("RTTs are seconds")
    };
    assert!(
        rtts.iter()
            .filter(|rtt| !rtt.is_nan())
            .all(|rtt| *rtt >= 0.039)
    );
    let Data::U64(queue) = &column(&measured, "links", "queue_packets").data else {
        panic!("packets are whole")
    };
    assert!(
        queue.iter().max() > Some(&10) && queue.iter().all(|packets| *packets <= 67),
        "{:?}",
        queue.iter().max()
    );
}

#[test]
fn a_transfer_ends_and_bbr_tells_its_state() {
    let scenario = scenario("6s", "[[flow]]\ncc = \"bbr1\"\nbytes = \"500kB\"\n");
    if kernel::check(&scenario).is_err() {
        crate::skip(&"this kernel has no bbr");
        return;
    }
    let Some(measured) = run(&scenario) else {
        return;
    };
    let flow = &measured.summary.flows[0];
    let seconds = flow
        .completion_s
        .expect("half a megabyte takes half a second");
    assert!(seconds > 0.4 && seconds < 4.0, "{seconds} s");
    assert!(
        (flow.goodput_bps * seconds / 8.0 - 500e3).abs() < 1.0,
        "to the byte"
    );
    assert_eq!(
        flow.sent - flow.retransmits,
        346,
        "500 kB in segments of 1448 bytes"
    );
    assert!(flow.completion_s < Some(measured.summary.duration_s));
    let Data::Label { codes, labels } = &column(&measured, "flows", "bbr1.state").data else {
        panic!("states are words")
    };
    let Data::F32(gains) = &column(&measured, "flows", "bbr1.pacing_gain").data else {
        panic!("gains are numbers")
    };
    // Before the first ACK, all gains are one.
    let begun = gains
        .iter()
        .position(|gain| *gain > 1.0)
        .expect("it was sampled in STARTUP");
    let startup = |row| codes.get(row).is_some_and(|code| labels[code] == "startup");
    assert!((0..=begun).all(startup));
    assert!(
        (gains[begun] - 739.0 / 256.0).abs() < 1e-3,
        "bbr_high_gain of Linux"
    );
}

/// A request is no data of the flow, and the sender's ACK of it is no ACK of the receiver.
#[test]
fn a_packet_counts_by_its_way() {
    let flow =
        "[[flow]]\ncc = \"cubic\"\napp = \"request 100kB think 50ms\"\nreverse_route = [\"up\"]\n";
    let up = "[[link]]\nname = \"up\"\nrate = \"1mbit\"\nbuffer = \"9packets\"\nloss = \"10%\"\n";
    let Some(measured) = run(&scenario("2s", &format!("{flow}{up}"))) else {
        return;
    };
    let [down, up] = &measured.summary.links[..] else {
        panic!("two links")
    };
    assert_eq!(
        (up.packets, up.drops, up.losses, down.acks, down.ack_drops),
        (0, 0, 0, 0, 0),
        "{up:?} {down:?}"
    );
    assert!(up.acks > 20 && up.ack_drops > 5, "{up:?}");
    let flow = &measured.summary.flows[0];
    assert_eq!(
        (flow.drops, flow.ack_drops),
        (down.drops + down.losses, up.ack_drops)
    );
}

fn numbers(trace: &fullpipe_trace::Trace, name: &str) -> Vec<f64> {
    let table = trace
        .tables
        .iter()
        .find(|known| known.name == "transfers")
        .expect("flows arrive");
    match &table
        .columns
        .iter()
        .find(|column| column.name == name)
        .expect("a column of that name")
        .data
    {
        Data::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Data::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn the_flows_that_arrive_are_the_simulators_and_are_measured_alike() {
    let workload = "[[workload]]\nname = \"web\"\nmodel = \"lognormal median 8kB sigma 1.5 max 200kB\"\nload = 0.4\n\
        cc = \"cubic\"\nrtt = \"uniform +0ms..+30ms\"\nstart = \"200ms\"\nstop = \"2s\"\n";
    let small = "[[workload]]\nname = \"small\"\nmodel = \"bounded_pareto shape 1.2 min 100B max 3kB\"\nload = 0.02\ncc = \"newreno\"\nstop = \"2s\"\n";
    let scenario = scenario(
        "4s",
        &format!("[[flow]]\ncc = \"cubic\"\nbytes = \"300kB\"\n{workload}{small}"),
    );
    let Some(measured) = run(&scenario) else {
        return;
    };
    let simulated = fullpipe_sim::run(
        &scenario,
        &fullpipe_cc::Registry::default(),
        fullpipe_trace::TraceLevel::Every(Span::from_millis(10)),
    )
    .expect("it runs");
    let traces =
        [measured.trace.as_ref(), simulated.trace.as_ref()].map(|trace| trace.expect("traced"));
    for name in ["bytes", "rtt", "alone"] {
        let [real, ours] = traces.map(|trace| numbers(trace, name));
        assert_eq!(real, ours, "{name}");
    }
    let [real, ours] = traces.map(|trace| numbers(trace, "start"));
    let late = real
        .iter()
        .zip(&ours)
        .map(|(real, ours)| (real - ours) / 1e6)
        .fold(0.0, f64::max);
    assert!(
        real.iter().zip(&ours).all(|(real, ours)| real >= ours) && late < 500.0,
        "up to {late} ms late"
    );
    for (web, ours) in measured
        .summary
        .workloads
        .iter()
        .zip(&simulated.summary.workloads)
    {
        assert_eq!(
            (&web.name, web.arrived, web.refused, web.unfinished),
            (&ours.name, ours.arrived, 0, 0)
        );
        assert_eq!(
            (web.completed, web.completed_bytes),
            (ours.completed, ours.completed_bytes),
            "to the byte"
        );
        assert!(web.slowdown.all.as_ref().and_then(|all| all.srpt).is_some());
        let least = web.rtt_s.min.expect("ACKs came");
        assert!((0.040..0.1).contains(&least), "{least}");
        assert!(
            (web.limited_by.values().sum::<f64>() - 1.0).abs() < 1e-9,
            "{:?}",
            web.limited_by
        );
    }
    assert!(
        numbers(traces[0], "completion")
            .iter()
            .zip(numbers(traces[0], "rtt"))
            .all(|(took, rtt)| *took >= 1.5 * rtt - 1e-6),
        "handshake and half a round trip"
    );
    let flow = &measured.summary.flows[0];
    assert!(
        flow.completion_s.is_some(),
        "the flow that does not arrive is complete, too"
    );
}

#[test]
fn more_flows_than_ports_are_refused_with_their_number() {
    let web = |load| {
        format!(
            "[[workload]]\nmodel = \"bounded_pareto shape 1.2 min 100B max 1kB\"\nload = {load}\ncc = \"cubic\"\n"
        )
    };
    let error = kernel::check(&scenario("600s", &web(0.9)))
        .expect_err("a million small ones")
        .to_string();
    assert!(
        error.contains("duration = \"600s\": about ")
            && error.contains("--on kernel has ports for 5499"),
        "{error}"
    );
    assert!(
        error.contains("fix: give at most \"") && error.contains("lower path.rate"),
        "{error}"
    );
    let error = kernel::check(&scenario("1s", &web(0.1).replace("cubic", "bbr3")))
        .expect_err("no bbr3")
        .to_string();
    assert!(error.contains("workload.0.cc = \"bbr3\""), "{error}");
}

#[test]
fn a_run_that_is_over_before_its_connection_opens_is_a_run() {
    let Some(measured) = run(&scenario(
        "150ms",
        "[[flow]]\ncc = \"cubic\"\nstart = \"140ms\"\n",
    )) else {
        return;
    };
    let flow = &measured.summary.flows[0];
    assert_eq!(
        (flow.goodput_bps, flow.sent, flow.rtt_s.mean),
        (0.0, 0, None),
        "an RTT is 40 ms"
    );
}

#[test]
fn what_this_kernel_has_not_got_is_refused_before_anything_begins() {
    let error = kernel::check(&scenario(
        "1s",
        "[[flow]]\ncc = \"bbr3\"\nparams = { beta = 0.5 }\n",
    ));
    let text = error
        .expect_err("no kernel has it by this name")
        .to_string();
    assert!(
        text.starts_with(
            "test.toml:7: flow.0.cc = \"bbr3\": the kernel of --on kernel has no algorithm"
        ),
        "{text}"
    );
    let error = kernel::check(&scenario(
        "1s",
        "[[flow]]\ncc = \"cubic\"\n[host]\nsend = \"1us\"\n",
    ));
    assert!(
        error
            .expect_err("a real host can't be modeled")
            .to_string()
            .contains("host")
    );
}

#[test]
fn a_path_that_this_machine_cant_pace_is_refused_before_the_first_of_many_runs() {
    let Some(_) = run(&scenario("50ms", "[[flow]]\ncc = \"cubic\"\n")) else {
        return;
    };
    let text = "duration = \"1s\"\n[path]\nrate = \"900gbit\"\nrtt = \"4us\"\nbuffer = \"99packets\"\n[[flow]]\ncc = \"cubic\"\n";
    let fast = Scenario::parse(text, "test.toml").expect("a valid scenario");
    let error = kernel::check(&fast)
        .expect_err("no machine can")
        .to_string();
    assert!(
        error.contains("path.rate") && error.contains("faster than this machine can pace"),
        "{error}"
    );
    assert!(
        kernel::check(&scenario("1s", "[[flow]]\ncc = \"cubic\"\n")).is_ok(),
        "10 Mbit/s"
    );
}
