//! Loss and duplication in front of links.

use fullpipe_path::{Duplicator, Losses};
use fullpipe_units::Time;

/// Loss in front of links and duplication in front of the first of them.
#[derive(Debug)]
pub struct Impairments {
    /// One a link.
    losses: Box<[Option<Losses>]>,
    /// Of what is not lost.
    duplicator: Option<Duplicator>,
    /// The next packet is the first copy of one that was duplicated.
    is_copy: bool,
}

/// What befalls a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing.
    Passes,
    /// It is lost.
    Lost,
    /// It comes twice.
    Duplicated,
}

impl Impairments {
    /// None if nothing ever happens.
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

    /// What befalls a packet that comes to hop `hop`, where each copy of a duplicated one comes
    /// here, too.
    pub fn next(&mut self, hop: usize, now: Time, counted: bool) -> Outcome {
        if std::mem::take(&mut self.is_copy) {
            return Outcome::Passes;
        }
        let outcome = self.draw(hop, now, counted);
        self.is_copy = outcome == Outcome::Duplicated;
        outcome
    }

    /// What befalls a packet that comes here once. What is not `counted`, like a SYN, may be lost,
    /// but is never duplicated.
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
