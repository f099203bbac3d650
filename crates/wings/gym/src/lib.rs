//! Environments for reinforcement learning: simulations that pause at the end of each monitor
//! interval for the actions of agents.
//!
//! A flow whose algorithm is `agent` is steered. [`Spec`] declares an environment: a prior of
//! scenarios, what an agent sees and does, its reward, and the end of an episode. An [`Episode`]
//! is one environment at work. A [`Batch`] has many, on threads.
//!
//! A seed determines an episode for given actions, bit for bit. The number of threads and the other
//! environments of the batch don't matter, because each environment has its own seeds and simulation.
//!
//! A step ends with the interval, at one time for all agents of an environment. Its orders take
//! effect one nanosecond later, as those of a trained policy do in any run: an environment whose
//! actions come from a policy's network has the same trace as a run with that policy.

mod batch;
mod column;
mod episode;
mod reward;
mod spec;

pub use batch::{Batch, Failed};
pub use column::Column;
pub use episode::{Episode, INFO, Outcome};
pub use reward::Reward;
pub use spec::{AGENT, Options, Spec};
