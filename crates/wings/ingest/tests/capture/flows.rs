//! Flows: their beginning and end, and their volume.

use fullpipe_ingest::capture::{ABSENT, Columns, Options};
use fullpipe_units::Span;

use super::build::{
    ACK, FIN, OPTIONS, Packet, RST, SYN, Style, Talk, extract, fragmented, of, udp, with_extensions,
};

const MS: u64 = 1000;
const S: u64 = 1_000_000;

/// Returns (beginning, end) of each flow.
fn edges(flows: &Columns) -> Vec<(&'static str, &'static str)> {
    let word = |(begin, end): (&u8, &u8)| {
        (
            Columns::BEGINS[*begin as usize],
            Columns::ENDS[*end as usize],
        )
    };
    flows.begin.iter().zip(&flows.end).map(word).collect()
}

fn chunks(flows: &Columns) -> Vec<(i64, u64)> {
    flows
        .chunk_at
        .iter()
        .map(|at| at / 1_000_000)
        .zip(flows.chunk_bytes.iter().copied())
        .collect()
}

#[test]
fn a_connection_is_one_row_with_both_directions() {
    let mut talk = Talk::v4();
    talk.open(S)
        .send(S + 100, 0, ACK, 300)
        .send(S + 5 * MS, 1, ACK, 1448)
        .send(S + 6 * MS, 1, ACK, 1000);
    talk.send(S + 7 * MS, 0, ACK, 0).close(S + 8 * MS);
    let flows = of(&talk.packets);
    assert_eq!(edges(&flows), [("syn", "fin")]);
    assert_eq!(
        (flows.bytes[0], flows.direction[0]),
        (2448, 1),
        "down, which carries more"
    );
    assert_eq!(
        (
            flows.up_sequence_bytes[0],
            flows.up_payload_bytes[0],
            flows.up_packets[0]
        ),
        (300, 300, 6)
    );
    assert_eq!(
        (
            flows.down_sequence_bytes[0],
            flows.down_payload_bytes[0],
            flows.down_packets[0]
        ),
        (2448, 2448, 4)
    );
    assert_eq!(
        (
            flows.client_port[0],
            flows.server_port[0],
            flows.protocol[0]
        ),
        (40_000, 80, 6)
    );
    let ns = |us: u64| us as i64 * 1000;
    assert_eq!((flows.syn[0], flows.first[0]), (ns(S), ns(S)));
    assert_eq!(
        flows.start[0],
        ns(S + 5 * MS),
        "the first payload of its direction"
    );
    assert_eq!(flows.last[0], ns(S + 8 * MS + 20));
    let addresses = flows.addresses.unwrap();
    assert_eq!(
        addresses[0].map(|address| address.to_string()),
        ["10.0.0.1", "10.0.0.2"]
    );
}

#[test]
fn what_is_sent_again_counts_by_length_and_not_by_number() {
    let mut talk = Talk::v4();
    talk.open(S)
        .send(S + MS, 0, ACK, 1000)
        .send(S + 2 * MS, 0, ACK, 1000);
    talk.raw(S + 3 * MS, 0, ACK, 1001, 1000)
        .raw(S + 4 * MS, 0, ACK, 1501, 700)
        .close(S + 5 * MS);
    let flows = of(&talk.packets);
    assert_eq!(
        (flows.up_sequence_bytes[0], flows.up_payload_bytes[0]),
        (2000, 3700)
    );
    assert_eq!(chunks(&flows), [(0, 2000)]);
}

#[test]
fn what_the_capture_lost_counts_by_number_and_not_by_length() {
    let mut talk = Talk::v4();
    talk.open(S);
    for number in 0..10 {
        talk.send(S + (1 + number) * MS, 0, ACK, 1000);
    }
    talk.close(S + 20 * MS);
    // Not captured: the fifth segment, and the last, which only the FIN's number reveals.
    let kept: Vec<Packet> = talk
        .packets
        .iter()
        .enumerate()
        .filter(|at| at.0 != 7 && at.0 != 12)
        .map(|at| at.1.clone())
        .collect();
    let flows = of(&kept);
    assert_eq!(
        (flows.up_sequence_bytes[0], flows.up_payload_bytes[0]),
        (10_000, 8000)
    );
    assert_eq!(flows.chunk_bytes.iter().sum::<u64>(), 10_000);
}

#[test]
fn a_fin_counts_no_byte_also_if_it_is_captured_late_or_never() {
    let mut talk = Talk::v4();
    talk.open(S).send(S + MS, 0, ACK, 1000).close(S + 2 * MS);
    let fin = talk.packets.remove(4);
    assert_eq!(of(&talk.packets).up_sequence_bytes, [1000], "never");
    talk.packets.push(fin);
    assert_eq!(
        of(&talk.packets).up_sequence_bytes,
        [1000],
        "after the ACK that counts it"
    );
}

