//! Text of hosts, from the lines to the columns.

mod clock;
mod listings;
mod logs;
mod sampler;
mod ss;
mod state;
