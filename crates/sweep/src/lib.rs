//! Many runs: what is varied, point by point, and the threads that run it.
//!
//! A [`Plan`] is a scenario with [axes](Axis): keys with their values, or ranges to draw from. What
//! they come to is a list of *points*, each run with as many seeds as there are repetitions; all
//! points are checked before one of them runs. A run's number is seed index x points + point, so
//! that what is done at any time has about as many runs of each point, and more repetitions come
//! after those that are there.
//!
//! [`Plan::start`] runs ranges of those numbers on threads, and hands the rows back in shards.
//! Whatever else has numbered runs is [`Work`] for the same threads.

mod axis;
mod plan;
mod pool;
mod quantity;
mod rows;
mod runs;

pub use axis::{Axis, Range};
pub use plan::{Mode, Plan, Request};
pub use pool::{Finished, Panicked, Running, Work, start};
pub use quantity::{Quantity, quantity};
pub use rows::{Column, NotMetrics, Values, rows};
