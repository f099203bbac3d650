//! Reads measurements from elsewhere into columns: packet captures, and the statistics and logs of
//! a fleet's hosts.
//!
//! This crate and the simulator do not depend on each other, so that the simulator contains no
//! parser of foreign bytes. Columns go to a file, which a scenario reads.

pub mod capture;
pub mod fleet;
pub mod input;
mod text;

pub use input::Input;
pub use text::{Piece, Text};
