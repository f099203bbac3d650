//! A scenario's path as Linux's own queueing disciplines: what user-mode Linux is told to set up,
//! and what it can't.
//!
//! Nodes in a row, joined by veth: sender, `loss` where there is some, router, `ack-loss` where
//! there is some, receiver. Each has `east`, its device towards the receiver, and `west`, that
//! towards the sender.

use fullpipe_path::{Limit, Loss, OptionValue};
use fullpipe_scenario::{Error, Link, PACKET, Scenario};
use fullpipe_units::Span;
use serde::Serialize;

use crate::algorithms::twin;

const RECEIVER: &str = "10.9.9.9";
const FIRST_PORT: u16 = 5001;
const ACK_LOSS: &str = "ack-loss";

/// An Ethernet header, which Linux counts and a scenario's rates do not.
const ETHERNET: &str = "-14";
/// What netem holds on the way back: as good as no limit.
const ENDLESS: &str = "1000000";
/// netem has so many bands of different delays to hand out (tc-prio(8)).
const MOST_RTTS: usize = 16;

/// What is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// The nodes, from the sender to the receiver.
    pub nodes: Vec<&'static str>,
    /// What tc is called with, in the order of the calls: a node, and the arguments.
    pub tc: Vec<(&'static str, Vec<String>)>,
    /// The receiver's address.
    pub receiver: &'static str,
    /// The port of the first flow; the next has the next.
    pub first_port: u16,
    /// Whether sch_fq at the sender paces every flow.
    pub paced: bool,
    /// Whether a packet leaves the router with its first bit's transmission, not with its last's.
    pub departs_first: bool,
}

