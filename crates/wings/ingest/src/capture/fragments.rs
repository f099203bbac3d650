//! Assigns the later fragments of a datagram to flows: only the first fragment has ports.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_units::{Span, Time};

use crate::capture::segment::{Datagram, Dissected, Flags, Segment};

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

/// The segment of a packet, or the reason why it has none.
pub(crate) enum Found<'a> {
    /// A segment, and its bytes from the TCP or UDP header on; `None` for a later fragment, which
    /// has no header.
    Segment(Segment, Option<&'a [u8]>),
    /// A later fragment whose first one was not seen.
    Orphan,
    /// Not IP, or not one of the requested protocols.
    Other,
    /// Too little was captured, or a header is invalid.
    Unreadable,
}

impl Fragments {
    /// Returns the segment of a packet, also of a later fragment.
    #[inline]
    pub(crate) fn segment<'a>(&mut self, packet: Dissected<'a>, at: Time) -> Found<'a> {
        match packet {
            Dissected::Whole(segment, bytes) => Found::Segment(segment, Some(bytes)),
            Dissected::First(segment, datagram, header, bytes) => {
                self.first(datagram, segment, header, at);
                Found::Segment(segment, Some(bytes))
            }
            Dissected::Later(datagram, length, offset) => self
                .later(datagram, length, offset, at)
                .map_or(Found::Orphan, |segment| Found::Segment(segment, None)),
            Dissected::Other => Found::Other,
            Dissected::Unreadable => Found::Unreadable,
        }
    }

    /// Adds the first fragment of a datagram; `header` is the length of its TCP or UDP header.
    fn first(&mut self, datagram: Datagram, segment: Segment, header: u32, at: Time) {
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
    fn later(&self, datagram: Datagram, bytes: u32, offset: u32, at: Time) -> Option<Segment> {
        let (since, begin) = self.open.get(&datagram)?;
        (at.since(*since) <= PATIENCE).then(|| Segment {
            sequence: begin.sequence.wrapping_add(offset),
            payload: bytes,
            ..*begin
        })
    }
}
