//! Random and scheduled loss.

use std::sync::Arc;

use fullpipe_units::{Rng, Time};

use crate::Timeline;
use crate::impairment::{Argument, Impairment, Unit};

const KEYS: &[&str] = &["loss", "reverse_loss"];

pub(crate) static RANDOM: Impairment = Impairment {
    name: "random",
    keys: KEYS,
    named: false,
    purpose: "Each packet is lost with the same probability, independently of the others.",
    arguments: &[Argument::first(
        "probability",
        Unit::Share,
        "The loss probability, below 100%.",
    )],
    example: "1%",
    source: "tc-netem(8), loss random",
};

pub(crate) static GILBERT_ELLIOTT: Impairment = Impairment {
    name: "gilbert-elliott",
    keys: KEYS,
    named: true,
    purpose: "Losses come in bursts: a good and a bad state, each with its own loss probability; the state may change with each packet.",
    arguments: &[
        Argument::needed(
            "p",
            Unit::Share,
            "The probability of a change from the good to the bad state, per packet.",
        ),
        Argument::optional(
            "r",
            Unit::Share,
            "100% - p",
            "The probability of a change from the bad to the good state, per packet; a bad period lasts 1/r packets on average.",
        ),
        Argument::optional(
            "loss-bad",
            Unit::Share,
            "100%",
            "The loss probability in the bad state (netem's 1-h).",
        ),
        Argument::optional(
            "loss-good",
            Unit::Share,
            "0%",
            "The loss probability in the good state (netem's 1-k).",
        ),
    ],
    example: "gilbert-elliott p 1% r 30% loss-bad 100% loss-good 0%",
    source: "Gilbert 1960, Elliott 1963; tc-netem(8), loss gemodel",
};

pub(crate) static EVERY: Impairment = Impairment {
    name: "every",
    keys: KEYS,
    named: true,
    purpose: "Every n-th packet of a flow is lost.",
    arguments: &[Argument::first(
        "n",
        Unit::Count,
        "n: the n-th packet is lost, the 2n-th, and so on.",
    )],
    example: "every 100",
    source: "",
};

pub(crate) static LIST: Impairment = Impairment {
    name: "list",
    keys: KEYS,
    named: true,
    purpose: "Listed packets of a flow are lost, numbered from 1.",
    arguments: &[Argument::first(
        "packets",
        Unit::Counts,
        "The packets' numbers, or \"file\" and the name of a file with one number per line.",
    )],
    example: "list 10, 11, 57",
    source: "",
};

/// A loss process.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Independent loss of each packet (i.i.d., Bernoulli) with this probability.
    Random(f64),
    /// Loss in two states, between which each packet may change.
    GilbertElliott {
        /// Probability of a change from the good to the bad state.
        p: f64,
        /// Probability of a change from the bad to the good state.
        r: f64,
        /// Loss probability in the bad state.
        bad: f64,
        /// Loss probability in the good state.
        good: f64,
    },
    /// Loss of every n-th packet.
    Every(u64),
    /// Loss of the packets with these numbers, which count from 1 and ascend.
    List(Arc<[u64]>),
}

impl Loss {
    /// No loss.
    pub const NONE: Loss = Loss::Random(0.0);

    /// Returns whether it uses random numbers.
    pub fn is_random(&self) -> bool {
        match self {
            Loss::Random(p) => *p > 0.0,
            Loss::GilbertElliott { .. } => true,
            Loss::Every(_) | Loss::List(_) => false,
        }
    }
}

/// Loses packets of one flow; draws from a random stream of its own.
#[derive(Clone, Debug)]
pub struct Losses {
    rng: Rng,
    process: Timeline<Process>,
}

/// A [`Loss`] in operation. A probability is a threshold: an event happens iff a 64-bit draw is
/// below.
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
    /// Applies the loss process that is in force at each time; each begins in its initial state.
    /// `None` if there is never any loss.
    pub fn new(loss: Timeline<Loss>, rng: Rng) -> Option<Losses> {
        let process = loss.map(Process::new);
        (process.constant() != Some(&Process::Random(0))).then_some(Losses { rng, process })
    }

    /// Returns whether a packet that arrives at `now` is lost; `now` must not decrease from call to
    /// call. Packets without data (a SYN) can be lost at random, but are not numbered.
    #[inline]
    pub fn takes(&mut self, now: Time, data: bool) -> bool {
        match self.process.at(now) {
            Process::Random(threshold) => *threshold > 0 && self.rng.next_u64() < *threshold,
            // As in sch_netem's loss_gilb_ell, the state before the change decides on the loss.
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
        // The cast saturates: p = 1 fails once in 2^64 draws.
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
        Losses::new(loss.into(), Rng::stream(1, "link", "loss")).expect("there is some loss")
    }

    /// Returns the numbers, from 1 on, of the packets lost among the first `packets`.
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
                // A burst is a bad period: geometric with mean 1/r and variance (1 - r)/r².
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
        // r = 1 - p: the loss of one packet does not depend on that of the packet before.
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
        // A tenth of 10^5 losses is followed by another: sigma is 0.001.
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
