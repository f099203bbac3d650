//! The preparation of a scenario that all runners share: the elements of its path, the algorithms
//! of its flows, and the servers that arriving flows are compared with. No runner depends on
//! another.

mod algorithms;
mod changes;
pub mod elements;
mod is_random;
mod max_min;
mod rates;
mod servers;

pub use algorithms::{
    Algorithms, PROVIDES, Runner, choose, controller, media_source, resolved, rules,
};
pub use changes::{changes, window};
pub use is_random::is_random;
pub use max_min::set_max_min_shares;
pub use rates::{link_rates, rate_over_time};
pub use servers::Servers;
