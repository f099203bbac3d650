//! Assigns the later fragments of a datagram to flows: only the first fragment has ports.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_units::{Span, Time};

use crate::capture::segment::{Datagram, Flags, Segment};

/// Datagrams that may have further fragments.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    open: BTreeMap<Datagram, (Time, Segment)>,
    order: VecDeque<(Time, Datagram)>,
}

/// Time for which Linux keeps fragments (net.ipv4.ipfrag_time).
const PATIENCE: Span = Span::from_secs(30);
/// Most datagrams kept at a time; more are an attack rather than traffic.
const MOST: usize = 4096;

impl Fragments {
    /// Adds the first fragment of a datagram; `header` is the length of its TCP or UDP header.
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
        // Later fragments count from the beginning of the datagram's content, which is the header.
        let begin = Segment {
            sequence: segment.sequence.wrapping_sub(header),
            flags: Flags::default(),
            ..segment
        };
        self.open.insert(datagram, (at, begin));
        self.order.push_back((at, datagram));
    }

    /// Returns a later fragment as a segment; `None` if the first one was not seen.
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
