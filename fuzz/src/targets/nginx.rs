//! Logs of nginx in any format, as text or JSON: pieces of any size give the same rows, and times
//! are present.

use crate::host_text::{finite, read};
use fullpipe_ingest::fleet::Values;
use fullpipe_ingest::fleet::address::Privacy;
use fullpipe_ingest::fleet::nginx::{Format, Options, Reader};

const FORMATS: [&str; 4] = [
    "combined",
    "json",
    r#"log_format it escape=json '{"msec":"$msec","client":"$remote_addr","rtt":"$tcpinfo_rtt","kept":"$uri","up":"$upstream_response_time"}';"#,
    "$msec $remote_addr $status $bytes_sent $request_time $tcpinfo_rtt $connection \"$request\" $hostname $country",
];

pub(crate) fn check((kind, cut, text): (u8, u16, &[u8])) {
    let (format, text) = match FORMATS.get(usize::from(kind % 8)) {
        Some(format) => (*format, text),
        // The format is the first line.
        None => {
            let end = text
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(text.len());
            let (format, log) = text.split_at(end);
            (std::str::from_utf8(format).unwrap_or_default(), log)
        }
    };
    let format = match Format::parse(format) {
        Ok(format) => format,
        Err(error) => return assert!(!error.problem.is_empty() && !error.fix.is_empty()),
    };
    let found = read(text, cut.into(), || {
        Reader::new(Options {
            format: format.clone(),
            keep: vec!["uri".into(), "kept".into()],
            privacy: Privacy::Open,
        })
    });
    finite(&found, &[]);
    if let Some(Values::Times(times)) = found.tables[0].1.get("time") {
        assert!(times.iter().all(|time| *time != i64::MIN));
    }
    if let Some(Values::Texts(kept)) = found.tables[0].1.get("kept") {
        let object =
            |text: &String| text.is_empty() || text.starts_with('{') && text.ends_with('}');
        assert!(kept.iter().all(object));
    }
}
