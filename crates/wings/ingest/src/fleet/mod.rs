//! Statistics and logs of a fleet's hosts, as columns.
//!
//! Input is text as bytes, in pieces of any size; output is rows as [`Columns`]. Python writes the
//! tables.
//!
//! Each parser ([`ss`], [`nginx`], [`counters`], [`histogram`]) implements [`Parse`]. In `ss/`,
//! `field.rs` declares every field, its notation, and the fields that distinguish zero from
//! unknown; `line.rs` and `info.rs` read lines, and `listing.rs` makes samples of them. A fleet's
//! `reader.rs` merges the samples of a connection (`join.rs`) and carries open connections from one
//! file to the next (`kept.rs`); `series.rs` keeps each sample. Only `sampler/` (Linux) queries a
//! kernel; it writes the text that `ss/` reads, so there is one way into a table.

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
