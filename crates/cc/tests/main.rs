//! All integration tests of the crate, through the public contract only.

mod algorithms;
mod contract;
mod descriptors;
