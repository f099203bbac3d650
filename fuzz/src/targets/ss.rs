//! Outputs of `ss`, of one or more readings: pieces of any size give the same rows, the state
//! continues them, and values are finite. A series has as many
//! samples.

use crate::host_text::{finite, read};
use fullpipe_ingest::fleet::Parse;
use fullpipe_ingest::fleet::address::Privacy;
use fullpipe_ingest::fleet::ss::{Options, Reader, Series};

pub(crate) fn check((cut, text): (u16, &[u8])) {
    let keyed = cut % 5 == 0;
    let privacy = if keyed {
        Privacy::Keyed([7; 16])
    } else {
        Privacy::Open
    };
    let found = read(text, cut.into(), || {
        Reader::new(Options {
            host: "host".into(),
            samples: true,
            privacy: privacy.clone(),
        })
    });
    finite(&found, &[]);
    let count = |name| {
        found
            .counts
            .iter()
            .find(|(counted, _)| *counted == name)
            .map(|(_, n)| *n)
    };
    let lines = text.split(|byte| *byte == b'\n').count() as u64;
    assert!(
        count("lines") <= Some(lines) && count("samples") <= count("lines"),
        "{found:?}"
    );
    assert!(found.bad.len() as u64 <= count("bad").unwrap_or_default());
    let mut series = Series::default();
    series.begin_file(0);
    series.feed(text);
    series.end_file();
    assert_eq!(Some(series.rows() as u64), count("samples"));
    if keyed {
        assert!(
            found.bad.iter().all(|bad| bad.text.is_empty()),
            "a quote may name an address"
        );
    }
}
