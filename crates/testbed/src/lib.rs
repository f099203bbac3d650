//! Runner 2: real packets on the real clock. A program, or the kernel's TCP, behind the path models
//! that the simulator uses.
//!
//! Linux only. No async runtime: threads that wait in `ppoll`, `epoll` and on timers.

#![cfg(target_os = "linux")]

pub mod agent;
pub mod algorithms;
mod arriving;
mod bed;
mod between;
mod capacity;
mod clock;
mod cpu;
mod device;
mod error;
mod facts;
mod forward;
pub mod kernel;
mod link;
mod packet;
mod pcapng;
mod ports;
mod privileges;
mod read_only;
pub mod reconstruct;
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
pub use sandbox::{Inside, Sandbox, allowed};
