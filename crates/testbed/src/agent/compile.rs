//! From a checked scenario to the agents' plan. What a kernel can't do is refused by its key.

use std::net::Ipv4Addr;

use fullpipe_scenario::{
    App, EcnFeedback, EcnSetting, Error, Flow, On, Pacing, ReceiveWindow, Scenario,
};
use fullpipe_tcp::Cycle;
use fullpipe_units::{Bytes, Draw, Rate, Rng, Span, Time};

use super::plan::{AppPlan, FlowPlan, Plan, VERSION};
use crate::algorithms::{kernel_name, refused_parameter, twin};
use crate::arriving::{self, Arrival, ExpandedWorkload};
use crate::ports::Ports;

/// Where a run takes place.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Where the receivers listen.
    pub receiver: Ipv4Addr,
    /// The first flow's port; the next has the next.
    pub first_port: u16,
    /// Between two samples.
    pub interval: Span,
    /// The algorithms that the kernel offers, if that is known.
    pub offered: Option<&'a [String]>,
    /// The runner's name, for errors.
    pub runner: &'a str,
    /// Whether flows can arrive.
    pub arrivals: bool,
}

/// Connections have this long to open: four SYNs may be lost (after 1, 2, 4 and 8 s the next one
/// leaves).
const PATIENCE: Span = Span::from_secs(30);

/// Buffers are at least as large, and at least [so many](PLENTY) times what the path and its queues
/// hold: so neither limits, unless the scenario says that one shall.
const LEAST_BUFFER: u64 = 8 << 20;
const PLENTY: u64 = 4;

/// The kernel doubles what it is told, in an int.
const MOST_BUFFER: u64 = 512 << 20;

/// An application without a limit, that pauses later, writes so far ahead of what is sent: time at
/// the path's rate, and bytes.
const AHEAD: Span = Span::from_millis(5);
const LEAST_AHEAD: u64 = 16 << 10;

/// Samples come no more often, whatever a trace asks for: each is two system calls a flow.
pub(crate) const LEAST_INTERVAL: Span = Span::from_millis(1);

/// A rate that paces, and never limits.
const ANY_RATE: u64 = 1 << 40;

/// More answers than a run can have asked for.
const MOST_ANSWERS: u64 = 100_000;

impl Plan {
    /// What the agents of a run of `scenario` do.
    ///
    /// # Errors
    /// When it asks for something that a kernel's TCP has not got.
    pub fn of(scenario: &Scenario, ends: &Ends) -> Result<Plan, Error> {
        let Ends { runner, .. } = ends;
        if scenario.path.loopback {
            let problem = format!("--on {runner} has a path of links, and the loopback has none");
            let fix = "give rate, rtt and buffer, or run it on sim or quic";
            return Err(scenario.error("path.kind", "\"loopback\"", problem, fix));
        }
        if scenario.host.is_some() {
            let problem = format!("a modelled host, where --on {runner} has a real one");
            return Err(scenario.error("host", "…", problem, "remove [host], or run it on sim"));
        }
        if let Some(workload) = scenario.workloads.first().filter(|_| !ends.arrivals) {
            let problem = format!("--on {runner} has no flows that arrive");
            let fix = "remove [[workload]], or run it on sim or kernel";
            return Err(scenario.error(
                &workload.key("cc"),
                format_args!("{:?}", workload.flow.cc),
                problem,
                fix,
            ));
        }
        let specs = || {
            scenario
                .flows
                .iter()
                .chain(scenario.workloads.iter().map(|workload| &workload.flow))
        };
        specs().try_for_each(|spec| check(scenario, spec, ends))?;
        let mut tuned = specs().filter_map(|flow| Some((flow, auto_tuning(flow)?)));
        if let Some((_, most)) = tuned.next()
            && let Some((other, _)) = tuned.find(|(_, max)| *max != most)
        {
            let problem = "auto-tuning has one limit for all flows of a kernel (tcp_rmem)";
            let fix = "give all flows the same, or run it on sim";
            return Err(scenario.error(&other.key("receive_window"), "\"auto\"", problem, fix));
        }
        let last = usize::from(ends.first_port) + scenario.flows.len();
        if last > usize::from(u16::MAX) {
            let problem = format!("each flow has a port, and {last} is beyond the last");
            return Err(scenario.error(
                "flow",
                scenario.flows.len(),
                problem,
                "run fewer flows, or run it on sim",
            ));
        }
        let at_once = arriving::check(
            scenario,
            Ports::room(ends.first_port, scenario).into(),
            runner,
        )?;
        let unfolded = ExpandedWorkload::of(scenario);
        let ports = Ports::new(ends.first_port, scenario, unfolded.arrivals.len());
        let mut flows: Vec<FlowPlan> = scenario
            .flows
            .iter()
            .zip(ends.first_port..)
            .map(|(spec, port)| flow(scenario, spec, port))
            .collect();
        // Those of one workload have one listening socket, so that what it is given is the same for
        // all.
        let like: Vec<FlowPlan> = scenario
            .workloads
            .iter()
            .enumerate()
            .map(|(number, workload)| {
                let mut spec = workload.flow.clone();
                spec.extra_rtt = workload.rtts.longest();
                flow(scenario, &spec, ports.workload(number))
            })
            .collect();
        let arrivals = unfolded
            .flows()
            .iter()
            .zip(&unfolded.arrivals)
            .zip(ports.arrivals());
        flows.extend(
            arrivals.map(|((spec, arrival), port)| {
                arrives(spec, arrival, port, &like[arrival.workload])
            }),
        );
        Ok(Plan {
            version: VERSION,
            receiver: ends.receiver,
            duration: scenario.duration.as_nanos(),
            measure_from: scenario.measure_from.as_nanos(),
            interval: ends.interval.max(LEAST_INTERVAL).as_nanos(),
            patience: PATIENCE.as_nanos(),
            at_once,
            flows,
        })
    }
}

