//! The state with which another reader continues.

use fullpipe_ingest::fleet::ss::{Options, Reader};
use fullpipe_ingest::fleet::{Parse, Values, counters};

/// Returns the algorithms of the open connections.
fn algorithms(reader: &Reader) -> Vec<String> {
    let (_, open) = reader.open().remove(0);
    match open.get("cc") {
        Some(Values::Labels(codes, labels)) => codes
            .iter()
            .map(|code| labels.get(*code as usize).cloned().unwrap_or_default())
            .collect(),
        other => panic!("{other:?}"),
    }
}

/// Two damaged words have the same text; then the numbers of later words must not move when another
/// reader continues.
#[test]
fn damaged_words_leave_the_others_as_they_are() {
    let new = || Reader::new(Options::default());
    let mut reader = new();
    reader.begin_file(1_576_576_800_000_000);
    for (port, word) in [
        (1, &b"x\xff"[..]),
        (2, b"x\xfe"),
        (3, b"bbr"),
        (4, b"cubic"),
    ] {
        reader.feed(format!("ESTAB 0 0 10.0.0.1:443 192.0.2.1:{port}\n\t ").as_bytes());
        reader.feed(&[word, b" rtt:1/1 mss:1448 cwnd:10\n"].concat());
    }
    reader.end_file();
    reader.take();
    let before = algorithms(&reader);
    assert_eq!(before[2..], ["bbr", "cubic"]);
    let mut next = new();
    assert!(next.resume(&reader.state()));
    assert_eq!(algorithms(&next), before);
    assert_eq!(next.state(), reader.state());
}

/// Sixteen digits of a float in decimal are not always read back as the same float.
#[test]
fn counters_keep_all_bits() {
    for more in 0..200 {
        let mut reader = counters::Reader::new(false);
        reader.begin_file(1_576_576_800_000_000);
        let ticks = 790_681_483_458_117_633_u64 + 997 * more;
        reader.feed(format!("cpu {ticks} 0 0 120200 1\n").as_bytes());
        reader.end_file();
        let mut next = counters::Reader::new(false);
        assert!(next.resume(&reader.state()));
        assert_eq!(next.state(), reader.state());
    }
}
