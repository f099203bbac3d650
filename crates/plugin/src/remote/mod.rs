//! Algorithms in another process, over a socket: code that must not see the simulator, such as a
//! program's candidates in `fullpipe score`.
//!
//! Each run has a process of its own, so that no state lives on from run to run: [`connect`] is given
//! a function that starts one and returns a socket to it. The process of the simulator has a
//! [`Controller`](fullpipe_cc::Controller) per connection that forwards each call. The other process
//! answers in [`serve`]. It gets what an algorithm gets: times, sizes and rates of its connection, and
//! never the scenario or a result. Each answer is checked as that of a library.
//!
//! A message is a few words of 64 bits (`wire.rs`), without pointers. As in a library, each
//! connection is alone: it shares no state with others, and records no trace fields.

mod client;
mod declared;
mod server;
mod wire;

pub use client::{Start, connect, forget};
pub use server::{refuse, serve};

pub(crate) use client::connected;