/// The largest buffer that auto-tuning may give it, if it has some.
fn auto_tuning(spec: &Flow) -> Option<u32> {
    match spec.receive_window {
        Some(ReceiveWindow::Auto { max }) => Some(max.get().min(MOST_BUFFER) as u32),
        _ => None,
    }
}

fn flow(scenario: &Scenario, spec: &Flow, port: u16) -> FlowPlan {
    let (window, twin) = (scenario.receive_window(spec), twin(&spec.cc));
    let plenty = (window.get().saturating_mul(PLENTY)).clamp(LEAST_BUFFER, MOST_BUFFER) as u32;
    let (receive_buffer, window_clamp) = match spec.receive_window {
        Some(ReceiveWindow::Auto { .. }) => (None, None),
        Some(ReceiveWindow::Fixed(window)) => {
            (Some(plenty), Some(window.get().min(MOST_BUFFER) as u32))
        }
        None => (Some(plenty), None),
    };
    let app = app(scenario, spec);
    // What is in the socket when the pause begins would be sent in it.
    let pauses = |first: &Option<u64>, changes: &[(u64, Option<u64>)]| {
        !changes.is_empty() && (first.is_none() || changes.iter().any(|(_, rate)| rate.is_none()))
    };
    let written_ahead = match &app {
        AppPlan::Writes { first, changes, .. } if pauses(first, changes) => Some(
            scenario
                .path
                .fastest()
                .bytes_in(AHEAD)
                .get()
                .clamp(LEAST_AHEAD, MOST_BUFFER) as u32,
        ),
        _ => None,
    };
    FlowPlan {
        name: spec.name.clone(),
        port,
        near_port: None,
        congestion: kernel_name(&spec.cc).to_owned(),
        receiver_congestion: twin
            .filter(|twin| twin.both_ends)
            .map(|twin| twin.kernel.to_owned()),
        start: scenario.start(spec).as_nanos(),
        app,
        ecn: spec.ecn == EcnSetting::Ect0,
        pacing_rate: (spec.pacing == Pacing::On).then_some(ANY_RATE),
        send_buffer: plenty,
        receive_buffer,
        auto_tuning: auto_tuning(spec),
        window_clamp,
        written_ahead,
    }
}

/// A flow that arrives, in all else like the others of its workload.
fn arrives(spec: &Flow, arrival: &Arrival, near_port: u16, like: &FlowPlan) -> FlowPlan {
    let app = match &arrival.chunks[..] {
        [] => AppPlan::Writes {
            first: None,
            changes: vec![],
            from_opening: true,
            bytes: spec.bytes.map(Bytes::get),
        },
        chunks => AppPlan::Chunks(
            chunks
                .iter()
                .map(|chunk| (chunk.offset.as_nanos(), chunk.bytes.get()))
                .collect(),
        ),
    };
    let (name, start) = (spec.name.clone(), spec.start.as_nanos());
    FlowPlan {
        name,
        near_port: Some(near_port),
        start,
        app,
        ..like.clone()
    }
}

