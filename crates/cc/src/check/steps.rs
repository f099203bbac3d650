//! The events that a transport passes through.

use fullpipe_units::{Bytes, Rng, Span};

use crate::{Descriptor, PathChange, Signals};

/// The kind of a transport, and of its reports about marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP with counts of marks.
    Counts,
    /// TCP with the ECE flag of RFC 3168.
    Ece,
    /// QUIC, which reports that there are marks.
    Quic,
}

/// An event of the transport.
#[derive(Clone, Debug)]
pub enum Step {
    /// Time passes.
    Wait(Span),
    /// The application writes this number of packets; those that fit in the window leave.
    Send(u64),
    /// An ACK arrives.
    Ack(Arrival),
    /// The retransmission timer fires, and leaves this number of recent packets in flight.
    Timeout {
        /// That number.
        keeps: usize,
    },
    /// The application begins or ceases to limit the flow.
    AppLimited(bool),
    /// The controller's timer fires, if it asked for it.
    Timer,
    /// The path changes; only QUIC notices.
    Path(PathChange),
    /// The segment size changes; only QUIC notices.
    Mtu(Bytes),
}

/// The content of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Number of the oldest packets in flight that it does not acknowledge.
    pub skips: usize,
    /// Whether these are lost.
    pub loses: bool,
    /// Number of the next packets, which it acknowledges.
    pub acks: usize,
    /// Number of the marked ones among them.
    pub marked: usize,
    /// It shows that the episode was spurious, if that is possible.
    pub spurious: bool,
    /// It shows that a loss probe repaired a loss, if that is possible.
    pub repaired: bool,
    /// It shows that congestion is persistent, if that is possible.
    pub persistent: bool,
}

impl Kind {
    /// Returns the transports that have the signals that an algorithm needs.
    pub fn fit_for(descriptor: &Descriptor) -> Vec<Kind> {
        let quic = Signals::RATE_SAMPLE
            .and(Signals::LOST_EACH)
            .and(Signals::TX_INFLIGHT)
            .and(Signals::SPURIOUS)
            .and(Signals::PACING);
        let ece = quic.and(Signals::TIMESTAMPS);
        [
            (Kind::Counts, Signals::ALL),
            (Kind::Ece, ece),
            (Kind::Quic, quic),
        ]
        .into_iter()
        .filter(|(_, provided)| descriptor.needs.missing_from(*provided).is_empty())
        .map(|(kind, _)| kind)
        .collect()
    }
}

/// Returns fewer than `most` random steps, at least one.
pub fn random_steps(rng: &mut Rng, most: u64) -> Vec<Step> {
    let number = 1 + rng.below(most.max(2) - 1);
    (0..number).map(|_| random_step(rng)).collect()
}

fn random_step(rng: &mut Rng) -> Step {
    match rng.below(27) {
        // From microseconds to seconds, all orders of magnitude with the same probability.
        0..6 => {
            let decade = 10_u64.pow(rng.below(7) as u32);
            Step::Wait(Span::from_micros((1 + rng.below(10)) * decade))
        }
        6..12 => Step::Send(1 + rng.below(99)),
        12..24 => Step::Ack(random_arrival(rng)),
        24 => Step::Timeout {
            keeps: rng.below(4) as usize,
        },
        25 => Step::AppLimited(rng.chance(0.5)),
        _ => random_change(rng),
    }
}

fn random_change(rng: &mut Rng) -> Step {
    match rng.below(3) {
        0 => {
            let size = [536, 1_200, 1_448, 8_948][rng.below(4) as usize];
            Step::Mtu(Bytes::new(size))
        }
        1 => Step::Path(match rng.below(3) {
            0 => PathChange::EcnFailed,
            1 => PathChange::Seed {
                bdp: Bytes::new(1 + rng.below(10_000_000)),
            },
            _ => PathChange::Threshold {
                ssthresh: Bytes::new(1_000 + rng.below(10_000_000)),
            },
        }),
        _ => Step::Timer,
    }
}

fn random_arrival(rng: &mut Rng) -> Arrival {
    let some = |rng: &mut Rng, likely: f64, most: u64| {
        let number = 1 + rng.below(most) as usize;
        if rng.chance(likely) { number } else { 0 }
    };
    Arrival {
        skips: some(rng, 0.2, 4),
        loses: rng.chance(0.7),
        acks: 1 + rng.below(39) as usize,
        marked: some(rng, 0.1, 39),
        spurious: rng.chance(0.1),
        repaired: rng.chance(0.02),
        persistent: rng.chance(0.1),
    }
}
