//! Real packets on the real clock: a program, or the kernel's TCP, behind the simulator's path
//! models.
//!
//! Linux only. No async runtime: threads wait in `ppoll`, in `epoll` and on timers.
//!
//! # The path in real time
//!
//! [`Sandbox`] creates processes that leave nothing behind. [`Bed`] creates two network namespaces
//! in them, with a TUN device each (`device.rs`), whose super-packets `offload.rs` splits and
//! `burst.rs` creates. The [`Forwarder`] is one thread between these; it
//! drives `crates/wings/emulator` by a clock. A packet's arrival is the time at which it was read. All
//! due times follow from arrivals alone, so a test can judge a real run by virtual time. A [`Tap`]
//! sees each packet; `link.rs` counts and captures packets with it (`pcapng.rs`). [`check_pace`]
//! measures the CPU cost of a packet on this machine before anything runs. `confine/` keeps
//! a link's programs from changing the machine; it does not apply to the forwarder.
//!
//! Between fork and the end of a child only code of this crate runs, not the caller's.
//!
//! # Kernel TCP
//!
//! The agents ([`agent`]) know only a plan (`agent/plan.rs`), compiled from a checked scenario
//! (`agent/compile.rs`). They send, receive, sample and tap, and write records in one format
//! (`agent/record.rs`). [`reconstruct`] turns these into the metrics and the trace of a simulation,
//! with the same meters, so records of this kernel and of user-mode Linux yield the same metrics.
//!
//! [`kernel`] is the runner: the agents of both sides and the forwarder in one sandbox.
//! `between.rs` is the part shared with QUIC in real time. [`algorithms`] maps fullpipe's
//! algorithms to the kernel's.
//!
//! All arriving flows are drawn before the run (`arriving.rs`), by the same
//! `fullpipe_scenario::ArrivalGenerator` as in the simulator. The plan and the emulator treat them
//! like other flows, but identify them by the sender's port (`ports.rs`), since a workload has one
//! receiver.

#![cfg(target_os = "linux")]

pub mod agent;
pub mod algorithms;
mod arriving;
mod bed;
mod between;
mod burst;
mod capacity;
mod checksum;
mod clock;
mod confine;
pub mod contained;
mod cpu;
mod device;
mod diagnostics;
mod error;
mod facts;
mod forward;
pub mod kernel;
mod link;
mod offload;
mod packet;
mod pcapng;
mod ports;
mod privileges;
pub mod reconstruct;
mod route;
mod rtnetlink;
mod sandbox;
pub mod uml;
mod uplink;

pub use bed::{Bed, End};
pub use between::{Between, between, raise};
pub use capacity::check_pace;
pub use clock::Clock;
pub use error::SandboxError;
pub use forward::{Forwarder, Frame, Route, Side, TRUSTED, Tap, Timeliness};
pub use link::{Link, start};
pub use packet::{Header, set_ecn};
pub use pcapng::Capture;
pub use sandbox::{Inside, Sandbox, allowed, confinable};
