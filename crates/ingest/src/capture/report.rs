//! What an extraction read, and what it could not.

use serde::Serialize;

/// Of all files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Each file, as far as it came.
    pub files: Vec<FileReport>,
    /// Packets in them.
    pub packets: u64,
    /// Of those, the ones that flows are made of.
    pub used: u64,
    /// Packets of other protocols.
    pub other: u64,
    /// Too little was captured of them, or their headers make no sense.
    pub unreadable: u64,
    /// Later fragments of which the first was not seen.
    pub orphans: u64,
    /// Segments whose sequence numbers are far from those of their flow.
    pub strays: u64,
    /// Flows in all.
    pub flows: u64,
    /// The most that were open at a time.
    pub most_open: u64,
}

/// Of one file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileReport {
    /// As it was named.
    pub path: String,
    /// `pcap` or `pcapng`; empty if it is neither.
    pub format: String,
    /// What its packets' links are called.
    pub links: Vec<String>,
    /// Packets in it.
    pub packets: u64,
    /// Those of which not all was captured.
    pub cut_packets: u64,
    /// Those of links that are not read here.
    pub unknown_links: u64,
    /// When its first and last packets were seen, in nanoseconds since the epoch.
    pub first: Option<u64>,
    #[expect(missing_docs, reason = "said above")]
    pub last: Option<u64>,
    /// Why nothing of it was read, with the fix.
    pub refused: Option<String>,
    /// What of it was not read, and why.
    pub damage: Option<String>,
}
