//! A scenario's path as Linux's own queueing disciplines: the setup of user-mode Linux, and the
//! scenarios that it can't represent.
//!
//! The nodes form a chain, joined by veth: sender, `access` with the flows' access links, `loss` if
//! packets are lost, router, `wire` if the router lets go of a packet's first bit, `ack-loss` if ACKs are
//! lost, receiver. Each has `east`, its device towards the receiver, and `west`, its
//! device towards the sender.

mod queue;
mod refuse;

use fullpipe_path::{Limit, Loss};
use fullpipe_scenario::{Error, INITIAL_WINDOW, PACKET, Scenario, Stack};
use fullpipe_units::{Rate, Span};
use serde::Serialize;

use self::queue::{counts_frames, of_frames, queue};
use self::refuse::refuse;
use crate::algorithms::kernel_equivalent;

const RECEIVER: &str = "10.9.9.9";
const FIRST_PORT: u16 = 5001;
const ACCESS: &str = "access";
const WIRE: &str = "wire";
const ACK_LOSS: &str = "ack-loss";

/// Correction for the Ethernet header, which Linux counts and a scenario's rates do not.
const ETHERNET: &str = "-14";
/// Limit of netem's queue on the way back, in practice unlimited.
const ENDLESS: &str = "1000000";
/// Number of bands that tc-prio(8) offers.
const MOST_BANDS: usize = 16;

/// Setup of user-mode Linux for a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// The nodes, from the sender to the receiver.
    pub nodes: Vec<&'static str>,
    /// Calls of tc, in order: the node, and the arguments.
    pub tc: Vec<(&'static str, Vec<String>)>,
    /// Address of the receiver.
    pub receiver: &'static str,
    /// MTU of the devices.
    pub mtu: u64,
    /// Initial congestion window of the sender's route, in segments.
    pub initial_window: u32,
    /// Port of the first flow; each further flow uses the next port.
    pub first_port: u16,
    /// Whether sch_fq at the sender paces every flow.
    pub paced: bool,
    /// Whether a packet leaves the router with the transmission of its first bit, not of its last.
    pub departs_first: bool,
}

/// Returns the setup for the path of `scenario`.
///
/// # Errors
/// When this combination of Linux's disciplines can't represent the path.
pub fn topology(scenario: &Scenario) -> Result<Topology, Error> {
    refuse(scenario)?;
    let queue = queue(scenario, &scenario.path.link)?;
    let mut topology = Topology {
        nodes: vec!["sender", ACCESS, "router", "receiver"],
        tc: Vec::new(),
        receiver: RECEIVER,
        mtu: scenario.packet.max(PACKET).get(),
        initial_window: scenario
            .flows
            .first()
            .map_or(INITIAL_WINDOW, |flow| flow.initial_window),
        first_port: FIRST_PORT,
        paced: scenario.flows.iter().all(is_paced),
        departs_first: queue.is_some(),
    };
    if topology.paced {
        let fq = "root fq limit 100000 flow_limit 20000";
        topology.qdisc("sender", "east", fq);
    }
    topology.access(scenario);
    topology.lose(2, "loss", "east", random(&scenario.path.link.loss));
    match queue {
        None => topology.netem_bottleneck(scenario),
        Some(queue) => {
            topology.htb_bottleneck(scenario.path.link.rate, &queue);
            topology.wire(scenario.path.link.rate);
        }
    }
    let last = topology.nodes.len() - 1;
    topology.lose(last, ACK_LOSS, "west", random(&scenario.path.reverse_loss));
    topology.delay(scenario)?;
    Ok(topology)
}

impl Topology {
    /// Adds a call of tc.
    fn call(&mut self, node: &'static str, arguments: &str) {
        let words = arguments.split_whitespace().map(str::to_owned).collect();
        self.tc.push((node, words));
    }

    fn qdisc(&mut self, node: &'static str, device: &str, what: &str) {
        self.call(node, &format!("qdisc add dev {device} {what}"));
    }

    /// Inserts a node at `place` that loses packets at random, unless `loss` is zero.
    fn lose(&mut self, place: usize, node: &'static str, device: &str, loss: f64) {
        if loss > 0.0 {
            self.nodes.insert(place, node);
            let netem = format!("root netem limit {ENDLESS} loss random {}", share(loss));
            self.qdisc(node, device, &netem);
        }
    }

    /// Sets up the flows' access links. Beyond the number of bands, flows share them.
    fn access(&mut self, scenario: &Scenario) {
        let rate = scenario.access_rate().as_bps();
        let netem = format!("netem rate {rate}bit {ETHERNET} limit {ENDLESS}");
        let bands = scenario.flows.len().min(MOST_BANDS);
        let band_of: Vec<usize> = (0..scenario.flows.len()).map(|flow| flow % bands).collect();
        self.by_flow((ACCESS, "east", "dport"), &band_of, |_| netem.clone());
    }

