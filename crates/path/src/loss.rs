//! Loss by chance or by plan.

use std::sync::Arc;

use fullpipe_units::{Rng, Time};

use crate::Timeline;
use crate::impairment::{Argument, Impairment, Unit};

const KEYS: &[&str] = &["loss", "reverse_loss"];

pub(crate) static RANDOM: Impairment = Impairment {
    name: "random",
    keys: KEYS,
    named: false,
    purpose: "Each packet is lost by itself, with one probability.",
    arguments: &[Argument::first(
        "probability",
        Unit::Share,
        "The probability, below 100%.",
    )],
    example: "1%",
    source: "tc-netem(8), loss random",
};

pub(crate) static GILBERT_ELLIOTT: Impairment = Impairment {
    name: "gilbert-elliott",
    keys: KEYS,
    named: true,
    purpose: "Losses come in bursts: a good and a bad state, each with its own loss, that change from packet to packet.",
    arguments: &[
        Argument::needed("p", Unit::Share, "From the good to the bad state."),
        Argument::optional(
            "r",
            Unit::Share,
            "100% - p",
            "From the bad to the good state: 1/r packets is a bad stretch.",
        ),
        Argument::optional(
            "loss-bad",
            Unit::Share,
            "100%",
            "The probability of a loss in the bad state, netem's 1-h.",
        ),
        Argument::optional(
            "loss-good",
            Unit::Share,
            "0%",
            "The probability of a loss in the good state, netem's 1-k.",
        ),
    ],
    example: "gilbert-elliott p 1% r 30% loss-bad 100% loss-good 0%",
    source: "Gilbert 1960, Elliott 1963; tc-netem(8), loss gemodel",
};

pub(crate) static EVERY: Impairment = Impairment {
    name: "every",
    keys: KEYS,
    named: true,
    purpose: "Each n-th packet of a flow is lost.",
    arguments: &[Argument::first(
        "n",
        Unit::Count,
        "The n-th, the 2n-th and so on.",
    )],
    example: "every 100",
    source: "",
};

pub(crate) static LIST: Impairment = Impairment {
    name: "list",
    keys: KEYS,
    named: true,
    purpose: "Given packets of a flow are lost, by their number from 1 on.",
    arguments: &[Argument::first(
        "packets",
        Unit::Counts,
        "Their numbers, or \"file\" and the name of a file with one a line.",
    )],
    example: "list 10, 11, 57",
    source: "",
};

/// What is lost.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Each packet by itself (i.i.d., Bernoulli), with this probability.
    Random(f64),
    /// What two states lose, between which each packet may change.
    GilbertElliott {
        /// The probability of a change from the good to the bad state.
        p: f64,
        /// And back.
        r: f64,
        /// The probability of a loss in the bad state.
        bad: f64,
        /// And in the good one.
        good: f64,
    },
    /// Each n-th.
    Every(u64),
    /// Those of these numbers, counted from 1, in order.
    List(Arc<[u64]>),
}

impl Loss {
    /// None at all.
    pub const NONE: Loss = Loss::Random(0.0);

    /// Whether it draws.
    pub fn is_random(&self) -> bool {
        match self {
            Loss::Random(p) => *p > 0.0,
            Loss::GilbertElliott { .. } => true,
            Loss::Every(_) | Loss::List(_) => false,
        }
    }
}

/// Takes packets of one flow, drawing from a stream of its own.
#[derive(Clone, Debug)]
pub struct Losses {
    rng: Rng,
    process: Timeline<Process>,
}

/// A [`Loss`] at work. A probability is a threshold: it comes true iff a draw of 64 bits is below.
#[derive(Clone, Debug, PartialEq)]
enum Process {
    Random(u64),
    GilbertElliott {
        p: u64,
        r: u64,
        loss_bad: u64,
        loss_good: u64,
        is_bad: bool,
    },
    Every {
        n: u64,
        left: u64,
    },
    List {
        numbers: Arc<[u64]>,
        next: usize,
        seen: u64,
    },
}

