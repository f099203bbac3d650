//! Algorithms in a shared library of their own, over a small C interface: `include/fullpipe.h` has
//! it for C and C++.
//!
//! A library exports one function, `fullpipe_plugin`, which returns an [`abi::Plugin`]. `load` makes
//! a [`Descriptor`](cc::Descriptor) of it, so that it runs like a built-in algorithm. In Rust,
//! [`plugin!`] exports a descriptor:
//!
//! ```
//! # mod mine { pub use fullpipe_plugin::cc::algo::newreno::DESCRIPTOR; }
//! fullpipe_plugin::plugin!(mine::DESCRIPTOR);
//! ```
//!
//! A library runs with all rights of the process that loads it. It has no part in groups of
//! controllers that share state ([`cc::Shared`]): each of its connections is alone.
//!
//! The feature `host` has fullpipe's side. A library needs only the other one.

#![allow(
    unsafe_code,
    reason = "another language, or another compilation, is on the other side of the interface"
)]

pub mod abi;
mod convert;
#[doc(hidden)]
pub mod guest;
#[cfg(feature = "host")]
mod host;
#[cfg(all(feature = "host", unix))]
pub mod remote;

/// The contract of algorithms.
pub use fullpipe_cc as cc;
/// Times, sizes and rates.
pub use fullpipe_units as units;
#[cfg(feature = "host")]
pub use host::{LoadError, Loaded, load, loaded, registry};

/// The header for C and C++.
pub const HEADER: &str = include_str!("../include/fullpipe.h");

/// The names that an algorithm needs.
pub mod prelude {
    pub use fullpipe_cc::{
        Ack, AnyController, Config, Context, Controller, Decision, Descriptor, Field, Lost, Marks,
        Param, PathChange, Recovery, RecoveryOwner, Signals, Specification, Transition, fields,
        params,
    };
    pub use fullpipe_units::{Bytes, Rate, Span, Time};
}

/// Exports an algorithm from a library: `plugin!(DESCRIPTOR);`, once in a crate of the type `cdylib`.
///
/// A panic of the algorithm is caught at the border and ends the run with an error. So the crate
/// must be built with `panic = "unwind"`, which is cargo's default.
#[macro_export]
macro_rules! plugin {
    ($descriptor:expr) => {
        #[cfg(panic = "abort")]
        compile_error!(
            "a panic of a plug-in must not end the process: remove panic = \"abort\" from Cargo.toml"
        );

        /// Describes the algorithm to fullpipe.
        #[allow(unsafe_code, reason = "the name is the interface")]
        #[unsafe(no_mangle)]
        pub extern "C" fn fullpipe_plugin() -> *const $crate::abi::Plugin {
            $crate::guest::export(&$descriptor)
        }
    };
}
