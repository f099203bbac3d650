//! Reads measurements from elsewhere into columns: packet captures, and the statistics and logs of
//! a fleet's hosts.
//!
//! Nothing here depends on the simulator, and the simulator depends on nothing here, so that it
//! contains no parser of foreign bytes. Columns go to a file, which a scenario reads.

pub mod capture;
pub mod fleet;
pub mod input;

pub use input::Input;
