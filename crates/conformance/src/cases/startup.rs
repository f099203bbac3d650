//! Startup and Drain: A.1, A.3 and A.4.

use super::{BURST, RATE, usual_path};
use crate::case::{Case, NONE, Scene, Step, YES, at_least, at_most, condition, exactly};
use crate::view::{Flow, Measured, Why};

/// Returns the time at which Startup ended, and the row of the ACK that ended it.
pub(super) fn exit(flow: &Flow<'_>) -> Result<(f64, usize), Why> {
    let (stay, _) = flow.stay_to_end("startup", 0.0)?;
    Ok((stay.to, flow.row(stay.to)?))
}

/// Returns the value of a trace field at the end of Startup.
pub(super) fn at_exit(flow: &Flow<'_>, field: &str) -> Measured {
    Ok(flow.own(field)?[exit(flow)?.1])
}

pub(super) static PLATEAU: Case = Case {
    section: "A.1",
    title: "Exiting Startup on bandwidth plateau",
    note: "",
    scenes: &[Scene {
        state: "startup",
        scenario: usual_path!("2s"),
        conditions: &[
            condition(
                "application-limited in Startup",
                "",
                NONE,
                "step 2",
                |flow| flow.limited("application", 0.0, exit(flow)?.0),
            ),
            condition(
                "max_bw / bottleneck at the exit",
                "",
                (0.98, 1.02),
                "step 3: within 2 %",
                |flow| Ok(at_exit(flow, "max_bw")? / RATE),
            ),
            condition(
                "full_bw_count at the exit",
                "rounds",
                exactly(3.0),
                "step 4",
                |flow| at_exit(flow, "full_bw_count"),
            ),
            condition(
                "rounds since the last growth by 25 %",
                "rounds",
                exactly(3.0),
                "step 4",
                |flow| {
                    let (full_bw, round, exit) =
                        (flow.own("full_bw")?, flow.own("round")?, exit(flow)?.1);
                    let grown = (1..=exit)
                        .rfind(|row| full_bw[*row] > full_bw[row - 1])
                        .unwrap_or(0);
                    Ok(round[exit] - round[grown])
                },
            ),
            condition("full_bw_now at the exit", "", YES, "step 4", |flow| {
                at_exit(flow, "full_bw_now")
            }),
            condition("full_bw_reached at the exit", "", YES, "step 4", |flow| {
                at_exit(flow, "full_bw_reached")
            }),
            condition(
                "transitions from Startup to Drain",
                "",
                exactly(1.0),
                "step 5",
                |flow| flow.count("startup", "drain", 0.0),
            ),
        ],
        ..Scene::EMPTY
    }],
};

/// Returns the rows at the start and at the end of Drain.
fn drain(flow: &Flow<'_>) -> Result<(usize, usize), Why> {
    let (stay, _) = flow.stay_to_end("drain", 0.0)?;
    Ok((flow.row(stay.from)?, flow.row(stay.to)?))
}

/// Returns the data in flight after an ACK, in estimated BDPs.
pub(super) fn flight(flow: &Flow<'_>, row: usize) -> Measured {
    Ok(flow.common("inflight")[row] / flow.bdp(row)?)
}

pub(super) static DRAINED: Case = Case {
    section: "A.3",
    title: "Exiting Drain based on inflight",
    note: "",
    scenes: &[Scene {
        state: "drain",
        scenario: usual_path!("2s"),
        conditions: &[
            condition("pacing_gain in Drain", "", exactly(0.5), "step 2", |flow| {
                Ok(flow.own("pacing_gain")?[drain(flow)?.0])
            }),
            condition(
                "inflight / BDP when Drain begins",
                "",
                at_least(1.0 + BURST),
                "step 3: there is a queue to drain",
                |flow| flight(flow, drain(flow)?.0),
            ),
            condition(
                "inflight / BDP one ACK before the exit",
                "",
                at_least(1.0),
                "step 4: no earlier",
                |flow| flight(flow, drain(flow)?.1 - 1),
            ),
            condition(
                "inflight / BDP at the exit",
                "",
                at_most(1.0 + BURST),
                "step 4: 1, with a tolerance of one burst",
                |flow| flight(flow, drain(flow)?.1),
            ),
            condition(
                "transitions from Drain to ProbeBW",
                "",
                exactly(1.0),
                "step 4",
                |flow| flow.count("drain", "probe_bw", 0.0),
            ),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static DRAINED_BY_TIME: Case = Case {
    section: "A.4",
    title: "Exiting Drain based on time",
    note: "With 10 % less bandwidth, as in step 2, a queue of one BDP drains in two rounds at DrainPacingGain (reported only). With \
           half of the bandwidth the queue remains.",
    scenes: &[
        Scene {
            name: "half",
            state: "drain",
            scenario: usual_path!("3s"),
            steps: &[Step {
                path: "[[path.change]]\nat = \"$t\"\nrate = \"25mbit\"",
                ..Step::enters("drain")
            }],
            conditions: &[
                condition(
                    "inflight / BDP at the exit",
                    "",
                    at_least(1.0 + BURST),
                    "step 3: higher throughout",
                    |flow| flight(flow, drain(flow)?.1),
                ),
                condition(
                    "rounds in Drain",
                    "rounds",
                    (3.0, 4.0),
                    "step 5: after 3 rounds; with the fourth, by §5.3.2's pseudocode",
                    |flow| {
                        let (round, (begin, end)) = (flow.own("round")?, drain(flow)?);
                        Ok(round[end] - round[begin])
                    },
                ),
                condition("transitions from Drain to ProbeBW", "", exactly(1.0), "step 5", |flow| {
                    flow.count("drain", "probe_bw", 0.0)
                }),
            ],
            ..Scene::EMPTY
        },
        Scene {
            name: "tenth",
            state: "drain",
            scenario: usual_path!("3s"),
            steps: &[Step {
                path: "[[path.change]]\nat = \"$t\"\nrate = \"45mbit\"",
                ..Step::enters("drain")
            }],
            conditions: &[condition(
                "rounds in Drain",
                "rounds",
                (3.0, 4.0),
                "step 2 reduces the bandwidth by 10 %, but at DrainPacingGain a queue of one BDP then drains in two rounds",
                |flow| {
                    let (round, (begin, end)) = (flow.own("round")?, drain(flow)?);
                    Ok(round[end] - round[begin])
                },
            )
            .reported()],
            ..Scene::EMPTY
        },
    ],
};
