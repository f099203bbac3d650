//! What a scenario's path is made of: `path`'s elements, each with its random stream. Every runner
//! takes them from here.

use fullpipe_path::{
    AnyLink, DelayLine, Duplicator, Link, Losses, ManagedLink, OutageSchedule, Policer, Queue,
    Radio, Shaper, Suspension, Timeline, Transmitter, VaryingLink,
};
use fullpipe_units::{Rng, Span, Time};

use crate::impairment::Suspend;
use crate::model::{Change, Flow, Path, Scenario};

/// The link of `[path]` among [`Scenario::links`].
const BOTTLENECK: usize = 0;

impl Scenario {
    /// The link of that number in [`Scenario::links`]. The path's schedule is the bottleneck's.
    pub fn element<P: Copy>(&self, index: usize) -> AnyLink<P> {
        let path = &self.path;
        let link = self.link(index);
        let mut limits = timeline_of(path, index, link.buffer, |change| change.buffer)
            .map(|buffer| link.limit(buffer, path.rtt));
        let policers = timeline_of(path, index, link.policer, |change| change.policer)
            .map(|policer| policer.map(|policer| Policer::new(policer.rate, policer.burst)));
        let shapers = timeline_of(path, index, link.shaper, |change| change.shaper)
            .map(|shaper| shaper.map(|shaper| Shaper::new(shaper.rate, shaper.burst)));
        let transmitter = self.transmitter(index);
        let rng = Rng::stream(self.seed, &link.name, "queue");
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

    /// What sends on the link of that number; the bottleneck may be a radio.
    pub fn transmitter(&self, index: usize) -> Transmitter {
        let (path, link) = (&self.path, self.link(index));
        let stream = |usage: &str| Rng::stream(self.seed, &link.name, usage);
        let transmitter = match &link.rate_pattern {
            Some(pattern) => pattern.transmitter(stream("rate")),
            None => Transmitter::serial(
                timeline_of(path, index, link.rate, |change| change.rate).into(),
            ),
        };
        let aggregation = timeline(path, path.wifi, |change| change.wifi);
        match (transmitter, self.silence()) {
            (transmitter, _) if index != BOTTLENECK => transmitter,
            (transmitter, silence)
                if aggregation.constant() == Some(&None) && silence.is_none() =>
            {
                transmitter
            }
            (Transmitter::Serial(_, rates), silence) => Transmitter::Radio(
                Radio::new(rates, aggregation, silence, stream("backoff")).into(),
            ),
            _ => unreachable!("a trace with a radio is refused"),
        }
    }

    /// Loss of a flow's data packets in front of the link of that number.
    pub fn loss(&self, flow: &Flow, index: usize) -> Option<Losses> {
        self.loss_of(flow, index, "")
    }

    /// The same of its ACKs.
    pub fn ack_loss(&self, flow: &Flow, index: usize) -> Option<Losses> {
        self.loss_of(flow, index, "ack_")
    }

    /// Loss of a flow's ACKs at the receiver, in front of all links.
    pub fn reverse_loss(&self, flow: &Flow) -> Option<Losses> {
        let losses = timeline(&self.path, self.path.reverse_loss.clone(), |change| {
            change.reverse_loss.clone()
        });
        Losses::new(losses, self.stream(flow, "reverse_loss"))
    }

    /// Which of a flow's data packets come twice.
    pub fn copies(&self, flow: &Flow) -> Option<Duplicator> {
        let duplicates = timeline(&self.path, self.path.duplicate, |change| change.duplicate);
        Duplicator::new(duplicates, self.stream(flow, "duplicate"))
    }

    /// Which of its ACKs do.
    pub fn reverse_copies(&self, flow: &Flow) -> Option<Duplicator> {
        let duplicates = timeline(&self.path, self.path.reverse_duplicate, |change| {
            change.reverse_duplicate
        });
        Duplicator::new(duplicates, self.stream(flow, "reverse_duplicate"))
    }

    /// A flow's way from its last link to its receiver: half of the RTT.
    pub fn line(&self, flow: &Flow) -> DelayLine {
        let path = &self.path;
        let extra = flow.extra_rtt / 2;
        let delay = timeline(path, path.rtt, |change| change.rtt).map(|rtt| rtt / 2 + extra);
        let jitters = timeline(path, path.jitter.clone(), |change| change.jitter.clone());
        DelayLine::new(delay, jitters, self.stream(flow, "path_jitter"))
    }

    /// The same for its ACKs; what can't be halved is on the way back.
    pub fn reverse_line(&self, flow: &Flow) -> DelayLine {
        let path = &self.path;
        let extra = flow.extra_rtt;
        let delay = timeline(path, path.rtt, |change| change.rtt)
            .map(|rtt: Span| (rtt + extra).saturating_sub(rtt / 2 + extra / 2));
        let jitters = timeline(path, path.reverse_jitter.clone(), |change| {
            change.reverse_jitter.clone()
        });
        DelayLine::suspended(
            delay,
            jitters,
            self.silence(),
            self.stream(flow, "reverse_jitter"),
        )
    }

    /// When the bottleneck is silent, and with it those who send ACKs to it.
    fn silence(&self) -> OutageSchedule {
        let path = &self.path;
        let salt = Rng::stream(self.seed, &path.link.name, "suspend").next_u64();
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

    fn loss_of(&self, flow: &Flow, index: usize, what: &str) -> Option<Losses> {
        let link = self.link(index);
        let losses = timeline_of(&self.path, index, link.loss.clone(), |change| {
            change.loss.clone()
        });
        let usage = match index {
            BOTTLENECK => format!("{what}loss"),
            _ => format!("{what}loss on {}", link.name),
        };
        Losses::new(losses, self.stream(flow, &usage))
    }

    fn link(&self, index: usize) -> &crate::Link {
        self.links()
            .nth(index)
            .expect("a route's links are the scenario's")
    }

    fn stream(&self, flow: &Flow, usage: &str) -> Rng {
        Rng::stream(self.seed, &flow.name, usage)
    }
}

/// One of a link's properties over time: that of the bottleneck has the path's schedule.
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

/// One of the path's properties over time.
fn timeline<T>(path: &Path, first: T, of: impl Fn(&Change) -> Option<T>) -> Timeline<T> {
    Timeline::new(
        first,
        path.schedule(of)
            .map(|(at, value)| (Time::ZERO + at, value)),
    )
}
