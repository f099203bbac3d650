//! Flows of captures: pcap and pcapng in, one row a flow out.
//!
//! ```text
//! file ──> Input (decompressed, in pieces) ──> Reader (frames) ──> Dissector (segments) ──> Tracker (flows) ──> Columns
//! ```
//!
//! pcap-parser reads the formats, etherparse the IP headers. Of our own is what neither does: what
//! is done about damage, how segments come to flows, and what a flow's volume is. Memory goes with
//! the flows that are open at a time.
//!
//! Not part of `workload`, since nothing of a parser belongs under the simulator: what is found
//! here goes to a file, and a scenario reads that.

mod columns;
mod flow;
mod fragments;
mod input_buffer;
mod link;
mod pcap;
mod pcapng;
mod reader;
mod report;
mod run;
mod segment;
mod tracker;

pub use columns::{ABSENT, Columns};
pub use report::{FileReport, Report};
pub use run::{Heard, Progress, Running};
pub use tracker::Options;
