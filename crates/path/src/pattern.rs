//! Rate patterns of a link, as scenarios define them.

use std::sync::Arc;

use fullpipe_units::{Rate, Rng, Span, Time};

use crate::impairment::{Argument, Impairment, Unit};
use crate::{Begin, Opportunities, Rates, Timeline, Transmitter};

/// A variation of a link's rate over time.
#[derive(Clone, Debug, PartialEq)]
pub enum RatePattern {
    /// A sine between two rates, with this period.
    Sine(Rate, Rate, Span),
    /// A sawtooth from the lower rate up to the higher one, with this period.
    Saw(Rate, Rate, Span),
    /// A random walk between two rates, with this step interval.
    Walk(Rate, Rate, Span),
    /// Times, each with the rate from then on; the first is zero.
    Schedule(Arc<[(Span, Rate)]>),
    /// A repeating trace of delivery opportunities, in milliseconds, and where it begins.
    Mahimahi(Arc<[u32]>, Begin),
}

const RANGE: Argument = Argument::first("rates", Unit::Rates, "The lowest and the highest rate.");

pub(crate) static SINE: Impairment = Impairment {
    name: "sine",
    keys: &["rate_pattern"],
    named: true,
    purpose: "The link's rate follows a sine, in 256 steps per period; it begins in the middle, rising.",
    arguments: &[RANGE, Argument::needed("every", Unit::Time, "The period.")],
    example: "sine 20mbit..100mbit every 10s",
    source: "",
};

pub(crate) static SAW: Impairment = Impairment {
    name: "saw",
    keys: &["rate_pattern"],
    named: true,
    purpose: "The link's rate rises linearly, in 256 steps per period, then drops at once.",
    arguments: &[RANGE, Argument::needed("every", Unit::Time, "The period.")],
    example: "saw 20mbit..100mbit every 10s",
    source: "",
};

pub(crate) static WALK: Impairment = Impairment {
    name: "walk",
    keys: &["rate_pattern"],
    named: true,
    purpose: "The link's rate follows a random walk, by about 20 % of its range in a second, reflected at its ends.",
    arguments: &[
        RANGE,
        Argument::needed("step", Unit::Time, "The time between two steps."),
    ],
    example: "walk 20mbit..100mbit step 200ms",
    source: "Winstein, Sivaraman, Balakrishnan: Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular \
             Networks (Sprout), NSDI 2013",
};

pub(crate) static SCHEDULE: Impairment = Impairment {
    name: "schedule",
    keys: &["rate_pattern"],
    named: true,
    purpose: "The link's rate changes at given times; the last rate stays.",
    arguments: &[Argument::first(
        "rates",
        Unit::Schedule,
        "Times with the rate from then on, the first at 0s.",
    )],
    example: "schedule 0s 20mbit, 5s 50mbit",
    source: "",
};

pub(crate) static MAHIMAHI: Impairment = Impairment {
    name: "mahimahi",
    keys: &["rate_pattern"],
    named: true,
    purpose: "The link sends only at the times of a mahimahi trace, 1504 bytes each time: a packet of 1500 bytes and a header of 4 bytes.",
    arguments: &[
        Argument::first(
            "trace",
            Unit::Milliseconds,
            "The delivery opportunities in ms, ascending; the last one is the trace's length.",
        ),
        Argument::begin(),
    ],
    example: "mahimahi 2, 3, 5, 10",
    source: "mm-link(1) of mahimahi, Netravali et al., USENIX ATC 2015",
};

impl RatePattern {
    /// Returns the mean rate; of a trace, in packets of 1500 bytes; of a schedule, until its last
    /// change.
    pub fn mean(&self) -> Rate {
        let mean = match self {
            RatePattern::Sine(low, high, _)
            | RatePattern::Saw(low, high, _)
            | RatePattern::Walk(low, high, _) => low.as_bps().midpoint(high.as_bps()),
            RatePattern::Schedule(rates) => match &rates[..] {
                [] => 0,
                [(_, only)] => only.as_bps(),
                [.., (end, _)] => {
                    let sent = rates.windows(2).map(|pair| {
                        u128::from((pair[1].0.as_nanos()) - pair[0].0.as_nanos())
                            * u128::from(pair[0].1.as_bps())
                    });
                    (sent.sum::<u128>() / u128::from(end.as_nanos())) as u64
                }
            },
            RatePattern::Mahimahi(times, _) => {
                per_second(times.len() as u64, times.last().copied().unwrap_or(1))
            }
        };
        // At least 1 bit/s, even for a trace of years with one opportunity.
        Rate::from_bps(mean.max(1))
    }

