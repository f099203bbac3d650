//! Scenarios as users write them, through the public door.

mod errors;
mod expect;
mod fuzz;
mod impairments;
mod profiles;
mod reading;
mod schema;
mod traces;
mod writing;
