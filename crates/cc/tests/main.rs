//! The contract and the algorithms, through the public contract alone.

mod algorithms;
mod contract;
mod descriptors;