fn check(scenario: &Scenario, spec: &Flow, ends: &Ends) -> Result<(), Error> {
    let Ends {
        runner, offered, ..
    } = ends;
    let refuse = |key: &str, value: String, problem: String, fix: String| {
        Err(scenario.error(&spec.key(key), value, problem, fix))
    };
    let on_sim = |what: &str| format!("{what}, or run it on sim");
    if spec.is_unresponsive() {
        let problem = format!("--on {runner} has no unresponsive traffic");
        return refuse(
            "cc",
            "\"none\"".to_owned(),
            problem,
            on_sim("remove the flow"),
        );
    }
    let name = kernel_name(&spec.cc);
    if let Some(offered) = offered.filter(|offered| !offered.iter().any(|known| known == name)) {
        let list = offered.join(", ");
        let problem = match name == spec.cc {
            true => format!("the kernel of --on {runner} has no algorithm {name:?}"),
            false => {
                format!("the kernel of --on {runner} has no {name:?}, which is what it calls it")
            }
        };
        let fix = format!(
            "it has {list}: use one of these, or load its module (modprobe tcp_{name}), or run it on sim"
        );
        return refuse("cc", format!("{:?}", spec.cc), problem, fix);
    }
    if let Some((name, value)) = refused_parameter(spec) {
        let problem = format!("the kernel's {} can't be given this", kernel_name(&spec.cc));
        return refuse(
            &format!("params.{name}"),
            value.to_string(),
            problem,
            on_sim("remove it"),
        );
    }
    if let Some(receiver) = &spec.receiver {
        let problem = "a kernel's receiver runs no algorithm of ours".to_owned();
        return refuse(
            "receiver",
            format!("{receiver:?}"),
            problem,
            on_sim("remove it"),
        );
    }
    if let Some(App::OnOff {
        on: On::Size(_), ..
    }) = spec.app
    {
        let problem = "a program is not told when all that it wrote was acknowledged".to_owned();
        let fix = on_sim("give a time, like \"on 2s off 1s\", or requests");
        return refuse("app", "\"on SIZE off …\"".to_owned(), problem, fix);
    }
    if spec.ecn == EcnSetting::Ect1 {
        let problem = "Linux sends ECT(1) for no algorithm that can be chosen by socket".to_owned();
        return refuse(
            "ecn",
            "\"ect1\"".to_owned(),
            problem,
            on_sim("use \"ect0\""),
        );
    }
    if spec.ecn == EcnSetting::Ect0
        && spec.ecn_feedback != EcnFeedback::Classic
        && twin(&spec.cc).is_none_or(|t| !t.both_ends)
    {
        let problem = "without DCTCP the kernel's feedback is classic ECN (RFC 3168)".to_owned();
        return refuse(
            "ecn",
            "\"ect0\"".to_owned(),
            problem,
            "add ecn_feedback = \"classic\"".to_owned(),
        );
    }
    if spec.pacing == Pacing::Off && twin(&spec.cc).is_some_and(|twin| twin.paces) {
        let problem = format!("the kernel's {name} always paces");
        return refuse("pacing", "\"off\"".to_owned(), problem, on_sim("remove it"));
    }
    let receivers = [
        (
            "delayed_ack",
            spec.delayed_ack != fullpipe_scenario::DELAYED_ACK,
            spec.delayed_ack.to_string(),
        ),
        (
            "ack_delay",
            spec.ack_delay != fullpipe_scenario::ACK_DELAY,
            format!("\"{}\"", spec.ack_delay),
        ),
        ("gro", spec.gro != Span::ZERO, format!("\"{}\"", spec.gro)),
    ];
    for (key, given, value) in receivers {
        if given {
            let problem = "when to acknowledge is the kernel's to say".to_owned();
            return refuse(key, value, problem, on_sim("remove it"));
        }
    }
    Ok(())
}

