//! A sweep: a scenario, and what varies in it.
//!
//! A [`Plan`] is a scenario with [axes](Axis): keys with their values, or ranges to draw from. They
//! make a list of *points*; each runs with as many seeds as there are repetitions. All points are
//! checked before one of them runs. A run's number is seed index x points + point, so that at any
//! time each point has about as many finished runs, and more repetitions extend those that exist.

mod axis;
mod plan;
mod runs;

pub use axis::{Axis, Range};
pub use plan::{Mode, Plan, Request};
