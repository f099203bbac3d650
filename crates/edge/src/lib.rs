//! A synthetic edge: a population of paths, over each of which the same file is downloaded under
//! several algorithms.
//!
//! A [`Population`] says what a path's values are drawn from. Each draw has a random stream of its
//! own, keyed by the seed, the path's number and the key that it is for; so any path can be made
//! again alone, and another key changes nothing of it. What is drawn are texts, as `--set` takes
//! them: a path is a scenario like any other.
//!
//! A [`Fleet`] is so many paths under so many arms: [`Work`](fullpipe_sweep::Work) for the threads
//! of a sweep, a path a run. What comes of a download is what a server would know of it: the fields
//! of `ss`.

mod draw;
mod fleet;
mod population;
mod record;

pub use draw::Distribution;
pub use fleet::{Arm, Fleet};
pub use population::{Drawn, PRESETS, Population};
