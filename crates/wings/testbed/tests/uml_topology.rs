//! The setup of a scenario's path in user-mode Linux.

use fullpipe_scenario::Scenario;
use fullpipe_testbed::uml::{Topology, topology};

const PATH: &str = "duration = \"10s\"\n[path]\nrate = \"10mbit\"\nrtt = \"20ms\"\n";
const FLOW: &str = "[[flow]]\ncc = \"cubic\"\n";

fn made(path: &str, flows: &str) -> Result<Topology, String> {
    with_stack("linux", path, flows)
}

fn with_stack(stack: &str, path: &str, flows: &str) -> Result<Topology, String> {
    let text = format!("stack = \"{stack}\"\n{PATH}{path}\n{flows}");
    let scenario = Scenario::parse(&text, "s.toml").expect("a scenario that is right");
    topology(&scenario).map_err(|error| error.to_string())
}

fn calls(topology: &Topology, node: &str) -> Vec<String> {
    topology
        .tc
        .iter()
        .filter(|(of, _)| *of == node)
        .map(|(_, words)| words.join(" "))
        .collect()
}

#[test]
fn netem_counts_the_packet_that_is_being_sent_and_takes_the_ethernet_header_out() {
    let of = made("buffer = \"34packets\"", FLOW).unwrap();
    assert_eq!(of.nodes, ["sender", "access", "router", "receiver"]);
    assert_eq!(
        calls(&of, "router"),
        ["qdisc add dev east root netem rate 10000000bit -14 limit 35"]
    );
    assert_eq!(
        calls(&of, "receiver"),
        ["qdisc add dev west root netem delay 20000us limit 1000000"]
    );
    assert!(!of.departs_first);
    assert!(
        calls(&of, "sender").is_empty(),
        "CUBIC is not paced, unless the scenario says so"
    );
}

#[test]
fn each_flow_has_an_access_link_ten_times_as_fast_as_the_bottleneck() {
    let netem = "netem rate 100000000bit -14 limit 1000000";
    let one = made("buffer = \"1bdp\"", FLOW).unwrap();
    assert_eq!(
        calls(&one, "access"),
        [format!("qdisc add dev east root {netem}")]
    );
    let two = calls(
        &made("buffer = \"1bdp\"", &FLOW.repeat(2)).unwrap(),
        "access",
    );
    assert!(two[0].contains("prio bands 2"));
    assert!(two[2].ends_with(&format!("parent 1:2 {netem}")));
    assert!(two[4].ends_with("match ip dport 5002 0xffff flowid 1:2"));
}

#[test]
fn a_queue_that_decides_is_asked_for_each_packet_when_it_can_be_sent() {
    let of = made("queue = { kind = \"fq_codel\", target = \"7500us\" }", FLOW).unwrap();
    let router = calls(&of, "router");
    assert_eq!(
        router[0],
        "qdisc add dev east root handle 1: stab overhead -14 htb default 1"
    );
    assert!(
        router[1].ends_with("htb rate 10000000bit burst 1b cburst 1b quantum 1514"),
        "{}",
        router[1]
    );
    assert!(
        router[2].contains("parent 1:1 fq_codel limit 10240"),
        "{}",
        router[2]
    );
    assert!(router[2].contains("target 7500us"), "{}", router[2]);
    assert!(router[2].contains("quantum 1500"), "{}", router[2]);
    assert!(of.departs_first);
    assert_eq!(of.nodes, ["sender", "access", "router", "wire", "receiver"]);
    assert_eq!(
        calls(&of, "wire"),
        ["qdisc add dev east root netem rate 10000000bit -14 limit 1000000"],
        "the transmission itself"
    );
    let back = "qdisc add dev west root netem delay 20000us limit 1000000";
    assert_eq!(calls(&of, "receiver"), [back]);
}

/// Linux has no option for PIE's bound of two packets and CAKE's turn, which count frames.
#[test]
fn pie_and_cake_see_whole_frames_at_a_rate_that_is_higher_by_as_much() {
    for (queue, words) in [
        ("\"pie\"", "pie limit 1000"),
        (
            "{ kind = \"cake\", bandwidth = \"6mbit\" }",
            "cake besteffort flows bandwidth 6056000bit",
        ),
    ] {
        let of = made(&format!("queue = {queue}"), FLOW).unwrap();
        let router = calls(&of, "router");
        assert_eq!(router[0], "qdisc add dev east root handle 1: htb default 1");
        assert!(router[1].contains("htb rate 10093333bit"), "{}", router[1]);
        assert!(router[2].contains(words), "{}", router[2]);
    }
}