/// The path of `scenario`.
///
/// # Errors
/// When it asks for what Linux's disciplines, put together so, do not do.
pub fn topology(scenario: &Scenario) -> Result<Topology, Error> {
    refuse(scenario)?;
    let mut tc = Vec::new();
    let paced = scenario.flows.iter().all(is_paced);
    let made = |nodes, tc, departs_first| Topology {
        nodes,
        tc,
        receiver: RECEIVER,
        first_port: FIRST_PORT,
        paced,
        departs_first,
    };
    let mut nodes = vec!["sender", "router", "receiver"];
    let mut call = |node: &'static str, words: &[&str]| {
        tc.push((
            node,
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>(),
        ));
    };
    if paced {
        let fq = [
            "qdisc",
            "add",
            "dev",
            "east",
            "root",
            "fq",
            "limit",
            "100000",
            "flow_limit",
            "20000",
        ];
        call("sender", &fq);
    }
    let link = &scenario.path.link;
    let loss = random(&link.loss);
    if loss > 0.0 {
        nodes.insert(1, "loss");
        call(
            "loss",
            &[
                "qdisc",
                "add",
                "dev",
                "east",
                "root",
                "netem",
                "limit",
                ENDLESS,
                "loss",
                "random",
                &share(loss),
            ],
        );
    }
    let rate = format!("{}bit", link.rate.as_bps());
    let managed = queue(scenario, link)?;
    let departs_first = managed.is_some();
    match &managed {
        // netem counts the packet that is being sent, a scenario's buffer does not.
        None => {
            let limit = match link.limit {
                Limit::Packets(packets) => packets + 1,
                Limit::Bytes(_) => unreachable!("a limit in bytes has a queue of its own"),
            };
            let limit = limit.to_string();
            call(
                "router",
                &[
                    "qdisc", "add", "dev", "east", "root", "netem", "rate", &rate, ETHERNET,
                    "limit", &limit,
                ],
            );
        }
        // The queue has to see what waits, so netem can't be what holds it back. htb asks for a
        // packet when its class has tokens, and with a bucket of one byte has the next ones when
        // that packet would be sent.
        Some(queue) => {
            let root = [
                "qdisc", "add", "dev", "east", "root", "handle", "1:", "stab", "overhead", ETHERNET,
            ];
            call("router", &[&root[..], &["htb", "default", "1"]].concat());
            let class = [
                "class", "add", "dev", "east", "parent", "1:", "classid", "1:1", "htb", "rate",
                &rate,
            ];
            call(
                "router",
                &[
                    &class[..],
                    &["burst", "1b", "cburst", "1b", "quantum", "1514"],
                ]
                .concat(),
            );
            let words: Vec<&str> = queue.iter().map(String::as_str).collect();
            call(
                "router",
                &[
                    &["qdisc", "add", "dev", "east", "parent", "1:1"],
                    &words[..],
                ]
                .concat(),
            );
        }
    }
    // What leaves with its first bit arrives too early by its transmission; the way back makes up
    // for it.
    let late = if departs_first {
        link.rate.time_for(PACKET)
    } else {
        Span::ZERO
    };
    let lost = random(&scenario.path.reverse_loss);
    if lost > 0.0 {
        nodes.insert(nodes.len() - 1, ACK_LOSS);
        call(
            ACK_LOSS,
            &[
                "qdisc",
                "add",
                "dev",
                "west",
                "root",
                "netem",
                "limit",
                ENDLESS,
                "loss",
                "random",
                &share(lost),
            ],
        );
    }
    let delay = |rtt: Span| {
        [
            "netem",
            "delay",
            &microseconds(rtt + late),
            "limit",
            ENDLESS,
        ]
        .map(str::to_owned)
    };
    let rtts: Vec<Span> = scenario
        .flows
        .iter()
        .map(|flow| scenario.rtt(flow))
        .collect();
    let mut bands = rtts.clone();
    bands.sort_unstable();
    bands.dedup();
    if bands.len() == 1 {
        let words = delay(bands[0]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        call(
            "receiver",
            &[&["qdisc", "add", "dev", "west", "root"], &words[..]].concat(),
        );
        return Ok(made(nodes, tc, departs_first));
    }
    if bands.len() > MOST_RTTS {
        let last = scenario.flows.last().expect("a scenario has a flow");
        let problem = format!(
            "flows with {} different RTTs; Linux's prio has {MOST_RTTS} bands",
            bands.len()
        );
        return Err(scenario.error(
            &last.key("rtt"),
            last.extra_rtt,
            problem,
            "let flows share their RTTs",
        ));
    }
    let root = [
        "qdisc", "add", "dev", "west", "root", "handle", "1:", "prio", "bands",
    ];
    call(
        "receiver",
        &[
            &root[..],
            &[&bands.len().to_string(), "priomap"],
            &["0"; 16],
        ]
        .concat(),
    );
    for (band, rtt) in bands.iter().enumerate() {
        let words = delay(*rtt);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let parent = format!("1:{:x}", band + 1);
        call(
            "receiver",
            &[
                &["qdisc", "add", "dev", "west", "parent", &parent],
                &words[..],
            ]
            .concat(),
        );
    }
    for (flow, rtt) in rtts.iter().enumerate() {
        let band = bands.binary_search(rtt).expect("it is one of them") + 1;
        let port = (FIRST_PORT + flow as u16).to_string();
        let class = format!("1:{band:x}");
        let filter = [
            "filter", "add", "dev", "west", "parent", "1:", "protocol", "ip", "prio", "1", "u32",
        ];
        call(
            "receiver",
            &[
                &filter[..],
                &["match", "ip", "sport", &port, "0xffff", "flowid", &class],
            ]
            .concat(),
        );
    }
    Ok(made(nodes, tc, departs_first))
}

/// Whether Linux spreads its packets over time when it may: with sch_fq it does so for all, else
/// for BBR by itself.
fn is_paced(flow: &fullpipe_scenario::Flow) -> bool {
    match flow.pacing {
        fullpipe_scenario::Pacing::On => true,
        fullpipe_scenario::Pacing::Auto => twin(&flow.cc).is_some_and(|twin| twin.paces),
        fullpipe_scenario::Pacing::Off => false,
    }
}

