//! Captures, pcap and pcapng: rows are sound, no flow has more packets or bytes than the capture, and
//! series of packets have as many of them.

use std::io::Cursor;

use fullpipe_ingest::Input;
use fullpipe_ingest::capture::{ABSENT, Columns, Options, Packets, read};
use fullpipe_units::Span;

fn sound(flows: &Columns) {
    let chunks: usize = flows.chunks.iter().map(|count| *count as usize).sum();
    assert_eq!(chunks, flows.chunk_at.len());
    let mut from = 0;
    for row in 0..flows.len() {
        let to = from + flows.chunks[row] as usize;
        let bytes: u64 = flows.chunk_bytes[from..to].iter().sum();
        assert_eq!(bytes, flows.bytes[row]);
        assert_eq!(flows.start[row] == ABSENT, flows.bytes[row] == 0);
        assert!(flows.bytes[row] == 0 || flows.chunk_at[from] == 0);
        // As a scenario requires them.
        let ends = (from..to).map(|chunk| flows.chunk_at[chunk] + flows.chunk_lasted[chunk]);
        let mut next = flows.chunk_at[from..to].iter().skip(1);
        assert!(ends.zip(&mut next).all(|(end, next)| end < *next));
        assert!(flows.chunk_bytes[from..to].iter().all(|bytes| *bytes > 0));
        assert!(flows.first[row] <= flows.last[row]);
        assert!(flows.up_packets[row] + flows.down_packets[row] > 0);
        from = to;
    }
}

pub(crate) fn check(bytes: &[u8]) {
    let options = Options {
        idle: Span::from_secs(60),
        pause: Span::from_millis(100),
        udp: true,
        addresses: true,
    };
    let Ok(input) = Input::of(Cursor::new(bytes.to_vec())) else {
        return;
    };
    let (flows, report) = read("fuzzed", input, options);
    let again = Input::of(Cursor::new(bytes.to_vec())).expect("it could be read once");
    match Packets::open("fuzzed", again) {
        Ok(packets) => assert_eq!(packets.count() as u64, report.used, "{report:?}"),
        Err(problem) => assert_eq!(report.files[0].refused, Some(problem)),
    }
    flows.iter().for_each(sound);
    let packets: u64 = flows
        .iter()
        .flat_map(|flows| flows.up_packets.iter().chain(&flows.down_packets))
        .sum();
    assert!(packets <= report.used, "{packets} packets: {report:?}");
    let unknown: u64 = report.files.iter().map(|file| file.unknown_links).sum();
    let known = report.used + report.other + report.unreadable + report.orphans;
    assert_eq!(known + unknown, report.packets, "{report:?}");
    let rows: u64 = flows.iter().map(|flows| flows.len() as u64).sum();
    assert_eq!(report.flows, rows);
    // A packet has a header of 16 bytes or more, and a length of 32 bits. Compressed content may
    // hold more of them than its length shows.
    if !bytes.starts_with(b"\x1f\x8b") && !bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        assert!(report.packets * 16 <= bytes.len() as u64 + 16, "{report:?}");
    }
    for rows in &flows {
        for bytes in rows.up_payload_bytes.iter().chain(&rows.down_payload_bytes) {
            assert!(*bytes <= report.used << 32);
        }
    }
}
