//! Lines of `ss` as real hosts print them, and the values that they contain.

use fullpipe_ingest::fleet::ss::{Field, Field::*, Sample, parse_info};

use super::listings::one;

/// From the Dropbox article on BBRv2 (2019): kernel 5.3, `ss -tie`.
pub(super) const DROPBOX: &str = "ts sack bbr rto:220 rtt:16.139/10.041 ato:40 mss:1448 pmtu:1500 rcvmss:1269 advmss:1428 cwnd:106 ssthresh:52 bytes_sent:9070462 bytes_retrans:3375 bytes_acked:9067087 bytes_received:5775 segs_out:6327 segs_in:551 data_segs_out:6315 data_segs_in:12 bbr:(bw:99.5Mbps,mrtt:1.912,pacing_gain:1,cwnd_gain:2) send 76.1Mbps lastsnd:9896 lastrcv:10944 lastack:9864 pacing_rate 98.5Mbps delivery_rate 27.9Mbps delivered:6316 busy:3020ms rwnd_limited:2072ms(68.6%) retrans:0/5 dsack_dups:5 rcv_rtt:16.125 rcv_space:14400 rcv_ssthresh:65535 minrtt:1.907";

/// Debian 12, kernel 6.18, iproute2 6.1.0, `ss -neitO`.
pub(super) const DEBIAN: &str = "ESTAB 0      0          127.0.0.1:46056    127.0.0.1:38373 ino:60753 sk:1003 cgroup:/ <-> ts sack bbr wscale:10,10 rto:204 rtt:0.095/0.057 mss:65483 pmtu:65535 rcvmss:536 advmss:65483 cwnd:18 ssthresh:8 bytes_sent:2152136704 bytes_acked:2152136705 segs_out:34885 segs_in:10330 data_segs_out:34883 bbr:(bw:104772793752bps,mrtt:0.003,pacing_gain:1,cwnd_gain:2) send 99258442105bps lastsnd:16 lastrcv:820 lastack:16 pacing_rate 103725065816bps delivery_rate 104772800000bps delivered:34884 busy:792ms rwnd_limited:352ms(44.4%) reordering:6 rcv_space:65495 rcv_ssthresh:65495 minrtt:0.003 snd_wnd:5444608";

/// From a public measurement (130e/dash_meas_aio): a state filter, an IPv6-mapped address, a timer,
/// gains of STARTUP.
pub(super) const MAPPED: &str = "0      398200 [::ffff:140.82.23.101]:5202 [::ffff:137.25.146.88]:56512 timer:(on,078ms,0) ts sack bbr wscale:6,10 rto:237 rtt:36.788/3.994 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:44 bytes_sent:128872 bytes_acked:66608 bytes_received:37 segs_out:90 segs_in:12 data_segs_out:89 data_segs_in:1 bbr:(bw:4762104bps,mrtt:30.236,pacing_gain:2.88672,cwnd_gain:2.88672) send 13854953bps lastsnd:2 lastrcv:132 lastack:3 pacing_rate 13609384bps delivery_rate 4762720bps delivered:47 busy:132ms unacked:43 rcv_space:14600 rcv_ssthresh:42230 notsent:335936 minrtt:30.236 snd_wnd:128192";

/// From the same source, in recovery.
pub(super) const RECOVERY: &str = "bytes_sent:3162469 bytes_retrans:1116408 bytes_acked:1516094 segs_out:2187 bbr:(bw:6468224bps,mrtt:145.2,pacing_gain:1,cwnd_gain:2) send 9866575bps lastrcv:4344 lastack:8 pacing_rate 6403544bps delivery_rate 4123200bps delivered:1293 busy:4040ms rwnd_limited:96ms(2.4%) unacked:366 retrans:56/771 lost:56 sacked:244 notsent:1552256 minrtt:145.2";

/// Debian 12, `ss -tiO`: scaled rates.
pub(super) const CUBIC: &str = "ESTAB 0      0          127.0.0.1:35538    127.0.0.1:54037 cubic wscale:10,10 rto:204 rtt:0.012/0.002 mss:65483 pmtu:65535 rcvmss:536 advmss:65483 cwnd:45 bytes_sent:3248095179 bytes_retrans:65483 bytes_acked:3248029697 segs_out:52616 segs_in:26052 data_segs_out:52614 send 1.96Tbps lastsnd:8 lastrcv:512 lastack:8 pacing_rate 3.77Tbps delivery_rate 30.8Gbps delivered:52615 busy:504ms rwnd_limited:504ms(100.0%) retrans:0/1 dsack_dups:1 reordering:6 rcv_space:65495 rcv_ssthresh:65495 minrtt:0.004 snd_wnd:1232896";

/// From a kernel of the 4 series, without a group.
pub(super) const OLD: &str = "rto:204 rtt:0.024/0.008 mss:1448 cwnd:5882 ssthresh:5882 bytes_acked:3608119590 segs_out:2534538 segs_in:53303 data_segs_out:2534536 send 17034.3Mbps lastsnd:12 lastrcv:4408 lastack:12 unacked:5917 retrans:0/24285 rcv_space:29200 notsent:2422312 minrtt:0.005";

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

/// A line in the order of `ss` is read faster than others, which must not change a value or an error.
#[test]
fn neither_the_order_of_keys_nor_tabs_change_a_value() {
    let odd = [
        "cubic rto:204 cwnd:12x",
        "cubic rto:204 cwnd:",
        "cubic rto:204.5.1 rtt:1/2",
        "cubic mss:9223372036854775808 cwnd:1",
        "cubic mss:1448 cwnd:1234567890123456",
        "cubic delivered_ce:5 lost:1(2) lastsnd:.",
        "reno cwnd:10 cubic ssthresh:7",
    ];
    for line in [DROPBOX, RECOVERY, OLD].into_iter().chain(odd) {
        let known = |line: &str| parse_info(line.as_bytes()).map(|sample| format!("{sample:?}"));
        assert_eq!(known(line), known(&line.replace(' ', "\t")), "{line}");
    }
    for line in [DROPBOX, RECOVERY, OLD] {
        // Keys with their values in reverse; words without a key stay in front.
        let (mut words, mut keys) = (Vec::new(), Vec::new());
        for word in line.split(' ') {
            if word.contains(':') {
                keys.push(word)
            } else {
                words.push(word)
            }
        }
        let joined = |keys: &[&str]| parse_info([&words[..], keys].concat().join(" ").as_bytes());
        let (ordered, reversed) = (
            joined(&keys),
            joined(&keys.iter().rev().copied().collect::<Vec<_>>()),
        );
        assert_eq!(format!("{ordered:?}"), format!("{reversed:?}"), "{line}");
    }
}
