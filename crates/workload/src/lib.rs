//! Flows that arrive while a run goes on: many short ones and few long ones, as captures have them, or drawn.
//! Sans-IO and deterministic: columns come in, arrivals in order of time go out.

mod flows;
mod source;

pub use flows::{Chunk, Chunks, Flows, FlowsError};
pub use source::{Arrival, Arrivals, Source};
