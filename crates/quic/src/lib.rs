//! Runner 3: real QUIC (noq-proto) with the lab's controllers, in virtual time and on the real
//! clock.
//!
//! - [`Mailbox`] stands in noq as its congestion controller; [`Control`] makes the contract's calls
//!   of what it collects.
//! - [`Source`] and [`Sink`] are the two ends, sans-IO: a server that sends what a client asks for.
//! - [`turns`] takes down what each turn of a program took, for the host model.
//! - [`virtual_time`] runs both over the path's elements; [`real`] runs them on sockets, over this
//!   machine's loopback or behind the path.

mod build;
mod control;
#[cfg(test)]
mod faults;
mod half;
mod mailbox;
mod outcome;
mod output;
mod peer;
pub mod real;
mod ring;
mod tap;
mod tape;
mod tls;
pub mod turns;
mod udp;
pub mod virtual_time;

pub use build::{Runner, check};
pub use control::{Control, ControlConfig, PROVIDES, Record};
pub use half::{Clock, HEADERS, MTU};
pub use mailbox::{Mail, Mailbox};
pub use peer::{Burst, Peer, Sink, Source};
pub use tape::Tape;
pub use tls::Identity;
