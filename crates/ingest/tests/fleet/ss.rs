//! Lines of `ss` as real hosts print them, and the values that they contain.

use fullpipe_ingest::fleet::ss::{Field, Field::*, Options, Reader, Sample, parse_info};
use fullpipe_ingest::fleet::{Columns, Parse, Values};

/// From the Dropbox article on BBRv2 (2019): kernel 5.3, `ss -tie`.
const DROPBOX: &str = "ts sack bbr rto:220 rtt:16.139/10.041 ato:40 mss:1448 pmtu:1500 rcvmss:1269 advmss:1428 cwnd:106 ssthresh:52 bytes_sent:9070462 bytes_retrans:3375 bytes_acked:9067087 bytes_received:5775 segs_out:6327 segs_in:551 data_segs_out:6315 data_segs_in:12 bbr:(bw:99.5Mbps,mrtt:1.912,pacing_gain:1,cwnd_gain:2) send 76.1Mbps lastsnd:9896 lastrcv:10944 lastack:9864 pacing_rate 98.5Mbps delivery_rate 27.9Mbps delivered:6316 busy:3020ms rwnd_limited:2072ms(68.6%) retrans:0/5 dsack_dups:5 rcv_rtt:16.125 rcv_space:14400 rcv_ssthresh:65535 minrtt:1.907";

/// Debian 12, kernel 6.18, iproute2 6.1.0, `ss -neitO`.
const DEBIAN: &str = "ESTAB 0      0          127.0.0.1:46056    127.0.0.1:38373 ino:60753 sk:1003 cgroup:/ <-> ts sack bbr wscale:10,10 rto:204 rtt:0.095/0.057 mss:65483 pmtu:65535 rcvmss:536 advmss:65483 cwnd:18 ssthresh:8 bytes_sent:2152136704 bytes_acked:2152136705 segs_out:34885 segs_in:10330 data_segs_out:34883 bbr:(bw:104772793752bps,mrtt:0.003,pacing_gain:1,cwnd_gain:2) send 99258442105bps lastsnd:16 lastrcv:820 lastack:16 pacing_rate 103725065816bps delivery_rate 104772800000bps delivered:34884 busy:792ms rwnd_limited:352ms(44.4%) reordering:6 rcv_space:65495 rcv_ssthresh:65495 minrtt:0.003 snd_wnd:5444608";

/// From a public measurement (130e/dash_meas_aio): a state filter, an IPv6-mapped address, a timer,
/// gains of STARTUP.
const MAPPED: &str = "0      398200 [::ffff:140.82.23.101]:5202 [::ffff:137.25.146.88]:56512 timer:(on,078ms,0) ts sack bbr wscale:6,10 rto:237 rtt:36.788/3.994 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:44 bytes_sent:128872 bytes_acked:66608 bytes_received:37 segs_out:90 segs_in:12 data_segs_out:89 data_segs_in:1 bbr:(bw:4762104bps,mrtt:30.236,pacing_gain:2.88672,cwnd_gain:2.88672) send 13854953bps lastsnd:2 lastrcv:132 lastack:3 pacing_rate 13609384bps delivery_rate 4762720bps delivered:47 busy:132ms unacked:43 rcv_space:14600 rcv_ssthresh:42230 notsent:335936 minrtt:30.236 snd_wnd:128192";

/// From the same source, in recovery.
const RECOVERY: &str = "bytes_sent:3162469 bytes_retrans:1116408 bytes_acked:1516094 segs_out:2187 bbr:(bw:6468224bps,mrtt:145.2,pacing_gain:1,cwnd_gain:2) send 9866575bps lastrcv:4344 lastack:8 pacing_rate 6403544bps delivery_rate 4123200bps delivered:1293 busy:4040ms rwnd_limited:96ms(2.4%) unacked:366 retrans:56/771 lost:56 sacked:244 notsent:1552256 minrtt:145.2";

/// Debian 12, `ss -tiO`: scaled rates.
const CUBIC: &str = "ESTAB 0      0          127.0.0.1:35538    127.0.0.1:54037 cubic wscale:10,10 rto:204 rtt:0.012/0.002 mss:65483 pmtu:65535 rcvmss:536 advmss:65483 cwnd:45 bytes_sent:3248095179 bytes_retrans:65483 bytes_acked:3248029697 segs_out:52616 segs_in:26052 data_segs_out:52614 send 1.96Tbps lastsnd:8 lastrcv:512 lastack:8 pacing_rate 3.77Tbps delivery_rate 30.8Gbps delivered:52615 busy:504ms rwnd_limited:504ms(100.0%) retrans:0/1 dsack_dups:1 reordering:6 rcv_space:65495 rcv_ssthresh:65495 minrtt:0.004 snd_wnd:1232896";

