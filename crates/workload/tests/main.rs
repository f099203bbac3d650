//! Flow arrivals: their sources, and the ideal servers to compare with.

mod docs;
mod flows;
mod laws;
mod servers;
