//! Algorithms in a shared library of their own, over a small C interface: `fullpipe.h` has it for C
//! and C++.
//!
//! A library exports one function, `fullpipe_plugin`, which returns an [`abi::Plugin`]. [`load`]
//! makes a [`Descriptor`](fullpipe_cc::Descriptor) of it, so that it runs like a built-in
//! algorithm. In Rust, `fullpipe::plugin!` exports a descriptor:
//!
//! ```
//! # mod mine { pub static DESCRIPTOR: fullpipe_cc::Descriptor = fullpipe_cc::algo::newreno::DESCRIPTOR; }
//! fullpipe_plugin::plugin!(mine::DESCRIPTOR);
//! ```
//!
//! A library runs with all rights of the process that loads it.

pub mod abi;
mod convert;
pub mod guest;
#[cfg(any(unix, windows))]
mod host;

#[cfg(any(unix, windows))]
pub use host::{Fault, LoadError, describe, load};

/// Exports an algorithm from a library: `plugin!(DESCRIPTOR);`, once in a crate of the type `cdylib`.
#[macro_export]
macro_rules! plugin {
    ($descriptor:expr) => {
        /// Describes the algorithm to fullpipe.
        #[allow(unsafe_code, reason = "the name is the interface")]
        #[unsafe(no_mangle)]
        pub extern "C" fn fullpipe_plugin() -> *const $crate::abi::Plugin {
            $crate::guest::export(&$descriptor)
        }
    };
}
