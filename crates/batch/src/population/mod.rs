//! A population of paths; several algorithms download the same file over each.
//!
//! A [`Population`] is parsed from TOML: classes of paths, and the distribution of each key's
//! value. Each draw has a random stream of its own, keyed by (seed, path's number, key). So any
//! path can be drawn again alone, and a new key changes no other draw. Values are drawn as text, as
//! `--set` takes them: a path is an ordinary scenario.
//!
//! A [`PopulationRun`] runs paths under several arms, as [`Work`](crate::Work): one path per run. A
//! row has the fields that `ss` gives a server about a download.
//!
//! Each path is a list of settings over a `fullpipe_scenario::Template`; no path is stored. One run
//! covers all arms of a path, so the path is drawn and read once. `Simulation::advance_to` pauses a
//! run without changing it, `Simulation::socket` gives the fields of `ss` at that time, and
//! `record.rs` makes the columns of a fleet directory from them. Summaries of these runs are not
//! used, so `Simulation::without_summary` omits their histograms.

mod class;
mod draw;
mod paths;
mod reader;
mod record;
mod run;

pub use draw::Distribution;
pub use paths::{Drawn, PRESETS, Population};
pub use run::{Arm, PopulationRun};
