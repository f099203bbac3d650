//! One flow while it is open: what each of its ends has sent.

use fullpipe_units::{Span, Time};
use smallvec::SmallVec;

use crate::capture::segment::{Key, Protocol, Segment};

/// Both directions of a connection, or of an exchange of datagrams.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) key: Key,
    pub(crate) first: Time,
    pub(crate) last: Time,
    /// When the first SYN was seen.
    pub(crate) syn: Option<Time>,
    /// What each end of the key has sent.
    pub(crate) sides: [Side; 2],
    /// Which end began it, as far as is known.
    client: usize,
    pub(crate) begin: Begin,
    reset: bool,
}

/// How a flow begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// With a SYN.
    Syn,
    /// It may have been there before the capture was.
    Capture,
    /// Without a SYN, later: after a pause that ended the flow before, or where the capture lost
    /// the SYN. Datagrams have none.
    Middle,
}

/// How a flow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Fin,
    Rst,
    /// A SYN began another one between the same ports.
    Syn,
    Idle,
    /// It may go on after the capture.
    Capture,
}

/// What one end has sent.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) packets: u64,
    /// The sum of the packets' payload, by IP lengths: what was sent again counts again, what was
    /// not captured does not.
    pub(crate) payload: u64,
    /// How far the sequence has come: each byte once, captured or not.
    edge: u64,
    /// The sequence number of the first byte.
    base: Option<u32>,
    /// The sequence number of the SYN.
    initial: Option<u32>,
    fin: bool,
    /// How far numbers without payload say that the sequence has come, and when they said so.
    told: Option<(u64, Time)>,
    last_payload: Option<Time>,
    pub(crate) chunks: SmallVec<[Chunk; 1]>,
}

/// What came without a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) at: Time,
    /// When its last payload was seen, new or sent again.
    pub(crate) last: Time,
    pub(crate) bytes: u64,
}

/// RFC 7323 §2.3: a window is no larger, so what is farther off is not of this sequence.
const FARTHEST: i64 = 1 << 30;

/// What has been closed stays open that long for late packets: twice what a segment may live in
/// practice.
pub(crate) const LINGER: Span = Span::from_secs(10);

/// What was noticed of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noticed {
    Nothing,
    /// Its sequence number is not of this sequence.
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
        // Who answers is not who began. Else the well-known port is the server's.
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

    /// Which end began it.
    pub(crate) fn client(&self) -> usize {
        self.client
    }

    /// Why this segment is not of this flow any more, if so.
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
            // A server that keeps no state may answer each SYN with another number.
            another
                && own.packets > 0
                && (carried || own.initial.is_none() || self.closed().is_some())
        } else {
            // The answer may have been captured before the SYN.
            self.closed().is_some() || (another && (own.packets > 0 || carried))
        };
        new.then(|| self.closed().unwrap_or(End::Syn))
    }

    /// Takes a segment in; whether that closed the flow, `closed` says.
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
        // A reset's number is often none of the sequence's.
        if flags.rst() {
            Noticed::Nothing
        } else {
            side.follow(segment, at, pause)
        }
    }

    /// Why it is over, if both ends are done, or one has given up.
    #[inline]
    pub(crate) fn closed(&self) -> Option<End> {
        match self.reset {
            true => Some(End::Rst),
            false => (self.sides[0].fin && self.sides[1].fin).then_some(End::Fin),
        }
    }
}

impl Side {
    /// How many bytes it has sent, each once; of datagrams, which have no numbers, all.
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
            // Seen from the middle on: it counts from the first payload.
            None if payload > 0 => *self.base.insert(sequence),
            None => return Noticed::Nothing,
        };
        let edge_number = base.wrapping_add(self.edge as u32);
        // Forward if positive; numbers wrap round.
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
            // It may count the FIN, which may yet come, and has a number of its own.
            if beyond > 0 && self.told.is_none_or(|told| told.0 < end as u64) {
                self.told = Some((end as u64, at));
            }
            return Noticed::Nothing;
        }
        let mut fresh = (end - self.edge as i64).max(0) as u64;
        if start < 0 && payload > 0 && self.initial.is_none() {
            // Captured late, sent before the first.
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

    /// The flow is over: what only a number told of was sent, too, but for one number, which is the
    /// FIN's.
    pub(crate) fn end(&mut self, pause: Span) {
        if let Some((told, at)) = self.told.filter(|told| !self.fin && told.0 > self.edge + 1) {
            self.carry(told - self.edge, false, at, pause);
        }
    }

    /// So many bytes are new. What was lost to the capture shows in the numbers of what comes after
    /// it.
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

/// Whether who sent this has the well-known port, and the other end has not.
fn is_server(segment: &Segment) -> bool {
    let known = |end| segment.key.port(end) < 1024;
    known(segment.sender) && !known(1 - segment.sender)
}
