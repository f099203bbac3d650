//! Counters of a host (`/proc/net/snmp`, `netstat -s`, `nstat`, `/proc/stat`), and histograms of
//! bpftrace.

use crate::host_text::{finite, read};
use fullpipe_ingest::fleet::Values;
use fullpipe_ingest::fleet::{counters, histogram};

pub(crate) fn check((cut, text): (u16, &[u8])) {
    let found = read(text, cut.into(), || counters::Reader::new(false));
    finite(&found, &[]);
    for column in &found.tables[0].1.columns {
        // Neither a counter's increase nor the time between two readings is negative.
        if let Values::Numbers(values) = &column.values {
            assert!(
                values.iter().all(|value| value.is_nan() || *value >= 0.0),
                "{column:?}"
            );
        }
    }
    let found = read(text, cut.into(), || histogram::Reader::new(false));
    // The first bucket has no lower bound.
    finite(&found, &["low"]);
}