    /// Sets up a device with a queue for each band, which the port of a flow selects.
    fn by_flow(
        &mut self,
        (node, device, port): (&'static str, &str, &str),
        band_of: &[usize],
        queue: impl Fn(usize) -> String,
    ) {
        let bands = band_of.iter().max().map_or(1, |most| most + 1);
        if bands == 1 {
            return self.qdisc(node, device, &format!("root {}", queue(0)));
        }
        let priomap = ["0"; 16].join(" ");
        let prio = format!("root handle 1: prio bands {bands} priomap {priomap}");
        self.qdisc(node, device, &prio);
        for band in 0..bands {
            let parent = format!("parent 1:{:x} {}", band + 1, queue(band));
            self.qdisc(node, device, &parent);
        }
        for (flow, band) in band_of.iter().enumerate() {
            let number = FIRST_PORT + flow as u16;
            let filter = format!("filter add dev {device} parent 1: protocol ip prio 1 u32");
            let class = format!("match ip {port} {number} 0xffff flowid 1:{:x}", band + 1);
            self.call(node, &format!("{filter} {class}"));
        }
    }

    /// Sets up the bottleneck with netem's own queue.
    fn netem_bottleneck(&mut self, scenario: &Scenario) {
        let link = &scenario.path.link;
        // netem counts the packet in transmission, unlike a scenario's buffer.
        let limit = match link.limit {
            Limit::Packets(packets) => packets + 1,
            Limit::Bytes(_) => unreachable!("a limit in bytes has a queue of its own"),
        };
        let rate = link.rate.as_bps();
        let netem = format!("root netem rate {rate}bit {ETHERNET} limit {limit}");
        self.qdisc("router", "east", &netem);
    }

    /// Sets up the bottleneck with a queue that has to see its waiting packets, so netem can't hold
    /// them. htb takes a packet when its class has tokens. With a bucket of one byte, it has new
    /// tokens when that packet's transmission would end.
    fn htb_bottleneck(&mut self, rate: Rate, queue: &[String]) {
        let (size, rate) = match counts_frames(&queue[0]) {
            true => (String::new(), of_frames(rate).as_bps()),
            false => (format!("stab overhead {ETHERNET}"), rate.as_bps()),
        };
        self.qdisc(
            "router",
            "east",
            &format!("root handle 1: {size} htb default 1"),
        );
        let class = "class add dev east parent 1: classid 1:1";
        let htb = format!("{class} htb rate {rate}bit burst 1b cburst 1b quantum 1514");
        self.call("router", &htb);
        self.qdisc("router", "east", &format!("parent 1:1 {}", queue.join(" ")));
    }

    /// Adds the transmission time of each packet, which htb does not wait for.
    fn wire(&mut self, rate: Rate) {
        let router = self.nodes.iter().position(|node| *node == "router");
        let place = router.expect("every path has a router") + 1;
        self.nodes.insert(place, WIRE);
        let netem = format!(
            "root netem rate {}bit {ETHERNET} limit {ENDLESS}",
            rate.as_bps()
        );
        self.qdisc(WIRE, "east", &netem);
    }

    /// Sets up each flow's RTT, at the receiver.
    fn delay(&mut self, scenario: &Scenario) -> Result<(), Error> {
        let netem = |rtt| format!("netem delay {} limit {ENDLESS}", microseconds(rtt));
        let flows = scenario.flows.iter();
        let rtts: Vec<Span> = flows.map(|flow| scenario.rtt(flow)).collect();
        let mut bands = rtts.clone();
        bands.sort_unstable();
        bands.dedup();
        if bands.len() > MOST_BANDS {
            return Err(too_many_rtts(scenario, bands.len()));
        }
        let place = |rtt| bands.binary_search(rtt).expect("it is one of them");
        let band_of: Vec<usize> = rtts.iter().map(place).collect();
        self.by_flow(("receiver", "west", "sport"), &band_of, |band| {
            netem(bands[band])
        });
        Ok(())
    }
}

fn too_many_rtts(scenario: &Scenario, rtts: usize) -> Error {
    let last = scenario.flows.last().expect("a scenario has a flow");
    let problem =
        format!("{rtts} different RTTs of flows, but Linux's prio has {MOST_BANDS} bands");
    let fix = "give several flows the same RTT";
    scenario.error(&last.key("rtt"), last.extra_rtt, problem, fix)
}

/// Returns whether sch_fq paces the flow. Without `stack = "linux"`, whose devices have none, it
/// also paces BBR, which asks for it.
fn is_paced(flow: &fullpipe_scenario::Flow) -> bool {
    match flow.pacing {
        fullpipe_scenario::Pacing::On => true,
        fullpipe_scenario::Pacing::Auto if flow.stack.usual == Stack::Linux => false,
        fullpipe_scenario::Pacing::Auto => {
            kernel_equivalent(&flow.cc).is_some_and(|equivalent| equivalent.paces)
        }
        fullpipe_scenario::Pacing::Off => false,
    }
}

/// Formats a time for tc, in microseconds.
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
