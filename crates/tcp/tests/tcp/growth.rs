//! The ACKs that raise a loss-based window: RFC 5681 §3.1 and §3.2, and Linux's
//! `tcp_may_raise_cwnd`.

use fullpipe_cc::{Config, ParamValue, RecoveryOwner, Registry, Shared};

use crate::script::{Bench, Setup, Test, segments, transfer};

/// A connection of ten segments with this algorithm, in slow start.
fn open(name: &str, params: &[(&str, &str)]) -> Bench {
    let registry = Registry::default();
    let descriptor = registry.get(name).expect("built in");
    let given = params
        .iter()
        .map(|(key, word)| ((*key).to_owned(), ParamValue::Word((*word).to_owned())))
        .collect();
    let config = Config::new(descriptor, &given, segments(1), segments(10)).expect("declared");
    Bench::open(Setup {
        controller: Test::around((descriptor.build)(&config, &mut Shared::default())),
        owner: RecoveryOwner::Prr,
        ..Setup::fixed(10, transfer(10))
    })
}

const RFC: [(&str, &[(&str, &str)]); 3] = [
    ("newreno", &[]),
    ("cubic", &[]),
    ("dctcp", &[("slow_start", "classic")]),
];
const LINUX: (&str, &[(&str, &str)]) =
    ("cubic", &[("profile", "linux"), ("slow_start", "hystart")]);

/// RFC 5681 §3.2: a duplicate ACK leaves cwnd unchanged. The data that it SACKs counts when SND.UNA
/// advances over it, here by at most the two segments of classic slow start (RFC 3465 §2.2).
#[test]
fn a_duplicate_ack_raises_no_window() {
    for (name, params) in RFC {
        let mut bench = open(name, params);
        bench.play("0 > 0-9\n100 < ack 0 sack 1\n101 < ack 0 sack 1-2");
        assert_eq!(bench.sender.cwnd(), segments(10), "{name}");
        bench.play("102 < ack 3");
        let counted = if name == "cubic" { 3 } else { 2 };
        assert_eq!(bench.sender.cwnd(), segments(10 + counted), "{name}");
        assert!(!bench.sender.conn().reordering_seen, "late by three");
    }
}

/// Linux: an ACK that advances SND.UNA counts all newly acknowledged data, SACKed or not.
#[test]
fn linux_counts_newly_acknowledged_data() {
    let mut bench = open(LINUX.0, LINUX.1);
    bench.play("0 > 0-9\n100 < ack 1 sack 2");
    assert_eq!(bench.sender.cwnd(), segments(12), "segments 0 and 2");
    bench.play("101 < ack 1 sack 2-3");
    assert_eq!(bench.sender.cwnd(), segments(12), "SND.UNA stays");
    bench.play("102 < ack 4");
    assert_eq!(bench.sender.cwnd(), segments(13), "segment 1");
}

/// Linux: once a segment was late by more than three, every delivery counts.
#[test]
fn linux_counts_every_delivery_after_reordering() {
    let mut bench = open(LINUX.0, LINUX.1);
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-2
         101 < ack 4 sack 5      // segment 0 arrived after segment 5
         102 < ack 4 sack 5-6",
    );
    assert!(bench.sender.conn().reordering_seen);
    assert_eq!(bench.sender.cwnd(), segments(14), "segments 0, 3, 5 and 6");
}
