//! A transmitter that contends for the medium before each transmission, as in 802.11.

use fullpipe_units::{Bytes, Rng, Span, Time};

use crate::impairment::{Argument, Impairment, Unit};
use crate::{OutageSchedule, Rates, Serializer, Timeline};

pub(crate) static WIFI: Impairment = Impairment {
    name: "aggregation",
    keys: &["wifi"],
    named: false,
    purpose: "A-MPDU aggregation: each transmission has a fixed overhead and carries the packets that wait when it begins, up to a limit.",
    arguments: &[
        Argument::needed(
            "frames",
            Unit::Count,
            "The maximum number of packets in one transmission.",
        ),
        Argument::needed(
            "overhead",
            Unit::Time,
            "The time that each transmission costs besides its data: medium access, preamble, block ACK.",
        ),
        Argument::optional(
            "bytes",
            Unit::Size,
            "65535B",
            "The maximum number of bytes in one transmission.",
        ),
        Argument::optional(
            "backoff",
            Unit::Time,
            "0s",
            "The maximum random addition to the overhead (contention), uniformly distributed.",
        ),
    ],
    example: "frames 32 overhead 200us",
    source: "IEEE 802.11n: A-MPDU; Høiland-Jørgensen et al., Ending the Anomaly, USENIX ATC 2017",
};

/// Rules by which packets are aggregated into transmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Largest number of packets in one transmission.
    pub frames: u64,
    /// Largest number of bytes in one transmission.
    pub bytes: Bytes,
    /// Time that each transmission costs besides its bits.
    pub overhead: Span,
    /// Maximum of the additional, uniformly distributed time.
    pub backoff: Span,
}

/// A transmitter that aggregates, is silent at times, or both.
///
/// A transmission carries the packets that wait when it begins. Packets that arrive while the
/// medium is busy form the next one, so the longer the queue, the larger the transmission. On air,
/// packets follow each other directly. Later packets cannot join a transmission, so behind a
/// drop-tail queue departures are known on arrival.
#[derive(Clone, Debug)]
pub struct Radio {
    serializer: Serializer,
    rates: Rates,
    aggregation: Timeline<Option<Aggregation>>,
    outage: OutageSchedule,
    rng: Rng,
    latest: Option<Transmission>,
}

/// The transmission that has begun last or is about to begin.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    begins: Time,
    frames_left: u64,
    bytes_left: Bytes,
}

impl Radio {
    /// Creates an idle transmitter at `rates`, which draws backoffs from `rng`.
    pub fn new(
        mut rates: Rates,
        aggregation: Timeline<Option<Aggregation>>,
        outage: OutageSchedule,
        rng: Rng,
    ) -> Radio {
        let serializer = Serializer::new(rates.at(Time::ZERO));
        Radio {
            serializer,
            rates,
            aggregation,
            outage,
            rng,
            latest: None,
        }
    }

    /// Returns the rates at which packets are sent, without the overhead of transmissions.
    pub(crate) fn rates(&mut self) -> &mut Rates {
        &mut self.rates
    }

