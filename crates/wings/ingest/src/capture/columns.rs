//! Flows as columns, one row per flow.

use std::net::IpAddr;

use fullpipe_units::Time;

use crate::capture::flow::{End, Flow};
use crate::capture::segment::Protocol;

/// Absent time in a column of times; NumPy's NaT.
pub const ABSENT: i64 = i64::MIN;

/// The columns; times are nanoseconds since the epoch, or [`ABSENT`].
#[derive(Debug, Default)]
#[expect(
    missing_docs,
    reason = "docs/reference/workload-tables.md explains each column under the same name"
)]
pub struct Columns {
    pub start: Vec<i64>,
    pub bytes: Vec<u64>,
    /// Direction of `bytes`, `start` and the chunks: 0 for up (from the client), 1 for down.
    pub direction: Vec<u8>,
    /// Number of each flow's chunks in the following three columns.
    pub chunks: Vec<u32>,
    pub chunk_at: Vec<i64>,
    pub chunk_lasted: Vec<i64>,
    pub chunk_bytes: Vec<u64>,
    /// IP protocol: 6 for TCP, 17 for UDP.
    pub protocol: Vec<u8>,
    pub client_port: Vec<u16>,
    pub server_port: Vec<u16>,
    /// Indexes into [`Columns::BEGINS`].
    pub begin: Vec<u8>,
    /// Indexes into [`Columns::ENDS`].
    pub end: Vec<u8>,
    pub syn: Vec<i64>,
    pub first: Vec<i64>,
    pub last: Vec<i64>,
    pub up_packets: Vec<u64>,
    pub up_payload_bytes: Vec<u64>,
    pub up_sequence_bytes: Vec<u64>,
    pub down_packets: Vec<u64>,
    pub down_payload_bytes: Vec<u64>,
    pub down_sequence_bytes: Vec<u64>,
    /// Addresses of the client and the server, if requested.
    pub addresses: Option<Vec<[IpAddr; 2]>>,
}

impl Columns {
    /// Names of the ways in which a flow begins.
    pub const BEGINS: [&str; 3] = ["syn", "capture", "middle"];
    /// Names of the ways in which a flow ends.
    pub const ENDS: [&str; 5] = ["fin", "rst", "syn", "idle", "capture"];

    pub(crate) fn new(addresses: bool) -> Columns {
        Columns {
            addresses: addresses.then(Vec::new),
            ..Columns::default()
        }
    }

    /// Returns the number of flows.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether there are no flows.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn push(&mut self, flow: &Flow, end: End) {
        let (client, server) = (flow.client(), 1 - flow.client());
        let (up, down) = (&flow.sides[client], &flow.sides[server]);
        let downward = down.bytes() > up.bytes();
        let main = if downward { down } else { up };
        let start = main.chunks.first().map(|chunk| chunk.at);
        self.start.push(nanos(start));
        self.bytes.push(main.bytes());
        self.direction.push(u8::from(downward));
        self.chunks.push(main.chunks.len() as u32);
        for chunk in &main.chunks {
            self.chunk_at.push(
                chunk
                    .at
                    .since(start.expect("with chunks there is a first"))
                    .as_nanos() as i64,
            );
            self.chunk_lasted
                .push(chunk.last.since(chunk.at).as_nanos() as i64);
            self.chunk_bytes.push(chunk.bytes);
        }
        self.protocol.push(flow.key.protocol as u8);
        self.client_port.push(flow.key.port(client));
        self.server_port.push(flow.key.port(server));
        self.begin.push(flow.begin as u8);
        self.end.push(end as u8);
        self.syn.push(nanos(flow.syn));
        self.first.push(nanos(Some(flow.first)));
        self.last.push(nanos(Some(flow.last)));
        let numbered = flow.key.protocol == Protocol::Tcp;
        self.up_packets.push(up.packets);
        self.up_payload_bytes.push(up.payload);
        self.up_sequence_bytes
            .push(if numbered { up.bytes() } else { 0 });
        self.down_packets.push(down.packets);
        self.down_payload_bytes.push(down.payload);
        self.down_sequence_bytes
            .push(if numbered { down.bytes() } else { 0 });
        if let Some(addresses) = &mut self.addresses {
            addresses.push([flow.key.address(client), flow.key.address(server)]);
        }
    }
}

fn nanos(time: Option<Time>) -> i64 {
    time.map_or(ABSENT, |time| time.as_nanos() as i64)
}