/// tc's words for the queue; none for one that netem has itself.
fn queue(scenario: &Scenario, link: &Link) -> Result<Option<Vec<String>>, Error> {
    let name = link.queue.descriptor().name;
    let limit = link.limit;
    let refused = |problem: &str, fix: &str| {
        Err(scenario.error(&link.key("queue"), format_args!("{name:?}"), problem, fix))
    };
    let (kind, limit) = match (name, limit) {
        ("pfifo", Limit::Packets(_)) => return Ok(None),
        ("pfifo" | "bfifo", Limit::Bytes(bytes)) => ("bfifo", bytes.get().to_string()),
        ("red", Limit::Bytes(bytes)) => ("red", bytes.get().to_string()),
        ("codel" | "fq_codel" | "pie" | "sfq", Limit::Packets(packets)) => {
            (name, packets.to_string())
        }
        ("codel" | "fq_codel" | "pie" | "sfq", Limit::Bytes(_)) => {
            return refused(
                "Linux counts its limit in packets",
                "give path.buffer in packets, ms or bdp",
            );
        }
        ("cake", _) => ("cake", String::new()),
        _ => {
            return refused(
                "not in Linux's kernel",
                "use pfifo, bfifo, red, codel, fq_codel, pie, sfq or cake",
            );
        }
    };
    let mut words = vec![kind.to_owned()];
    match kind {
        "cake" => words.extend(["besteffort", "flows"].map(str::to_owned)),
        _ => words.extend(["limit".to_owned(), limit]),
    }
    for (param, value) in link.queue.values() {
        match value {
            OptionValue::Flag(true) => words.push(param.name.to_owned()),
            // Only of fq_codel it is on by itself.
            OptionValue::Flag(false) if kind == "fq_codel" => {
                words.push(format!("no{}", param.name))
            }
            OptionValue::Flag(false) => {}
            // Its one time, perturb, is in whole seconds.
            OptionValue::Time(span) if kind == "sfq" => {
                words.extend([param.name.to_owned(), span.as_secs_f64().to_string()])
            }
            OptionValue::Time(span) => words.extend([param.name.to_owned(), microseconds(span)]),
            OptionValue::Size(bytes) => {
                words.extend([param.name.to_owned(), bytes.get().to_string()])
            }
            OptionValue::Rate(rate) => {
                words.extend([param.name.to_owned(), format!("{}bit", rate.as_bps())])
            }
            OptionValue::Count(_) | OptionValue::Number(_) | OptionValue::Depth(_) => {
                words.extend([param.name.to_owned(), value.to_string()]);
            }
        }
    }
    match kind {
        "red" => words.extend(["bandwidth".to_owned(), format!("{}bit", link.rate.as_bps())]),
        "cake" if !words.iter().any(|word| word == "bandwidth") => {
            words.push("unlimited".to_owned())
        }
        _ => {}
    }
    Ok(Some(words))
}

/// tc's times; it counts in microseconds.
fn microseconds(span: Span) -> String {
    format!("{}us", span.as_nanos() as f64 / 1e3)
}

fn random(loss: &Loss) -> f64 {
    match loss {
        Loss::Random(p) => *p,
        _ => unreachable!("other losses are refused"),
    }
}

fn share(p: f64) -> String {
    format!("{}%", p * 100.0)
}

/// What this way of setting up Linux can't give.
fn refuse(scenario: &Scenario) -> Result<(), Error> {
    let no = |key: &str, value: &str| {
        let problem =
            "not with --on uml: Linux's netem has no such thing, or is not told of it here";
        Err(scenario.error(
            key,
            value,
            problem,
            "leave it out, or run it on sim or kernel",
        ))
    };
    let path = &scenario.path;
    let link = &path.link;
    if let Some(further) = scenario.links().nth(1) {
        let name = format!("{:?}", further.name);
        return Err(scenario.error(
            "link",
            name,
            "--on uml has the bottleneck alone",
            "leave it out, or run it on sim",
        ));
    }
    let told = [
        ("host", scenario.host.is_some()),
        ("send_jitter", scenario.send_jitter > Span::ZERO),
        ("path.rate_pattern", link.rate_pattern.is_some()),
        ("path.loss", !matches!(link.loss, Loss::Random(_))),
        (
            "path.reverse_loss",
            !matches!(path.reverse_loss, Loss::Random(_)),
        ),
        ("path.change", !path.changes.is_empty()),
    ];
    if let Some((key, _)) = told.iter().find(|(_, asked)| *asked) {
        return no(key, "given");
    }
    let known = ["path.queue", "path.loss", "path.reverse_loss"];
    match path
        .altered_keys()
        .find(|key| !known.contains(&key.as_str()))
    {
        Some(key) => no(&key, "given"),
        None => Ok(()),
    }
}
