//! Messages of both processes: words of 64 bits, so that no byte is read that was not written.

use std::io::{self, Read, Write};

use fullpipe_cc::{CaState, Conn, EcnCodepoint, LossCause, Lost, Snapshot};
use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::abi;
use crate::convert::ecn_of;

/// Kinds of calls.
pub(super) mod call {
    pub(in super::super) const CREATE: u64 = 0;
    pub(in super::super) const DESTROY: u64 = 1;
    pub(in super::super) const ACK: u64 = 2;
    pub(in super::super) const SENT: u64 = 3;
    pub(in super::super) const LOST: u64 = 4;
    pub(in super::super) const ACKED: u64 = 5;
    pub(in super::super) const RECOVERY: u64 = 6;
    pub(in super::super) const UNUSED: u64 = 7;
    pub(in super::super) const PATH: u64 = 8;
    pub(in super::super) const FRAME: u64 = 9;
    pub(in super::super) const TIMER: u64 = 10;
    pub(in super::super) const END: u64 = 11;
}

/// Kinds of answers.
pub(super) mod answer {
    pub(in super::super) const SAME: u64 = 0;
    pub(in super::super) const DECIDED: u64 = 1;
    /// A text follows, whose length is the next word.
    pub(in super::super) const FAILED: u64 = 2;
}

/// Most words of a message, and most bytes of a text.
pub(super) const MOST_WORDS: usize = 512;
pub(super) const MOST_TEXT: usize = 4096;
/// Most bytes of a declaration.
pub(super) const MOST_DECLARED: usize = 1 << 18;
/// Words of an answer: its kind, the number of the connection, whether it listens to sent packets,
/// and a decision.
pub(super) const ANSWER: usize = 10;

/// Words to send.
#[derive(Debug, Default)]
pub(super) struct Words(Vec<u8>);

impl Words {
    pub(super) fn begin(&mut self) {
        self.0.clear();
        self.0.extend([0; 8]);
    }

    pub(super) fn push(&mut self, word: u64) {
        self.0.extend(word.to_le_bytes());
    }

    pub(super) fn all(&mut self, words: &[u64]) {
        words.iter().for_each(|word| self.push(*word));
    }

    /// Sends the words after their number.
    pub(super) fn send(&mut self, to: &mut impl Write) -> io::Result<()> {
        let count = self.0.len() as u64 / 8 - 1;
        self.0[..8].copy_from_slice(&count.to_le_bytes());
        to.write_all(&self.0)
    }

    pub(super) fn conn(&mut self, it: &Conn) {
        let flags = it.state as u64
            | u64::from(it.app_limited) << 8
            | u64::from(it.cwnd_limited) << 9
            | u64::from(it.reordering_seen) << 10
            | u64::from(it.paced) << 11;
        self.all(&[
            it.smss.get(),
            it.initial_cwnd.get(),
            it.inflight.get(),
            it.delivered.get(),
            it.delivered_ce.get(),
            it.lost.get(),
            it.unsent.get(),
            it.srtt.as_nanos(),
            it.min_rtt.as_nanos(),
            it.next_departure.as_nanos(),
            it.offload_factor,
            it.pacing_rate.as_bps(),
            flags,
        ]);
    }

    pub(super) fn snapshot(&mut self, it: &Snapshot) {
        let flags = u64::from(it.size)
            | (it.ecn as u64) << 16
            | u64::from(it.app_limited) << 24
            | u64::from(it.retransmit) << 25;
        self.all(&[
            it.sent.as_nanos(),
            it.first_sent.as_nanos(),
            it.delivered_at.as_nanos(),
            it.delivered.get(),
            it.delivered_ce.get(),
            it.lost.get(),
            it.inflight.get(),
            flags,
        ]);
    }

    pub(super) fn lost(&mut self, it: &Lost) {
        self.snapshot(&it.packet);
        self.push(it.lost_since_sent.get());
        self.push(u64::from(it.new_range) | (it.cause as u64) << 1);
    }

