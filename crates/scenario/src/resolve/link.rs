//! Resolving `[path]`, and the keys of every link.

use std::collections::BTreeSet;

use fullpipe_path::{Config, Limit, RatePattern};
use fullpipe_units::{Bytes, Rate, Span};

use super::optional;
use crate::buffer::{Buffer, LinkBuffer, WITHOUT_LIMIT};
use crate::error::Error;
use crate::impairment::meant;
use crate::model::{BOTTLENECK, Written};
use crate::path_keys::{Change, Link, Path};
use crate::queue;
use crate::raw;
use crate::raw_value::RawValue;
use crate::source::{Source, join};
use crate::values::Delay;

/// Largest buffer; a larger one is probably a mistake.
const LARGEST_BUFFER: Bytes = Bytes::new(1_000_000_000_000_000);

pub(super) fn path(raw: &raw::Path, packet: Bytes, source: &Source) -> Result<Path, Error> {
    let Delay(rtt) = raw.rtt.get(source, "path.rtt")?;
    let link = link(&raw.link, "path", (rtt, packet), source)?;
    let path = Path {
        loopback: optional(&raw.kind, source, "path.kind")?.is_some(),
        changes: changes(&raw.change, &link, (rtt, packet), source)?,
        link,
        rtt,
        ..raw.keys.read("path", source)?
    };
    check_radio(&path, raw, source)?;
    let traced = path.delay_trace.is_some() && path.reverse_delay_trace.is_some();
    for Change {
        rate,
        rtt,
        limit,
        table: Written(i),
        ..
    } in &path.changes
    {
        if rate.is_some() && path.link.rate_pattern.is_some() {
            let shown = raw.change[*i]
                .rate
                .as_ref()
                .map_or_else(String::new, RawValue::show);
            let problem = "path.rate_pattern already determines the rate";
            let fix =
                "keep one of the two, or use a pattern like \"schedule 0s 20mbit, 5s 50mbit\"";
            return Err(source.error(&format!("path.change.{i}.rate"), shown, problem, fix));
        }
        if rtt.is_some() && traced {
            let leaf = raw.change[*i].rtt.as_ref();
            let shown = leaf.map_or_else(String::new, RawValue::show);
            let problem =
                "path.delay_trace and path.reverse_delay_trace already determine the delays";
            let fix = "remove this change, or one of the two traces";
            return Err(source.error(&format!("path.change.{i}.rtt"), shown, problem, fix));
        }
        if let Some(limit) = limit {
            check_buffer(
                *limit,
                raw.change[*i].buffer.as_ref(),
                (&format!("path.change.{i}.buffer"), packet),
                source,
            )?;
        }
    }
    Ok(path)
}

/// Refuses a radio with a trace, which already determines when packets leave.
fn check_radio(path: &Path, raw: &raw::Path, source: &Source) -> Result<(), Error> {
    if !matches!(path.link.rate_pattern, Some(RatePattern::Mahimahi(..))) {
        return Ok(());
    }
    let is_there =
        |change: &Change| change.wifi.flatten().is_some() || change.suspend.flatten().is_some();
    let given = match path.changes.iter().find(|change| is_there(change)) {
        _ if path.wifi.is_some() => ("path.wifi".to_owned(), raw.keys.wifi.show()),
        _ if path.suspend.is_some() => ("path.suspend".to_owned(), raw.keys.suspend.show()),
        Some(Change {
            table: Written(i), ..
        }) => (format!("path.change.{i}"), String::new()),
        None => return Ok(()),
    };
    let problem = "the trace of path.rate_pattern already determines when packets leave";
    Err(source.error(&given.0, given.1, problem, "keep one of the two"))
}

/// Reads a link's rate; a pattern, or the file of one, has another key.
fn written_rate(raw: &raw::Link, source: &Source, key: &str) -> Result<Option<Rate>, Error> {
    let read = optional(&raw.rate, source, key);
    let (Err(_), Some(written)) = (&read, &raw.rate) else {
        return read;
    };
    let patterns = meant("rate_pattern", &written.text());
    if patterns.is_empty() {
        return read;
    }
    let fix = format!("write rate_pattern = \"{}\"", patterns.join("\" or \""));
    Err(source.error(key, written.show(), "not a rate", fix))
}

/// Reads the link of the table `at`, named as the bottleneck. A BDP is that of `rtt`; the buffer is
/// counted in packets of size `packet`.
pub(crate) fn link(
    raw: &raw::Link,
    at: &str,
    (rtt, packet): (Span, Bytes),
    source: &Source,
) -> Result<Link, Error> {
    let key = |name: &str| format!("{at}.{name}");
    let keys = raw.keys.read(at, source)?;
    let rate_pattern = optional(&raw.rate_pattern, source, &key("rate_pattern"))?;
    let rate = match (written_rate(raw, source, &key("rate"))?, &rate_pattern) {
        (Some(rate), _) => rate,
        (None, Some(pattern)) => pattern.mean(),
        (None, None) => {
            return Err(source.error(&key("rate"), "", "missing", "add rate = \"100mbit\""));
        }
    };
    let mut link = Link {
        name: BOTTLENECK.to_owned(),
        rate,
        rate_pattern,
        buffer: buffer(raw, &keys.queue, &key("buffer"), source)?,
        ..keys
    };
    link.limit = link.limit_of(link.buffer, rtt, packet);
    check_buffer(
        link.limit,
        raw.buffer.as_ref(),
        (&key("buffer"), packet),
        source,
    )?;
    check_queue(&link, packet, &key("queue"), source)?;
    Ok(link)
}

