//! Clocks that are set back.

use fullpipe_ingest::fleet::{Parse, Values, counters};

#[test]
fn no_interval_is_negative() {
    let mut reader = counters::Reader::new(false);
    reader.begin_file(0);
    let reading = |time: u32, count: u32| {
        format!("@{}\nTcpExtTCPTimeouts {count} 0.0\n", 1_576_576_000 + time)
    };
    for (time, count) in [(300, 1), (310, 2), (100, 3), (110, 7)] {
        reader.feed(reading(time, count).as_bytes());
    }
    reader.end_file();
    let (_, rows) = reader.take().remove(0);
    assert_eq!(
        rows.get("interval_s"),
        Some(&Values::Numbers(vec![10.0, 10.0]))
    );
    assert_eq!(rows.get("timeouts"), Some(&Values::Numbers(vec![1.0, 4.0])));
    assert!(reader.counts().contains(&("resets", 1)));
}
