//! Whatever a file contains, reading it ends, and the result is consistent.

use proptest::collection::vec;
use proptest::prelude::*;

use fullpipe_ingest::capture::{ABSENT, Columns, Options};

use super::build::{ACK, FIN, OPTIONS, Packet, RST, SYN, Style, Talk, extract};

/// Asserts the invariants of any rows.
fn sound(flows: &Columns) {
    assert_eq!(
        flows
            .chunks
            .iter()
            .map(|count| *count as usize)
            .sum::<usize>(),
        flows.chunk_at.len()
    );
    let mut from = 0;
    for row in 0..flows.len() {
        let to = from + flows.chunks[row] as usize;
        assert_eq!(
            flows.chunk_bytes[from..to].iter().sum::<u64>(),
            flows.bytes[row]
        );
        assert_eq!(flows.start[row] == ABSENT, flows.bytes[row] == 0);
        assert!(flows.bytes[row] == 0 || flows.chunk_at[from] == 0);
        // As a scenario requires them.
        let ends = (from..to).map(|chunk| flows.chunk_at[chunk] + flows.chunk_lasted[chunk]);
        assert!(
            ends.zip(&flows.chunk_at[from..to][1.min(to - from)..])
                .all(|(end, next)| end < *next)
        );
        assert!(flows.chunk_bytes[from..to].iter().all(|bytes| *bytes > 0));
        assert!(flows.first[row] <= flows.last[row]);
        assert!(flows.up_packets[row] + flows.down_packets[row] > 0);
        from = to;
    }
}

fn segments() -> impl Strategy<Value = Vec<Packet>> {
    let flags = prop_oneof![4 => Just(ACK), 1 => Just(SYN), 1 => Just(SYN | ACK), 1 => Just(FIN | ACK), 1 => Just(RST)];
    let one = (
        0..3_u16,
        0..2_usize,
        flags,
        any::<u16>(),
        0..200_usize,
        -2_000_000..40_000_000_i64,
    );
    vec(one, 0..80).prop_map(|all| {
        let mut at_us = 1_000_000_000_u64;
        let mut packets = Vec::new();
        for (port, from, flags, number, payload, later) in all {
            at_us = at_us.saturating_add_signed(later);
            let mut talk = Talk::new(("10.0.0.1", 40_000 + port), ("10.0.0.2", 80));
            talk.raw(
                at_us,
                from,
                flags,
                u32::from(number).wrapping_sub(30_000),
                payload,
            );
            packets.extend(talk.packets);
        }
        packets
    })
}

proptest! {
    #[test]
    fn bytes_of_any_kind(bytes in vec(any::<u8>(), 0..400), kind in 0..5_usize) {
        let begin: &[u8] = match kind {
            0 => &[],
            1 => &Style::RAW.pcap(&[]),
            2 => &Style::RAW.pcapng(&[], 6),
            3 => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
            _ => &[0x28, 0xb5, 0x2f, 0xfd],
        };
        let (flows, _) = extract(&[&[begin, &bytes].concat()], Options { udp: true, ..OPTIONS });
        sound(&flows);
    }

    #[test]
    fn packets_with_any_content(contents in vec(vec(any::<u8>(), 0..90), 0..20), link in 0..6_usize, version in any::<bool>()) {
        let packets: Vec<Packet> = contents.into_iter().enumerate().map(|(number, mut bytes)| {
            // Otherwise almost nothing would get past the first byte.
            if let Some(first) = bytes.first_mut() {
                *first = if version { 0x45 } else { 0x60 };
            }
            if let Some(protocol) = bytes.get_mut(if version { 9 } else { 6 }) {
                *protocol = [6, 17, 44, 0, 51, 60][usize::from(*protocol) % 6];
            }
            Packet { at_us: 1_000_000 + number as u64, bytes }
        }).collect();
        let style = Style { link: [1, 101, 0, 113, 276, 108][link], ..Style::RAW };
        for bytes in [style.pcap(&packets), style.pcapng(&packets, 9)] {
            let (flows, report) = extract(&[&bytes], Options { udp: true, ..OPTIONS });
            prop_assert_eq!(report.packets, packets.len() as u64);
            prop_assert_eq!(report.used + report.other + report.unreadable + report.orphans, report.packets);
            sound(&flows);
        }
    }

    #[test]
    fn a_capture_with_some_bytes_changed(packets in segments(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), ng in any::<bool>()) {
        let mut bytes = if ng { Style::RAW.pcapng(&packets, 6) } else { Style::RAW.pcap(&packets) };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        sound(&extract(&[&bytes], OPTIONS).0);
    }

    #[test]
    fn every_payload_byte_is_in_one_flow(packets in segments()) {
        let (flows, report) = extract(&[&Style::RAW.pcap(&packets)], OPTIONS);
        sound(&flows);
        let sent: usize = packets.iter().map(|packet| packet.bytes.len() - 40).sum();
        let counted: u64 = flows.up_payload_bytes.iter().chain(&flows.down_payload_bytes).sum();
        prop_assert_eq!(counted, sent as u64);
        prop_assert_eq!(flows.up_packets.iter().chain(&flows.down_packets).sum::<u64>(), packets.len() as u64);
        prop_assert_eq!(report.flows, flows.len() as u64);
        // The same packets in two files are the same flows.
        let (front, back) = packets.split_at(packets.len() / 2);
        let (halves, _) = extract(&[&Style::RAW.pcap(front), &Style::RAW.pcap(back)], OPTIONS);
        prop_assert_eq!(format!("{halves:?}"), format!("{flows:?}"));
    }
}