/// What a flow's application does, with everything drawn that is drawn: from the streams that the
/// simulator draws from.
fn app(scenario: &Scenario, spec: &Flow) -> AppPlan {
    let bps = |rate: Rate| rate.as_bps();
    let bytes = spec.bytes.map(Bytes::get);
    match spec.app {
        Some(App::OnOff {
            on: On::Time(on),
            off,
        }) => {
            let rng = Rng::stream(scenario.seed, &spec.name, "app pauses");
            let cycle = Cycle::new(on, off, spec.app_rate, rng);
            let end = Time::ZERO + scenario.duration;
            let changes = cycle.changes(Time::ZERO).take_while(|(at, _)| *at <= end);
            AppPlan::Writes {
                first: spec.app_rate.map(bps),
                changes: changes
                    .map(|(at, rate)| (at.as_nanos(), rate.map(bps)))
                    .collect(),
                from_opening: true,
                bytes,
            }
        }
        Some(App::Request { size, think }) => answers(scenario, spec, size, think),
        // Bursts are refused.
        Some(App::OnOff { .. }) | None => AppPlan::Writes {
            first: spec.app_rate.map(bps),
            changes: spec
                .app_schedule
                .iter()
                .map(|(at, rate)| (at.as_nanos(), rate.map(bps)))
                .collect(),
            from_opening: false,
            bytes,
        },
    }
}

fn answers(scenario: &Scenario, spec: &Flow, size: Draw<Bytes>, think: Draw<Span>) -> AppPlan {
    let stream = |usage| Rng::stream(scenario.seed, &spec.name, usage);
    let (mut sizes, mut thinks) = (stream("app"), stream("think"));
    let round = scenario.rtt(spec).max(Span::from_micros(100));
    let most = (scenario.duration.as_nanos() / round.as_nanos() + 2).min(MOST_ANSWERS);
    AppPlan::Answers {
        sizes: (0..most).map(|_| size.next(&mut sizes).get()).collect(),
        thinks: (0..most)
            .map(|_| think.next(&mut thinks).as_nanos())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let offered: Vec<String> = ["reno", "bbr", "cubic", "vegas"].map(str::to_owned).into();
        let ends = Ends {
            receiver: Ipv4Addr::new(10, 0, 0, 2),
            first_port: 5001,
            interval,
            offered: Some(&offered),
            runner: "kernel",
            arrivals: true,
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
            ("bbr", "bbr"),
        ] {
            let plan = plan(&format!("cc = \"{cc}\"")).expect("the kernel has it");
            assert_eq!(plan.flows[0].congestion, kernel);
        }
    }

    #[test]
    fn what_says_what_linux_does_is_taken() {
        for flow in [
            "cc = \"cubic\"\nparams = { profile = \"linux\", slow_start = \"hystart\" }\npacing = \"on\"",
            "cc = \"newreno\"\nparams = { abc_limit = 1000000 }\nreceive_window = \"32MiB\"",
            "cc = \"cubic\"\necn = \"ect0\"\necn_feedback = \"classic\"",
            // What `resolved` writes out.
            "cc = \"newreno\"\nparams = { abc_limit = 2 }",
        ] {
            plan(flow).expect("it is what the kernel does");
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
                "cc = \"cubic\"\nparams = { beta = 0.5 }",
                "flow.0.params.beta = 0.5",
            ),
            (
                "cc = \"cubic\"\nparams = { slow_start = \"classic\" }",
                "flow.0.params.slow_start = \"classic\"",
            ),
            (
                "cc = \"cubic\"\nparams = { profile = \"linux\", slow_start = \"hystart++\", beta = 0.6 }",
                "flow.0.params.beta = 0.6",
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
            ("cc = \"cubic\"\n[host]\nsend = \"1us\"", "host"),
        ] {
            let error = plan(flow).expect_err(flow);
            assert!(
                error.contains(key) && error.contains("fix: "),
                "{flow}: {error}"
            );
        }
    }

    /// As a kept run and the points of a sweep have it.
    #[test]
    fn a_scenario_with_every_default_written_out_is_the_same_one() {
        let as_linux = "cc = \"cubic\"\nparams = { profile = \"linux\", slow_start = \"hystart\" }";
        for flow in ["cc = \"cubic\"", as_linux, "cc = \"bbr1\""] {
            let scenario = Scenario::parse(&text(flow), "test.toml").expect("a scenario");
            let written =
                fullpipe_setup::resolved(&scenario, &fullpipe_cc::Registry::default()).to_toml();
            assert!(written.contains("[flow.params]"), "{written}");
            let mut plans = [plan_of(&written), plan(flow)].map(|plan| plan.expect("a plan"));
            // The default window is no limit of the plan's; written out it is one, which nothing
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
        let error = plan(&two("2MiB")).expect_err("tcp_rmem is one");
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
            "one a round trip, and two more"
        );
    }
}