/// From a kernel of the 4 series, without a group.
const OLD: &str = "rto:204 rtt:0.024/0.008 mss:1448 cwnd:5882 ssthresh:5882 bytes_acked:3608119590 segs_out:2534538 segs_in:53303 data_segs_out:2534536 send 17034.3Mbps lastsnd:12 lastrcv:4408 lastack:12 unacked:5917 retrans:0/24285 rcv_space:29200 notsent:2422312 minrtt:0.005";

fn has(sample: &Sample, expected: &[(Field, f64)]) {
    for (field, value) in expected {
        assert_eq!(sample.get(*field), Some(*value), "{field:?}");
    }
}

#[test]
fn the_line_of_the_dropbox_article() {
    let sample = parse_info(DROPBOX.as_bytes()).unwrap();
    assert_eq!((sample.cc(), sample.unknown()), ("bbr".into(), None));
    has(
        &sample,
        &[
            (Ts, 1.0),
            (Sack, 1.0),
            (Ecn, 0.0),
            (Rto, 0.220),
            (Rtt, 0.016_139),
            (RttVar, 0.010_041),
            (Ato, 0.040),
            (Mss, 1448.0),
            (Pmtu, 1500.0),
            (RcvMss, 1269.0),
            (AdvMss, 1428.0),
            (Cwnd, 106.0),
            (Ssthresh, 52.0),
            (BytesSent, 9_070_462.0),
            (BytesRetrans, 3375.0),
            (BytesAcked, 9_067_087.0),
            (BytesReceived, 5775.0),
            (SegsOut, 6327.0),
            (SegsIn, 551.0),
            (DataSegsOut, 6315.0),
            (DataSegsIn, 12.0),
            (BbrBw, 99_500_000.0),
            (BbrMrtt, 0.001_912),
            (BbrPacingGain, 1.0),
            (BbrCwndGain, 2.0),
            (Send, 76_100_000.0),
            (LastSnd, 9.896),
            (LastRcv, 10.944),
            (LastAck, 9.864),
            (PacingRate, 98_500_000.0),
            (DeliveryRate, 27_900_000.0),
            (Delivered, 6316.0),
            (Busy, 3.020),
            (RwndLimited, 2.072),
            (SndbufLimited, 0.0),
            (Unacked, 0.0),
            (Retrans, 0.0),
            (RetransTotal, 5.0),
            (Lost, 0.0),
            (DsackDups, 5.0),
            (Reordering, 3.0),
            (ReordSeen, 0.0),
            (RcvRtt, 0.016_125),
            (RcvSpace, 14_400.0),
            (RcvSsthresh, 65_535.0),
            (MinRtt, 0.001_907),
        ],
    );
    for field in [WscaleSnd, SndWnd, MaxPacingRate, DctcpAlpha] {
        assert_eq!(sample.get(field), None, "{field:?}");
    }
}

/// Relations between the fields of that line.
#[test]
fn the_fields_of_a_line_agree() {
    let sample = parse_info(DROPBOX.as_bytes()).unwrap();
    let value = |field| sample.get(field).unwrap();
    assert_eq!(value(BytesSent) - value(BytesRetrans), value(BytesAcked));
    let send = value(Cwnd) * value(Mss) * 8.0 / value(Rtt);
    assert!(
        (send - value(Send)).abs() < 0.05e6,
        "printed with three digits"
    );
    let pacing = 0.99 * value(BbrPacingGain) * value(BbrBw);
    assert!((pacing - value(PacingRate)).abs() < 0.05e6);
    assert_eq!(
        (value(RwndLimited) / value(Busy) * 1000.0).round() / 10.0,
        68.6
    );
    assert_eq!(
        value(DsackDups),
        value(RetransTotal),
        "each retransmission was spurious"
    );
    // The SYN of an active opener is acknowledged, too.
    let (_, debian) = one(DEBIAN);
    assert_eq!(debian(BytesAcked) - debian(BytesSent), 1.0);
    assert_eq!(
        (debian(RwndLimited) / debian(Busy) * 1000.0).round() / 10.0,
        44.4
    );
}

#[test]
fn the_part_in_recovery() {
    let sample = parse_info(RECOVERY.as_bytes()).unwrap();
    has(
        &sample,
        &[
            (BytesSent, 3_162_469.0),
            (BytesRetrans, 1_116_408.0),
            (BytesAcked, 1_516_094.0),
            (SegsOut, 2187.0),
            (BbrBw, 6_468_224.0),
            (BbrMrtt, 0.1452),
            (Send, 9_866_575.0),
            (PacingRate, 6_403_544.0),
            (DeliveryRate, 4_123_200.0),
            (Delivered, 1293.0),
            (Busy, 4.040),
            (RwndLimited, 0.096),
            (Unacked, 366.0),
            (Retrans, 56.0),
            (RetransTotal, 771.0),
            (Lost, 56.0),
            (Sacked, 244.0),
            (NotSent, 1_552_256.0),
            (MinRtt, 0.1452),
        ],
    );
}

