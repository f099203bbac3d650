//! Parts that the versions of BBR share. Bandwidths are in bytes per second.

pub mod aggregation;
pub mod full_pipe;
pub mod min_rtt;
pub mod pacing;
pub mod segment;
pub mod window;
