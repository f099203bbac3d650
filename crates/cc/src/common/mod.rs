//! Building blocks that several algorithms share.

pub mod delay;
pub mod ledbat_pp;
pub mod marks;
pub mod max_filter;
pub mod reno;
pub mod round;
pub mod slow_start;
pub mod window;
