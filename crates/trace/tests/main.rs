//! All integration tests of the crate in one binary, because linking takes longer than running.

mod labels;
mod levels;
mod slowdown;
