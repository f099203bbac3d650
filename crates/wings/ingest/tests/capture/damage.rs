//! Damaged captures, and files that are not captures: both are reported, and nothing readable is
//! lost.

use std::io::Write;

use fullpipe_ingest::capture::{FileReport, Report};

use super::build::{ACK, OPTIONS, Packet, Style, Talk, extract};

/// Returns the packets of a hundred connections of 100, 101, … bytes.
fn many() -> Vec<Packet> {
    let mut packets = Vec::new();
    for number in 0..100_u16 {
        let mut talk = Talk::new(("10.0.0.1", 40_000 + number), ("10.0.0.2", 80));
        let at = 1_000_000_000 + u64::from(number) * 1000;
        talk.open(at)
            .send(at + 100, 0, ACK, 100 + usize::from(number))
            .close(at + 200);
        packets.extend(talk.packets);
    }
    packets
}

fn file(report: &Report) -> &FileReport {
    &report.files[0]
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn a_capture_cut_anywhere_gives_all_before() {
    let packets = many();
    let whole = [Style::RAW.pcap(&packets), Style::RAW.pcapng(&packets, 6)];
    for bytes in &whole {
        let (all, _) = extract(&[bytes], OPTIONS);
        for end in [
            25,
            100,
            bytes.len() / 2,
            bytes.len() / 2 + 1,
            bytes.len() - 1,
        ] {
            let (flows, report) = extract(&[&bytes[..end]], OPTIONS);
            let complete = flows.end.iter().filter(|end| **end == 0).count();
            assert!(
                complete + 1 >= all.len() * end / bytes.len(),
                "{complete} of {} flows",
                all.len()
            );
            assert_eq!(flows.bytes[..complete], all.bytes[..complete]);
            assert!(
                file(&report)
                    .damage
                    .as_ref()
                    .is_some_and(|said| said.contains("ends within")),
                "{report:?}"
            );
        }
    }
}

#[test]
fn compressed_data_that_break_off_give_what_came_before() {
    let packets = many();
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    zip.write_all(&Style::RAW.pcap(&packets)).unwrap();
    let bytes = zip.finish().unwrap();
    let (flows, report) = extract(&[&bytes[..bytes.len() / 2]], OPTIONS);
    assert!(flows.len() > 40, "{}", flows.len());
    assert!(
        file(&report)
            .damage
            .as_ref()
            .is_some_and(|said| said.contains("can't be decompressed")),
        "{report:?}"
    );
}

#[test]
fn noise_within_is_passed_over() {
    let packets = many();
    let (front, back) = packets.split_at(350);
    for style in [
        Style::RAW,
        Style {
            big_endian: true,
            nano: true,
            ..Style::RAW
        },
    ] {
        let lines: Vec<u8> = back
            .iter()
            .flat_map(|packet| style.record(packet))
            .collect();
        for between in [noise(1_000_003), vec![0; 70_001], vec![0xff; 12]] {
            let bytes = [style.pcap(front), between.clone(), lines.clone()].concat();
            let (flows, report) = extract(&[&bytes], OPTIONS);
            assert_eq!(flows.bytes, (100..200).collect::<Vec<u64>>());
            let expected = format!(
                "{} bytes in one place, first at byte {},",
                between.len(),
                style.pcap(front).len()
            );
            assert!(
                file(&report)
                    .damage
                    .as_ref()
                    .is_some_and(|said| said.starts_with(&expected)),
                "{report:?}"
            );
        }
    }
    let whole = Style::RAW.pcapng(&packets, 6);
    let head = Style::RAW.pcapng(front, 6).len();
    for between in [noise(1_000_003), vec![0; 70_001]] {
        let bytes = [&whole[..head], &between, &whole[head..]].concat();
        let (flows, report) = extract(&[&bytes], OPTIONS);
        assert_eq!(flows.bytes, (100..200).collect::<Vec<u64>>());
        assert!(file(&report).damage.is_some());
    }
}

#[test]
fn captures_that_were_put_together_are_read_one_after_the_other() {
    let packets = many();
    let (front, back) = packets.split_at(350);
    let later: Vec<Packet> = back
        .iter()
        .map(|packet| Packet {
            at_us: packet.at_us + 10_000_000,
            bytes: packet.bytes.clone(),
        })
        .collect();
    let other = Style {
        big_endian: true,
        nano: true,
        link: 0,
        before: &[2, 0, 0, 0],
        ..Style::RAW
    };
    for cut in [0, 5, 30] {
        let first = Style::RAW.pcap(front);
        let bytes = [
            &first[..first.len() - cut],
            &vec![0xee; cut * 40],
            &other.pcap(&later),
        ]
        .concat();
        let (flows, report) = extract(&[&bytes], OPTIONS);
        let mut sizes = flows.bytes.clone();
        // The cut packet is the last ACK of the fiftieth connection, which may be longer now.
        sizes.retain(|size| *size != 149);
        sizes.sort_unstable();
        assert_eq!(
            sizes,
            (100..200).filter(|size| *size != 149).collect::<Vec<_>>()
        );
        assert_eq!(file(&report).damage.is_some(), cut > 0, "{report:?}");
        assert_eq!(file(&report).links, ["raw IP", "null"]);
    }
    let unknown = Style {
        link: 195,
        ..Style::RAW
    };
    let (_, report) = extract(
        &[&[Style::RAW.pcap(front), unknown.pcap(&later)].concat()],
        OPTIONS,
    );
    assert_eq!(
        (file(&report).packets, file(&report).unknown_links),
        (700, 350)
    );
}

#[test]
fn what_is_no_capture_is_refused_at_once() {
    for (bytes, said) in [
        (noise(3_000_000), "neither pcap nor pcapng"),
        (b"GIF89a".to_vec(), "too short"),
        (vec![], "is empty"),
        (vec![0xa1, 0xb2], "too short"),
        (
            Style {
                link: 105,
                ..Style::RAW
            }
            .pcap(&many()),
            "link type 105",
        ),
        (b"\xfd7zXZ\0\0\0".to_vec(), "xz -dk"),
        (
            [&[0x1f, 0x8b, 8, 0][..], &noise(100)].concat(),
            "neither pcap nor pcapng",
        ),
    ] {
        let (flows, report) = extract(&[&bytes], OPTIONS);
        assert_eq!(flows.len(), 0);
        let refused = file(&report).refused.clone().unwrap_or_default();
        assert!(
            refused.contains(said) || refused.contains("decompressed"),
            "{refused}"
        );
        assert!(
            refused.contains("fix:") || refused.contains("decompressed"),
            "{refused}"
        );
    }
}

#[test]
fn one_bad_file_takes_nothing_from_the_others() {
    let packets = many();
    let good = Style::RAW.pcap(&packets);
    let (flows, report) = extract(&[b"no capture", &good], OPTIONS);
    assert_eq!(flows.len(), 100);
    assert!(report.files[0].refused.is_some() && report.files[1].refused.is_none());
}

#[test]
fn a_capture_without_a_packet_is_whole() {
    for bytes in [Style::RAW.pcap(&[]), Style::RAW.pcapng(&[], 6)] {
        let (flows, report) = extract(&[&bytes], OPTIONS);
        assert_eq!((flows.len(), report.packets), (0, 0));
        assert_eq!(
            (&file(&report).damage, &file(&report).refused),
            (&None, &None)
        );
    }
}

#[test]
fn packets_of_other_links_are_counted() {
    let style = Style {
        link: 195,
        ..Style::RAW
    };
    let (_, report) = extract(&[&style.pcapng(&many(), 6)], OPTIONS);
    assert_eq!(
        (file(&report).unknown_links, &file(&report).links[..]),
        (700, &["link type 195".to_owned()][..])
    );
}