#[test]
fn reordered_segments_are_counted_once() {
    let mut talk = Talk::v4();
    talk.raw(S + 2 * MS, 0, ACK, 2001, 1000)
        .raw(S + 3 * MS, 0, ACK, 1001, 1000)
        .raw(S + 4 * MS, 0, ACK, 3001, 500);
    let flows = of(&talk.packets);
    assert_eq!(
        (flows.bytes[0], flows.up_payload_bytes[0]),
        (2500, 2500),
        "captured from the middle on, in disorder"
    );
    assert_eq!(chunks(&flows), [(0, 2500)]);
}

#[test]
fn numbers_wrap_round_and_flows_go_beyond_four_gigabytes() {
    let mut talk = Talk::v4();
    talk.open(S);
    talk.send(S + 100, 1, ACK, 60_000);
    let template = talk.packets.pop().unwrap();
    for number in 0..100_000_u32 {
        let mut bytes = template.bytes[..54].to_vec();
        bytes[24..28].copy_from_slice(
            &4_294_967_001_u32
                .wrapping_add(number.wrapping_mul(60_000))
                .to_be_bytes(),
        );
        talk.packets.push(Packet {
            at_us: S + 100 + u64::from(number),
            bytes,
        });
    }
    // Only the headers were captured; otherwise this would be 6 GB.
    let style = Style {
        wire: Some(60_040),
        ..Style::RAW
    };
    let (flows, report) = extract(&[&style.pcap(&talk.packets)], OPTIONS);
    assert_eq!(
        (flows.bytes[0], flows.down_payload_bytes[0]),
        (6_000_000_000, 6_000_000_000)
    );
    assert_eq!(report.files[0].cut_packets, 100_003);
}

#[test]
fn what_only_a_number_told_of_counts_from_the_first_byte_seen() {
    // No SYN; a late segment; an ACK whose number reveals 1000 bytes that the capture lost; and a
    // segment that was still later.
    let mut talk = Talk::v4();
    talk.raw(S, 0, ACK, 5001, 1000)
        .raw(S + MS, 0, ACK, 7001, 0)
        .raw(S + 2 * MS, 0, ACK, 4001, 1000);
    let flows = of(&talk.packets);
    assert_eq!(
        (flows.up_sequence_bytes[0], flows.up_payload_bytes[0]),
        (3000, 2000),
        "4001 to 7001"
    );
}

#[test]
fn a_pause_begins_a_chunk_if_something_new_comes_after_it() {
    let mut talk = Talk::v4();
    talk.open(S)
        .send(S + 10 * MS, 0, ACK, 100)
        .send(S + 110 * MS, 0, ACK, 200);
    talk.send(S + 211 * MS, 0, ACK, 400); // 101 ms later
    talk.raw(S + 500 * MS, 0, ACK, 1301, 400); // a timeout's retransmission, not a pause
    talk.send(S + 520 * MS, 0, ACK, 800)
        .send(S + 900 * MS, 1, ACK, 50)
        .send(S + 1000 * MS, 0, ACK, 1);
    let flows = of(&talk.packets);
    assert_eq!(chunks(&flows), [(0, 300), (201, 1200), (990, 1)]);
    assert_eq!(
        flows
            .chunk_lasted
            .iter()
            .map(|lasted| lasted / 1_000_000)
            .collect::<Vec<_>>(),
        [100, 309, 0]
    );
    let longer = Options {
        pause: Span::from_secs(1),
        ..OPTIONS
    };
    let (flows, _) = extract(&[&Style::RAW.pcap(&talk.packets)], longer);
    assert_eq!(chunks(&flows), [(0, 1501)]);
}

#[test]
fn an_idle_flow_is_over_and_what_comes_later_is_another() {
    let mut talk = Talk::v4();
    talk.open(S)
        .send(S + 10, 0, ACK, 100)
        .send(61 * S + 10, 0, ACK, 50)
        .send(122 * S, 0, ACK, 70);
    let flows = of(&talk.packets);
    assert_eq!(
        edges(&flows),
        [("syn", "idle"), ("middle", "capture")],
        "60 s is not longer than 60 s"
    );
    assert_eq!(flows.bytes, [150, 70]);
    let (flows, _) = extract(
        &[&Style::RAW.pcap(&talk.packets)],
        Options {
            idle: Span::from_secs(59),
            ..OPTIONS
        },
    );
    assert_eq!(flows.bytes, [100, 50, 70]);
}

