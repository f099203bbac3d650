//! The path behind the last link, or back from the receiver: a propagation delay and its variation.

use fullpipe_units::{Rng, Span, Time};

use crate::{Delay, Jitter, OutageSchedule, Timeline};

/// A delay line: first in, first out, unless its jitter reorders.
///
/// A packet gets the delay and jitter of its departure time. A packet that would overtake the one
/// before it, because of jitter or a shorter delay, arrives together with it.
#[derive(Clone, Debug)]
pub enum DelayLine {
    /// The same delay for every packet.
    Constant(Span),
    /// A delay that changes over time, jitter, or outages.
    Varying(Box<Varying>),
}

/// The state of a line whose delay varies.
#[derive(Clone, Debug)]
pub struct Varying {
    delay: Delay,
    jitter: Timeline<Jitter>,
    /// Times at which no packet enters the line.
    outage: Option<OutageSchedule>,
    rng: Rng,
    /// Normal score drawn last, for correlated jitter.
    score: Option<f64>,
    /// Latest arrival so far.
    last: Time,
    /// Whether packets may have overtaken each other.
    reordered: bool,
    /// Latest arrival among the packets reported as not overtaken.
    promised: Time,
}

impl DelayLine {
    /// Creates a line with this delay and jitter; only random jitter draws from `rng`.
    pub fn new(delay: impl Into<Delay>, jitter: Timeline<Jitter>, rng: Rng) -> DelayLine {
        DelayLine::suspended(delay, jitter, OutageSchedule::default(), rng)
    }

    /// Creates a line with outages as well: a packet that departs during one enters the line at its
    /// end.
    pub fn suspended(
        delay: impl Into<Delay>,
        jitter: Timeline<Jitter>,
        outage: OutageSchedule,
        rng: Rng,
    ) -> DelayLine {
        let delay = delay.into();
        match (delay.constant(), jitter.constant()) {
            (Some(delay), Some(Jitter::Off)) if outage.is_none() => DelayLine::Constant(*delay),
            _ => DelayLine::Varying(Box::new(Varying {
                delay,
                jitter,
                outage: (!outage.is_none()).then_some(outage),
                rng,
                score: None,
                last: Time::ZERO,
                reordered: false,
                promised: Time::ZERO,
            })),
        }
    }

    /// Returns the arrival time of a packet that departs at `departure`, and whether packets may
    /// overtake each other from here on: a later one may arrive before it, or it before an earlier
    /// one.
    ///
    /// The flag is true from the first packet that may be overtaken on. No later packet overtakes
    /// the packets before that one, so the caller may handle those at once. `departure` must not
    /// decrease from call to call.
    #[inline]
    pub fn arrival(&mut self, departure: Time) -> (Time, bool) {
        match self {
            DelayLine::Constant(delay) => (departure + *delay, false),
            DelayLine::Varying(varying) => varying.arrival(departure),
        }
    }
}

impl Varying {
    #[inline(never)] // a constant line is the common case and should stay small
    fn arrival(&mut self, departure: Time) -> (Time, bool) {
        let mut overtakes = false;
        let departure = self
            .outage
            .as_ref()
            .map_or(departure, |outage| outage.resumes(departure));
        let entry = match self.jitter.at(departure) {
            Jitter::Off => departure,
            Jitter::Random {
                of,
                correlation,
                reorder,
            } => {
                overtakes = *reorder;
                departure + of.draw(*correlation, &mut self.rng, &mut self.score)
            }
            Jitter::Hold { hold, every } => {
                let into = Span::from_nanos(departure.as_nanos() % every.as_nanos());
                departure + (*hold).saturating_sub(into)
            }
        };
        let mut at = entry + self.delay.at(departure);
        at = at.max(if overtakes { self.promised } else { self.last });
        self.last = self.last.max(at);
        self.reordered |= overtakes;
        if !self.reordered {
            self.promised = at;
        }
        (at, self.reordered)
    }
}

