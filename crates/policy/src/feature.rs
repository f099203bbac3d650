//! Features of a monitor interval, declared once: names, ranges, scales and units.

use fullpipe_cc::steered::Interval;
use fullpipe_units::{Bytes, Rate};

/// A number about an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Change of the RTT within the interval, over its length.
    LatencyInflation,
    /// Mean RTT over the smallest mean RTT of an interval so far.
    LatencyRatio,
    /// Data sent over data delivered, both as rates.
    SendRatio,
    /// Data lost over data lost and delivered.
    LossRatio,
    /// Mean RTT.
    MeanRtt,
    /// Smallest mean RTT of an interval so far.
    LeastRtt,
    /// Rate of the data sent.
    SendRate,
    /// Rate of the data delivered.
    ReceiveRate,
    /// Length of the interval.
    Length,
    /// Logarithm of the rate in force over the rate of the data delivered.
    Excess,
}

/// The declaration of a feature.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The feature.
    pub feature: Feature,
    /// Its name.
    pub name: &'static str,
    /// Unit of one, after the scale; may be empty.
    pub unit: &'static str,
    /// Smallest and largest value; others are clipped.
    pub range: (f64, f64),
    /// Meaning.
    pub purpose: &'static str,
}

/// An interval, and what else a feature may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) interval: &'a Interval,
    /// Payload of a full packet.
    pub(crate) smss: Bytes,
    /// Smallest mean RTT so far, in seconds.
    pub(crate) least_rtt: Option<f64>,
    /// Window and rate in force during the interval.
    pub(crate) in_force: (Bytes, Option<Rate>),
}

impl Feature {
    /// All features.
    pub const ALL: &'static [Known] = &[
        Known {
            feature: Feature::LatencyInflation,
            name: "latency-inflation",
            unit: "",
            range: (-1.0, 10.0),
            purpose: "mean RTT of the second half of the samples minus that of the first, over the length of the interval (Aurora)",
        },
        Known {
            feature: Feature::LatencyRatio,
            name: "latency-ratio",
            unit: "",
            range: (1.0, 10_000.0),
            purpose: "mean RTT over the smallest mean RTT of an interval so far; 1 without samples (Aurora)",
        },
        Known {
            feature: Feature::SendRatio,
            name: "send-ratio",
            unit: "",
            range: (0.0, 1000.0),
            purpose: "rate of sending over rate of delivery; 1 if nothing was delivered (Aurora)",
        },
        Known {
            feature: Feature::LossRatio,
            name: "loss-ratio",
            unit: "",
            range: (0.0, 1.0),
            purpose: "data lost over data lost and delivered",
        },
        Known {
            feature: Feature::MeanRtt,
            name: "mean-rtt",
            unit: "s",
            range: (0.0, 100.0),
            purpose: "mean RTT; 0 without samples",
        },
        Known {
            feature: Feature::LeastRtt,
            name: "least-rtt",
            unit: "s",
            range: (0.0, 100.0),
            purpose: "smallest mean RTT of an interval so far; 0 before the first sample",
        },
        Known {
            feature: Feature::SendRate,
            name: "send-rate",
            unit: "10 Mbit/s",
            range: (0.0, 10_000.0),
            purpose: "rate of the data sent",
        },
        Known {
            feature: Feature::ReceiveRate,
            name: "receive-rate",
            unit: "10 Mbit/s",
            range: (0.0, 10_000.0),
            purpose: "rate of the data delivered, less one packet as in Aurora's environment",
        },
        Known {
            feature: Feature::Length,
            name: "length",
            unit: "s",
            range: (0.0, 100.0),
            purpose: "length of the interval",
        },
        Known {
            feature: Feature::Excess,
            name: "excess",
            unit: "",
            range: (-10.0, 10.0),
            purpose: "binary logarithm of the rate in force, or of window over mean RTT, over the rate of delivery; 0 if nothing was delivered",
        },
    ];

    /// Returns the feature with this name.
    pub fn named(name: &str) -> Option<Feature> {
        let known = Feature::ALL.iter().find(|known| known.name == name);
        known.map(|known| known.feature)
    }

    /// Returns the declaration of the feature.
    pub fn about(self) -> &'static Known {
        &Feature::ALL[self as usize]
    }

    /// Returns the value before the first interval.
    pub fn neutral(self) -> f64 {
        match self {
            Feature::LatencyRatio | Feature::SendRatio => 1.0,
            _ => 0.0,
        }
    }

    pub(crate) fn of(self, seen: &Seen<'_>) -> f64 {
        let Seen {
            interval,
            smss,
            least_rtt,
            in_force,
        } = *seen;
        let seconds = interval.length().as_secs_f64();
        let rate = |bytes: f64| {
            if seconds > 0.0 {
                8.0 * bytes / seconds
            } else {
                0.0
            }
        };
        let received = rate(interval.acked.as_f64() - smss.as_f64());
        let mean = interval.mean_rtt();
        let value = match self {
            Feature::LatencyInflation if seconds > 0.0 => interval.rtt_increase() / seconds,
            Feature::LatencyInflation => 0.0,
            Feature::LatencyRatio => match (mean, least_rtt) {
                (Some(mean), Some(least)) if least > 0.0 => mean / least,
                _ => 1.0,
            },
            Feature::SendRatio => {
                let sent = rate(interval.sent.as_f64());
                if received > 0.0 && sent < 1000.0 * received {
                    sent / received
                } else {
                    1.0
                }
            }
            Feature::LossRatio => loss_ratio(interval),
            Feature::MeanRtt => mean.unwrap_or(0.0),
            Feature::LeastRtt => least_rtt.unwrap_or(0.0),
            Feature::SendRate => rate(interval.sent.as_f64()) / 1e7,
            Feature::ReceiveRate => received / 1e7,
            Feature::Length => seconds,
            Feature::Excess => {
                let delivered = rate(interval.acked.as_f64());
                let chosen = match (in_force, mean) {
                    ((_, Some(rate)), _) => rate.as_f64(),
                    ((window, None), Some(mean)) if mean > 0.0 => 8.0 * window.as_f64() / mean,
                    _ => 0.0,
                };
                if delivered > 0.0 && chosen > 0.0 {
                    libm::log2(chosen / delivered)
                } else {
                    0.0
                }
            }
        };
        let (least, most) = self.about().range;
        value.clamp(least, most)
    }
}

