//! Duplication.

use fullpipe_units::{Rng, Time};

use crate::impairment::{Argument, Impairment, Unit};
use crate::{Loss, Losses, Timeline};

pub(crate) static DUPLICATE: Impairment = Impairment {
    name: "duplicate",
    keys: &["duplicate", "reverse_duplicate"],
    named: false,
    purpose: "A copy directly follows the packet and, like any packet, takes up queue space, tokens and sending time.",
    arguments: &[Argument::first(
        "probability",
        Unit::Share,
        "The probability of duplication, below 100%.",
    )],
    example: "0.1%",
    source: "tc-netem(8), duplicate",
};

/// Chooses the packets that are duplicated.
#[derive(Clone, Debug)]
pub struct Duplicator(Losses);

impl Duplicator {
    /// Duplicates each packet with the probability, 0 to 1, that holds at its time; `None` if that
    /// is zero throughout.
    pub fn new(p: Timeline<f64>, rng: Rng) -> Option<Duplicator> {
        Losses::new(p.map(Loss::Random), rng).map(Duplicator)
    }

    /// Returns whether a packet that arrives at `now` is duplicated. `now` must not decrease from
    /// call to call.
    pub fn doubles(&mut self, now: Time) -> bool {
        self.0.takes(now, true)
    }
}
