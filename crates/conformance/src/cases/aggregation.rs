//! Paths that hold ACKs back and release them in bursts: A.12 and A.13.

use super::startup::exit;
use super::{RATE, RTT, SEGMENT, usual_path};
use crate::case::{Case, Scene, Step, at_least, condition};
use crate::view::Flow;

/// Bytes that the bottleneck delivers in 20 ms, and that are therefore acknowledged at once.
const HELD: f64 = RATE * 0.02 / 8.0;

/// Returns the maximum of a trace field from `from` to `to`.
fn most(flow: &Flow<'_>, field: &str, from: f64, to: f64) -> crate::view::Measured {
    let values = flow.own(field)?;
    Ok(flow
        .rows(from, to)?
        .map(|row| values[row])
        .fold(0.0, f64::max))
}

pub(super) static IN_STARTUP: Case = Case {
    section: "A.12",
    title: "Achieving expected Startup bandwidth on a link with aggregation",
    note: "ACKs are released every 20 ms.",
    scenes: &[Scene {
        state: "startup",
        scenario: usual_path!("2s"),
        path: "reverse_jitter = \"hold 20ms\"\n",
        conditions: &[
            condition(
                "extra_acked / data of 20 ms",
                "",
                (0.75, 1.25),
                "step 3: correctly estimated; the draft gives no number: 25 %, because epochs may begin within a burst",
                |flow| {
                    Ok(most(
                        flow,
                        "extra_acked",
                        exit(flow)?.0 - 0.1,
                        exit(flow)?.0 - 1e-6,
                    )? / HELD)
                },
            ),
            condition(
                "cwnd / (2 BDP) at the exit",
                "",
                at_least(1.0),
                "step 3: more than 1",
                |flow| {
                    let row = flow.row_before(exit(flow)?.0)?;
                    Ok(flow.common("cwnd")[row] / (2.0 * RATE * RTT / 8.0))
                },
            ),
            condition(
                "max_bw / bottleneck at the exit",
                "",
                at_least(0.98),
                "step 4: the full bandwidth; tolerance of 2 % as in A.1",
                |flow| Ok(flow.own("max_bw")?[exit(flow)?.1] / RATE),
            ),
            condition(
                "max_bw / bottleneck at the exit",
                "",
                (0.98, 1.02),
                "step 4: at most the bandwidth of the path",
                |flow| Ok(flow.own("max_bw")?[exit(flow)?.1] / RATE),
            )
            .reported(),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static IN_CRUISE: Case = Case {
    section: "A.13",
    title: "Achieving expected Cruise bandwidth on a link with aggregation",
    note: "ACKs are released every 20 ms, for one second. Then the application pauses for 30 ms, which ends the last burst's \
           epoch: at the estimated rate its excess would last for seconds.",
    scenes: &[Scene {
        state: "probe_bw_cruise",
        scenario: usual_path!("3s"),
        steps: &[Step {
            flow: "app_schedule = \"$t+1s pause, $t+1.03s unlimited\"",
            path: "[[path.change]]\nat = \"$t\"\nreverse_jitter = \"hold 20ms\"\n\n[[path.change]]\nat = \"$t+1s\"\nreverse_jitter = \"off\"",
            ..Step::enters("probe_bw_cruise")
        }],
        conditions: &[
            condition(
                "extra_acked / data of 20 ms",
                "",
                (0.75, 1.25),
                "step 3: as in A.12",
                |flow| {
                    Ok(most(flow, "extra_acked", flow.step(0) + 0.2, flow.step(0) + 1.0)? / HELD)
                },
            ),
            condition(
                "rounds for which the filter keeps the last burst",
                "rounds",
                (9.0, 11.0),
                "step 3: ExtraAckedFilterLen is 10; one more or less, because a burst may be anywhere in a round",
                |flow| {
                    let (extra, round) = (flow.own("extra_acked")?, flow.own("round")?);
                    let begin = flow.row(flow.step(0) + 1.0 + RTT)?;
                    let end = (begin..extra.len()).find(|row| extra[*row] < 0.5 * HELD);
                    let end =
                        end.ok_or_else(|| crate::Why::Never("extra_acked never falls".to_owned()))?;
                    Ok(round[end] - round[begin])
                },
            ),
            condition(
                "(cwnd - 2 BDP) / extra_acked",
                "",
                at_least(1.0 - SEGMENT / HELD),
                "step 4: augmented; tolerance of one segment",
                |flow| {
                    let (cwnd, extra) = (flow.common("cwnd"), flow.own("extra_acked")?);
                    let row = flow.row_before(flow.step(0) + 1.0)?;
                    Ok((cwnd[row] - 2.0 * flow.bdp(row)?) / extra[row])
                },
            ),
            condition(
                "limited by cwnd",
                "",
                crate::case::at_most(0.01),
                "step 4: no stalling",
                |flow| flow.limited("cwnd", flow.step(0) + 0.2, flow.step(0) + 1.0),
            ),
            condition(
                "delivered / bottleneck",
                "",
                at_least(0.97),
                "step 4: full utilization, less PacingMarginPercent; tolerance of 2 % as in A.1",
                |flow| Ok(flow.rate(flow.step(0) + 0.2, flow.step(0) + 1.0)? / RATE),
            ),
        ],
        ..Scene::EMPTY
    }],
};
