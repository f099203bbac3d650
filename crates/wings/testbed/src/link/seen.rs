//! Counters and captures of the packets of a linked program.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fullpipe_emulator::{Direction, DropCause, EmulatedPacket, Emulator, LinkTransit, PacketKind};
use fullpipe_scenario::Scenario;
use fullpipe_setup::link_rates;
use fullpipe_trace::LinkRow;
use fullpipe_units::{Span, Time};
use serde::Serialize;

use crate::Capture;
use crate::forward::{Frame, Side, Tap};

/// Counters of one direction, for packets that left the path.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Way {
    /// Links of this direction.
    pub(super) links: Vec<String>,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Packets of any kind that were lost by chance, or dropped by a queue or policer.
    pub(super) dropped: u64,
    pub(super) marked: u64,
    /// IP bytes after the first packet, divided by the time from that to the last packet.
    pub(super) rate_bps: f64,
    /// Present state of the link with the longest queue: packets that wait, and the queueing delay
    /// of the packet that left last.
    #[serde(skip)]
    pub(super) queue: (u64, Span),
    #[serde(skip)]
    pub(super) between: Option<(Time, Time)>,
    /// Size of the first packet.
    #[serde(skip)]
    pub(super) first: u64,
}

/// Counters of both directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) down: Way,
    pub(super) up: Way,
    /// Whether a link is on the way down, and on the way up, by the link's index.
    links: Vec<(bool, bool)>,
    pub(super) last_end: Time,
}

impl Seen {
    pub(super) fn new(scenario: &Scenario, upload: bool) -> Seen {
        let flow = &scenario.flows[0];
        let names = |route: &[usize]| {
            scenario
                .route(route)
                .map(|link| link.name.clone())
                .collect()
        };
        let (forward, reverse) = (&flow.route, &flow.reverse_route);
        let (down, up) = if upload {
            (reverse, forward)
        } else {
            (forward, reverse)
        };
        let links = (0..scenario.links().count())
            .map(|link| (down.contains(&link), up.contains(&link)))
            .collect();
        Seen {
            down: Way {
                links: names(down),
                ..Way::default()
            },
            up: Way {
                links: names(up),
                ..Way::default()
            },
            links,
            last_end: Time::ZERO,
        }
    }

    fn way(&mut self, side: Side) -> &mut Way {
        match side {
            Side::Near => &mut self.down,
            Side::Far => &mut self.up,
        }
    }
}

impl Way {
    pub(super) fn with_rate(self) -> Way {
        Way {
            rate_bps: self.rate(),
            ..self
        }
    }

    pub(super) fn rate(&self) -> f64 {
        let (first, last) = self.between.unwrap_or((Time::ZERO, Time::ZERO));
        if last > first {
            (self.bytes - self.first) as f64 * 8.0 / (last - first).as_secs_f64()
        } else {
            0.0
        }
    }
}

/// Samples of each link, ten a second.
pub(super) struct Samples {
    rows: Vec<LinkRow>,
    drops: Vec<u64>,
    marks: Vec<u64>,
}

impl Samples {
    pub(super) fn new(scenario: &Scenario) -> Samples {
        let links = scenario.links().count();
        Samples {
            rows: Vec::new(),
            drops: vec![0; links],
            marks: vec![0; links],
        }
    }

    fn take(&mut self, now: Time, path: &mut Emulator<Frame>) {
        for (link, (drops, marks)) in self.drops.iter().zip(&self.marks).enumerate() {
            let (queue_packets, queue_bytes, sojourn) = path.backlog(link, now);
            self.rows.push(LinkRow {
                time: now,
                link: link as u32,
                queue_packets,
                queue_bytes,
                sojourn,
                drops: *drops,
                marks: *marks,
            });
        }
    }

    pub(super) fn series(self, scenario: &Scenario, zero: Span) -> Series {
        let rows = &self.rows;
        Series {
            began_s: zero.as_secs_f64(),
            time: rows.iter().map(|row| row.time.as_secs_f64()).collect(),
            link: rows.iter().map(|row| row.link).collect(),
            queue_packets: rows.iter().map(|row| row.queue_packets).collect(),
            queue_bytes: rows.iter().map(|row| row.queue_bytes.get()).collect(),
            sojourn: rows.iter().map(|row| row.sojourn.as_secs_f64()).collect(),
            drops: rows.iter().map(|row| row.drops).collect(),
            marks: rows.iter().map(|row| row.marks).collect(),
            rate: link_rates(scenario, rows),
        }
    }
}