impl Losses {
    /// Takes what the loss of the time says, each beginning anew at its time; nothing to be asked
    /// if that is none throughout.
    pub fn new(loss: Timeline<Loss>, rng: Rng) -> Option<Losses> {
        let process = loss.map(Process::new);
        (process.constant() != Some(&Process::Random(0))).then_some(Losses { rng, process })
    }

    /// Whether a packet that comes at `now` is lost. Times must be told in order. What is not data
    /// (a SYN) may be lost by chance, but has no number.
    #[inline]
    pub fn takes(&mut self, now: Time, data: bool) -> bool {
        match self.process.at(now) {
            Process::Random(threshold) => *threshold > 0 && self.rng.next_u64() < *threshold,
            // As sch_netem's loss_gilb_ell does: the state before the change decides on the loss.
            Process::GilbertElliott {
                p,
                r,
                loss_bad,
                loss_good,
                is_bad,
            } => {
                let (change, loss) = if *is_bad {
                    (*r, *loss_bad)
                } else {
                    (*p, *loss_good)
                };
                *is_bad ^= self.rng.next_u64() < change;
                self.rng.next_u64() < loss
            }
            Process::Every { n, left } => {
                *left -= u64::from(data);
                let lost = *left == 0;
                if lost {
                    *left = *n;
                }
                lost
            }
            Process::List {
                numbers,
                next,
                seen,
            } => {
                *seen += u64::from(data);
                let lost = data && numbers.get(*next) == Some(seen);
                *next += usize::from(lost);
                lost
            }
        }
    }
}

