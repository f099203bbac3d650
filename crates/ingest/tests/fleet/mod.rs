//! Text of hosts, from the lines to the columns.

mod logs;
mod sampler;
mod ss;
