//! Captures: pcap and pcapng in, one row per flow out, or each packet with its header.
//!
//! ```text
//! file ──> Input (decompressed, in pieces) ──> Frames ──> Dissector (segments) ──> Tracker (flows) ──> Columns
//!                                                                             └──> Packets
//! ```
//!
//! pcap-parser reads the formats, etherparse the IP headers. This module handles damage, assigns
//! segments to flows and computes a flow's volume. Memory grows with the number of open flows.
//!
//! This module is not part of `workload`, because the simulator does not depend on parsers: the
//! flows go to a file, and a scenario reads that.
//!
//! Two threads read a file: one decompresses (`input.rs`), one does the rest. A finished flow
//! becomes a row immediately. Idle flows are found by queues with one entry per flow, not one per
//! packet. Damage is skipped and reported (`reader.rs`); it never ends the reading.
//! `python/fullpipe/wings/fleet/workload/` writes the columns as Parquet.

mod columns;
mod flow;
mod fragments;
mod frames;
mod input_buffer;
mod link;
mod packets;
mod pcap;
mod pcapng;
mod reader;
mod report;
mod run;
mod segment;
mod tracker;

pub use columns::{ABSENT, Columns};
pub use packets::{Header, Packet, Packets, PacketsReport, Tcp};
pub use report::{FileReport, Report};
pub use run::{Heard, Progress, Running, read};
pub use tracker::Options;
