//! Reads what was measured elsewhere into columns: packet captures, and the statistics and logs of
//! a fleet's hosts.
//!
//! Nothing here depends on the simulator, and the simulator on nothing here: a parser of foreign
//! bytes has no place under it. Columns go to a file, and a scenario reads that.

pub mod capture;
pub mod fleet;
pub mod input;

pub use input::Input;