/// Returns the share of lost data in the data whose fate became known in an interval.
pub(crate) fn loss_ratio(interval: &Interval) -> f64 {
    let (lost, acked) = (interval.lost.as_f64(), interval.acked.as_f64());
    if lost + acked > 0.0 {
        lost / (lost + acked)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullpipe_units::{Span, Time};
    use proptest::prelude::*;

    fn interval(sent: u64, acked: u64, lost: u64, rtts: &[u64], ms: u64) -> Interval {
        Interval {
            time: (Time::ZERO, Time::ZERO + Span::from_millis(ms)),
            sent: Bytes::new(sent * 1500),
            acked: Bytes::new(acked * 1500),
            lost: Bytes::new(lost * 1500),
            rtts: rtts.iter().map(|rtt| Span::from_millis(*rtt)).collect(),
        }
    }

    fn value(feature: Feature, interval: &Interval, least_rtt: Option<f64>) -> f64 {
        feature.of(&Seen {
            interval,
            smss: Bytes::new(1500),
            least_rtt,
            in_force: (Bytes::new(15_000), Some(Rate::from_mbps(3))),
        })
    }

    #[test]
    fn features_are_declared_in_the_order_of_the_enum() {
        for (place, known) in Feature::ALL.iter().enumerate() {
            assert_eq!(known.feature as usize, place, "{}", known.name);
            assert_eq!(Feature::named(known.name), Some(known.feature));
        }
    }

    /// Worked by hand: 100 ms, 30 packets sent, 21 delivered, 4 lost, RTT from 50 to 70 ms.
    #[test]
    fn an_interval_has_auroras_three_numbers() {
        let it = interval(30, 21, 4, &[50, 50, 70, 70], 100);
        let near = |feature, expected: f64| {
            let found = value(feature, &it, Some(0.05));
            assert!((found - expected).abs() < 1e-12, "{feature:?}: {found}");
        };
        near(Feature::LatencyInflation, 0.02 / 0.1);
        near(Feature::LatencyRatio, 60.0 / 50.0);
        // Aurora subtracts a packet from the delivered data.
        near(Feature::SendRatio, 30.0 / 20.0);
        near(Feature::LossRatio, 4.0 / 25.0);
        near(Feature::MeanRtt, 0.06);
        near(Feature::SendRate, 30.0 * 1500.0 * 8.0 / 0.1 / 1e7);
        near(Feature::ReceiveRate, 20.0 * 1500.0 * 8.0 / 0.1 / 1e7);
        near(Feature::Length, 0.1);
        near(Feature::Excess, libm::log2(3e6 / (21.0 * 12_000.0 / 0.1)));
    }

    #[test]
    fn an_interval_without_packets_is_neutral() {
        let it = interval(0, 0, 0, &[], 100);
        for known in Feature::ALL {
            let expected = match known.feature {
                Feature::Length => 0.1,
                feature => feature.neutral(),
            };
            assert_eq!(value(known.feature, &it, None), expected, "{}", known.name);
        }
    }

    proptest! {
        #[test]
        fn each_feature_stays_within_its_range(
            sent in 0_u64..1_000_000, acked in 0_u64..1_000_000, lost in 0_u64..1_000_000,
            rtts in prop::collection::vec(0_u64..100_000, 0..20), ms in 0_u64..100_000, least in 0.0..10.0,
        ) {
            let it = interval(sent, acked, lost, &rtts, ms);
            for known in Feature::ALL {
                let value = value(known.feature, &it, Some(least));
                prop_assert!((known.range.0..=known.range.1).contains(&value), "{} = {value}", known.name);
            }
        }
    }
}
