//! Events of the links, packet by packet, and the links' metrics and rows over time.

use fullpipe_trace::{LinkMeter, LinkRow, LinkSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

/// A packet that passed a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Index of the link in the scenario.
    pub link: u32,
    /// Index of the packet's flow.
    pub flow: u32,
    /// Whether the packet has payload.
    pub data: bool,
    /// Bytes on the wire.
    pub size: u32,
    /// Time of the packet's arrival.
    pub arrived: Time,
    /// Time at which the first bit leaves.
    pub start: Time,
    /// Time at which the last bit leaves.
    pub end: Time,
    /// Whether the queue marked the packet.
    pub marked: bool,
}

/// Cause of a packet's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Random loss.
    Chance,
    /// The queue dropped it.
    Queue,
    /// The policer dropped it.
    Policer,
}

/// A packet that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Index of the link; `None` if it was lost outside the links.
    pub link: Option<u32>,
    /// Index of the packet's flow.
    pub flow: u32,
    /// Whether the packet has payload.
    pub data: bool,
    /// Time of the drop.
    pub at: Time,
    /// Cause of the drop.
    pub why: Loss,
}

/// A packet of data that reached its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Index of the packet's flow.
    pub flow: u32,
    /// Time of the arrival.
    pub at: Time,
    /// Queueing delay in all queues together.
    pub waited: Span,
}

/// Events of all links.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Packets that passed; for each link in order of the time at which their passage is known.
    pub passed: Vec<Passed>,
    /// Dropped packets, in order of time.
    pub dropped: Vec<Dropped>,
    /// Arrived packets, in order of time.
    pub arrived: Vec<Arrived>,
}

impl Links {
    /// Returns the metrics of a link that sends whenever a packet waits.
    pub(crate) fn summary(
        &self,
        link: u32,
        name: &str,
        window: MeasuredTime,
        rtt: Span,
    ) -> LinkSummary {
        let mut meter = LinkMeter::new(window, window.to.since(window.from), rtt);
        for packet in self.passed.iter().filter(|packet| packet.link == link) {
            meter.on_transmission(
                packet.start.since(packet.arrived),
                packet.start,
                packet.end,
                packet.data,
            );
            if packet.marked && packet.data {
                meter.on_mark(packet.start);
            }
        }
        for packet in self
            .dropped
            .iter()
            .filter(|packet| packet.link == Some(link))
        {
            match (packet.data, packet.why) {
                (true, Loss::Chance) => meter.on_loss(packet.at),
                (true, Loss::Queue) => meter.on_drop(packet.at),
                (true, Loss::Policer) => meter.on_policed(packet.at),
                (false, _) => meter.on_ack_drop(packet.at),
            }
        }
        LinkSummary::new(name.to_owned(), &meter)
    }

    /// Appends the rows of a link, at every `interval` until `end`.
    pub fn rows(&self, link: u32, interval: Span, end: Time, recorder: &mut Vec<LinkRow>) {
        let mut arrivals: Vec<&Passed> = self
            .passed
            .iter()
            .filter(|packet| packet.link == link)
            .collect();
        let mut starts = arrivals.clone();
        arrivals.sort_by_key(|packet| packet.arrived);
        starts.sort_by_key(|packet| packet.start);
        let lost = |packet: &&Dropped| {
            packet.link == Some(link) && packet.data && packet.why != Loss::Chance
        };
        let mut drops: Vec<Time> = self
            .dropped
            .iter()
            .filter(lost)
            .map(|packet| packet.at)
            .collect();
        drops.sort_unstable();
        let (mut came, mut left, mut dropped, mut marks, mut bytes) = (0, 0, 0, 0, 0_u64);
        let mut time = Time::ZERO + interval;
        while time <= end {
            while let Some(packet) = arrivals.get(came).filter(|packet| packet.arrived <= time) {
                bytes += u64::from(packet.size);
                came += 1;
            }
            while let Some(packet) = starts.get(left).filter(|packet| packet.start <= time) {
                bytes -= u64::from(packet.size);
                marks += u64::from(packet.marked && packet.data);
                left += 1;
            }
            dropped += drops[dropped..]
                .iter()
                .take_while(|at| **at <= time)
                .count();
            let waits = came > left;
            let sojourn = came
                .checked_sub(1)
                .filter(|_| waits)
                .map_or(Span::ZERO, |last| {
                    let packet = arrivals[last];
                    packet.start.since(packet.arrived)
                });
            recorder.push(LinkRow {
                time,
                link,
                queue_packets: (came - left) as u64,
                queue_bytes: Bytes::new(bytes),
                sojourn,
                drops: dropped as u64,
                marks,
            });
            time += interval;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn rows_tell_what_waits() {
        let passed = |arrived, start, end| Passed {
            link: 0,
            flow: 0,
            data: true,
            size: 1500,
            arrived: at(arrived),
            start: at(start),
            end: at(end),
            marked: start == 30,
        };
        let dropped = Dropped {
            link: Some(0),
            flow: 0,
            data: true,
            at: at(12),
            why: Loss::Queue,
        };
        let links = Links {
            passed: vec![passed(5, 5, 15), passed(8, 15, 25), passed(9, 30, 40)],
            dropped: vec![dropped],
            arrived: vec![],
        };
        let mut rows = Vec::new();
        links.rows(0, Span::from_millis(10), at(40), &mut rows);
        let short: Vec<_> = rows
            .iter()
            .map(|row| {
                (
                    row.queue_packets,
                    row.queue_bytes.get(),
                    row.drops,
                    row.marks,
                )
            })
            .collect();
        assert_eq!(
            short,
            [(2, 3000, 0, 0), (1, 1500, 1, 0), (0, 0, 1, 1), (0, 0, 1, 1)]
        );
        assert_eq!(
            rows[0].sojourn,
            Span::from_millis(21),
            "the latest waits for 9 to 30 ms"
        );
        let window = MeasuredTime::new(Time::ZERO, at(40));
        let summary = links.summary(0, "bottleneck", window, Span::from_millis(5));
        assert_eq!((summary.drops, summary.marks, summary.packets), (1, 1, 3));
        assert!((summary.utilization - 30.0 / 40.0).abs() < 1e-12);
        assert_eq!(
            (summary.queue_within_1_rtt, summary.queue_within_2_rtts),
            (Some(0.5), Some(0.75)),
            "0, 7 and 21 ms"
        );
    }
}
