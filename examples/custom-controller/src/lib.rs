//! A custom congestion controller, for the `fullpipe` command and for the program next to it.

pub mod delay_aimd;

fullpipe::plugin!(delay_aimd::DESCRIPTOR);
