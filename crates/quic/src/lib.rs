//! Runner 3: real QUIC (noq-proto) with the lab's controllers, in virtual time and on the real clock.
//!
//! - [`Mailbox`] stands in noq as its congestion controller; [`Control`] makes the contract's calls of what it collects.
//! - [`Source`] and [`Sink`] are the two ends, sans-IO: a server that sends what a client asks for.
//! - [`virtual_time`] runs both over the path's elements; [`udp`] runs them on sockets.

mod control;
mod mailbox;
mod ring;

pub use control::{Control, ControlConfig, PROVIDES};
pub use mailbox::{Mail, Mailbox};
