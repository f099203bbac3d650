//! The elements of a scenario's path, each with its own random stream.

use fullpipe_path::{
    AnyLink, Delay, DelayLine, DelayTrace, Duplicator, Link, Losses, ManagedLink, OutageSchedule,
    Policer, Queue, Radio, Shaper, Suspension, Timeline, Transmitter, VaryingLink,
};
use fullpipe_units::{Rng, Span, Time};

use fullpipe_scenario::{Change, Flow, Path, Scenario, Suspend};

/// The index of the link of `[path]` in [`Scenario::links`].
pub const BOTTLENECK: usize = 0;

/// Returns the link at `index` in [`Scenario::links`]. Changes of the path apply to the bottleneck.
pub fn link<P: Copy>(scenario: &Scenario, index: usize) -> AnyLink<P> {
    let path = &scenario.path;
    let link = link_of(scenario, index);
    let mut limits = timeline_of(path, index, link.limit, |change| change.limit);
    let policers = policers(scenario, index)
        .map(|policer| policer.map(|policer| Policer::new(policer.rate, policer.burst)));
    let shapers = shapers(scenario, index)
        .map(|shaper| shaper.map(|shaper| Shaper::new(shaper.rate, shaper.burst)));
    let transmitter = transmitter(scenario, index);
    let rng = Rng::stream(scenario.seed, &link.name, "queue");
    let queue = Queue::new(&link.queue, *limits.at(Time::ZERO), link.rate, rng);
    match (
        queue,
        transmitter.constant(),
        limits.constant(),
        policers.constant(),
        shapers.constant(),
    ) {
        (None, Some(rate), Some(limit), Some(None), Some(None)) => {
            AnyLink::Constant(Link::new(rate, *limit))
        }
        (None, ..) => AnyLink::Varying(Box::new(VaryingLink::new(
            transmitter,
            limits,
            policers,
            shapers,
        ))),
        (Some(queue), ..) => AnyLink::Managed(Box::new(ManagedLink::new(
            transmitter,
            limits,
            policers,
            shapers,
            queue,
        ))),
    }
}

/// Returns the policer of the link at `index` over time.
pub(crate) fn policers(
    scenario: &Scenario,
    index: usize,
) -> Timeline<Option<fullpipe_scenario::Policer>> {
    let policer = link_of(scenario, index).policer;
    timeline_of(&scenario.path, index, policer, |change| change.policer)
}

/// Returns the shaper of the link at `index` over time.
pub(crate) fn shapers(
    scenario: &Scenario,
    index: usize,
) -> Timeline<Option<fullpipe_scenario::Shaper>> {
    let shaper = link_of(scenario, index).shaper;
    timeline_of(&scenario.path, index, shaper, |change| change.shaper)
}

/// Returns the transmitter of the link at `index`; that of the bottleneck may be a radio.
pub fn transmitter(scenario: &Scenario, index: usize) -> Transmitter {
    let (path, link) = (&scenario.path, link_of(scenario, index));
    let stream = |usage: &str| Rng::stream(scenario.seed, &link.name, usage);
    let transmitter = match &link.rate_pattern {
        Some(pattern) => pattern.transmitter(stream("rate"), trace_place(scenario)),
        None => {
            Transmitter::serial(timeline_of(path, index, link.rate, |change| change.rate).into())
        }
    };
    let aggregation = timeline(path, path.wifi, |change| change.wifi);
    match (transmitter, silence(scenario)) {
        (transmitter, _) if index != BOTTLENECK => transmitter,
        (transmitter, silence) if aggregation.constant() == Some(&None) && silence.is_none() => {
            transmitter
        }
        (Transmitter::Serial(_, rates), silence) => {
            Transmitter::Radio(Radio::new(rates, aggregation, silence, stream("backoff")).into())
        }
        _ => unreachable!("a trace with a radio is refused"),
    }
}

/// Returns the loss of a flow's data packets in front of the link at `index`.
pub fn loss(scenario: &Scenario, flow: &Flow, index: usize) -> Option<Losses> {
    loss_of(scenario, flow, index, "")
}

