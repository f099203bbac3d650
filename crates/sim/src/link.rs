//! A link of the network with what is measured on it.

use path::{Link, Verdict};
use trace::{LinkMeter, LinkRow, Window};
use units::{Bytes, Span, Time};

/// A link, its meter, and the propagation delay behind it.
#[derive(Debug)]
pub(crate) struct NetworkLink {
    pub(crate) name: String,
    link: Link,
    pub(crate) meter: LinkMeter,
    pub(crate) propagation: Span,
    last_wait: Span,
    total_drops: u64,
}

impl NetworkLink {
    pub(crate) fn new(name: &str, link: Link, propagation: Span, window: Window) -> NetworkLink {
        NetworkLink {
            name: name.to_owned(),
            link,
            meter: LinkMeter::new(window),
            propagation,
            last_wait: Span::ZERO,
            total_drops: 0,
        }
    }

    /// A packet arrives: (how long it waits, when it is at the far end), or nothing when it is dropped. What is not data
    /// takes its time and its place, but no part in the counts.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Time, size: Bytes, data: bool) -> Option<(Span, Time)> {
        match self.link.arrive(now, size) {
            Verdict::Departs { start, end } => {
                let waited = start - now;
                self.last_wait = waited;
                self.meter.on_transmission(waited, start, end, data);
                Some((waited, end + self.propagation))
            }
            Verdict::Dropped => {
                if data {
                    self.meter.on_drop(now);
                    self.total_drops += 1;
                }
                None
            }
            Verdict::Policed => {
                if data {
                    self.meter.on_policed(now);
                    self.total_drops += 1;
                }
                None
            }
        }
    }

    /// Its row in the trace.
    pub(crate) fn observe(&mut self, now: Time, index: u32) -> LinkRow {
        let (queue_packets, queue_bytes) = self.link.backlog(now);
        let sojourn = if queue_packets == 0 { Span::ZERO } else { self.last_wait };
        LinkRow { time: now, link: index, queue_packets, queue_bytes, sojourn, drops: self.total_drops, marks: 0 }
    }
}