    pub(super) fn ack(&mut self, it: &abi::Ack) {
        self.snapshot(&it.newest);
        let flags =
            u64::from(it.rate_app_limited) | u64::from(it.ece) << 1 | u64::from(it.tlp_repair) << 2;
        self.all(&[
            it.newly_acked,
            it.cumulative,
            it.newly_lost,
            it.prior_inflight,
            it.rtt,
            it.rtt_local,
            it.rtt_remote,
            it.one_way,
            it.rate,
            it.rate_interval,
            it.rate_delivered,
            it.rate_lost,
            it.rate_delivered_ce,
            it.ce_packets,
            it.ce_bytes,
            it.feedback,
            flags,
        ]);
    }

    pub(super) fn decision(&mut self, it: &abi::Decision) {
        self.all(&[
            it.cwnd,
            it.ssthresh,
            it.pacing_rate,
            it.send_quantum,
            it.source_rate,
            it.wake_at,
            u64::from(it.ecn) | u64::from(it.mark_app_limited) << 8,
        ]);
    }
}

/// Words that were received.
#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
    next: usize,
}

impl Message {
    /// Reads a message; false at the end of the connection.
    pub(super) fn receive(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let mut count = [0; 8];
        match from.read_exact(&mut count) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        let count = usize::try_from(u64::from_le_bytes(count)).unwrap_or(usize::MAX);
        if count > MOST_WORDS {
            return Err(io::Error::other("a message is too long"));
        }
        self.bytes.resize(count * 8, 0);
        self.next = 0;
        from.read_exact(&mut self.bytes)?;
        Ok(true)
    }

    /// Takes the next word; 0 after the last one.
    pub(super) fn word(&mut self) -> u64 {
        let at = self.next;
        self.next += 8;
        let word = self.bytes.get(at..at + 8).and_then(|it| it.try_into().ok());
        u64::from_le_bytes(word.unwrap_or_default())
    }

    fn bytes(&mut self) -> Bytes {
        Bytes::new(self.word())
    }

    fn time(&mut self) -> Time {
        Time::from_nanos(self.word())
    }

    pub(super) fn conn(&mut self) -> Conn {
        let mut it = Conn::new(Time::ZERO, Bytes::ZERO, 0);
        it.smss = self.bytes();
        it.initial_cwnd = self.bytes();
        it.inflight = self.bytes();
        it.delivered = self.bytes();
        it.delivered_ce = self.bytes();
        it.lost = self.bytes();
        it.unsent = self.bytes();
        it.srtt = Span::from_nanos(self.word());
        it.min_rtt = Span::from_nanos(self.word());
        it.next_departure = self.time();
        it.offload_factor = self.word();
        it.pacing_rate = Rate::from_bps(self.word());
        let flags = self.word();
        it.state = match flags & 3 {
            0 => CaState::Open,
            1 => CaState::Reduced,
            2 => CaState::Recovery,
            _ => CaState::Loss,
        };
        it.app_limited = flags >> 8 & 1 == 1;
        it.cwnd_limited = flags >> 9 & 1 == 1;
        it.reordering_seen = flags >> 10 & 1 == 1;
        it.paced = flags >> 11 & 1 == 1;
        it
    }

    pub(super) fn snapshot(&mut self) -> Snapshot {
        let mut it = Snapshot {
            sent: self.time(),
            first_sent: self.time(),
            delivered_at: self.time(),
            delivered: self.bytes(),
            delivered_ce: self.bytes(),
            lost: self.bytes(),
            inflight: self.bytes(),
            size: 0,
            ecn: EcnCodepoint::NotEct,
            app_limited: false,
            retransmit: false,
        };
        let flags = self.word();
        it.size = (flags & 0xffff) as u16;
        it.ecn = ecn_of((flags >> 16) as u8);
        it.app_limited = flags >> 24 & 1 == 1;
        it.retransmit = flags >> 25 & 1 == 1;
        it
    }

    pub(super) fn lost(&mut self) -> Lost {
        let (packet, lost_since_sent, flags) = (self.snapshot(), self.bytes(), self.word());
        Lost {
            packet,
            lost_since_sent,
            new_range: flags & 1 == 1,
            cause: if flags >> 1 & 1 == 1 {
                LossCause::Rto
            } else {
                LossCause::Rack
            },
        }
    }

