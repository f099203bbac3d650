//! The files that agents and taps wrote.

use std::path::Path;

use super::packet::Packet;
use super::taps;
use crate::agent::{AgentError, Reader, Record, RecordKind};
use crate::ports::Ports;

/// Returns all records of a complete file.
pub(super) fn complete(reader: Reader, path: &Path) -> Result<Vec<Record>, AgentError> {
    let mut records: Vec<Record> = reader.collect();
    match records.pop() {
        Some(Record {
            kind: RecordKind::Done,
            ..
        }) => Ok(records),
        _ => Err(AgentError::new(format!(
            "{}: the recording is incomplete: its agent was ended",
            path.display()
        ))),
    }
}

/// Reader of tap recordings, which identifies flows by their ports.
#[derive(Clone, Copy)]
pub(super) struct Taps(pub(super) Ports);

impl Taps {
    /// Reads the packets of a tap, with their flows and whether they go forward.
    pub(super) fn read(
        self,
        path: &Path,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<(u32, Packet, bool)>, AgentError> {
        let mut packets = Vec::new();
        for record in complete(Reader::open(path)?, path)? {
            match record.kind {
                RecordKind::Packet => packets.extend(self.packet(&record)),
                RecordKind::Missed if record.number(0) > 0 => {
                    let name = path.file_name().unwrap_or_default().display();
                    warnings.push(format!(
                        "{} packets were not seen by {name}: the machine was too busy",
                        record.number(0)
                    ));
                }
                _ => {}
            }
        }
        // The kernel stamps packets on several CPUs, so they may be out of order.
        packets.sort_by_key(|(_, packet, _): &(u32, Packet, bool)| packet.time);
        Ok(packets)
    }

    fn packet(self, record: &Record) -> Option<(u32, Packet, bool)> {
        let (out, rest) = record.data.split_first()?;
        let (size, headers) = rest.split_first_chunk::<4>()?;
        let packet = Packet::read(record.time, *out == 1, u32::from_le_bytes(*size), headers)?;
        self.0
            .way(packet.source, packet.destination)
            .map(|(flow, forward)| (flow, packet, forward))
    }
}

/// Selects the packets that go forward, or back, and that leave the interface, or enter it.
pub(super) fn that_go(
    forward: bool,
    packets: Vec<(u32, Packet, bool)>,
    out: bool,
) -> Vec<taps::Seen> {
    let those = packets
        .into_iter()
        .filter(|(_, packet, way)| *way == forward && packet.out == out);
    those.map(|(flow, packet, _)| (flow, packet)).collect()
}
