//! A link of the network with what is measured on it.

use path::{Link, VaryingLink, Verdict};
use trace::{LinkMeter, LinkRow, Window};
use units::{Bytes, Span, Time};

/// What a packet meets at a link.
#[derive(Debug)]
pub(crate) enum Element {
    Constant(Link),
    Varying(Box<VaryingLink>),
}

/// A link, its meter, and the propagation delay behind it.
#[derive(Debug)]
pub(crate) struct NetworkLink {
    pub(crate) name: String,
    element: Element,
    pub(crate) meter: LinkMeter,
    pub(crate) propagation: Span,
    last_wait: Span,
    total_drops: u64,
}

impl NetworkLink {
    pub(crate) fn new(name: &str, element: Element, propagation: Span, window: Window) -> NetworkLink {
        NetworkLink {
            name: name.to_owned(),
            element,
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
        match &mut self.element {
            Element::Constant(link) => {
                let verdict = link.arrive(now, size);
                self.conclude(now, verdict, data)
            }
            Element::Varying(_) => self.arrive_varying(now, size, data),
        }
    }

    /// Apart from the usual case, which it must not slow down.
    #[inline(never)]
    fn arrive_varying(&mut self, now: Time, size: Bytes, data: bool) -> Option<(Span, Time)> {
        let Element::Varying(link) = &mut self.element else { unreachable!("called for a varying link alone") };
        let verdict = link.arrive(now, size);
        self.conclude(now, verdict, data)
    }

    #[inline(always)] // both callers are worth it: a verdict that goes through memory costs them a percent of a run
    fn conclude(&mut self, now: Time, verdict: Verdict, data: bool) -> Option<(Span, Time)> {
        match verdict {
            Verdict::Departs { start, end } => {
                let waited = start - now;
                self.last_wait = waited;
                self.meter.on_transmission(waited, start, end, data);
                Some((waited, end + self.propagation))
            }
            lost => {
                if data {
                    self.count_drop(now, lost == Verdict::Policed);
                }
                None
            }
        }
    }

    #[cold]
    fn count_drop(&mut self, now: Time, policed: bool) {
        self.total_drops += 1;
        match policed {
            true => self.meter.on_policed(now),
            false => self.meter.on_drop(now),
        }
    }

    /// Its row in the trace.
    pub(crate) fn observe(&mut self, now: Time, index: u32) -> LinkRow {
        let (queue_packets, queue_bytes) = match &mut self.element {
            Element::Constant(link) => link.backlog(now),
            Element::Varying(link) => link.backlog(now),
        };
        let sojourn = if queue_packets == 0 { Span::ZERO } else { self.last_wait };
        LinkRow { time: now, link: index, queue_packets, queue_bytes, sojourn, drops: self.total_drops, marks: 0 }
    }
}