impl Process {
    fn new(loss: Loss) -> Process {
        // The cast saturates: p = 1 comes true but once in 2^64.
        let threshold = |p: f64| (p * 18_446_744_073_709_551_616.0) as u64;
        match loss {
            Loss::Random(p) => Process::Random(threshold(p)),
            Loss::GilbertElliott { p, r, bad, good } => Process::GilbertElliott {
                p: threshold(p),
                r: threshold(r),
                loss_bad: threshold(bad),
                loss_good: threshold(good),
                is_bad: false,
            },
            Loss::Every(n) => Process::Every { n, left: n },
            Loss::List(numbers) => Process::List {
                numbers,
                next: 0,
                seen: 0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Loss, Losses, Timeline};
    use fullpipe_units::{Rng, Time};
    use proptest::prelude::*;

    fn losses(loss: impl Into<Timeline<Loss>>) -> Losses {
        Losses::new(loss.into(), Rng::stream(1, "link", "loss")).expect("it loses some")
    }

    /// Which of so many packets are lost, from 1 on.
    fn lost(loss: Loss, packets: u64) -> Vec<u64> {
        let mut element = losses(loss);
        (1..=packets)
            .filter(|_| element.takes(Time::ZERO, true))
            .collect()
    }

    #[test]
    fn loses_its_share_and_only_when_asked() {
        assert!(Losses::new(Loss::NONE.into(), Rng::stream(1, "link", "loss")).is_none());
        assert_eq!(lost(Loss::Random(1.0), 100_000).len(), 100_000);
        // 10^6 draws at 1 %: sigma is 99.5.
        assert!((lost(Loss::Random(0.01), 1_000_000).len() as f64 - 10_000.0).abs() < 400.0);
    }

    #[test]
    fn what_is_lost_holds_for_its_time_and_begins_anew() {
        let at = Time::from_nanos;
        let later = [
            (at(10), Loss::Random(1.0)),
            (at(20), Loss::Every(4)),
            (at(30), Loss::List([1, 3].into())),
        ];
        let mut element = losses(Timeline::new(Loss::NONE, later));
        let lost: Vec<u64> = (0..40).filter(|ns| element.takes(at(*ns), true)).collect();
        let expected: Vec<u64> = (10..20).chain([23, 27, 30, 32]).collect();
        assert_eq!(lost, expected);
    }

    #[test]
    fn numbers_count_data_alone() {
        for loss in [Loss::Every(3), Loss::List([3, 6].into())] {
            let mut element = losses(loss);
            let data = [false, true, true, false, true, false, true, true, true];
            let lost: Vec<bool> = data
                .iter()
                .map(|data| element.takes(Time::ZERO, *data))
                .collect();
            assert_eq!(
                lost,
                [false, false, false, false, true, false, false, false, true]
            );
        }
    }

    /// Lengths of the stretches of consecutive numbers.
    fn bursts(lost: &[u64]) -> Vec<u64> {
        lost.chunk_by(|a, b| a + 1 == *b)
            .map(|burst| burst.len() as u64)
            .collect()
    }

    #[test]
    fn gilbert_elliott_has_its_stationary_loss_and_its_bursts() {
        let packets = 4_000_000;
        for (p, r, bad, good) in [
            (0.01, 0.3, 1.0, 0.0),
            (0.002, 0.05, 0.5, 0.001),
            (0.2, 0.8, 1.0, 0.0),
        ] {
            let lost = lost(Loss::GilbertElliott { p, r, bad, good }, packets);
            let share_bad = p / (p + r);
            let expected = share_bad * bad + (1.0 - share_bad) * good;
            // The states are correlated with 1 - p - r from packet to packet, which multiplies the
            // variance of their mean by (2 - p - r)/(p + r) (a two-state Markov chain).
            let states =
                share_bad * (1.0 - share_bad) * (bad - good) * (bad - good) * (2.0 - p - r)
                    / (p + r);
            let within = share_bad * bad * (1.0 - bad) + (1.0 - share_bad) * good * (1.0 - good);
            let sigma = ((states + within) / packets as f64).sqrt();
            let share = lost.len() as f64 / packets as f64;
            assert!(
                (share - expected).abs() < 4.0 * sigma,
                "{share}, expected {expected} within {sigma}"
            );
            if (bad, good) == (1.0, 0.0) {
                // A burst is a bad stretch: geometric with mean 1/r and variance (1 - r)/r².
                let bursts = bursts(&lost);
                let mean = bursts.iter().sum::<u64>() as f64 / bursts.len() as f64;
                let sigma = ((1.0 - r) / (r * r) / bursts.len() as f64).sqrt();
                assert!(
                    (mean - 1.0 / r).abs() < 4.0 * sigma,
                    "{mean}, expected {} within {sigma}",
                    1.0 / r
                );
            }
        }
    }

    #[test]
    fn with_the_default_r_gilbert_elliott_is_independent_loss() {
        // r = 1 - p: whether the last packet was lost tells nothing of the next.
        let lost = lost(
            Loss::GilbertElliott {
                p: 0.1,
                r: 0.9,
                bad: 1.0,
                good: 0.0,
            },
            1_000_000,
        );
        let pairs = lost
            .windows(2)
            .filter(|pair| pair[0] + 1 == pair[1])
            .count() as f64;
        let share = pairs / lost.len() as f64;
        // Of 10^5 losses a tenth is followed by another: sigma is 0.001.
        assert!((share - 0.1).abs() < 0.004, "{share}");
    }

    #[test]
    fn streams_of_different_use_are_independent() {
        let draw = |name: &str, usage: &str| Rng::stream(7, name, usage).next_u64();
        assert_eq!(draw("a", "loss"), draw("a", "loss"));
        assert_ne!(draw("a", "loss"), draw("b", "loss"));
        assert_ne!(draw("a", "loss"), draw("a", "jitter"));
        assert_ne!(draw("ab", "c"), draw("a", "bc"));
    }

    proptest! {
        #[test]
        fn each_nth_and_the_listed_are_lost_and_no_other(
            n in 1_u64..50, numbers in prop::collection::btree_set(1_u64..600, 0..40),
        ) {
            let every: Vec<u64> = (1..=500).filter(|number| number % n == 0).collect();
            prop_assert_eq!(lost(Loss::Every(n), 500), every);
            let list: Vec<u64> = numbers.iter().copied().filter(|number| *number <= 500).collect();
            prop_assert_eq!(lost(Loss::List(numbers.into_iter().collect()), 500), list);
        }
    }
}
