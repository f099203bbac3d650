//! The receiver of datagrams: its record of arrivals, and its reports (RFC 8888).

use std::collections::VecDeque;

use fullpipe_units::Time;

use crate::ack_policy::AckPolicy;
use crate::wire::{Ack, AckKind, Segment};

/// Number of reports that cover each packet, so that a lost report costs nothing.
const REPORTS: usize = 3;

/// The arrival of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Time of the arrival, by the receiver's clock.
    pub at: Time,
    /// Whether it carried a CE mark.
    pub ce: bool,
}

/// A receiver of datagrams. It reports each packet: whether and when it arrived, and its mark.
///
/// A report is an [`Ack`] of kind `Report`: `next` is one past the highest packet that arrived,
/// and `window` the number of packets below it that the report covers. Their arrivals are not
/// copied: [`report`](DatagramReceiver::report) reads them from this record, in which an entry
/// never changes. As with TCP, an arrival may be recorded before its time.
#[derive(Debug)]
pub struct DatagramReceiver {
    policy: AckPolicy,
    /// Arrivals from packet `base` on; `None` if a packet did not arrive.
    record: VecDeque<Option<Arrived>>,
    base: u64,
    /// Sending time of the packet with the highest number.
    echo: Time,
    /// Packets that no report covers, and the time at which a report is due.
    pending: u32,
    due: Option<Time>,
    /// One past the highest packet of each of the latest reports, newest last.
    reported: [u64; REPORTS],
}

impl DatagramReceiver {
    /// Creates a receiver that reports as often as `policy` requires an ACK: every `every`
    /// packets, after the last packet of a frame, and at most `delay` after a packet
    /// (draft-ietf-ccwg-rfc8298bis-screamv2-01 §5).
    pub fn new(policy: AckPolicy) -> DatagramReceiver {
        DatagramReceiver {
            policy,
            record: VecDeque::new(),
            base: 0,
            echo: Time::ZERO,
            pending: 0,
            due: None,
            reported: [0; REPORTS],
        }
    }

    /// Returns the time at which a report is due, if any.
    pub fn report_due(&self) -> Option<Time> {
        self.due
    }

    /// Records a packet that arrives at `now`; `emit` receives each report with its time. Returns
    /// whether it is the first copy of the packet.
    pub fn on_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        mut emit: impl FnMut(Time, Ack),
    ) -> bool {
        self.on_time(now, &mut emit);
        let Some(place) = segment.seq.checked_sub(self.base) else {
            return false; // a late copy, or a packet that the sender no longer expects
        };
        let place = usize::try_from(place).expect("the record has a bounded length");
        if place >= self.record.len() {
            self.record.resize(place + 1, None);
            self.echo = segment.sent;
        }
        let slot = &mut self.record[place];
        if slot.is_some() {
            return false;
        }
        *slot = Some(Arrived {
            at: now,
            ce: segment.ce,
        });
        self.pending += 1;
        if self.pending >= self.policy.every || segment.push {
            self.emit(now, &mut emit);
        } else if self.due.is_none() {
            self.due = Some(now + self.policy.delay);
        }
        true
    }

    /// Sends the report that is due by `now`, if any.
    pub fn on_time(&mut self, now: Time, mut emit: impl FnMut(Time, Ack)) {
        if let Some(due) = self.due.filter(|due| *due <= now) {
            self.emit(due, &mut emit);
        }
    }

    fn emit(&mut self, at: Time, emit: &mut impl FnMut(Time, Ack)) {
        (self.pending, self.due) = (0, None);
        let next = self.base + self.record.len() as u64;
        let begin = self.reported[0].max(self.base);
        self.reported.rotate_left(1);
        self.reported[REPORTS - 1] = next;
        let covered = u32::try_from(next - begin).unwrap_or(u32::MAX);
        emit(
            at,
            Ack {
                next,
                echo: self.echo,
                sent: at,
                window: covered,
                blocks: 0,
                dsack: false,
                kind: AckKind::Report,
                ecn: 0,
            },
        );
    }

    /// Returns the packets that `report` covers, each with its arrival if it had arrived by then.
    pub fn report(&self, report: &Ack) -> impl Iterator<Item = (u64, Option<Arrived>)> {
        let begin = begin(report).max(self.base);
        let sent = report.sent;
        let arrived = |number: u64| self.record[(number - self.base) as usize];
        (begin..report.next)
            .map(move |number| (number, arrived(number).filter(|arrived| arrived.at <= sent)))
    }

    /// Forgets the packets below those that `report` covers: later reports begin no earlier.
    pub fn forget(&mut self, report: &Ack) {
        while self.base < begin(report) {
            self.record.pop_front();
            self.base += 1;
        }
    }
}