#[test]
fn time_that_goes_back_begins_no_chunk() {
    // As dumpcap writes packets from two interfaces.
    let mut talk = Talk::v4();
    talk.open(S)
        .send(S + 500 * MS, 0, ACK, 100)
        .send(S + 300 * MS, 0, ACK, 200)
        .send(S + 550 * MS, 0, ACK, 400);
    talk.send(S + 700 * MS, 0, ACK, 800);
    let flows = of(&talk.packets);
    assert_eq!(chunks(&flows), [(0, 700), (200, 800)]);
    assert_eq!(
        flows
            .chunk_lasted
            .iter()
            .map(|lasted| lasted / 1_000_000)
            .collect::<Vec<_>>(),
        [50, 0]
    );
}

#[test]
fn when_a_closed_flow_is_over_is_no_matter_of_others() {
    let mut talk = Talk::v4();
    talk.open(S)
        .send(S + MS, 0, ACK, 10)
        .close(2 * S)
        .raw(11 * S, 0, ACK, 1001, 7)
        .raw(21 * S + MS, 0, ACK, 1001, 5);
    let mut other = Talk::new(("10.0.0.3", 50_000), ("10.0.0.2", 80));
    other
        .open(11 * S)
        .close(11 * S + 500 * MS)
        .raw(12 * S + 100 * MS, 0, ACK, 1001, 1);
    let mut both = [talk.packets.clone(), other.packets].concat();
    both.sort_by_key(|packet| packet.at_us);
    let of_it = |packets: &[Packet]| {
        let flows = of(packets);
        let rows = (0..flows.len()).filter(|row| flows.client_port[*row] == 40_000);
        rows.map(|row| (flows.up_payload_bytes[row], flows.end[row]))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of_it(&talk.packets),
        [(17, 0), (5, 4)],
        "10 s after its last packet"
    );
    assert_eq!(of_it(&both), of_it(&talk.packets));
}

#[test]
fn ports_are_used_again() {
    let mut talk = Talk::v4();
    talk.open(S).send(S + MS, 0, ACK, 10).close(S + 2 * MS);
    talk.numbers = [77_000, 99_000];
    talk.open(S + 3 * MS)
        .send(S + 4 * MS, 0, ACK, 20)
        .send(S + 5 * MS, 1, RST | ACK, 0);
    talk.raw(S + 6 * MS, 0, ACK, 77_021, 5); // in flight at the reset
    talk.numbers = [1, 2];
    talk.open(S + 7 * MS).send(S + 8 * MS, 0, ACK, 30);
    talk.numbers = [5_000_000, 2];
    talk.open(S + 9 * MS).send(S + 10 * MS, 0, ACK, 40);
    let flows = of(&talk.packets);
    assert_eq!(
        edges(&flows),
        [
            ("syn", "fin"),
            ("syn", "rst"),
            ("syn", "syn"),
            ("syn", "capture")
        ]
    );
    assert_eq!(flows.bytes, [10, 25, 30, 40]);
}

#[test]
fn a_syn_sent_again_begins_nothing() {
    let mut talk = Talk::v4();
    talk.send(S, 0, SYN, 0)
        .raw(2 * S, 0, SYN, 1000, 0)
        .raw(4 * S, 0, SYN, 1000, 0);
    talk.send(4 * S + 10, 1, SYN | ACK, 0)
        .raw(4 * S + 20, 1, SYN | ACK, 4_294_967_000, 0);
    talk.send(5 * S, 0, ACK, 100);
    let flows = of(&talk.packets);
    assert_eq!(edges(&flows), [("syn", "capture")]);
    assert_eq!((flows.syn[0], flows.bytes[0]), (S as i64 * 1000, 100));
}

#[test]
fn a_flow_without_payload_has_no_start() {
    let mut talk = Talk::v4();
    talk.open(S).close(S + MS);
    let flows = of(&talk.packets);
    assert_eq!(
        (flows.start[0], flows.bytes[0], flows.chunks[0]),
        (ABSENT, 0, 0)
    );
    assert_eq!(flows.syn[0], S as i64 * 1000);
}

#[test]
fn what_the_file_cut_is_said() {
    let mut early = Talk::v4();
    early
        .send(S, 1, ACK, 100)
        .send(S + 1, 0, FIN | ACK, 0)
        .send(S + 2, 1, FIN | ACK, 0);
    let mut late = Talk::new(("10.0.0.9", 50_000), ("10.0.0.2", 443));
    late.send(100 * S, 0, ACK, 100);
    let flows = of(&[early.packets, late.packets].concat());
    assert_eq!(edges(&flows), [("capture", "fin"), ("middle", "capture")]);
    assert_eq!(
        (flows.client_port[0], flows.server_port[0]),
        (40_000, 80),
        "no SYN: the well-known port is the server's"
    );
}

