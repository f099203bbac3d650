//! One flow while it is open, with the data that each end has sent.

use fullpipe_units::{Span, Time};
use smallvec::SmallVec;

use crate::capture::segment::{Key, Protocol, Segment};

/// Both directions of a connection, or of an exchange of datagrams.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) key: Key,
    pub(crate) first: Time,
    pub(crate) last: Time,
    /// Time of the first SYN.
    pub(crate) syn: Option<Time>,
    /// Data sent by each end of the key.
    pub(crate) sides: [Side; 2],
    /// Index of the end that began the flow, as far as is known.
    client: usize,
    pub(crate) begin: Begin,
    reset: bool,
}

/// Beginning of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// With a SYN.
    Syn,
    /// Early in the capture, so the flow may be older than the capture.
    Capture,
    /// Later, without a SYN: after a pause that ended the previous flow, or because the capture
    /// lost the SYN. Datagrams have no SYN.
    Middle,
}

/// End of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Fin,
    Rst,
    /// A SYN began another flow between the same ports.
    Syn,
    Idle,
    /// The flow may continue after the capture.
    Capture,
}

/// Data sent by one end.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) packets: u64,
    /// Sum of the packets' payload, by IP lengths: retransmissions count again, and packets that
    /// were not captured do not count.
    pub(crate) payload: u64,
    /// Length of the sequence so far: each byte counts once, captured or not.
    edge: u64,
    /// Sequence number of the first byte.
    base: Option<u32>,
    /// Sequence number of the SYN.
    initial: Option<u32>,
    fin: bool,
    /// Length of the sequence according to packets without payload, and the time at which one first
    /// said so.
    told: Option<(u64, Time)>,
    last_payload: Option<Time>,
    pub(crate) chunks: SmallVec<[Chunk; 1]>,
}

/// Data sent without a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) at: Time,
    /// Time of the last payload, new or retransmitted.
    pub(crate) last: Time,
    pub(crate) bytes: u64,
}

/// Largest distance of a sequence number. By RFC 7323 §2.3 no window is larger, so a number farther
/// away belongs to another sequence.
const FARTHEST: i64 = 1 << 30;

/// Time for which a closed flow stays open for late packets: twice as long as a segment lives in
/// practice.
pub(crate) const LINGER: Span = Span::from_secs(10);

/// Observation about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noticed {
    Nothing,
    /// Its sequence number does not belong to the flow's sequence.
    Stray,
}

impl Flow {
    pub(crate) fn new(segment: &Segment, at: Time, may_be_older: bool) -> Flow {
        let flags = segment.flags;
        let begin = match flags.syn() {
            true => Begin::Syn,
            false if may_be_older => Begin::Capture,
            false => Begin::Middle,
        };
        // The end that answers a SYN did not open the connection. Without a SYN, the well-known
        // port is the server's.
        let answers = (flags.syn() && flags.ack()) || (!flags.syn() && is_server(segment));
        let client = if answers {
            1 - segment.sender
        } else {
            segment.sender
        };
        Flow {
            key: segment.key,
            first: at,
            last: at,
            syn: None,
            sides: Default::default(),
            client,
            begin,
            reset: false,
        }
    }

    /// Returns the index of the end that began the flow.
    pub(crate) fn client(&self) -> usize {
        self.client
    }

    /// Returns the end of this flow if `segment` no longer belongs to it.
    #[inline]
    pub(crate) fn ends_before(&self, segment: &Segment, at: Time, idle: Span) -> Option<End> {
        let silent = at.since(self.last);
        if silent > idle {
            return Some(self.closed().unwrap_or(End::Idle));
        }
        if silent > LINGER && self.closed().is_some() {
            return self.closed();
        }
        if !segment.flags.syn() {
            return None;
        }
        let own = &self.sides[segment.sender];
        let carried = self.sides.iter().any(|side| side.payload > 0);
        let another = own.initial != Some(segment.sequence);
        let new = if segment.flags.ack() {
            // A server that keeps no state may answer each SYN with a different number.
            another
                && own.packets > 0
                && (carried || own.initial.is_none() || self.closed().is_some())
        } else {
            // The SYN-ACK may have been captured before the SYN.
            self.closed().is_some() || (another && (own.packets > 0 || carried))
        };
        new.then(|| self.closed().unwrap_or(End::Syn))
    }

