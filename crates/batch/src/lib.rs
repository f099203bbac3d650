//! Many runs on threads.
//!
//! Numbered runs are [`Work`]; [`start`] computes ranges of their numbers on threads and hands back
//! shards of [rows](Column) in order of the numbers. Two kinds of work are here: the points of a
//! [`sweep`], and the paths of a [`population`].
//!
//! All threads work on one shard, run by run, so that no thread waits for another at its end. After
//! a second the pool ends the shard and hands it over. The length of a shard depends on the
//! machine, the rows do not. Rows are made from the serialized metrics: a new metric becomes a new
//! column, with no list to extend.

mod pool;
pub mod population;
mod quantity;
mod rows;
pub mod sweep;

pub use pool::{Around, Call, Finished, PATIENCE, Panicked, Running, Work, start};
pub use quantity::{Quantity, quantity};
pub use rows::{Column, NotMetrics, Values, rows};