/// The columns of the links' samples, as the table `links` of a trace has them.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    /// Date of the beginning in the captures, seconds since 1970.
    began_s: f64,
    /// Seconds since the beginning.
    time: Vec<f64>,
    /// Index of the link.
    link: Vec<u32>,
    queue_packets: Vec<u64>,
    queue_bytes: Vec<u64>,
    /// Seconds.
    sojourn: Vec<f64>,
    drops: Vec<u64>,
    marks: Vec<u64>,
    /// Mean since the link's sample before, bit/s.
    rate: Vec<f32>,
}

/// The tap of a linked program: updates the counters and writes the captures.
pub(super) struct Taps {
    pub(super) seen: Arc<Mutex<Seen>>,
    pub(super) samples: Option<Samples>,
    pub(super) captures: Option<[Capture; 2]>,
    pub(super) upload: bool,
}

impl Taps {
    /// Returns the side at which a packet arrives.
    fn side(&self, direction: Direction) -> Side {
        if (direction == Direction::Forward) == self.upload {
            Side::Far
        } else {
            Side::Near
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
    }

    fn capture(&self, at: Time, side: Side, packet: &EmulatedPacket<Frame>) {
        if let Some([near, far]) = &self.captures {
            (if side == Side::Near { near } else { far }).see(at, &packet.payload);
        }
    }
}

/// Locks the counters, even after a panic of a thread that held them.
pub(super) fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tap for Taps {
    fn entered(&mut self, at: Time, side: Side, packet: &EmulatedPacket<Frame>) {
        self.capture(at, side, packet);
    }

    fn dropped(
        &mut self,
        _: Time,
        link: Option<usize>,
        _: DropCause,
        packet: &EmulatedPacket<Frame>,
    ) {
        self.seen().way(self.side(packet.direction)).dropped += 1;
        if let (Some(samples), Some(link)) = (&mut self.samples, link) {
            samples.drops[link] += 1;
        }
    }

    fn passed(&mut self, transit: &LinkTransit, packet: &EmulatedPacket<Frame>) {
        if let Some(samples) = &mut self.samples {
            samples.marks[transit.link] += u64::from(transit.marked);
        }
        let mut seen = self.seen();
        seen.last_end = seen.last_end.max(transit.end);
        if transit.marked && packet.kind == PacketKind::Data {
            seen.way(self.side(packet.direction)).marked += 1;
        }
    }

    fn delivered(
        &mut self,
        at: Time,
        _: Time,
        _: Span,
        side: Side,
        packet: &EmulatedPacket<Frame>,
    ) {
        self.capture(at, side, packet);
        let mut seen = self.seen();
        let way = seen.way(side);
        way.packets += 1;
        way.bytes += packet.size.get();
        match &mut way.between {
            Some((_, last)) => *last = at,
            none => (*none, way.first) = (Some((at, at)), packet.size.get()),
        }
    }

    fn tick(&mut self, now: Time, path: &mut Emulator<Frame>) {
        if let Some(samples) = &mut self.samples {
            samples.take(now, path);
        }
        let mut seen = self.seen();
        let links = std::mem::take(&mut seen.links);
        let of = |on: &dyn Fn(&(bool, bool)) -> bool, path: &mut Emulator<Frame>| {
            let queues = links
                .iter()
                .enumerate()
                .filter(|(_, link)| on(link))
                .map(|(i, _)| path.backlog(i, now));
            queues
                .map(|(packets, _, waited)| (packets, waited))
                .max()
                .unwrap_or_default()
        };
        (seen.down.queue, seen.up.queue) = (of(&|link| link.0, path), of(&|link| link.1, path));
        seen.links = links;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_what_came_after_the_first_packet() {
        let mut taps = Taps {
            seen: Arc::default(),
            samples: None,
            captures: None,
            upload: false,
        };
        for ms in [5, 17, 29] {
            let packet = crate::forward::sample([0; 1500], Direction::Forward);
            let at = Time::ZERO + Span::from_millis(ms);
            taps.delivered(at, at, Span::ZERO, Side::Near, &packet);
        }
        let seen = taps.seen();
        assert_eq!(
            (seen.down.packets, seen.down.bytes, seen.up.packets),
            (3, 4500, 0)
        );
        assert_eq!(seen.down.rate(), 1e6, "2 x 12,000 bit in 24 ms");
        assert_eq!(seen.up.rate(), 0.0);
    }
}
