//! Many runs on threads.
//!
//! Numbered runs are [`Work`]; [`start`] computes ranges of their numbers on threads and hands back
//! shards of [rows](Column) in order of the numbers. Two kinds of work are here: the points of a
//! [`sweep`], and the paths of a [`population`].
//!
//! All threads work on one shard, run by run, so none waits for another at its end. After a second
//! the shard is cut and handed over. The cut depends on the machine, the rows do not. Rows come
//! from the metrics as they are serialized: a new metric is a new column, with no list to extend.

mod pool;
pub mod population;
mod quantity;
mod rows;
pub mod sweep;

pub use pool::{Finished, Panicked, Running, Work, start};
pub use quantity::{Quantity, quantity};
pub use rows::{Column, NotMetrics, Values, rows};