/// Reads the buffer; if it is missing or `default`, returns the default limit of the queue in tc.
fn buffer(raw: &raw::Link, queue: &Config, key: &str, source: &Source) -> Result<Buffer, Error> {
    let descriptor = queue.descriptor();
    match (optional(&raw.buffer, source, key)?, descriptor.limit) {
        (Some(LinkBuffer(Some(buffer))), _) => Ok(buffer),
        (_, Some(packets)) => Ok(Buffer::Packets(packets)),
        (Some(LinkBuffer(None)), None) => Ok(WITHOUT_LIMIT),
        (None, None) => {
            let problem = format!("missing: {} has no default limit", descriptor.name);
            Err(source.error(key, "", problem, "add buffer = \"8bdp\""))
        }
    }
}

/// Refuses options of the queue that contradict each other or the buffer.
fn check_queue(link: &Link, packet: Bytes, key: &str, source: &Source) -> Result<(), Error> {
    (link.queue.descriptor().check)(&link.queue, link.limit.bytes(packet)).map_err(|refused| {
        let shown = queue::shown(&link.queue, refused.name);
        source.error(
            &join(key, refused.name),
            shown,
            refused.problem,
            refused.fix,
        )
    })
}

fn check_buffer<T>(
    limit: Limit,
    leaf: Option<&RawValue<T>>,
    (key, packet): (&str, Bytes),
    source: &Source,
) -> Result<(), Error> {
    let shown = || leaf.map_or(String::new(), RawValue::show);
    let refuse = |problem: String, fix: &str| Err(source.error(key, shown(), problem, fix));
    if limit.bytes(packet) < packet {
        let one = format!("less than one packet of {} bytes", packet.get());
        let holds = match limit {
            Limit::Packets(_) => one,
            Limit::Bytes(bytes) => format!("{bytes}, {one}"),
        };
        let fix = if shown().contains("bdp") || shown().contains("default") {
            "a BDP is rate x RTT: give a larger rate or rtt, or a buffer like \"100packets\""
        } else {
            "give a larger buffer, like \"100packets\""
        };
        return refuse(format!("this buffer holds {holds}"), fix);
    }
    if limit.bytes(packet) > LARGEST_BUFFER {
        return refuse(
            format!("this buffer holds more than {LARGEST_BUFFER}"),
            "give a smaller buffer, like \"8bdp\"",
        );
    }
    Ok(())
}

/// Reads the changes of a path that starts with `rtt`, in order of time.
fn changes(
    raw: &[raw::Change],
    link: &Link,
    (rtt, packet): (Span, Bytes),
    source: &Source,
) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::with_capacity(raw.len());
    // The (key, time) of the changes read so far.
    let mut known = BTreeSet::new();
    for (i, raw) in raw.iter().enumerate() {
        let key = |name: &str| format!("path.change.{i}.{name}");
        let buffer = optional(&raw.buffer, source, &key("buffer"))?;
        let change = Change {
            at: raw.at.get(source, &key("at"))?,
            rate: optional(&raw.rate, source, &key("rate"))?,
            rtt: optional(&raw.rtt, source, &key("rtt"))?.map(|Delay(rtt)| rtt),
            buffer,
            limit: buffer.map(|buffer| link.limit_of(buffer, rtt, packet)),
            table: Written(i),
            ..raw.keys.read(&format!("path.change.{i}"), source)?
        };
        let given = raw.given();
        if given.is_empty() {
            let fix = "add the keys that change, like rate = \"50mbit\"";
            return Err(source.error(&format!("path.change.{i}"), "", "this changes nothing", fix));
        }
        for (name, value) in given {
            if !known.insert((name, change.at)) {
                let problem = format!("another table changes path.{name} at {}, too", change.at);
                return Err(source.error(&key(name), value, problem, "keep one of the two"));
            }
        }
        changes.push(change);
    }
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

impl Link {
    /// Returns the capacity of `buffer` in packets or bytes, as the queue counts. A BDP is that of
    /// the start of the run, on a path of `rtt`, in packets of size `packet`.
    fn limit_of(&self, buffer: Buffer, rtt: Span, packet: Bytes) -> Limit {
        if self.queue.descriptor().in_bytes {
            buffer.limit_in_bytes(self.sustained(), rtt, packet)
        } else {
            buffer.limit(self.sustained(), rtt, packet)
        }
    }
}
