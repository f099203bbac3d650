//! Which flow the later fragments of a datagram belong to: only the first one has ports.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_units::{Span, Time};

use crate::capture::segment::{Datagram, Flags, Segment};

/// Datagrams of which more fragments may come.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    open: BTreeMap<Datagram, (Time, Segment)>,
    order: VecDeque<(Time, Datagram)>,
}

/// Linux keeps fragments that long (net.ipv4.ipfrag_time).
const PATIENCE: Span = Span::from_secs(30);
/// More than that at a time is no traffic but an attack.
const MOST: usize = 4096;

impl Fragments {
    /// The first fragment of a datagram, whose header of TCP or UDP is so long.
    pub(crate) fn first(&mut self, datagram: Datagram, segment: Segment, header: u32, at: Time) {
        while self.order.len() >= MOST
            || self
                .order
                .front()
                .is_some_and(|oldest| at.since(oldest.0) > PATIENCE)
        {
            let Some((since, datagram)) = self.order.pop_front() else {
                break;
            };
            if self.open.get(&datagram).is_some_and(|open| open.0 == since) {
                self.open.remove(&datagram);
            }
        }
        // Later fragments count from the datagram's begin, which is that of the header.
        let begin = Segment {
            sequence: segment.sequence.wrapping_sub(header),
            flags: Flags::default(),
            ..segment
        };
        self.open.insert(datagram, (at, begin));
        self.order.push_back((at, datagram));
    }

    /// A later one, as the segment that it would be; `None` if its first was not seen.
    pub(crate) fn later(
        &self,
        datagram: Datagram,
        bytes: u32,
        offset: u32,
        at: Time,
    ) -> Option<Segment> {
        let (since, begin) = self.open.get(&datagram)?;
        (at.since(*since) <= PATIENCE).then(|| Segment {
            sequence: begin.sequence.wrapping_add(offset),
            payload: bytes,
            ..*begin
        })
    }
}
