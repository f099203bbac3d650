//! Fuzz targets: each calls a reader, or another part that must bear any input, with bytes, and
//! checks the result. `make fuzz` looks for inputs that reach new code; `tests/kept.rs` runs those
//! that are kept in `corpus`.

mod host_text;
mod targets;

pub use targets::{Check, TARGETS};