#[test]
fn sfq_is_told_its_options_in_the_units_of_tc() {
    let options = "perturb = \"10s\", depth = 60, headdrop = true";
    let of = made(&format!("queue = {{ kind = \"sfq\", {options} }}"), FLOW).unwrap();
    let words = "sfq limit 127 flows 128 depth 60 divisor 1024 quantum 1500 perturb 10 headdrop";
    assert!(
        calls(&of, "router")[2].ends_with(words),
        "{}",
        calls(&of, "router")[2]
    );
}

#[test]
fn random_loss_is_in_front_of_the_queue_on_a_node_of_its_own() {
    let of = made(
        "buffer = \"1bdp\"\nloss = \"1%\"\nreverse_loss = \"0.5%\"",
        FLOW,
    )
    .unwrap();
    assert_eq!(
        of.nodes,
        ["sender", "access", "loss", "router", "ack-loss", "receiver"]
    );
    assert_eq!(
        calls(&of, "loss"),
        ["qdisc add dev east root netem limit 1000000 loss random 1%"]
    );
    assert_eq!(
        calls(&of, "ack-loss"),
        ["qdisc add dev west root netem limit 1000000 loss random 0.5%"]
    );
    assert!(calls(&of, "receiver")[0].ends_with("netem delay 20000us limit 1000000"));
}

#[test]
fn flows_of_different_rtts_come_back_through_different_delays() {
    let flows = format!("{FLOW}rtt = \"+5ms\"\n{FLOW}{FLOW}rtt = \"+5ms\"\n");
    let of = made("buffer = \"1bdp\"", &flows).unwrap();
    let receiver = calls(&of, "receiver");
    assert!(receiver[0].contains("prio bands 2"));
    assert!(receiver[1].ends_with("parent 1:1 netem delay 20000us limit 1000000"));
    assert!(receiver[2].ends_with("parent 1:2 netem delay 25000us limit 1000000"));
    let class_of = |port: u32| {
        let found = receiver
            .iter()
            .find(|call| call.contains(&format!("sport {port} ")));
        found.unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!(
        [class_of(5001), class_of(5002), class_of(5003)],
        ["1:2", "1:1", "1:2"]
    );
}

#[test]
fn the_sender_has_sch_fq_when_all_of_its_flows_are_paced() {
    let paced = format!("{FLOW}pacing = \"on\"\n");
    let bbr = "[[flow]]\ncc = \"bbr1\"\n";
    let fq = |stack: &str, flows: &str| {
        let made = with_stack(stack, "buffer = \"1bdp\"", flows).unwrap();
        !calls(&made, "sender").is_empty()
    };
    for stack in ["rfc", "linux"] {
        assert!(fq(stack, &paced));
        assert!(
            !fq(stack, &format!("{FLOW}{bbr}")),
            "it would pace CUBIC, too"
        );
    }
    assert!(fq("rfc", bbr) && fq("rfc", &format!("{paced}{bbr}")));
    assert!(!fq("linux", bbr), "BBR paces itself");
    assert!(fq("linux-fq", &format!("{FLOW}{bbr}")));
}

#[test]
fn what_it_can_not_give_is_refused_by_its_key() {
    let cases = [
        ("buffer = \"1bdp\"\njitter = \"2ms\"", "path.jitter"),
        (
            "buffer = \"1bdp\"\nreverse_delay_trace = \"0s 9ms\"",
            "path.reverse_delay_trace",
        ),
        ("buffer = \"1bdp\"\nduplicate = \"1%\"", "path.duplicate"),
        ("buffer = \"1bdp\"\nloss = \"every 100\"", "path.loss"),
        ("buffer = \"1bdp\"\nqueue = \"dualpi2\"", "path.queue"),
        ("buffer = \"10kB\"\nqueue = \"codel\"", "path.queue"),
        (
            "buffer = \"1bdp\"\nchange = [{ at = \"1s\", rate = \"1mbit\" }]",
            "path.change",
        ),
    ];
    for (path, key) in cases {
        let refused = made(path, FLOW).unwrap_err();
        assert!(
            refused.contains(key) && refused.contains("fix:"),
            "{path}: {refused}"
        );
    }
}
