//! Scenarios as users write them, through the public door.

mod buffers;
mod errors;
mod expect;
mod fuzz;
mod impairments;
mod overrides;
mod profiles;
mod reading;
mod schema;
mod traces;
mod writing;
