//! Captures written here, byte by byte, and what is made of them.

mod build;
mod damage;
mod flows;
mod formats;
mod fuzz;
mod others;
