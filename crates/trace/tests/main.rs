//! Everything that is tested from outside, as one binary: linking it costs more than running it.

mod labels;
mod slowdown;
