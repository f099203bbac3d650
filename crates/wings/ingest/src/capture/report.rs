//! Report of an extraction: data read, and data that could not be read.

use serde::Serialize;

/// Report on all files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Report on each file, as far as it was read.
    pub files: Vec<FileReport>,
    /// Packets in all files.
    pub packets: u64,
    /// Packets that belong to flows.
    pub used: u64,
    /// Packets of other protocols.
    pub other: u64,
    /// Packets with invalid headers, or captured too briefly to be read.
    pub unreadable: u64,
    /// Later fragments whose first fragment was not seen.
    pub orphans: u64,
    /// Segments whose sequence numbers are far from those of their flow.
    pub strays: u64,
    /// Number of flows.
    pub flows: u64,
    /// Most flows open at a time.
    pub most_open: u64,
}

/// Report on one file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileReport {
    /// Path of the file, as given.
    pub path: String,
    /// `pcap` or `pcapng`; empty if it is neither.
    pub format: String,
    /// Names of the file's link types.
    pub links: Vec<String>,
    /// Packets in the file.
    pub packets: u64,
    /// Packets that were not captured completely.
    pub cut_packets: u64,
    /// Packets of unsupported link types.
    pub unknown_links: u64,
    /// Times of the first and the last packet, in nanoseconds since the epoch.
    pub first: Option<u64>,
    #[expect(missing_docs, reason = "described above")]
    pub last: Option<u64>,
    /// Reason why nothing of the file was read, with the fix.
    pub refused: Option<String>,
    /// Parts of the file that were not read, with reasons.
    pub damage: Option<String>,
}
