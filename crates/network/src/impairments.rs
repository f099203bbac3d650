//! Loss and duplication in front of links.

use fullpipe_path::{Duplicator, Losses};
use fullpipe_units::Time;

/// Loss in front of links and duplication in front of the first of them.
#[derive(Debug)]
pub struct Impairments {
    /// Loss in front of each link.
    losses: Box<[Option<Losses>]>,
    /// Duplication of packets that are not lost.
    duplicator: Option<Duplicator>,
    /// Whether the next packet is the first copy of one that was duplicated.
    is_copy: bool,
}

/// Effect of the impairments on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet passes unchanged.
    Passes,
    /// The packet is lost.
    Lost,
    /// The packet is duplicated.
    Duplicated,
}

impl Impairments {
    /// Returns the impairments of a path; `None` if there are never any.
    pub fn new(
        losses: Box<[Option<Losses>]>,
        duplicator: Option<Duplicator>,
    ) -> Option<Box<Impairments>> {
        let any = duplicator.is_some() || losses.iter().any(Option::is_some);
        any.then(|| {
            Box::new(Impairments {
                losses,
                duplicator,
                is_copy: false,
            })
        })
    }

    /// Draws the outcome for a packet that arrives at hop `hop`, where the caller passes each copy
    /// of a duplicated packet here as well.
    pub fn next(&mut self, hop: usize, now: Time, counted: bool) -> Outcome {
        if std::mem::take(&mut self.is_copy) {
            return Outcome::Passes;
        }
        let outcome = self.draw(hop, now, counted);
        self.is_copy = outcome == Outcome::Duplicated;
        outcome
    }

    /// Draws the outcome for a packet that is passed here only once. A packet that is not
    /// `counted`, like a SYN, may be lost but is never duplicated.
    #[inline(never)] // few paths have impairments
    pub fn draw(&mut self, hop: usize, now: Time, counted: bool) -> Outcome {
        let lost = |loss: &mut Losses| loss.takes(now, counted);
        let duplicated = |duplicator: &mut Duplicator| duplicator.doubles(now);
        if self.losses[hop].as_mut().is_some_and(lost) {
            Outcome::Lost
        } else if hop == 0 && counted && self.duplicator.as_mut().is_some_and(duplicated) {
            Outcome::Duplicated
        } else {
            Outcome::Passes
        }
    }
}
