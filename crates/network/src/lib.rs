//! A packet at a link, once for the simulator and the emulator: links with what is measured on
//! them, impairments in front of them, and places for packets that wait. Sans-IO.
//!
//! What comes between two links, and when, is the caller's: the simulator has an event queue and
//! short cuts, the emulator the arrivals of somebody else's clock.

mod impairments;
mod link;
mod slab;

pub use impairments::{Impairments, Outcome};
pub use link::{Admission, Counted, Departure, DropCause, MeteredLink, PacketKind};
pub use slab::Slab;
