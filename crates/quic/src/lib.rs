//! Runner 3: real QUIC (noq-proto) with the lab's controllers, in virtual time and on the real
//! clock.
//!
//! - [`EventBuffer`] stands in noq as its congestion controller; [`CongestionDriver`] makes the
//!   contract's calls of what it collects.
//! - [`DataSource`] and [`Sink`] are the two ends, sans-IO: a server that sends what a client asks
//!   for.
//! - [`wakeups`] takes down what each turn of a program took, for the host model.
//! - [`virtual_time`] runs both over the path's elements; [`real`] runs them on sockets, over this
//!   machine's loopback or behind the path.

mod check;
mod congestion_driver;
mod data_source;
mod endpoint_metrics;
mod event_buffer;
#[cfg(test)]
mod faults;
mod outcome;
mod output;
mod peer;
mod plan;
pub mod real;
mod ring;
mod sink;
mod tap;
mod tls;
mod trace_buffer;
mod udp;
pub mod virtual_time;
pub mod wakeups;

pub use check::{Runner, check};
pub use congestion_driver::{CongestionDriver, CongestionDriverConfig, PROVIDES, Record};
pub use data_source::DataSource;
pub use endpoint_metrics::{Clock, HEADERS, MTU};
pub use event_buffer::{BufferedEvent, EventBuffer};
pub use peer::{Burst, Peer};
pub use sink::Sink;
pub use tls::Identity;
pub use trace_buffer::TraceBuffer;
