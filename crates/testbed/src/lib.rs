//! Runner 2: real packets on the real clock. A program, or the kernel's TCP, behind the path models that the simulator uses.
//!
//! Linux only. No async runtime: threads that wait in `ppoll`, `epoll` and on timers.

#![cfg(target_os = "linux")]

pub mod agent;
pub mod algorithms;
pub mod measured;
