//! Packets at links, for the simulator and the emulator alike: metered links, impairments in front
//! of them, and storage for waiting packets. Sans-IO.
//!
//! The caller decides what happens between two links, and when: the simulator with an event queue
//! and shortcuts, the emulator with arrivals on an external clock.

mod impairments;
mod link;
mod slab;

pub use impairments::{Impairments, Outcome};
pub use link::{Admission, Counted, Departure, DropCause, MeteredLink, PacketKind};
pub use slab::Slab;
