//! Listings of `ss`, from their lines to the rows of connections and samples.

use fullpipe_ingest::fleet::ss::{Field, Field::*, Options, Reader};
use fullpipe_ingest::fleet::{Columns, Parse, Values};

use super::ss::{CUBIC, DEBIAN, DROPBOX, MAPPED, OLD, RECOVERY};

fn reader() -> Reader {
    Reader::new(Options {
        host: "tokyo-1".into(),
        samples: true,
        ..Options::default()
    })
}

/// Returns all rows of a text: connections that have ended and those that have not, and samples.
fn read(text: &str) -> (Reader, Columns, Columns) {
    let mut reader = reader();
    reader.begin_file(0);
    reader.feed(text.as_bytes());
    reader.end_file();
    let [(_, ended), (_, samples)] = reader.take().try_into().unwrap();
    let (_, open) = reader.open().remove(0);
    (reader, joined(ended, open), samples)
}

fn joined(mut first: Columns, second: Columns) -> Columns {
    if first.rows() == 0 {
        return second;
    }
    for (column, more) in first.columns.iter_mut().zip(second.columns) {
        match (&mut column.values, more.values) {
            (Values::Numbers(first), Values::Numbers(more)) => first.extend(more),
            (Values::Times(first), Values::Times(more))
            | (Values::Keys(first), Values::Keys(more)) => first.extend(more),
            (Values::Labels(first, _), Values::Labels(more, _)) => first.extend(more),
            (Values::Texts(first), Values::Texts(more)) => first.extend(more),
            other => panic!("{} has two kinds: {other:?}", column.name),
        }
    }
    first
}

