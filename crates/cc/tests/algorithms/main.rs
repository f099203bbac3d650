//! The algorithms against their specifications' numbers, through the public contract alone.

mod bbr1;
mod cubic;
mod driver;
mod kernel;
mod newreno;
mod path;
mod slow_start;