    /// Returns the time at which the last bit of all accepted packets leaves.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.serializer.free_at()
    }

    /// Returns the time at which a packet that may leave from `earliest` on begins to contend for
    /// the medium.
    pub fn start(&self, earliest: Time) -> Time {
        self.outage.resumes(earliest.max(self.free_at()))
    }

    /// Accepts a packet that arrived at `arrived` and may leave from `earliest` on, behind those
    /// accepted before; returns (time at which it begins to occupy the medium, last bit out).
    pub fn transmit(&mut self, arrived: Time, earliest: Time, size: Bytes) -> (Time, Time) {
        let begins = self.start(earliest);
        let is_continued = begins == self.free_at();
        let current = self.latest.filter(|latest| {
            is_continued
                && arrived <= latest.begins
                && latest.frames_left > 0
                && latest.bytes_left >= size
        });
        let mut from = begins;
        let current = current.or_else(|| {
            let Aggregation {
                frames,
                bytes,
                overhead,
                backoff,
            } = (*self.aggregation.at(begins))?;
            from += overhead + Span::from_nanos(self.rng.below(backoff.as_nanos() + 1));
            Some(Transmission {
                begins,
                frames_left: frames,
                bytes_left: bytes,
            })
        });
        self.latest = current.map(|current| Transmission {
            frames_left: current.frames_left - 1,
            bytes_left: Bytes::new(current.bytes_left.get().saturating_sub(size.get())),
            ..current
        });
        (
            begins,
            self.serializer.transmit_at(from, size, &mut self.rates).1,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Aggregation, OutageSchedule, Radio, Timeline};
    use crate::Suspension;
    use fullpipe_units::{Bytes, Rate, Rng, Span, Time};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const PACKET: Bytes = Bytes::new(1_500);

    fn us(n: u64) -> Time {
        Time::ZERO + Span::from_micros(n)
    }

    /// Creates a radio at 120 Mbit/s: one packet of 1500 bytes per 100 us.
    fn radio(aggregation: Option<Aggregation>, outage: OutageSchedule) -> Radio {
        radio_of(Rate::from_mbps(120), aggregation, outage)
    }

    fn radio_of(rate: Rate, aggregation: Option<Aggregation>, outage: OutageSchedule) -> Radio {
        let rates = Timeline::from(rate).into();
        Radio::new(
            rates,
            aggregation.into(),
            outage,
            Rng::stream(1, "bottleneck", "backoff"),
        )
    }

    fn aggregation(frames: u64, bytes: u64) -> Option<Aggregation> {
        let overhead = Span::from_micros(200);
        Some(Aggregation {
            frames,
            bytes: Bytes::new(bytes),
            overhead,
            backoff: Span::ZERO,
        })
    }

    /// Returns the departure times of packets that arrive at these times.
    fn ends<const N: usize>(mut radio: Radio, arrivals: [u64; N]) -> [Time; N] {
        arrivals.map(|at| radio.transmit(us(at), us(at), PACKET).1)
    }

    #[test]
    fn what_waits_when_a_transmission_begins_is_sent_in_it() {
        // The first packet is sent alone, although the second arrives meanwhile; three of the
        // packets that wait then are sent together.
        let arrivals = [0, 10, 20, 30, 40, 900];
        let expected = [300, 600, 700, 800, 1_100, 1_400];
        assert_eq!(
            ends(
                radio(aggregation(3, 65_535), OutageSchedule::default()),
                arrivals
            ),
            expected.map(us)
        );
        // Two packets fit into 3000 bytes.
        let expected = [300, 600, 700, 1_000, 1_100, 1_400];
        assert_eq!(
            ends(
                radio(aggregation(3, 3_000), OutageSchedule::default()),
                arrivals
            ),
            expected.map(us)
        );
        // A packet larger than the limit is sent alone.
        let expected = [300, 600, 900, 1_200, 1_500, 1_800];
        assert_eq!(
            ends(
                radio(aggregation(3, 1_000), OutageSchedule::default()),
                arrivals
            ),
            expected.map(us)
        );
    }

    #[test]
    fn nothing_begins_while_it_is_silent() {
        let suspension = Suspension {
            hold: Span::from_micros(500),
            every: Span::from_millis(1),
            salt: None,
        };
        let outage = || OutageSchedule::new(Some(suspension), []);
        // A packet that is being sent when the silence begins, at 1 ms, is completed.
        assert_eq!(
            ends(radio(None, outage()), [0, 0, 950, 950]),
            [600, 700, 1_050, 1_600].map(us)
        );
        assert_eq!(
            ends(radio(aggregation(2, 65_535), outage()), [0, 0, 800, 801]),
            [800, 900, 1_200, 1_800].map(us)
        );
    }

    #[test]
    fn backoffs_are_uniform() {
        let backoff = Span::from_micros(150);
        let aggregation = aggregation(1, 65_535).map(|aggregation| Aggregation {
            backoff,
            ..aggregation
        });
        let mut radio = radio(aggregation, OutageSchedule::default());
        let mut end = Time::ZERO;
        let mut extra = Vec::new();
        for _ in 0..10_000 {
            let before = end;
            end = radio.transmit(Time::ZERO, Time::ZERO, PACKET).1;
            extra.push((end - before).as_nanos() - 300_000);
        }
        // Sigma of the mean is 150 us / √12 / 100.
        let mean = extra.iter().sum::<u64>() as f64 / 1e4;
        assert!(
            extra.iter().all(|ns| *ns <= 150_000) && (mean - 75_000.0).abs() < 1_800.0,
            "{mean}"
        );
    }

    proptest! {
        /// Compares with a station stepped from transmission to transmission, with the packets that
        /// wait at each.
        #[test]
        fn departures_known_on_arrival_are_those_of_a_station_that_gathers_what_waits(
            frames in 1_u64..6, bytes in 1_500_u64..9_000,
            suspended in prop::option::of((1_u64..400, 1_u64..2_000, any::<bool>())),
            arrivals in prop::collection::vec((0_u64..400, 100_u64..1_501), 1..120),
        ) {
            let suspension = suspended.map(|(hold, more, random)| Suspension {
                hold: Span::from_micros(hold),
                every: Span::from_micros(hold + more),
                salt: random.then_some(9),
            });
            let outage = OutageSchedule::new(suspension, []);
            let mut now = 0;
            let arrivals: Vec<_> = arrivals.into_iter().map(|(gap, size)| { now += gap; (us(now), Bytes::new(size)) }).collect();
            // One byte per 100 ns: nothing is rounded.
            let mut known = radio_of(Rate::from_mbps(80), aggregation(frames, bytes), outage.clone());
            let ours: Vec<Time> = arrivals.iter().map(|(at, size)| known.transmit(*at, *at, *size).1).collect();

            let (mut waiting, mut free, mut theirs) = (VecDeque::from(arrivals), Time::ZERO, Vec::new());
            while let Some((at, _)) = waiting.front() {
                let begins = outage.resumes(free.max(*at));
                free = begins + Span::from_micros(200);
                let (mut count, mut left) = (0, bytes);
                while let Some((at, size)) = waiting.front().copied() {
                    // No frame begins during the silence either: the rest becomes another
                    // transmission.
                    let is_silent = count > 0 && outage.resumes(free) > free;
                    if at > begins || count == frames || (count > 0 && size.get() > left) || is_silent {
                        break;
                    }
                    (count, left) = (count + 1, left.saturating_sub(size.get()));
                    waiting.pop_front();
                    free += Span::from_nanos(size.get() * 100);
                    theirs.push(free);
                }
            }
            prop_assert_eq!(&ours, &theirs);
            prop_assert!(ours.is_sorted());
        }
    }
}
