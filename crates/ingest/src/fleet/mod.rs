//! What a fleet's hosts say of their connections, as columns.
//!
//! Text goes in as bytes, in pieces of any size; rows come out as [`Columns`]. Nothing here writes
//! a table: Python does that.

pub mod address;
mod columns;
pub mod counters;
mod files;
pub mod histogram;
pub mod nginx;
mod number;
mod parse;
#[cfg(target_os = "linux")]
pub mod sampler;
pub mod ss;
mod time;

pub use columns::{Column, Columns, Values};
pub use files::{begin_of, fallback, read};
pub use parse::{Bad, Parse};
