//! Runner 3: real QUIC (noq-proto) with fullpipe's controllers, in virtual time and on the real
//! clock.
//!
//! - [`EventBuffer`] is noq's congestion controller; [`CongestionDriver`] converts its events into
//!   calls to a fullpipe controller.
//! - [`DataSource`] and [`Sink`] are the two ends, sans-IO: a server sends the data that a client
//!   requests.
//! - [`wakeups`] records the duration of each turn of a program, for the host model.
//! - [`virtual_time`] runs both over the path's elements; [`real`] runs them on sockets, over this
//!   machine's loopback or behind the path.
//!
//! The crate is a separate workspace with its own `Cargo.lock`. The program `fullpipe-quic`
//! reads a plan and writes its results to a file (`fullpipe_trace::handover`), which
//! `_core.handed_over` reads. So the Python wheel contains no TLS, and a crash here does not end
//! the command.
//!
//! # One ordered ACK
//!
//! noq reports an ACK packet by packet, and losses afterwards. [`CongestionDriver`] keeps snapshots
//! in a ring by packet number (of the Data space only, because numbers of the handshake's spaces
//! collide with them), and episodes as in RFC 9002. PRR, the pacer's token bucket, snapshots and
//! rate samples are those of `fullpipe_tcp`.
//!
//! # Settings of noq
//!
//! - Its pacer is disabled by an unlimited window in its metrics, since it permits bursts of ten
//!   packets and more.
//! - MTU probes are off, since noq does not report a lost one.
//! - Data goes over streams of 1 MB, so that none reaches noq's limit of 1024 gaps.
//!
//! # Location of the sockets
//!
//! The sockets are on the loopback, or at both ends of a bed with the forwarder of
//! `fullpipe_testbed::between` between them, as for kernel TCP; a tap (`tap.rs`) counts packets.
//! The trace is written to a [`TraceBuffer`], which is allocated before the run begins.

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
