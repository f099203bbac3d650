//! A population of paths, over each of which the same file is downloaded under several algorithms.
//!
//! A [`Population`] says what a path's values are drawn from. Each draw has a random stream of its
//! own, keyed by the seed, the path's number and the key that it is for; so any path can be drawn
//! again alone, and another key changes nothing of it. Values are drawn as texts, as `--set` takes
//! them: a path is a scenario like any other.
//!
//! A [`PopulationRun`] is a number of paths under a number of arms, as [`Work`](crate::Work): one
//! path a run. A row has what a server would know of a download: the fields of `ss`.

mod class;
mod draw;
mod paths;
mod reader;
mod record;
mod run;

pub use draw::Distribution;
pub use paths::{Drawn, PRESETS, Population};
pub use run::{Arm, PopulationRun};
