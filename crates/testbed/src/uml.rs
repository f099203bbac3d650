//! A scenario's path as Linux's own queueing disciplines: what user-mode Linux is told to set up,
//! and what it can't.
//!
//! Nodes in a row, joined by veth: sender, `loss` where there is some, router, `ack-loss` where
//! there is some, receiver. Each has `east`, its device towards the receiver, and `west`, that
//! towards the sender.

mod queue;
mod refuse;

use fullpipe_path::{Limit, Loss};
use fullpipe_scenario::{Error, PACKET, Scenario};
use fullpipe_units::{Rate, Span};
use serde::Serialize;

use self::queue::queue;
use self::refuse::refuse;
use crate::algorithms::kernel_equivalent;

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
    let queue = queue(scenario, &scenario.path.link)?;
    let mut topology = Topology {
        nodes: vec!["sender", "router", "receiver"],
        tc: Vec::new(),
        receiver: RECEIVER,
        first_port: FIRST_PORT,
        paced: scenario.flows.iter().all(is_paced),
        departs_first: queue.is_some(),
    };
    if topology.paced {
        let fq = "root fq limit 100000 flow_limit 20000";
        topology.qdisc("sender", "east", fq);
    }
    topology.lose(1, "loss", "east", random(&scenario.path.link.loss));
    match queue {
        None => topology.netem_bottleneck(scenario),
        Some(queue) => topology.htb_bottleneck(scenario.path.link.rate, &queue),
    }
    let last = topology.nodes.len() - 1;
    topology.lose(last, ACK_LOSS, "west", random(&scenario.path.reverse_loss));
    topology.delay(scenario)?;
    Ok(topology)
}

impl Topology {
    /// One call of tc.
    fn call(&mut self, node: &'static str, arguments: &str) {
        let words = arguments.split_whitespace().map(str::to_owned).collect();
        self.tc.push((node, words));
    }

    fn qdisc(&mut self, node: &'static str, device: &str, what: &str) {
        self.call(node, &format!("qdisc add dev {device} {what}"));
    }

    /// A node at `place` that loses packets at random, if any are to be lost.
    fn lose(&mut self, place: usize, node: &'static str, device: &str, loss: f64) {
        if loss > 0.0 {
            self.nodes.insert(place, node);
            let netem = format!("root netem limit {ENDLESS} loss random {}", share(loss));
            self.qdisc(node, device, &netem);
        }
    }

    /// The bottleneck with netem's own queue.
    fn netem_bottleneck(&mut self, scenario: &Scenario) {
        let link = &scenario.path.link;
        // netem counts the packet that is being sent, a scenario's buffer does not.
        let limit = match link.limit {
            Limit::Packets(packets) => packets + 1,
            Limit::Bytes(_) => unreachable!("a limit in bytes has a queue of its own"),
        };
        let rate = link.rate.as_bps();
        let netem = format!("root netem rate {rate}bit {ETHERNET} limit {limit}");
        self.qdisc("router", "east", &netem);
    }

    /// The bottleneck with a queue that has to see what waits, so netem can't be what holds it
    /// back. htb asks for a packet when its class has tokens, and with a bucket of one byte has the
    /// next ones when that packet would be sent.
    fn htb_bottleneck(&mut self, rate: Rate, queue: &[String]) {
        let root = format!("root handle 1: stab overhead {ETHERNET} htb default 1");
        self.qdisc("router", "east", &root);
        let class = "class add dev east parent 1: classid 1:1";
        let rate = rate.as_bps();
        let htb = format!("{class} htb rate {rate}bit burst 1b cburst 1b quantum 1514");
        self.call("router", &htb);
        self.qdisc("router", "east", &format!("parent 1:1 {}", queue.join(" ")));
    }

    /// Each flow's RTT, at the receiver.
    fn delay(&mut self, scenario: &Scenario) -> Result<(), Error> {
        // What leaves with its first bit arrives too early by its transmission; the way back makes
        // up for it.
        let late = if self.departs_first {
            scenario.path.link.rate.time_for(PACKET)
        } else {
            Span::ZERO
        };
        let netem = |rtt| format!("netem delay {} limit {ENDLESS}", microseconds(rtt + late));
        let flows = scenario.flows.iter();
        let rtts: Vec<Span> = flows.map(|flow| scenario.rtt(flow)).collect();
        let mut bands = rtts.clone();
        bands.sort_unstable();
        bands.dedup();
        if let [rtt] = bands[..] {
            self.qdisc("receiver", "west", &format!("root {}", netem(rtt)));
            return Ok(());
        }
        if bands.len() > MOST_RTTS {
            return Err(too_many_rtts(scenario, bands.len()));
        }
        let priomap = ["0"; 16].join(" ");
        let prio = format!(
            "root handle 1: prio bands {} priomap {priomap}",
            bands.len()
        );
        self.qdisc("receiver", "west", &prio);
        for (band, rtt) in bands.iter().enumerate() {
            let parent = format!("parent 1:{:x} {}", band + 1, netem(*rtt));
            self.qdisc("receiver", "west", &parent);
        }
        for (flow, rtt) in rtts.iter().enumerate() {
            let band = bands.binary_search(rtt).expect("it is one of them") + 1;
            let port = FIRST_PORT + flow as u16;
            let filter = "filter add dev west parent 1: protocol ip prio 1 u32";
            let flow = format!("{filter} match ip sport {port} 0xffff flowid 1:{band:x}");
            self.call("receiver", &flow);
        }
        Ok(())
    }
}

fn too_many_rtts(scenario: &Scenario, rtts: usize) -> Error {
    let last = scenario.flows.last().expect("a scenario has a flow");
    let problem = format!("flows with {rtts} different RTTs; Linux's prio has {MOST_RTTS} bands");
    let fix = "let flows share their RTTs";
    scenario.error(&last.key("rtt"), last.extra_rtt, problem, fix)
}

/// Whether Linux spreads its packets over time when it may: with sch_fq it does so for all, else
/// for BBR by itself.
fn is_paced(flow: &fullpipe_scenario::Flow) -> bool {
    match flow.pacing {
        fullpipe_scenario::Pacing::On => true,
        fullpipe_scenario::Pacing::Auto => {
            kernel_equivalent(&flow.cc).is_some_and(|equivalent| equivalent.paces)
        }
        fullpipe_scenario::Pacing::Off => false,
    }
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