#[test]
fn who_answers_is_the_server_even_if_the_syn_was_not_seen() {
    let mut talk = Talk::new(("10.0.0.1", 50_001), ("10.0.0.2", 50_000));
    talk.raw(S, 1, SYN | ACK, 7, 0).raw(S + 1, 1, ACK, 8, 10);
    let flows = of(&talk.packets);
    assert_eq!(
        (
            flows.client_port[0],
            flows.server_port[0],
            flows.direction[0]
        ),
        (50_001, 50_000, 1)
    );
}

#[test]
fn both_versions_of_ip_with_extension_headers_and_fragments() {
    let mut talk = Talk::new(("2001:db8::1", 40_000), ("2001:db8::2", 443));
    talk.open(S).send(S + MS, 0, ACK, 1000).close(S + 2 * MS);
    let extended: Vec<Packet> = talk.packets.iter().map(with_extensions).collect();
    for packets in [&talk.packets, &extended] {
        let flows = of(packets);
        assert_eq!(
            (flows.bytes[0], flows.up_payload_bytes[0], edges(&flows)[0]),
            (1000, 1000, ("syn", "fin"))
        );
        assert_eq!(
            flows.addresses.as_ref().unwrap()[0][1].to_string(),
            "2001:db8::2"
        );
    }
    let mut talk = Talk::v4();
    talk.open(S).send(S + MS, 0, ACK, 3000);
    let whole = talk.packets.pop().unwrap();
    talk.packets.extend(fragmented(&whole, 1480));
    talk.close(S + 2 * MS);
    let flows = of(&talk.packets);
    assert_eq!(
        (
            flows.bytes[0],
            flows.up_payload_bytes[0],
            flows.up_packets[0]
        ),
        (3000, 3000, 7)
    );
    talk.packets.remove(3);
    let (flows, report) = extract(&[&Style::RAW.pcap(&talk.packets)], OPTIONS);
    assert_eq!(
        (flows.bytes[0], flows.up_payload_bytes[0], report.orphans),
        (3000, 0, 2),
        "no ports without the first"
    );
}

#[test]
fn datagrams_make_flows_when_they_are_asked_for() {
    let packets: Vec<Packet> = [(S, 500), (S + MS, 600), (S + 300 * MS, 700), (90 * S, 1)]
        .map(|(at_us, bytes)| Packet {
            at_us,
            bytes: udp(("10.0.0.1", 50_000), ("10.0.0.2", 443), bytes),
        })
        .into();
    let bytes = Style::RAW.pcap(&packets);
    let (flows, report) = extract(&[&bytes], OPTIONS);
    assert_eq!((flows.len(), report.other), (0, 4));
    let (flows, _) = extract(
        &[&bytes],
        Options {
            udp: true,
            ..OPTIONS
        },
    );
    assert_eq!(
        (flows.bytes.clone(), flows.protocol[0]),
        (vec![1800, 1], 17)
    );
    assert_eq!(edges(&flows), [("capture", "idle"), ("middle", "capture")]);
    assert_eq!(chunks(&flows)[..2], [(0, 1100), (300, 700)]);
}

#[test]
fn a_number_far_off_is_no_volume() {
    let mut talk = Talk::v4();
    talk.open(S)
        .send(S + MS, 0, ACK, 100)
        .raw(S + 2 * MS, 0, ACK, 3_000_000_000, 100)
        .send(S + 3 * MS, 0, ACK, 100);
    let (flows, report) = extract(&[&Style::RAW.pcap(&talk.packets)], OPTIONS);
    assert_eq!(
        (
            flows.up_sequence_bytes[0],
            flows.up_payload_bytes[0],
            report.strays
        ),
        (200, 300, 1)
    );
}

#[test]
fn flows_go_on_from_file_to_file() {
    let mut talk = Talk::v4();
    talk.open(S)
        .send(S + MS, 0, ACK, 100)
        .send(S + 2 * MS, 0, ACK, 200)
        .close(S + 3 * MS);
    let (first, second) = talk.packets.split_at(4);
    let files = [
        Style::RAW.pcap(first),
        Style {
            nano: true,
            ..Style::RAW
        }
        .pcapng(second, 9),
    ];
    let (flows, report) = extract(&[&files[0], &files[1]], OPTIONS);
    assert_eq!(
        (flows.bytes.clone(), edges(&flows)),
        (vec![300], vec![("syn", "fin")])
    );
    assert_eq!(
        report
            .files
            .iter()
            .map(|file| file.packets)
            .collect::<Vec<_>>(),
        [4, 4]
    );
}