    /// Adds a segment; `closed` tells afterwards whether it closed the flow.
    #[inline]
    pub(crate) fn add(&mut self, segment: &Segment, at: Time, pause: Span) -> Noticed {
        self.last = self.last.max(at);
        let flags = segment.flags;
        if flags.syn() && !flags.ack() && self.syn.is_none() {
            self.syn = Some(at);
            self.begin = Begin::Syn;
            self.client = segment.sender;
        }
        self.reset |= flags.rst();
        let side = &mut self.sides[segment.sender];
        side.packets += 1;
        side.payload += u64::from(segment.payload);
        if segment.key.protocol == Protocol::Udp {
            if segment.payload > 0 {
                side.carry(u64::from(segment.payload), true, at, pause);
            }
            return Noticed::Nothing;
        }
        side.fin |= flags.fin();
        // A reset's sequence number often lies outside the sequence.
        if flags.rst() {
            Noticed::Nothing
        } else {
            side.follow(segment, at, pause)
        }
    }

    /// Returns the end of the flow if both ends have sent a FIN, or one has sent a reset.
    #[inline]
    pub(crate) fn closed(&self) -> Option<End> {
        match self.reset {
            true => Some(End::Rst),
            false => (self.sides[0].fin && self.sides[1].fin).then_some(End::Fin),
        }
    }
}

impl Side {
    /// Returns the number of bytes sent, each counted once; datagrams have no sequence numbers, so
    /// all of theirs count.
    pub(crate) fn bytes(&self) -> u64 {
        self.edge
    }

    #[inline]
    fn follow(&mut self, segment: &Segment, at: Time, pause: Span) -> Noticed {
        let payload = i64::from(segment.payload);
        let mut sequence = segment.sequence;
        if segment.flags.syn() {
            if self.initial != Some(sequence) && self.edge == 0 {
                self.initial = Some(sequence);
                self.base = Some(sequence.wrapping_add(1));
            }
            sequence = sequence.wrapping_add(1);
        }
        let base = match self.base {
            Some(base) => base,
            // Without a SYN, the sequence counts from the first payload.
            None if payload > 0 => *self.base.insert(sequence),
            None => return Noticed::Nothing,
        };
        let edge_number = base.wrapping_add(self.edge as u32);
        // Positive if ahead of the edge; sequence numbers wrap around.
        let beyond = i64::from(sequence.wrapping_sub(edge_number) as i32);
        if beyond.abs() > FARTHEST {
            return if payload > 0 {
                Noticed::Stray
            } else {
                Noticed::Nothing
            };
        }
        let start = self.edge as i64 + beyond;
        let end = start + payload;
        if payload == 0 && !segment.flags.fin() {
            // The number may include the FIN, which may still arrive and takes one sequence number.
            if beyond > 0 && self.told.is_none_or(|told| told.0 < end as u64) {
                self.told = Some((end as u64, at));
            }
            return Noticed::Nothing;
        }
        let mut fresh = (end - self.edge as i64).max(0) as u64;
        if start < 0 && payload > 0 && self.initial.is_none() {
            // Sent before the first captured payload, but captured after it.
            self.base = Some(sequence);
            fresh += start.unsigned_abs();
            self.told = self
                .told
                .map(|(told, at)| (told + start.unsigned_abs(), at));
        }
        if payload > 0 || fresh > 0 {
            self.carry(fresh, payload > 0, at, pause);
        }
        Noticed::Nothing
    }

    /// Ends the side. Data known only from a later sequence number was also sent, except for the
    /// last number, which is the FIN's.
    pub(crate) fn end(&mut self, pause: Span) {
        if let Some((told, at)) = self.told.filter(|told| !self.fin && told.0 > self.edge + 1) {
            self.carry(told - self.edge, false, at, pause);
        }
    }

    /// Adds `fresh` new bytes. Bytes that the capture missed are included, since later sequence
    /// numbers reveal them.
    #[inline]
    fn carry(&mut self, fresh: u64, seen: bool, at: Time, pause: Span) {
        // Captures of several interfaces are not always in order of time.
        let at = self.last_payload.map_or(at, |last| last.max(at));
        if fresh > 0 {
            self.edge += fresh;
            let paused = self.last_payload.is_none_or(|last| at.since(last) > pause);
            match self.chunks.last_mut() {
                Some(chunk) if !paused => chunk.bytes += fresh,
                _ => self.chunks.push(Chunk {
                    at,
                    last: at,
                    bytes: fresh,
                }),
            }
        }
        if seen || fresh > 0 {
            self.last_payload = Some(at);
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.last = at;
            }
        }
    }
}

/// Returns whether the sender has a well-known port and the other end does not.
fn is_server(segment: &Segment) -> bool {
    let known = |end| segment.key.port(end) < 1024;
    known(segment.sender) && !known(1 - segment.sender)
}