/// Returns the loss of a flow's ACKs in front of the link at `index`.
pub fn ack_loss(scenario: &Scenario, flow: &Flow, index: usize) -> Option<Losses> {
    loss_of(scenario, flow, index, "ack_")
}

/// Returns the loss of a flow's ACKs at the receiver, in front of all links.
pub fn reverse_loss(scenario: &Scenario, flow: &Flow) -> Option<Losses> {
    let losses = timeline(
        &scenario.path,
        scenario.path.reverse_loss.clone(),
        |change| change.reverse_loss.clone(),
    );
    Losses::new(losses, stream(scenario, flow, "reverse_loss"))
}

/// Returns the duplication of a flow's data packets.
pub fn copies(scenario: &Scenario, flow: &Flow) -> Option<Duplicator> {
    let duplicates = timeline(&scenario.path, scenario.path.duplicate, |change| {
        change.duplicate
    });
    Duplicator::new(duplicates, stream(scenario, flow, "duplicate"))
}

/// Returns the duplication of a flow's ACKs.
pub fn reverse_copies(scenario: &Scenario, flow: &Flow) -> Option<Duplicator> {
    let duplicates = timeline(&scenario.path, scenario.path.reverse_duplicate, |change| {
        change.reverse_duplicate
    });
    Duplicator::new(duplicates, stream(scenario, flow, "reverse_duplicate"))
}

/// Returns the delay line of a flow from its last link to its receiver, with half of the RTT.
pub fn line(scenario: &Scenario, flow: &Flow) -> DelayLine {
    let path = &scenario.path;
    let extra = flow.extra_rtt / 2;
    let delay = timeline(path, path.rtt, |change| change.rtt).map(|rtt| rtt / 2 + extra);
    let delay = traced(scenario, &path.delay_trace, extra).unwrap_or_else(|| delay.into());
    let jitters = timeline(path, path.jitter.clone(), |change| change.jitter.clone());
    DelayLine::new(delay, jitters, stream(scenario, flow, "path_jitter"))
}

/// Returns the delay line of a flow's ACKs from the last link to the sender, with the other half of
/// the RTT. The nanosecond of an odd RTT belongs to this half.
pub fn reverse_line(scenario: &Scenario, flow: &Flow) -> DelayLine {
    let path = &scenario.path;
    let extra = flow.extra_rtt;
    let delay = timeline(path, path.rtt, |change| change.rtt)
        .map(|rtt: Span| (rtt + extra).saturating_sub(rtt / 2 + extra / 2));
    let extra = extra.saturating_sub(extra / 2);
    let delay = traced(scenario, &path.reverse_delay_trace, extra).unwrap_or_else(|| delay.into());
    let jitters = timeline(path, path.reverse_jitter.clone(), |change| {
        change.reverse_jitter.clone()
    });
    DelayLine::suspended(
        delay,
        jitters,
        silence(scenario),
        stream(scenario, flow, "reverse_jitter"),
    )
}

/// Returns the times at which the bottleneck is silent; receivers do not send ACKs then either.
fn silence(scenario: &Scenario) -> OutageSchedule {
    let path = &scenario.path;
    let salt = Rng::stream(scenario.seed, &path.link.name, "suspend").next_u64();
    let suspension = |suspend: Option<Suspend>| {
        let Suspend {
            hold,
            every,
            random,
        } = suspend?;
        Some(Suspension {
            hold,
            every,
            salt: random.then_some(salt),
        })
    };
    let changes = path
        .schedule(|change| change.suspend)
        .map(|(at, suspend)| (Time::ZERO + at, suspension(suspend)));
    OutageSchedule::new(suspension(path.suspend), changes)
}