/// Returns the first packet that a report covers.
pub(super) fn begin(report: &Ack) -> u64 {
    report.next - u64::from(report.window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_cc::EcnCodepoint;
    use fullpipe_units::Span;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn packet(seq: u64, push: bool, ce: bool) -> Segment {
        Segment {
            seq,
            sent: ms(seq),
            echo: Time::ZERO,
            size: 1_000,
            syn: false,
            retransmit: false,
            push,
            ecn: EcnCodepoint::Ect1,
            ce,
            cwr: false,
        }
    }

    fn receiver(every: u32) -> DatagramReceiver {
        DatagramReceiver::new(AckPolicy {
            every,
            quick: 0,
            delay: Span::from_millis(40),
            coalesce: Span::ZERO,
        })
    }

    #[test]
    fn reports_after_sixteen_packets_at_the_end_of_a_frame_and_in_time() {
        let mut receiver = receiver(16);
        let mut times = Vec::new();
        for seq in 0..17 {
            receiver.on_segment(ms(100 + seq), &packet(seq, false, false), |at, ack| {
                times.push((at, ack.next))
            });
        }
        assert_eq!(times, [(ms(115), 16)], "16 packets");
        receiver.on_segment(ms(118), &packet(17, true, false), |at, ack| {
            times.push((at, ack.next))
        });
        assert_eq!(times[1..], [(ms(118), 18)], "the end of a frame");
        receiver.on_segment(ms(120), &packet(18, false, false), |_, _| {});
        assert_eq!(receiver.report_due(), Some(ms(160)), "40 ms");
        receiver.on_time(ms(160), |at, ack| times.push((at, ack.next)));
        assert_eq!(times[2..], [(ms(160), 19)]);
        assert_eq!(receiver.report_due(), None);
    }

    #[test]
    fn a_report_has_each_packet_of_three_reports_as_it_was_then() {
        let mut receiver = receiver(1);
        let mut reports = Vec::new();
        for (at, seq, ce) in [
            (10, 0, false),
            (11, 2, true),
            (12, 1, false),
            (13, 3, false),
        ] {
            receiver.on_segment(ms(at), &packet(seq, false, ce), |_, ack| reports.push(ack));
        }
        let arrived = |at, ce| Some(Arrived { at: ms(at), ce });
        let of = |report| receiver.report(report).collect::<Vec<_>>();
        assert_eq!(of(&reports[0]), [(0, arrived(10, false))]);
        assert_eq!(
            of(&reports[1]),
            [(0, arrived(10, false)), (1, None), (2, arrived(11, true))],
            "packet 1 had not arrived"
        );
        assert_eq!(of(&reports[2])[1], (1, arrived(12, false)));
        assert_eq!(
            of(&reports[3]),
            [
                (1, arrived(12, false)),
                (2, arrived(11, true)),
                (3, arrived(13, false))
            ],
            "packet 0 was in three reports"
        );
    }

    #[test]
    fn a_copy_and_a_forgotten_packet_are_not_new() {
        let mut receiver = receiver(1);
        let mut last = None;
        for seq in 0..6 {
            receiver.on_segment(ms(seq), &packet(seq, false, false), |_, ack| {
                last = Some(ack)
            });
        }
        assert!(!receiver.on_segment(ms(9), &packet(5, false, false), |_, _| {}));
        receiver.forget(&last.expect("each packet has a report"));
        assert!(!receiver.on_segment(ms(9), &packet(0, false, false), |_, _| {}));
    }
}
