//! LIA in whole runs: the three goals of RFC 6356 §1, and the state that a group's flows share.

use fullpipe_cc::Registry;
use fullpipe_scenario::Scenario;
use fullpipe_sim::{Simulation, run};
use fullpipe_trace::{Data, Run, Summary, Trace, TraceLevel};

use super::transitions::{column, entered};

use crate::users::of_specifications;

fn scenario(text: &str) -> Scenario {
    of_specifications(text)
}

fn runs(text: &str, level: TraceLevel) -> Run {
    run(&scenario(text), &Registry::default(), level).unwrap_or_else(|error| panic!("{error}"))
}

fn summary(text: &str) -> Summary {
    runs(text, TraceLevel::Off).summary
}

/// Goodput of the flows whose name begins with `name`, in Mbit/s.
fn goodput(summary: &Summary, name: &str) -> f64 {
    let flows = summary
        .flows
        .iter()
        .filter(|flow| flow.name.starts_with(name));
    flows.map(|flow| flow.goodput_bps).sum::<f64>() / 1e6
}

fn flow(name: &str, cc: &str, more: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\ncc = \"{cc}\"\n{more}\n")
}

const TIMES: &str = "duration = \"120s\"\nmeasure_from = \"20s\"\nstart_jitter = \"100ms\"\nsend_jitter = \"600us\"\n";
const LINK: &str = "[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n";

#[test]
fn a_subflow_without_siblings_is_newreno() {
    let paths = [
        "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"0.5bdp\"",
        "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\nloss = \"2%\"\nreverse_loss = \"2%\"\njitter = \"5ms reorder\"",
        "rate = \"20mbit\"\nrtt = \"40ms\"\nqueue = { kind = \"codel\", ecn = true }",
    ];
    for (path, profile) in paths.into_iter().zip(["rfc5681", "linux", "rfc5681"]) {
        let run = |cc: &str, group: &str| {
            let more = format!("ecn = \"ect0\"\nparams = {{ profile = \"{profile}\" }}\n{group}");
            let text = format!(
                "duration = \"30s\"\n[path]\n{path}\n{}",
                flow("a", cc, &more)
            );
            runs(&text, TraceLevel::Acks)
        };
        let newreno = run("newreno", "").trace.expect("traced");
        for group in ["", "group = \"phone\""] {
            let lia = run("lia", group).trace.expect("traced");
            for name in ["cwnd", "ssthresh", "inflight", "delivered", "rtt"] {
                assert_eq!(bits(&lia, name), bits(&newreno, name), "{name} on {path}");
            }
            let states = |trace| {
                let each = entered(trace).into_iter();
                each.map(|entered| {
                    (
                        entered.at,
                        entered.state.to_owned(),
                        entered.reason.to_owned(),
                    )
                })
                .collect::<Vec<_>>()
            };
            assert_eq!(states(&lia), states(&newreno));
            assert!(
                column(&lia, "lia.alpha")
                    .iter()
                    .all(|(_, alpha)| *alpha == 1.0)
            );
        }
    }
}