#[test]
fn an_older_kernel_does_not_know_what_it_does_not_say() {
    let sample = parse_info(OLD.as_bytes()).unwrap();
    has(
        &sample,
        &[
            (Rto, 0.204),
            (Rtt, 0.000_024),
            (RttVar, 0.000_008),
            (Cwnd, 5882.0),
            (Ssthresh, 5882.0),
            (BytesAcked, 3_608_119_590.0),
            (SegsOut, 2_534_538.0),
            (DataSegsOut, 2_534_536.0),
            (DataSegsIn, 0.0),
            (Send, 17_034_300_000.0),
            (Unacked, 5917.0),
            (RetransTotal, 24_285.0),
            (NotSent, 2_422_312.0),
            (MinRtt, 0.000_005),
        ],
    );
    for field in [
        BytesSent,
        BytesRetrans,
        Delivered,
        DsackDups,
        Busy,
        RwndLimited,
        AppLimited,
        DeliveryRate,
        BbrBw,
    ] {
        assert_eq!(sample.get(field), None, "{field:?}");
    }
    assert_eq!(sample.cc(), "");
}

#[test]
fn more_that_some_versions_print() {
    let line = "skmem:(r0,rb131072,t0,tb2626560,f4096,w12,o3,bl0,d7,x5) ts sack ecn ecnseen fastopen dctcp wscale:7,8 rto:201 backoff:2 rtt:0.5/0.25 qack:1 mss:1448 cwnd:10 dctcp:(ce_state:1,alpha:512,ab_ecn:100,ab_tot:900) pacing_rate 10Mbps/1.5Gbps delivered_ce:3 app_limited busy:10ms sndbuf_limited:5ms(50.0%) reord_seen:2 rcv_ooopack:4 rcv_wnd:65536 rehash:1 tcp-ulp-tls version: 1.3 cipher: aes-gcm-256 novel:7 newgroup:(a:1, b:2)";
    let sample = parse_info(line.as_bytes()).unwrap();
    has(
        &sample,
        &[
            (MemR, 0.0),
            (MemRb, 131_072.0),
            (MemTb, 2_626_560.0),
            (MemF, 4096.0),
            (MemW, 12.0),
            (MemO, 3.0),
            (MemBl, 0.0),
            (MemD, 7.0),
            (Ecn, 1.0),
            (EcnSeen, 1.0),
            (FastOpen, 1.0),
            (WscaleSnd, 7.0),
            (WscaleRcv, 8.0),
            (Backoff, 2.0),
            (DctcpCeState, 1.0),
            (DctcpAlpha, 512.0),
            (DctcpAbEcn, 100.0),
            (DctcpAbTot, 900.0),
            (PacingRate, 1e7),
            (MaxPacingRate, 1.5e9),
            (DeliveredCe, 3.0),
            (AppLimited, 1.0),
            (Busy, 0.010),
            (SndbufLimited, 0.005),
            (ReordSeen, 2.0),
            (RcvOooPack, 4.0),
            (RcvWnd, 65_536.0),
            (Rehash, 1.0),
        ],
    );
    assert_eq!(sample.cc(), "dctcp");
    let unknown = r#"{"skmem.x":"5","qack":"1","version":"1.3","cipher":"aes-gcm-256","novel":"7","newgroup":"(a:1, b:2)","tcp-ulp-tls":""}"#;
    assert_eq!(sample.unknown().as_deref(), Some(unknown));
}

#[test]
fn the_second_version_of_bbr_has_a_group_by_its_own_name_in_some_kernels() {
    let line = "bbr2 wscale:7,7 rto:204 rtt:1/0.5 cwnd:10 bbr2:(bw:5Mbps,mrtt:0.9,phase:3)";
    let sample = parse_info(line.as_bytes()).unwrap();
    has(&sample, &[(BbrBw, 5e6), (BbrMrtt, 0.0009)]);
    assert_eq!(
        (sample.cc(), sample.get(BbrPacingGain)),
        ("bbr2".into(), None)
    );
    assert_eq!(sample.unknown().as_deref(), Some(r#"{"bbr2.phase":"3"}"#));
}

#[test]
fn a_value_of_another_kind_is_said() {
    assert_eq!(
        parse_info(b"cubic rto:204 rtt:5").unwrap_err(),
        "`rtt` can't be `5`"
    );
    assert_eq!(
        parse_info(b"cubic rto:204 cwnd:ten").unwrap_err(),
        "`cwnd` can't be `ten`"
    );
    assert_eq!(
        parse_info(b"cubic rto:204 send 12").unwrap_err(),
        "`send` can't be `12`"
    );
    assert_eq!(
        parse_info(b"cubic rto:204 bbr:(bw:1bps").unwrap_err(),
        "it ends within parentheses"
    );
}

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
fn one(line: &str) -> (Columns, impl Fn(Field) -> f64) {
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
