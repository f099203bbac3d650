//! Every way to write the same packets gives the same flows.

use std::io::Write;

use super::build::{ACK, OPTIONS, Packet, Style, Talk, extract};

fn talk() -> Vec<Packet> {
    let mut talk = Talk::v4();
    let at = 1_600_000_000_123_456;
    talk.open(at)
        .send(at + 1000, 0, ACK, 333)
        .send(at + 200_000, 1, ACK, 4444)
        .close(at + 300_000);
    talk.packets
}

const ETHERNET: &[u8] = &[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7, 8, 0];
const VLAN: &[u8] = &[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7, 0x81, 0, 0, 42, 8, 0];
const QINQ: &[u8] = &[
    1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7, 0x88, 0xa8, 0, 7, 0x81, 0, 0, 42, 8, 0,
];
const COOKED: &[u8] = &[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
const COOKED_V2: &[u8] = &[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];

#[test]
fn links_orders_of_bytes_and_resolutions() {
    let packets = talk();
    let (expected, _) = extract(&[&Style::RAW.pcap(&packets)], OPTIONS);
    assert_eq!(
        (expected.bytes[0], expected.up_sequence_bytes[0]),
        (4444, 333)
    );
    let links = [
        (1, ETHERNET),
        (1, VLAN),
        (1, QINQ),
        (113, COOKED),
        (276, COOKED_V2),
        (0, &[2, 0, 0, 0]),
        (108, &[0, 0, 0, 2]),
        (228, &[]),
    ];
    for (link, before) in links {
        for (big_endian, nano) in [(false, false), (true, false), (false, true), (true, true)] {
            let style = Style {
                big_endian,
                nano,
                link,
                before,
                ..Style::RAW
            };
            // Decimal and binary: 2^-30 s is shorter than a nanosecond.
            let ways = [
                style.pcap(&packets),
                style.pcapng(&packets, 6),
                style.pcapng(&packets, 9),
                style.pcapng(&packets, 0x80 | 30),
                // As Wireshark used to write them.
                style.pcapng_of(2, &packets, 6),
            ];
            for bytes in ways {
                let (flows, report) = extract(&[&bytes], OPTIONS);
                assert_eq!(report.files[0].damage, None, "{style:?}");
                assert_eq!(format!("{flows:?}"), format!("{expected:?}"), "{style:?}");
            }
        }
    }
}

#[test]
fn a_snapshot_length_takes_nothing_from_the_volumes() {
    let packets = talk();
    let expected = format!("{:?}", extract(&[&Style::RAW.pcap(&packets)], OPTIONS).0);
    // 14 bytes of TCP are enough: ports, number, length of the header, flags.
    for snap in [34, 40, 68, 96] {
        let (flows, report) = extract(&[&Style { snap, ..Style::RAW }.pcap(&packets)], OPTIONS);
        assert_eq!(format!("{flows:?}"), expected, "{snap}");
        assert!(report.files[0].cut_packets >= 2);
    }
    let (flows, report) = extract(
        &[&Style {
            snap: 33,
            ..Style::RAW
        }
        .pcap(&packets)],
        OPTIONS,
    );
    assert_eq!((flows.len(), report.unreadable), (0, packets.len() as u64));
}

#[test]
fn a_length_that_ip_does_not_say_is_the_captures() {
    // As Linux captures segments that the device splits (TSO).
    let mut packets = talk();
    for packet in &mut packets {
        packet.bytes[2..4].copy_from_slice(&[0, 0]);
    }
    let style = Style {
        link: 1,
        before: ETHERNET,
        ..Style::RAW
    };
    let (flows, _) = extract(&[&style.pcap(&packets)], OPTIONS);
    assert_eq!((flows.bytes[0], flows.down_payload_bytes[0]), (4444, 4444));
}

#[test]
fn padding_of_short_frames_is_no_payload() {
    let packets: Vec<Packet> = talk()
        .into_iter()
        .map(|mut packet| {
            let least = packet.bytes.len().max(46);
            packet.bytes.resize(least, 0);
            packet
        })
        .collect();
    let (flows, _) = extract(
        &[&Style {
            link: 1,
            before: ETHERNET,
            ..Style::RAW
        }
        .pcap(&packets)],
        OPTIONS,
    );
    assert_eq!((flows.bytes[0], flows.up_payload_bytes[0]), (4444, 333));
}

#[test]
fn compression_is_seen_in_the_content() {
    let plain = Style::RAW.pcap(&talk());
    let expected = format!("{:?}", extract(&[&plain], OPTIONS).0);
    let zip = |bytes: &[u8]| {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        to.write_all(bytes).unwrap();
        to.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    };
    let (front, back) = plain.split_at(plain.len() / 2);
    let skippable = [0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
    for bytes in [
        zip(&plain),
        [zip(front), zip(back)].concat(),
        zstd(&plain),
        [&skippable[..], &zstd(front), &skippable, &zstd(back)].concat(),
    ] {
        let (flows, report) = extract(&[&bytes], OPTIONS);
        assert_eq!(format!("{flows:?}"), expected);
        assert_eq!(
            (&report.files[0].damage, &report.files[0].refused),
            (&None, &None)
        );
    }
}