fn loss_of(scenario: &Scenario, flow: &Flow, index: usize, what: &str) -> Option<Losses> {
    let link = link_of(scenario, index);
    let losses = timeline_of(&scenario.path, index, link.loss.clone(), |change| {
        change.loss.clone()
    });
    let usage = match index {
        BOTTLENECK => format!("{what}loss"),
        _ => format!("{what}loss on {}", link.name),
    };
    Losses::new(losses, stream(scenario, flow, &usage))
}

fn link_of(scenario: &Scenario, index: usize) -> &fullpipe_scenario::Link {
    scenario
        .links()
        .nth(index)
        .expect("routes contain only links of the scenario")
}

fn stream(scenario: &Scenario, flow: &Flow, usage: &str) -> Rng {
    Rng::stream(scenario.seed, &flow.name, usage)
}

/// Returns the delay of a trace, if any, plus the flow's additional delay.
fn traced(scenario: &Scenario, trace: &Option<DelayTrace>, extra: Span) -> Option<Delay> {
    let trace = trace.clone()?;
    Some(Delay::of_trace(trace, extra, trace_place(scenario)))
}

/// Returns the place at which traces with a random beginning begin, as a share of their length: one
/// for all, so that rates and delays measured together stay together.
fn trace_place(scenario: &Scenario) -> f64 {
    Rng::stream(scenario.seed, "path", "trace_place").unit()
}

/// Returns a property of a link over time. Changes of the path apply to the bottleneck.
fn timeline_of<T>(
    path: &Path,
    link: usize,
    first: T,
    of: impl Fn(&Change) -> Option<T>,
) -> Timeline<T> {
    if link == BOTTLENECK {
        timeline(path, first, of)
    } else {
        first.into()
    }
}

/// Returns a property of the path over time.
fn timeline<T>(path: &Path, first: T, of: impl Fn(&Change) -> Option<T>) -> Timeline<T> {
    Timeline::new(
        first,
        path.schedule(of)
            .map(|(at, value)| (Time::ZERO + at, value)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rate in Mbit/s of the first second, and the delay in ms at its middle.
    fn at_start(begin: &str, seed: u64) -> (u64, u64) {
        let slow = (0..10).map(|at| (100 + at * 100).to_string());
        let fast = (0..10_000).map(|at| (1_000 + at / 10).to_string());
        let times = slow.chain(fast).chain(["2000".to_owned()]);
        let times = times.collect::<Vec<_>>().join(", ");
        let text = format!(
            "duration = \"2s\"\nseed = {seed}\n[path]\nrate_pattern = \"mahimahi {times} {begin}\"\n\
             delay_trace = \"0s 30ms, 1s 10ms every 2s {begin}\"\nrtt = \"40ms\"\nbuffer = \"9packets\"\n\
             [[flow]]\ncc = \"cubic\"\n"
        );
        let scenario = Scenario::parse(&text, "it.toml").unwrap_or_else(|error| panic!("{error}"));
        let edge = |ms| Time::ZERO + Span::from_millis(ms);
        let rates = transmitter(&scenario, BOTTLENECK).mean_rates(&[edge(0), edge(100)]);
        let (arrival, _) = line(&scenario, &scenario.flows[0]).arrival(edge(50));
        (
            rates[0].as_bps() / 1_000_000,
            (arrival - edge(50)).as_nanos() / 1_000_000,
        )
    }

    #[test]
    fn traces_of_one_length_begin_together_at_a_place_of_the_seed() {
        assert_eq!(at_start("", 1), (0, 30));
        assert_eq!(at_start("from 1s", 1), (120, 10));
        let seen: Vec<(u64, u64)> = (1..=40).map(|seed| at_start("from random", seed)).collect();
        let whole = |pair: &&(u64, u64)| [(0, 30), (120, 10)].contains(pair);
        // The edges of the trace lie in a tenth of the windows of 100 ms.
        assert!(seen.iter().filter(whole).count() >= 30, "{seen:?}");
        let fast = seen.iter().filter(|pair| **pair == (120, 10)).count();
        assert!((10..=30).contains(&fast), "{fast} of 40");
        assert_eq!(at_start("from random", 7), at_start("from random", 7));
    }
}
