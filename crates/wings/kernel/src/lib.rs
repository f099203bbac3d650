//! Loads fullpipe's congestion control algorithms into Linux, as BPF.
//!
//! An object registers one algorithm by a link of its `struct_ops`. The kernel unregisters it when
//! the last file descriptor of the link closes, so it can't outlive its [holder](hold) unless it is
//! [detached](pins).

mod clock;
pub mod default;
mod diagnostics;
mod egress;
pub mod hold;
pub mod holders;
pub mod load;
pub mod namespaces;
pub mod pins;
mod problem;
pub mod settings;
pub mod trace;

pub use problem::Problem;
