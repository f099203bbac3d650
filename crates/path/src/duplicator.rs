//! Duplication.

use fullpipe_units::{Rng, Time};

use crate::impairment::{Argument, Impairment, Unit};
use crate::{Loss, Losses, Timeline};

pub(crate) static DUPLICATE: Impairment = Impairment {
    name: "duplicate",
    keys: &["duplicate", "reverse_duplicate"],
    named: false,
    purpose: "A copy follows right behind the packet, and takes room, tokens and time as every packet does.",
    arguments: &[Argument::first(
        "probability",
        Unit::Share,
        "The probability, below 100%.",
    )],
    example: "0.1%",
    source: "tc-netem(8), duplicate",
};

/// Which packets come twice.
#[derive(Clone, Debug)]
pub struct Duplicator(Losses);

impl Duplicator {
    /// Doubles each packet with the probability, 0 to 1, of its time; nothing to be asked if that
    /// is zero throughout.
    pub fn new(p: Timeline<f64>, rng: Rng) -> Option<Duplicator> {
        Losses::new(p.map(Loss::Random), rng).map(Duplicator)
    }

    /// Whether a packet that comes at `now` comes twice. Times must be told in order.
    pub fn doubles(&mut self, now: Time) -> bool {
        self.0.takes(now, true)
    }
}
