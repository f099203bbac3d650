//! Foreign bytes in, columns out.

mod capture;
mod fleet;
mod input;
