//! A sweep: a scenario and the axes along which it varies.
//!
//! A [`Plan`] is a scenario with [axes](Axis): keys with their values, or ranges to draw from. They
//! yield a list of *points*; each runs with one seed per repetition. All points are checked before
//! the first one runs. A run's number is seed index x points + point, so all points have about the
//! same number of finished runs at any time, and more repetitions extend the existing ones.
//!
//! Each point is a list of settings over one `fullpipe_scenario::Template`: a text that is parsed
//! once and yields many scenarios.

mod axis;
mod plan;
mod prior;
mod runs;

pub use axis::{Axis, Range};
pub use plan::{Mode, Plan, Request};
pub use prior::Prior;