    /// Returns the highest rate at any time; of a trace, that of its fullest millisecond.
    pub fn fastest(&self) -> Rate {
        match self {
            RatePattern::Sine(_, high, _)
            | RatePattern::Saw(_, high, _)
            | RatePattern::Walk(_, high, _) => *high,
            RatePattern::Schedule(rates) => rates
                .iter()
                .map(|(_, rate)| *rate)
                .max()
                .unwrap_or(Rate::ZERO),
            RatePattern::Mahimahi(times, _) => {
                let most = times
                    .chunk_by(|a, b| a == b)
                    .map(<[u32]>::len)
                    .max()
                    .unwrap_or(0);
                Rate::from_bps(per_second(most as u64, 1))
            }
        }
    }

    /// Returns whether it uses random numbers.
    pub fn is_random(&self) -> bool {
        matches!(
            self,
            RatePattern::Walk(..) | RatePattern::Mahimahi(_, Begin::Random)
        )
    }

    /// Creates a transmitter that follows the pattern. A trace with a random beginning begins at the
    /// share `place` of its length, in 0..1.
    pub fn transmitter(&self, rng: Rng, place: f64) -> Transmitter {
        Transmitter::serial(match self {
            RatePattern::Sine(low, high, every) => Rates::sine(*low, *high, *every),
            RatePattern::Saw(low, high, every) => Rates::saw(*low, *high, *every),
            RatePattern::Walk(low, high, step) => Rates::walk(*low, *high, *step, rng),
            RatePattern::Schedule(rates) => {
                let first = rates.first().map_or(Rate::ZERO, |(_, rate)| *rate);
                Timeline::new(
                    first,
                    rates
                        .iter()
                        .skip(1)
                        .map(|(at, rate)| (Time::ZERO + *at, *rate)),
                )
                .into()
            }
            RatePattern::Mahimahi(times, begin) => {
                let length = times.last().copied().unwrap_or_default();
                let begin = begin.offset(Span::from_millis(length.into()), place);
                return Transmitter::Trace(Opportunities::new(times.clone(), begin));
            }
        })
    }
}

/// Bits per second of `opportunities` in `ms` milliseconds.
fn per_second(opportunities: u64, ms: u32) -> u64 {
    let bits = u128::from(opportunities) * u128::from(Opportunities::PACKET.get()) * 8 * 1_000;
    u64::try_from(bits / u128::from(ms)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(rates: &[u64]) -> Vec<Rate> {
        rates.iter().map(|rate| Rate::from_mbps(*rate)).collect()
    }

    /// Returns the mean rates of four consecutive parts of `s` seconds in total.
    fn parts(pattern: &RatePattern, s: u64) -> Vec<Rate> {
        let edges = (0..=4).map(|part| Time::ZERO + Span::from_secs(s) / 4 * part);
        pattern
            .transmitter(Rng::stream(1, "link", "rate"), 0.0)
            .mean_rates(&edges.collect::<Vec<_>>())
    }

    #[test]
    fn means_and_peaks_are_those_of_the_pattern() {
        let (low, high, every) = (
            Rate::from_mbps(20),
            Rate::from_mbps(100),
            Span::from_secs(4),
        );
        let sine = RatePattern::Sine(low, high, every);
        assert_eq!([sine.mean(), sine.fastest()], mbps(&[60, 100])[..]);
        // A saw's mean over a quarter is the value in its middle: 20 + 80 · (1/8, 3/8, 5/8, 7/8).
        assert_eq!(
            parts(&RatePattern::Saw(low, high, every), 4),
            mbps(&[30, 50, 70, 90])
        );
        let rates = [(0, 20), (1, 50), (3, 10)]
            .map(|(at, rate)| (Span::from_secs(at), Rate::from_mbps(rate)));
        let schedule = RatePattern::Schedule(rates.to_vec().into());
        assert_eq!(
            [schedule.mean(), schedule.fastest()],
            mbps(&[40, 50])[..],
            "(20 + 2 · 50) / 3"
        );
        assert_eq!(parts(&schedule, 4), mbps(&[20, 50, 50, 10]));
        // 5 packets of 12000 bit in 10 ms, at most 3 of them in one millisecond.
        let trace = RatePattern::Mahimahi(vec![2, 5, 5, 5, 10].into(), Begin::At(Span::ZERO));
        assert_eq!([trace.mean(), trace.fastest()], mbps(&[6, 36])[..]);
        assert_eq!(parts(&trace, 1), mbps(&[6, 6, 6, 6]));
    }
}
