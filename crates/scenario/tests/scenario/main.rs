//! Tests of scenarios as users write them, through the public interface.

mod buffers;
mod errors;
mod expect;
mod fuzz;
mod impairments;
mod overrides;
mod profiles;
mod reading;
mod schema;
mod stack;
mod traces;
mod writing;
