//! The signals that an algorithm requires and a runner provides, and the response to marks.

/// The response of an algorithm to CE marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// It responds, with every kind of feedback that provides the signals that it needs.
    Answered,
    /// It does not respond. Its documentation page says so, with the reason.
    Ignored,
}

/// A set of signals, required by an algorithm or provided by a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals(u16);

impl Signals {
    /// No signals.
    pub const NONE: Signals = Signals(0);
    /// Delivery-rate samples.
    pub const RATE_SAMPLE: Signals = Signals(1);
    /// A call for each lost packet, with its snapshot.
    pub const LOST_EACH: Signals = Signals(1 << 1);
    /// The data in flight when each packet was sent.
    pub const TX_INFLIGHT: Signals = Signals(1 << 2);
    /// Counts of CE marks.
    pub const ECN_COUNTS: Signals = Signals(1 << 3);
    /// Sending with ECT(1).
    pub const ECT1: Signals = Signals(1 << 4);
    /// Notification of spurious losses.
    pub const SPURIOUS: Signals = Signals(1 << 5);
    /// Pacing at the controller's rate.
    pub const PACING: Signals = Signals(1 << 6);
    /// Timestamps from the peer.
    pub const TIMESTAMPS: Signals = Signals(1 << 7);
    /// A call for each acknowledged packet, with its snapshot.
    pub const ACKED_EACH: Signals = Signals(1 << 8);
    /// The parts of an RTT that the two hosts took.
    pub const HOST_DELAYS: Signals = Signals(1 << 9);
    /// All signals.
    pub const ALL: Signals = Signals((1 << 10) - 1);

    const NAMES: [&'static str; 10] = [
        "delivery-rate samples",
        "per-packet losses",
        "in-flight data at send time",
        "ECN counts",
        "ECT(1)",
        "spurious-loss notices",
        "pacing",
        "timestamps",
        "per-packet acknowledgments",
        "delays of the hosts",
    ];

    /// Returns the set as bits, in the order of the constants.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the set with these bits; `None` if one of them is no signal.
    pub const fn from_bits(bits: u16) -> Option<Signals> {
        if bits & !Signals::ALL.0 == 0 {
            Some(Signals(bits))
        } else {
            None
        }
    }

    /// Returns the union of both sets.
    pub const fn and(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }

    /// Returns whether all signals of `other` are in `self`.
    pub const fn has(self, other: Signals) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the names of the signals in `self` that are not in `provided`.
    pub fn missing_from(self, provided: Signals) -> Vec<&'static str> {
        let lack = self.0 & !provided.0;
        Self::NAMES
            .iter()
            .enumerate()
            .filter(|(bit, _)| lack >> bit & 1 == 1)
            .map(|(_, name)| *name)
            .collect()
    }
}