    pub(super) fn ack(&mut self) -> abi::Ack {
        let mut it = abi::Ack {
            newest: self.snapshot(),
            newly_acked: self.word(),
            cumulative: self.word(),
            newly_lost: self.word(),
            prior_inflight: self.word(),
            rtt: self.word(),
            rtt_local: self.word(),
            rtt_remote: self.word(),
            one_way: self.word(),
            rate: self.word(),
            rate_interval: self.word(),
            rate_delivered: self.word(),
            rate_lost: self.word(),
            rate_delivered_ce: self.word(),
            ce_packets: self.word(),
            ce_bytes: self.word(),
            feedback: self.word(),
            rate_app_limited: false,
            ece: false,
            tlp_repair: false,
        };
        let flags = self.word();
        it.rate_app_limited = flags & 1 == 1;
        it.ece = flags >> 1 & 1 == 1;
        it.tlp_repair = flags >> 2 & 1 == 1;
        it
    }

    pub(super) fn decision(&mut self) -> abi::Decision {
        let mut it = abi::Decision {
            cwnd: self.word(),
            ssthresh: self.word(),
            pacing_rate: self.word(),
            send_quantum: self.word(),
            source_rate: self.word(),
            wake_at: self.word(),
            ecn: 0,
            mark_app_limited: 0,
        };
        let flags = self.word();
        it.ecn = (flags & 0xff) as u8;
        it.mark_app_limited = (flags >> 8 & 1) as u8;
        it
    }
}

/// Sends a text after its length.
pub(super) fn send_text(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(text.as_bytes())
}

/// Reads a text of at most `most` bytes.
pub(super) fn text(from: &mut impl Read, most: usize) -> io::Result<String> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > most {
        return Err(io::Error::other("a text is too long"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::{Ack, EcnCounts, RateSample, RttSample};

    fn snapshot() -> Snapshot {
        Snapshot {
            sent: Time::from_nanos(1),
            first_sent: Time::from_nanos(2),
            delivered_at: Time::from_nanos(3),
            delivered: Bytes::new(4),
            delivered_ce: Bytes::new(5),
            lost: Bytes::new(6),
            inflight: Bytes::new(7),
            size: 1448,
            ecn: EcnCodepoint::Ect1,
            app_limited: true,
            retransmit: false,
        }
    }

    #[test]
    fn each_value_arrives_as_it_was_sent() {
        let mut conn = Conn::new(Time::from_nanos(9), Bytes::new(1448), 3);
        conn.state = CaState::Recovery;
        conn.pace(Some(Rate::from_mbps(3)));
        conn.cwnd_limited = true;
        let lost = Lost {
            packet: snapshot(),
            lost_since_sent: Bytes::new(11),
            new_range: true,
            cause: LossCause::Rto,
        };
        let ack = Ack {
            newest: snapshot(),
            newly_acked: Bytes::new(1),
            cumulative: Bytes::new(2),
            newly_lost: Bytes::new(3),
            prior_inflight: Bytes::new(4),
            rtt: Some(RttSample {
                raw: Span::from_nanos(5),
                local: Span::from_nanos(6),
                remote: Span::from_nanos(7),
            }),
            one_way: None,
            rate: RateSample {
                rate: Some(Rate::from_mbps(8)),
                interval: Span::from_nanos(9),
                delivered: Bytes::new(10),
                lost: Bytes::new(11),
                delivered_ce: Bytes::new(12),
                app_limited: true,
            },
            ecn: EcnCounts {
                ce_packets: 13,
                ce_bytes: Some(Bytes::new(14)),
            },
            ece: true,
            feedback: Some(15),
            tlp_repair: true,
        };
        let mut sent = Words::default();
        sent.begin();
        sent.conn(&conn);
        sent.lost(&lost);
        sent.ack(&(&ack).into());
        let mut wire = Vec::new();
        sent.send(&mut wire).expect("memory");
        let mut received = Message::default();
        assert!(received.receive(&mut &*wire).expect("a message"));
        assert_eq!(received.conn(), conn);
        assert_eq!(received.lost(), lost);
        assert_eq!(Ack::from(&received.ack()), ack);
    }

    #[test]
    fn a_message_or_text_that_is_too_long_is_refused_before_it_is_read() {
        let endless = u64::MAX.to_le_bytes();
        assert!(Message::default().receive(&mut &endless[..]).is_err());
        assert!(text(&mut &endless[..], MOST_TEXT).is_err());
    }
}