fn numbers(columns: &Columns, name: &str) -> Vec<f64> {
    match columns.get(name) {
        Some(Values::Numbers(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn times(columns: &Columns, name: &str) -> Vec<i64> {
    match columns.get(name) {
        Some(Values::Times(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn texts(columns: &Columns, name: &str) -> Vec<String> {
    match columns.get(name) {
        Some(Values::Texts(values)) => values.clone(),
        Some(Values::Labels(codes, labels)) => codes
            .iter()
            .map(|code| labels.get(*code as usize).cloned().unwrap_or_default())
            .collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Reads a socket's line; returns its row, and a function that returns its values.
pub(super) fn one(line: &str) -> (Columns, impl Fn(Field) -> f64) {
    let (reader, connections, _) = read(line);
    assert_eq!(
        (connections.rows(), count(&reader, "bad")),
        (1, 0),
        "{line}"
    );
    let values = connections.clone();
    (connections, move |field| {
        numbers(&values, fullpipe_ingest::fleet::ss::COLUMNS[field as usize])[0]
    })
}

fn count(reader: &Reader, name: &str) -> u64 {
    reader
        .counts()
        .iter()
        .find(|(counted, _)| *counted == name)
        .unwrap()
        .1
}

#[test]
fn a_line_with_its_socket_in_one() {
    let (columns, value) = one(DEBIAN);
    assert_eq!(
        [value(Ino), value(Sk), value(Reordering)],
        [60_753.0, f64::from(0x1003), 6.0]
    );
    assert_eq!(value(Send), 99_258_442_105.0);
    assert_eq!(
        [
            texts(&columns, "state"),
            texts(&columns, "cc"),
            texts(&columns, "cgroup")
        ],
        [["ESTAB"], ["bbr"], ["/"]]
    );
    assert_eq!(
        [texts(&columns, "client"), texts(&columns, "client_net")],
        [["127.0.0.1"], ["127.0.0.0/24"]]
    );
    assert_eq!(
        [
            numbers(&columns, "local_port"),
            numbers(&columns, "remote_port")
        ],
        [[46056.0], [38373.0]]
    );

    let (columns, value) = one(CUBIC);
    assert_eq!(
        [value(Send), value(PacingRate), value(DeliveryRate)],
        [1.96e12, 3.77e12, 30.8e9]
    );
    assert_eq!(texts(&columns, "cc"), ["cubic"]);
    assert!(value(BbrBw).is_nan());

    let (columns, value) = one(MAPPED);
    assert_eq!(
        [
            value(SendQ),
            value(TimerLeft),
            value(TimerRetrans),
            value(BbrPacingGain)
        ],
        [398_200.0, 0.078, 0.0, 2.88672]
    );
    assert_eq!(
        [texts(&columns, "client"), texts(&columns, "local_address")],
        [["137.25.146.88"], ["140.82.23.101"]]
    );
    assert_eq!(
        [texts(&columns, "state"), texts(&columns, "timer")],
        [[""], ["on"]]
    );
}

/// Output of `ss -neit` with a header, in two lines per socket, among sockets of other kinds.
#[test]
fn sockets_on_two_lines_with_a_header_and_others_between() {
    let text = "\
Netid State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process
u_str ESTAB  0      0                  * 12345          * 12346 users:((\"a b\",pid=1,fd=3))
udp   UNCONN 0      0            0.0.0.0:68       0.0.0.0:*
tcp   LISTEN 0      511          0.0.0.0:443      0.0.0.0:* users:((\"nginx: master (1)\",pid=7,fd=6))
\t cubic cwnd:10
tcp   ESTAB  0      0           10.0.0.1:https 192.0.2.7:50000 timer:(keepalive,1min30sec,0) uid:33 ino:5 sk:a users:((\"nginx\",pid=8,fd=9)) <->
\t ts sack cubic wscale:7,7 rto:204 rtt:20/1 mss:1448 cwnd:10 bytes_sent:100 bytes_acked:100
tcp   TIME-WAIT 0   0           10.0.0.1:443   192.0.2.8:50001 timer:(timewait,30sec,0) ino:0 sk:0
tcp   ESTAB  0      7      [2001:db8::1]:443 [2001:db8:5::9]:50002
";
    let (reader, connections, samples) = read(text);
    assert_eq!((connections.rows(), samples.rows()), (1, 1));
    assert_eq!(
        ["bad", "foreign", "listening", "without_info"].map(|name| count(&reader, name)),
        [0, 2, 1, 2]
    );
    assert_eq!(numbers(&connections, "local_port"), [443.0]);
    assert_eq!(
        [
            numbers(&connections, "uid"),
            numbers(&connections, "timer_s")
        ],
        [[33.0], [90.0]]
    );
    assert_eq!(
        texts(&connections, "unknown"),
        [r#"{"users":"((\"nginx\",pid=8,fd=9))"}"#]
    );
}

fn sample(remote: &str, more: &str, acked: u64, rest: &str) -> String {
    format!(
        "ESTAB 0 0 10.0.0.1:443 {remote} {more}\n\t cubic rto:204 rtt:20/1 mss:1000 cwnd:10 bytes_sent:{acked} bytes_acked:{acked} segs_out:9 {rest}\n"
    )
}

#[test]
fn samples_of_a_connection_become_one_row() {
    let text = [
        "@1576576800\n".into(),
        sample(
            "192.0.2.7:1",
            "",
            100,
            "unacked:4 delivery_rate 8000bps app_limited",
        ),
        "@1576576810\n".into(),
        sample(
            "192.0.2.7:1",
            "",
            200,
            "unacked:8 delivery_rate 4000bps lost:2",
        ),
        "@1576576820.5\n".into(),
        sample("192.0.2.7:1", "", 300, "delivery_rate 9000bps"),
    ]
    .concat();
    let (_, connections, samples) = read(&text);
    assert_eq!((connections.rows(), samples.rows()), (1, 3));
    assert_eq!(times(&connections, "first_seen"), [1_576_576_800_000_000]);
    assert_eq!(times(&connections, "last_seen"), [1_576_576_820_500_000]);
    let value = |name| numbers(&connections, name)[0];
    assert_eq!(
        [
            value("samples"),
            value("busy_samples"),
            value("app_limited_samples")
        ],
        [3.0, 2.0, 1.0]
    );
    assert_eq!(
        [value("bytes_acked"), value("bytes_acked_first")],
        [300.0, 100.0]
    );
    assert_eq!(
        [
            value("unacked_packets"),
            value("unacked_packets_mean"),
            value("unacked_packets_max")
        ],
        [0.0, 6.0, 8.0]
    );
    assert_eq!(
        [value("lost_packets"), value("lost_packets_max")],
        [0.0, 2.0]
    );
    assert_eq!(
        [
            value("delivery_rate_bps_mean"),
            value("delivery_rate_bps_max")
        ],
        [4000.0, 9000.0]
    );
    assert_eq!(value("rtt_s_mean"), 0.020);
    assert_eq!(
        samples.get("connection"),
        Some(&Values::Keys(vec![keys(&connections)[0]; 3]))
    );
}

fn keys(columns: &Columns) -> Vec<i64> {
    match columns.get("connection") {
        Some(Values::Keys(keys)) => keys.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_port_that_is_used_again_is_another_connection() {
    // Recognized by a counter that fell, by the socket's cookie, and by its inode.
    for (first, second, acked) in [("", "", 50), ("sk:1", "sk:2", 300), ("ino:7", "ino:8", 300)] {
        let text = format!(
            "@1576576800\n{}@1576576810\n{}",
            sample("192.0.2.7:1", first, 100, ""),
            sample("192.0.2.7:1", second, acked, "")
        );
        let (_, connections, _) = read(&text);
        assert_eq!(connections.rows(), 2, "{first} {second} {acked}");
        assert_ne!(keys(&connections)[0], keys(&connections)[1]);
    }
    // An unchanged cookie identifies the connection, regardless of the counters. An inode of 0 has
    // no meaning.
    for (first, second, acked) in [("sk:1", "sk:1", 50), ("ino:7", "ino:0", 300)] {
        let text = format!(
            "@1576576800\n{}@1576576810\n{}",
            sample("192.0.2.7:1", first, 100, ""),
            sample("192.0.2.7:1", second, acked, "")
        );
        assert_eq!(read(&text).1.rows(), 1, "{first} {second} {acked}");
    }
}

/// Only connections that may continue take up memory: one ends when two listings in a row lack it.
#[test]
fn what_is_gone_for_two_listings_has_ended() {
    let mut reader = reader();
    reader.begin_file(0);
    let listing = |at: u64, remotes: &[u16]| {
        let lines: String = remotes
            .iter()
            .map(|port| sample(&format!("192.0.2.7:{port}"), "", 100 + at, ""))
            .collect();
        format!("@{}\n{lines}", 1_576_576_800 + at)
    };
    for (at, remotes) in [&[1, 2][..], &[2], &[1, 2], &[2], &[2], &[2]]
        .into_iter()
        .enumerate()
    {
        reader.feed(listing(at as u64, remotes).as_bytes());
    }
    reader.end_file();
    let ended = reader.take().remove(0).1;
    assert_eq!(
        (numbers(&ended, "remote_port"), numbers(&ended, "samples")),
        (vec![1.0], vec![2.0])
    );
    assert_eq!(numbers(&reader.open().remove(0).1, "samples"), [6.0]);
}

/// Without a time between listings, a socket that appears a second time begins another listing.
#[test]
fn listings_need_no_time_between_them() {
    let text: String = (0..4)
        .map(|at| sample("192.0.2.7:1", "", 100 + at, ""))
        .collect();
    let (reader, connections, _) = read(&text);
    assert_eq!(numbers(&connections, "samples"), [4.0]);
    assert_eq!(count(&reader, "untimed"), 4);
}

#[test]
fn each_line_may_have_its_time_in_front() {
    let text = sample("192.0.2.7:1", "", 100, "")
        + &sample("192.0.2.8:2", "", 100, "")
        + &sample("192.0.2.7:1", "", 200, "");
    let stamped: String = text
        .lines()
        .enumerate()
        .map(|(at, line)| format!("2019-12-17T10:00:0{at}.5Z {line}\n"))
        .collect();
    let (reader, connections, samples) = read(&stamped);
    assert_eq!(
        (
            connections.rows(),
            count(&reader, "bad"),
            count(&reader, "untimed")
        ),
        (2, 0, 0)
    );
    assert_eq!(
        times(&samples, "time"),
        [0, 2, 4].map(|second| 1_576_576_800_500_000 + second * 1_000_000)
    );
}

#[test]
fn a_bad_line_is_counted_and_quoted_and_the_rest_is_read() {
    let text = [
        "@1576576800\n".to_owned(),
        sample("192.0.2.7:1", "", 100, ""),
        "ESTAB 0 many 10.0.0.1:443 192.0.2.9:3\n\t cubic rto:204\n".into(),
        "\u{fffd}\u{0}garbage\n\t more of it\n".into(),
        sample("192.0.2.8:2", "", 100, "unacked:x"),
        sample("192.0.2.10:4", "", 100, ""),
        "ESTAB 0 0 10.0.0.1:443".into(),
    ]
    .concat();
    let (mut reader, connections, _) = read(&text);
    assert_eq!((connections.rows(), count(&reader, "bad")), (2, 4));
    let bad = reader.take_bad();
    let said: Vec<(u64, &str)> = bad.iter().map(|bad| (bad.line, bad.why.as_str())).collect();
    assert_eq!(
        said,
        [
            (4, "Send-Q is not a number"),
            (6, "it begins with no state, queue or time"),
            (9, "`unacked` can't be `x`"),
            (12, "two addresses with ports are missing"),
        ]
    );
    assert_eq!(bad[0].text, "ESTAB 0 many 10.0.0.1:443 192.0.2.9:3");
}

#[test]
fn a_sample_that_no_kernel_reports_is_a_bad_line() {
    let of = |fields: &str| {
        let (mut reader, connections, _) = read(&sample("192.0.2.7:1", "", 100, fields));
        let bad = reader.take_bad();
        assert_eq!(connections.rows() + bad.len(), 1, "{fields}");
        bad.into_iter().next().map(|bad| (bad.line, bad.why))
    };
    for (fields, why) in [
        (
            "bytes_sent:100 bytes_retrans:14100",
            "bytes_retrans = 14100 is more than bytes_sent = 100",
        ),
        (
            "busy:10ms rwnd_limited:11ms(110.0%)",
            "rwnd_limited_s = 0.011 is more than busy_s = 0.01",
        ),
        (
            "busy:10ms sndbuf_limited:12ms(120.0%)",
            "sndbuf_limited_s = 0.012 is more than busy_s = 0.01",
        ),
    ] {
        assert_eq!(of(fields), Some((1, why.to_owned())));
    }
    for (key, value) in [("rwnd_limited", "5e304ms"), ("minrtt", "1e300")] {
        let why = format!("`{key}` can't be `{value}`");
        assert_eq!(of(&format!("busy:10ms {key}:{value}")), Some((2, why)));
    }
    assert_eq!(
        of("delivery_rate 1e200bps").map(|bad| bad.1),
        Some("`delivery_rate` can't be `1e200bps`".to_owned())
    );
    assert_eq!(
        of("bytes_sent:100 bytes_retrans:100 busy:10ms rwnd_limited:10ms(100.0%)"),
        None
    );
}

#[test]
fn with_a_key_nothing_quotes_or_shows_an_address() {
    let privacy = fullpipe_ingest::fleet::address::Privacy::Keyed([7; 16]);
    let mut reader = Reader::new(Options {
        host: "a".into(),
        samples: true,
        privacy,
    });
    reader.begin_file(0);
    let text = sample("192.0.2.7:1", "cgroup:/alice", 100, "peer:192.0.2.7")
        + "ESTAB 0 x 10.0.0.1:443 192.0.2.7:9\n"
        + &sample("192.0.2.8:1", "", 100, "");
    reader.feed(text.as_bytes());
    reader.end_file();
    let open = reader.open().remove(0).1;
    let all = format!(
        "{open:?} {:?} {:?}",
        reader.take_bad(),
        texts(&open, "cgroup")
    );
    assert!(!all.contains("192.0") && !all.contains("10.0.0.1"), "{all}");
    assert_eq!(texts(&open, "cgroup"), ["", ""]);
    let [net, other] = texts(&open, "client_net").try_into().unwrap();
    assert_eq!(net, other, "both are in one network");
    assert_ne!(texts(&open, "client")[0], texts(&open, "client")[1]);
    assert!(numbers(&open, "remote_port")[0].is_nan());
}

/// 15 s of a real BBR flow and a real CUBIC flow, sampled every 100 ms by iproute2 6.1.
#[test]
fn a_real_file() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fleet/data/ss_3ns_bbr_vs_cubic_50m.txt.gz"
    );
    let mut reader = reader();
    reader.begin_file(0);
    let mut source = fullpipe_ingest::input::Input::open(path.as_ref()).unwrap();
    while fullpipe_ingest::fleet::read(&mut source, &mut reader, 1 << 20, 1 << 20).unwrap() {}
    reader.end_file();
    assert_eq!(
        ["bad", "foreign", "without_info", "untimed"].map(|name| count(&reader, name)),
        [0; 4]
    );
    let [(_, ended), (_, samples)] = reader.take().try_into().unwrap();
    let connections = joined(ended, reader.open().remove(0).1);
    assert_eq!(connections.rows(), 4, "two flows with two connections each");
    assert_eq!(
        numbers(&connections, "samples").iter().sum::<f64>(),
        samples.rows() as f64
    );
    assert_eq!(
        fullpipe_ingest::fleet::begin_of(path.as_ref()).unwrap(),
        1_795_252_704_622_470
    );
    // In each sample, no more bytes were retransmitted than sent.
    let (sent, again) = (
        numbers(&samples, "bytes_sent"),
        numbers(&samples, "bytes_retrans"),
    );
    let acked = numbers(&samples, "bytes_acked");
    for ((sent, again), acked) in sent.iter().zip(&again).zip(&acked) {
        assert!(
            again <= sent && acked - 1.0 <= sent - again + 1.0,
            "{sent} {again} {acked}"
        );
    }
}

/// A reader that continues from another's stored state gives the same rows, to the last bit.
#[test]
fn reading_goes_on_from_a_kept_state() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fleet/data/ss_3ns_bbr_vs_cubic_50m.txt.gz"
    );
    let mut text = Vec::new();
    std::io::Read::read_to_end(
        &mut flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()),
        &mut text,
    )
    .unwrap();
    let half = text.len() / 2;
    let half = half
        + text[half..]
            .windows(2)
            .position(|pair| pair == b"\n@")
            .unwrap()
        + 1;
    let rows = |reader: &mut Reader| joined(reader.take().remove(0).1, reader.open().remove(0).1);

    let mut whole = Reader::new(Options::default());
    for part in [&text[..half], &text[half..]] {
        whole.begin_file(0);
        whole.feed(part);
        whole.end_file();
    }
    let mut first = Reader::new(Options::default());
    first.begin_file(0);
    first.feed(&text[..half]);
    first.end_file();
    let ended = first.take().remove(0).1;
    let mut second = Reader::new(Options::default());
    assert!(second.resume(&first.state()));
    second.begin_file(0);
    second.feed(&text[half..]);
    second.end_file();
    assert_eq!(
        format!("{:?}", joined(ended, rows(&mut second))),
        format!("{:?}", rows(&mut whole))
    );
    assert_eq!(second.counts(), whole.counts());
    assert!(!second.resume("{}"));
}

mod at_random {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_makes_it_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8)) {
            let mut reader = reader();
            reader.begin_file(0);
            for piece in &pieces {
                reader.feed(piece);
            }
            reader.end_file();
            reader.take();
        }

        /// Texts that resemble lines of `ss`: real ones, truncated, doubled, and with a byte
        /// changed.
        #[test]
        fn nor_does_what_is_nearly_one(
            cuts in prop::collection::vec((0usize..6, 0usize..900, 0usize..900, any::<u8>()), 1..12),
            piece in 1usize..400,
        ) {
            let lines = [DROPBOX, DEBIAN, MAPPED, RECOVERY, CUBIC, OLD];
            let mut text = Vec::new();
            for (line, from, change, byte) in cuts {
                let mut line = lines[line].as_bytes().to_vec();
                let (from, change) = (from % line.len(), change % line.len());
                line[change] = byte;
                text.extend_from_slice(&line[from..]);
                text.push(b'\n');
                text.extend_from_slice(&line);
                text.push(b'\n');
            }
            let mut reader = reader();
            reader.begin_file(0);
            for piece in text.chunks(piece) {
                reader.feed(piece);
            }
            reader.end_file();
            // The boundaries of pieces have no effect.
            let (mut whole, ..) = (super::reader(), ());
            whole.begin_file(0);
            whole.feed(&text);
            whole.end_file();
            prop_assert_eq!(reader.counts(), whole.counts());
            prop_assert_eq!(format!("{:?}", reader.take()), format!("{:?}", whole.take()));
        }
    }
}
