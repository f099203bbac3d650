//! Captures written here, byte by byte, and the flows extracted from them.

mod build;
mod damage;
mod flows;
mod formats;
mod fuzz;
mod others;
