//! Whether the numbers of a run are steady within the measured window.

use fullpipe_units::Time;
use serde::Serialize;

use crate::drift::trend_p;
use crate::{Drift, FlowSummary, LinkSummary, MeasuredTime, WorkloadSummary};

/// Probability that a run of independent batches is called drifting, over all its numbers.
pub const LEVEL: f64 = 0.05;
/// Least difference between the first and the last third of the window of one run, relative to the number.
const LEAST_TREND: f64 = 0.1;
/// Least difference that a longer warm-up makes, relative to the number.
pub const LEAST_WARM_UP: f64 = 0.05;
/// Least difference of a goodput, relative to the goodput of all flows; of a delay, relative to the RTT; of a
/// utilization.
pub const LEAST_OF_ALL: f64 = 0.02;
/// Least difference of a retransmission rate.
pub const LEAST_LOSS: f64 = 0.001;
/// Least difference of a number of active flows.
pub const LEAST_FLOWS: f64 = 2.0;
/// Least length of the window in mean RTTs: one for each batch of the test of trend.
const LEAST_RTTS: f64 = 12.0;

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Steady {
    /// No number drifts.
    Steady,
    /// At least one number drifts.
    Drifts,
    /// The scenario changes within the window, so the numbers are not tested.
    Changes,
    /// No number is tested, or the goodput of a flow is not.
    Untested,
}

/// A number that drifts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drifting {
    /// `flow`, `workload` or `link`.
    pub of: &'static str,
    /// Name of the flow, workload or link.
    pub name: String,
    /// Name of the metric.
    pub metric: &'static str,
    /// The test that found it: `trend` or `warm-up`.
    pub test: &'static str,
}

/// Whether the numbers of a run are steady.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Steadiness {
    /// The verdict.
    pub verdict: Steady,
    /// Changes on purpose within the window, in clauses; empty without one.
    pub changes: String,
    /// The end of the tested part of the window, if arrivals stop before the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested_until_s: Option<f64>,
    /// The numbers that drift.
    pub drifting: Vec<Drifting>,
}

/// A number, its course, and the least difference that matters.
struct Number<'a> {
    of: &'static str,
    name: &'a str,
    metric: &'static str,
    value: f64,
    drift: Drift,
    least: f64,
}

impl Steadiness {
    /// Judges the numbers of a run in a scenario that changes within the window as described by `changes`.
    pub fn of(
        window: MeasuredTime,
        flows: &[FlowSummary],
        workloads: &[WorkloadSummary],
        links: &[LinkSummary],
        changes: &[String],
    ) -> Steadiness {
        let window_s = window.tested_to.since(window.from).as_secs_f64();
        let short = |flow: &FlowSummary| {
            flow.rtt_s
                .mean
                .is_some_and(|rtt| window_s < LEAST_RTTS * rtt)
        };
        let over = |flow: &FlowSummary| flow.completion_s.is_some() && flow.goodput_bps == 0.0;
        let whole = flows
            .iter()
            .filter(|flow| !over(flow)) // before the window
            .all(|flow| flow.drift.goodput_bps.is_some() && !short(flow));
        let numbers = numbers(flows, workloads, links);
        let mut drifting = Vec::new();
        let verdict = if !changes.is_empty() {
            Steady::Changes
        } else if numbers.is_empty() || !whole {
            Steady::Untested
        } else {
            let level = LEVEL / numbers.len() as f64;
            drifting.extend(numbers.iter().filter_map(|number| number.drifts(level)));
            if drifting.is_empty() {
                Steady::Steady
            } else {
                Steady::Drifts
            }
        };
        Steadiness {
            verdict,
            changes: changes.join("; "),
            tested_until_s: (window.tested_to < window.to)
                .then(|| window.tested_to.since(Time::ZERO).as_secs_f64()),
            drifting,
        }
    }
}

impl Number<'_> {
    fn drifts(&self, level: f64) -> Option<Drifting> {
        let Drift {
            first,
            last,
            tau,
            settled,
            ..
        } = self.drift;
        let matters =
            |difference: f64, share: f64| difference.abs() >= self.least.max(share * self.value);
        let test = if settled.is_some_and(|settled| matters(settled - self.value, LEAST_WARM_UP)) {
            "warm-up"
        } else if matters(last - first, LEAST_TREND) && trend_p(tau) <= level {
            "trend"
        } else {
            return None;
        };
        Some(Drifting {
            of: self.of,
            name: self.name.to_owned(),
            metric: self.metric,
            test,
        })
    }
}

/// Returns the numbers with a course. A flow's delay is that in queues, or the RTT where no runner sees queues.
fn numbers<'a>(
    flows: &'a [FlowSummary],
    workloads: &'a [WorkloadSummary],
    links: &'a [LinkSummary],
) -> Vec<Number<'a>> {
    let all: f64 = flows.iter().map(|flow| flow.goodput_bps).sum();
    let mut numbers = Vec::new();
    let slowest = flows.iter().filter_map(|flow| flow.rtt_s.mean);
    let rtt_s = slowest.fold(0.0, f64::max);
    for flow in flows {
        let mut add = |metric, value: Option<f64>, drift: Option<Drift>, least| {
            if let (Some(value), Some(drift)) = (value, drift) {
                numbers.push(Number {
                    of: "flow",
                    name: &flow.name,
                    metric,
                    value,
                    drift,
                    least,
                });
            }
        };
        let drift = &flow.drift;
        let goodput = Some(flow.goodput_bps);
        add(
            "goodput_bps",
            goodput,
            drift.goodput_bps,
            LEAST_OF_ALL * all,
        );
        let (queue, rtt) = (flow.queue_delay_s.mean, flow.rtt_s.mean);
        let least = LEAST_OF_ALL * rtt.unwrap_or(0.0);
        if queue.is_some() && drift.queue_delay_s.is_some() {
            add("queue_delay_s", queue, drift.queue_delay_s, least);
        } else {
            add("rtt_s", rtt, drift.rtt_s, least);
        }
        let loss = Some(flow.loss_fraction);
        add("loss_fraction", loss, drift.loss_fraction, LEAST_LOSS);
    }
    for workload in workloads {
        numbers.extend(workload.drift.concurrent.map(|drift| Number {
            of: "workload",
            name: &workload.name,
            metric: "concurrent",
            value: workload.concurrent,
            drift,
            least: LEAST_FLOWS,
        }));
    }
    for link in links {
        let drift = &link.drift;
        let pairs = [
            (
                "utilization",
                Some(link.utilization),
                drift.utilization,
                LEAST_OF_ALL,
            ),
            (
                "queue_delay_s",
                link.queue_delay_s.mean,
                drift.queue_delay_s,
                LEAST_OF_ALL * rtt_s,
            ),
        ];
        for (metric, value, drift, least) in pairs {
            if let (Some(value), Some(drift)) = (value, drift) {
                numbers.push(Number {
                    of: "link",
                    name: &link.name,
                    metric,
                    value,
                    drift,
                    least,
                });
            }
        }
    }
    numbers
}
