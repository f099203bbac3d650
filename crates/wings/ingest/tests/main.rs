//! Tests of foreign bytes as input, and columns as output.

mod capture;
mod fleet;
mod input;
mod text;
