//! A sweep: a scenario and the axes along which it varies.
//!
//! A [`Plan`] is a scenario with [axes](Axis): keys with their values, or ranges to draw from. They
//! yield a list of *points*; each runs with one seed per repetition. All points are checked before
//! the first one runs. A run's number is seed index x points + point, so that at any
//! time each point has about as many finished runs, and more repetitions extend those that exist.
//!
//! Each point is a list of settings over one `fullpipe_scenario::Template`: a text that is parsed
//! once and yields many scenarios.

mod axis;
mod plan;
mod runs;

pub use axis::{Axis, Range};
pub use plan::{Mode, Plan, Request};
