//! Scenarios as users write them, through the public door.

mod errors;
mod fuzz;
mod profiles;
mod reading;
mod schema;
