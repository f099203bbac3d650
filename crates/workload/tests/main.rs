//! Flows that arrive: where they come from, and what they are compared with.

mod docs;
mod flows;
mod laws;
mod servers;