#[cfg(test)]
mod tests {
    use super::{DelayLine, Jitter, Timeline};
    use crate::{Distribution, Histogram, Moments, OutageSchedule, Suspension};
    use fullpipe_units::{Rng, Span, Time};
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * MS)
    }

    fn line(delay: Timeline<Span>, jitter: Timeline<Jitter>) -> DelayLine {
        DelayLine::new(delay, jitter, Rng::stream(1, "flow", "path_jitter"))
    }

    #[test]
    fn nothing_that_varies_makes_a_constant_line() {
        assert!(matches!(
            line(Span::from_millis(5).into(), Jitter::Off.into()),
            DelayLine::Constant(_)
        ));
    }

    #[test]
    fn a_shorter_delay_lets_nothing_overtake() {
        let delays = Timeline::new(Span::from_millis(50), [(ms(10), Span::from_millis(20))]);
        let mut line = line(delays, Jitter::Off.into());
        let arrivals = [0, 9, 10, 15, 39, 40].map(|at| line.arrival(ms(at)).0);
        assert_eq!(arrivals, [50, 59, 59, 59, 59, 60].map(ms));
    }

    #[test]
    fn a_stall_ends_for_all_at_once() {
        let hold = Jitter::Hold {
            hold: Span::from_millis(20),
            every: Span::from_millis(100),
        };
        let mut held = line(Timeline::from(Span::from_millis(1)), hold.into());
        let arrivals = [0, 7, 19, 20, 60, 99, 100, 119, 120].map(|at| held.arrival(ms(at)).0);
        assert_eq!(arrivals, [21, 21, 21, 21, 61, 100, 121, 121, 121].map(ms));

        let always = Jitter::Hold {
            hold: Span::from_millis(10),
            every: Span::from_millis(10),
        };
        let mut aggregating = line(Span::ZERO.into(), always.into());
        let arrivals = [0, 9, 10, 11, 25].map(|at| aggregating.arrival(ms(at)).0);
        assert_eq!(arrivals, [10, 10, 20, 20, 30].map(ms));
    }

    #[test]
    fn what_departs_in_the_silence_enters_at_its_end() {
        let silent = Suspension {
            hold: Span::from_millis(20),
            every: Span::from_millis(100),
            salt: None,
        };
        let outage = OutageSchedule::new(Some(silent), [(ms(150), None)]);
        let mut line = DelayLine::suspended(
            Timeline::from(Span::from_millis(5)),
            Jitter::Off.into(),
            outage,
            Rng::stream(1, "", ""),
        );
        let arrivals = [0, 10, 20, 99, 100, 119, 120, 200].map(|at| line.arrival(ms(at)).0);
        assert_eq!(arrivals, [25, 25, 25, 104, 125, 125, 125, 205].map(ms));
    }

    #[test]
    fn random_jitter_is_uniform_and_reorders_only_when_told() {
        let random = |reorder| Jitter::uniform(Span::from_millis(4), reorder);
        for reorder in [false, true] {
            let mut line = line(Span::from_millis(10).into(), random(reorder).into());
            let arrivals: Vec<Time> = (0..10_000).map(|n| line.arrival(ms(n)).0).collect();
            assert_eq!(arrivals.is_sorted(), !reorder);
            let extra: Vec<u64> = arrivals
                .iter()
                .zip(0..)
                .map(|(at, n)| (*at - ms(n + 10)).as_nanos())
                .collect();
            assert!(extra.iter().all(|extra| *extra <= 4 * MS));
            if reorder {
                // Sigma of the mean is 4 ms / √12 / 100.
                let mean = extra.iter().sum::<u64>() as f64 / 1e4 / MS as f64;
                assert!((mean - 2.0).abs() < 0.05, "{mean}");
            }
        }
    }

    fn distribution() -> impl Strategy<Value = Distribution> {
        let moments = (1_u64..20, 1_u64..20).prop_map(|(mean, sigma)| Moments {
            mean: Span::from_millis(mean),
            sigma: Span::from_millis(sigma),
        });
        let bins = prop::collection::vec((1_u64..9, 0_u64..9), 1..9).prop_map(|bins| {
            let mut at = 0;
            let bins = bins.iter().map(|(width, count)| {
                at += width;
                (Span::from_millis(at), count + 1)
            });
            let bins: Vec<_> = bins.chain([(Span::from_secs(1), 0)]).collect();
            Distribution::Histogram(Histogram::new(&bins).expect("they rise").into())
        });
        prop_oneof![
            moments.clone().prop_map(Distribution::Normal),
            moments.clone().prop_map(Distribution::Pareto),
            moments.clone().prop_map(Distribution::ParetoNormal),
            moments.prop_map(Distribution::Gamma),
            bins,
        ]
    }

    fn jitter() -> impl Strategy<Value = Jitter> {
        prop_oneof![
            Just(Jitter::Off),
            (1_u64..30, any::<bool>())
                .prop_map(|(n, reorder)| Jitter::uniform(Span::from_millis(n), reorder)),
            (distribution(), 0.0..0.99_f64, any::<bool>()).prop_map(
                |(of, correlation, reorder)| Jitter::Random {
                    of,
                    correlation,
                    reorder
                }
            ),
            (1_u64..30, 0_u64..30).prop_map(|(hold, more)| {
                Jitter::Hold {
                    hold: Span::from_millis(hold),
                    every: Span::from_millis(hold + more),
                }
            }),
        ]
    }

    proptest! {
        #[test]
        fn order_is_kept_where_promised_nothing_arrives_early_and_a_seed_repeats(
            delays in prop::collection::vec((0_u64..500, 0_u64..80), 0..6),
            jitters in prop::collection::vec((0_u64..500, jitter()), 0..6),
            gaps in prop::collection::vec(0_u64..10 * MS, 1..300),
        ) {
            let build = || {
                let mut delays: Vec<_> = delays.iter().map(|(at, d)| (ms(*at), Span::from_millis(*d))).collect();
                let mut jitters: Vec<_> = jitters.iter().map(|(at, jitter)| (ms(*at), jitter.clone())).collect();
                delays.sort_by_key(|(at, _)| *at);
                jitters.sort_by_key(|(at, _)| *at);
                line(Timeline::new(Span::from_millis(40), delays), Timeline::new(Jitter::Off, jitters))
            };
            let (mut ours, mut again) = (build(), build());
            let least = delays.iter().map(|(_, delay)| *delay).min().unwrap_or(40).min(40);
            let reorders = jitters.iter().any(|(_, jitter)| matches!(jitter, Jitter::Random { reorder: true, .. }));
            let (mut now, mut promised, mut was_out_of_order) = (Time::ZERO, Time::ZERO, false);
            for gap in gaps {
                now += Span::from_nanos(gap);
                let (at, out_of_order) = ours.arrival(now);
                prop_assert_eq!((at, out_of_order), again.arrival(now));
                prop_assert!(at >= now + Span::from_millis(least) && at >= promised);
                prop_assert!(out_of_order || !was_out_of_order, "the flag stays true once set");
                prop_assert!(reorders || !out_of_order);
                was_out_of_order = out_of_order;
                if !out_of_order {
                    promised = at;
                }
            }
        }
    }
}