fn bits(trace: &Trace, name: &str) -> Vec<u64> {
    let mut columns = trace.tables[0].columns.iter();
    match &columns
        .find(|column| column.name == name)
        .expect("a column")
        .data
    {
        Data::U64(values) => values.to_vec(),
        Data::F32(values) => values
            .iter()
            .map(|value| u64::from(value.to_bits()))
            .collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Goal 2: a connection takes no more of any resource than one TCP would.
#[test]
fn at_one_bottleneck_all_subflows_together_take_what_one_tcp_takes() {
    for subflows in [2, 3] {
        let run = |cc| {
            let more = format!("group = \"phone\"\ncount = {subflows}");
            let flows = flow("tcp", "newreno", "") + &flow("sub", cc, &more);
            let summary = summary(&format!("{TIMES}{LINK}{flows}"));
            goodput(&summary, "sub") / goodput(&summary, "tcp")
        };
        let (coupled, uncoupled) = (run("lia"), run("newreno"));
        assert!((0.9..1.15).contains(&coupled), "{coupled} of a TCP's");
        assert!(
            uncoupled > 0.9 * f64::from(subflows),
            "{uncoupled}: without coupling, each takes as much as a TCP"
        );
    }
}

/// Two paths whose losses do not depend on the load: with 10 ms and `wifi` of the packets lost, and
/// with 100 ms and `mobile`.
fn lossy_paths(cc: &str, wifi: &str, mobile: &str) -> Summary {
    let path = format!(
        "[path]\nrate = \"10gbit\"\nrtt = \"10ms\"\nbuffer = \"1bdp\"\nloss = \"{wifi}\"\n\
         [[link]]\nname = \"mobile\"\nrate = \"10gbit\"\nbuffer = \"10bdp\"\nloss = \"{mobile}\"\n"
    );
    let more = "group = \"phone\"\ndelayed_ack = 1\n";
    let flows = flow("wifi", cc, more)
        + &flow(
            "mobile",
            cc,
            &format!("{more}route = [\"mobile\"]\nrtt = \"+90ms\""),
        );
    let times = "duration = \"620s\"\nmeasure_from = \"20s\"\n";
    summary(&format!("{times}{path}{flows}"))
}

/// Goal 1: a connection gets at least what TCP would get on the better path. In the equilibrium it
/// gets exactly that (Wischik et al., NSDI 2011, §2.3 and §2.5). With their losses, 4 % at 10 ms and
/// 1 % at 100 ms, TCP's rates are 707 and 141 packets/s. The second term of the increase limits the
/// slower path's window to TCP's, so it keeps 141 packets/s, and the other path gives 566, which is
/// 80 % of 707. Here the losses are a tenth, with the same shares.
#[test]
fn over_two_paths_a_connection_gets_what_tcp_gets_on_the_better_one() {
    for (wifi, mobile) in [("0.4%", "0.1%"), ("0.1%", "0.1%"), ("2%", "0.002%")] {
        let [tcp, lia] = ["newreno", "lia"].map(|cc| {
            let summary = lossy_paths(cc, wifi, mobile);
            ["wifi", "mobile"].map(|name| goodput(&summary, name))
        });
        // The windows' sawteeth cost a few percent: the equilibrium is that of their means.
        let all = (lia[0] + lia[1]) / tcp[0].max(tcp[1]);
        assert!((0.9..1.05).contains(&all), "{all} with {wifi} and {mobile}");
        if wifi == "0.4%" {
            let share = lia[0] / (lia[0] + lia[1]);
            assert!((0.78..0.82).contains(&share), "{share} over Wi-Fi");
            let mobile = lia[1] / tcp[1];
            assert!((0.93..1.0).contains(&mobile), "{mobile} of TCP's");
        }
    }
}

/// Goal 3: a connection moves its data away from congested paths, and the others on them get more.
#[test]
fn traffic_moves_away_from_the_congested_path() {
    let run = |cc| {
        let second = "[[link]]\nname = \"second\"\nrate = \"20mbit\"\nbuffer = \"1bdp\"\n";
        let on_second = "route = [\"second\"]\n";
        let flows = flow("sub-1", cc, "group = \"phone\"")
            + &flow("sub-2", cc, &format!("{on_second}group = \"phone\""))
            + &flow("one", "newreno", "")
            + &flow("four", "newreno", &format!("{on_second}count = 4"));
        summary(&format!("{TIMES}{LINK}{second}{flows}"))
    };
    let (coupled, uncoupled) = (run("lia"), run("newreno"));
    let ratio = |summary: &Summary| goodput(summary, "sub-2") / goodput(summary, "sub-1");
    assert!(ratio(&uncoupled) > 0.35, "{}", ratio(&uncoupled));
    assert!(ratio(&coupled) < 0.2, "{}", ratio(&coupled));
    // A TCP at the better link would get a half of it.
    let all = goodput(&coupled, "sub");
    assert!((0.9..1.1).contains(&(all / 9.65)), "{all}");
    assert!(goodput(&coupled, "four") > 1.1 * goodput(&uncoupled, "four"));
}

/// Values of a column for the first flow.
fn of_the_first(trace: &Trace, name: &str) -> Vec<(f64, f64)> {
    let mut columns = trace.tables[0].columns.iter();
    let flows = &columns
        .find(|column| column.name == "flow")
        .expect("a column")
        .data;
    let Data::U32(flows) = flows else {
        panic!("{flows:?}")
    };
    let rows = column(trace, name).into_iter().zip(flows);
    rows.filter(|(_, flow)| **flow == 0)
        .map(|(row, _)| row)
        .collect()
}

#[test]
fn a_subflow_counts_while_it_is_under_way() {
    let second = "[[link]]\nname = \"second\"\nrate = \"20mbit\"\nbuffer = \"1bdp\"\n";
    let text = format!(
        "duration = \"30s\"\n{LINK}{second}{}{}",
        flow("a", "lia", "group = \"phone\""),
        flow(
            "b",
            "lia",
            "group = \"phone\"\nroute = [\"second\"]\nstart = \"10s\"\nbytes = \"10MB\""
        )
    );
    let run = runs(&text, TraceLevel::Acks);
    let trace = run.trace.expect("traced");
    let end = 10.0 + run.summary.flows[1].completion_s.expect("it ends");
    assert!((13.0..25.0).contains(&end), "{end}");
    for (time, subflows) in of_the_first(&trace, "lia.subflows") {
        // The handshake is over after 40 ms; an ACK of the other arrives within a millisecond.
        let among = match time {
            ..10.0 => 1.0..=1.0,
            10.05..=f64::MAX if time < end - 0.05 => 2.0..=2.0,
            _ if time > end + 0.05 => 1.0..=1.0,
            _ => 1.0..=2.0,
        };
        assert!(among.contains(&subflows), "{subflows} at {time}");
    }
    let alone = |(time, alpha): (f64, f64)| (10.0..end + 0.05).contains(&time) || alpha == 1.0;
    assert!(of_the_first(&trace, "lia.alpha").into_iter().all(alone));
}

/// Two flows on links of their own, each with more keys.
fn apart(cc: &str, more: [&str; 2], seed: u32) -> String {
    let second =
        "[[link]]\nname = \"second\"\nrate = \"10mbit\"\nbuffer = \"1bdp\"\nloss = \"0.1%\"\n";
    format!(
        "duration = \"20s\"\nseed = {seed}\n{LINK}loss = \"0.1%\"\n{second}{}{}",
        flow("a", cc, more[0]),
        flow(
            "b",
            cc,
            &format!("{}\nroute = [\"second\"]\nrtt = \"+20ms\"", more[1])
        )
    )
}

#[test]
fn groups_share_nothing_with_each_other() {
    let goodputs = |cc, more| {
        let run = runs(&apart(cc, more, 1), TraceLevel::Acks);
        bits(&run.trace.expect("traced"), "cwnd")
    };
    let phone = "group = \"phone\"";
    let newreno = goodputs("newreno", [phone; 2]);
    assert_eq!(goodputs("lia", [phone, "group = \"laptop\""]), newreno);
    assert_eq!(goodputs("lia", [phone, ""]), newreno);
    assert_eq!(goodputs("lia", [""; 2]), newreno);
    assert_ne!(goodputs("lia", [phone; 2]), newreno);
}

#[test]
fn runs_of_one_process_share_nothing() {
    let hash = |seed| {
        let text = apart("lia", ["group = \"phone\""; 2], seed);
        runs(&text, TraceLevel::Acks).trace.expect("traced").hash()
    };
    let alone: Vec<u64> = (1..=6).map(hash).collect();
    let threads: Vec<u64> = std::thread::scope(|scope| {
        let running: Vec<_> = (1..=6)
            .map(|seed| scope.spawn(move || hash(seed)))
            .collect();
        let ended = running.into_iter().map(|run| run.join().expect("it runs"));
        ended.collect()
    });
    assert_eq!(threads, alone);
    assert_ne!(alone[0], alone[1]);
    // Two runs in one thread, which take turns.
    let begin = |seed| {
        let scenario = scenario(&apart("lia", ["group = \"phone\""; 2], seed));
        Simulation::new(&scenario, &Registry::default(), TraceLevel::Acks).expect("valid")
    };
    let (mut one, mut two) = (begin(1), begin(2));
    while !(one.advance(1_000) & two.advance(700)) {}
    let hashes = [one, two].map(|run| run.finish().trace.expect("traced").hash());
    assert_eq!(hashes, alone[..2]);
}

#[test]
fn each_arrival_of_a_workload_is_a_connection_of_its_own() {
    let run = |cc| {
        let workload = format!(
            "[[workload]]\nmodel = \"lognormal median 50kB sigma 1 max 5MB\"\nload = 0.6\ncc = \"{cc}\"\n"
        );
        summary(&format!("duration = \"20s\"\n{LINK}{workload}"))
    };
    let (lia, newreno) = (run("lia"), run("newreno"));
    assert_eq!(lia.packets, newreno.packets);
    let text = format!("duration = \"20s\"\n{LINK}[[workload]]\ncc = \"lia\"\ngroup = \"phone\"\n");
    let refused = Scenario::parse(&text, "test.toml")
        .expect_err("refused")
        .to_string();
    assert!(
        refused.contains("workload.0.group") && refused.contains("it belongs in a [[flow]]"),
        "{refused}"
    );
}
