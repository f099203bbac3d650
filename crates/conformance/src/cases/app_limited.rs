//! Application-limited flows: A.2, A.6, A.7 and A.22.

use super::startup::{at_exit, exit};
use super::{RTT, usual_path};
use crate::case::{Case, NONE, Scene, Step, YES, at_least, at_most, condition, exactly};
use crate::view::{Flow, Why};

/// Returns the time of the first loss at `since` or later.
fn first_loss(flow: &Flow<'_>, since: f64) -> Result<f64, Why> {
    let lost = flow.common("lost");
    let rows = flow.rows(since, flow.end())?;
    let before = lost[rows.start];
    let first = rows.into_iter().find(|row| lost[*row] > before);
    first
        .map(|row| flow.time(row))
        .ok_or_else(|| Why::Never("nothing was lost".to_owned()))
}

pub(super) static LOSS_IN_STARTUP: Case = Case {
    section: "A.2",
    title: "Exiting Startup on loss when application-limited",
    note: "The application writes at half the bandwidth of the path. From 1 s on, 10 % is lost: about eight of the eighty \
           segments of a round trip, because §5.3.1.3 requires losses in six ranges.",
    scenes: &[Scene {
        state: "startup",
        scenario: usual_path!("2s"),
        flow: "app_rate = \"25mbit\"\n",
        steps: &[],
        conditions: &[
            condition(
                "application-limited before the loss",
                "",
                at_least(0.9),
                "step 2; excludes the first round trips",
                |flow| flow.limited("application", 0.3, 1.0),
            ),
            condition("in Startup when loss begins", "", YES, "step 3", |flow| {
                Ok(f64::from(flow.stay("startup", 0.0)?.to > 1.0))
            }),
            condition(
                "loss rate in the round trip before exit",
                "%",
                at_least(2.0),
                "steps 3 and 4: more than LossThresh",
                |flow| {
                    let (to, row) = exit(flow)?;
                    let (lost, delivered) = (flow.lost(to - RTT, to)?, flow.common("delivered"));
                    Ok(100.0 * lost / (lost + delivered[row] - delivered[flow.row(to - RTT)?]))
                },
            ),
            condition(
                "from the first loss to the exit",
                "RTT",
                at_most(4.0),
                "step 5; the draft gives no number: a round of recovery, the rest of the previous round, and two rounds with too few ranges",
                |flow| Ok((exit(flow)?.0 - first_loss(flow, 0.9)?) / RTT),
            ),
            condition(
                "full_bw_count at the exit",
                "rounds",
                at_most(2.0),
                "step 5: loss, not a plateau, ends Startup",
                |flow| at_exit(flow, "full_bw_count"),
            ),
            condition("full_bw_reached at the exit", "", YES, "step 5", |flow| {
                at_exit(flow, "full_bw_reached")
            }),
            condition(
                "full_bw_now at the exit",
                "",
                YES,
                "step 5 requires it, but §5.3.1.3 sets only full_bw_reached",
                |flow| at_exit(flow, "full_bw_now"),
            )
            .reported(),
            condition("Startup to Drain", "", exactly(1.0), "step 5", |flow| {
                flow.count("startup", "drain", 1.0)
            }),
        ],
        path: "[[path.change]]\nat = \"1s\"\nloss = \"10%\"\n",
        ..Scene::EMPTY
    }],
};

pub(super) static LOSS_IN_UP: Case = Case {
    section: "A.6",
    title: "Exiting ProbeBW_UP on loss when application-limited",
    note: "",
    scenes: &[Scene {
        state: "probe_bw_up",
        scenario: usual_path!("5s"),
        steps: &[Step {
            flow: "app_schedule = \"$t 25mbit\"",
            path: "[[path.change]]\nat = \"$t+150ms\"\nloss = \"10%\"\n\n[[path.change]]\nat = \"$t+250ms\"\nloss = \"0%\"",
            ..Step::enters("probe_bw_up")
        }],
        conditions: &[
            condition(
                "application-limited before the loss",
                "",
                at_least(0.9),
                "step 2",
                |flow| flow.limited("application", flow.step(0) + 2.0 * RTT, flow.step(0) + 0.15),
            ),
            condition("in UP when loss begins", "", YES, "step 3", |flow| {
                Ok(f64::from(
                    flow.stay("probe_bw_up", flow.step(0))?.to > flow.step(0) + 0.15,
                ))
            }),
            condition(
                "from the first loss to the exit",
                "RTT",
                at_most(1.0),
                "step 4: loss within the last round trip",
                |flow| {
                    let (stay, _) = flow.stay_to_end("probe_bw_up", flow.step(0))?;
                    Ok((stay.to - first_loss(flow, flow.step(0))?) / RTT)
                },
            ),
            condition(
                "transition from UP to DOWN during loss",
                "",
                exactly(1.0),
                "step 5",
                |flow| {
                    let (_, exit) = flow.stay_to_end("probe_bw_up", flow.step(0))?;
                    let by_loss = exit.at >= first_loss(flow, flow.step(0))?;
                    Ok(f64::from(by_loss && exit.to == "probe_bw_down"))
                },
            ),
            condition(
                "change of inflight_longterm",
                "B",
                NONE,
                "step 5: appropriately; by §5.5.10.2 application-limited samples do not lower it",
                |flow| {
                    let longterm = flow.own("inflight_longterm")?;
                    let (stay, _) = flow.stay_to_end("probe_bw_up", flow.step(0))?;
                    Ok(longterm[flow.row(stay.to)?] - longterm[flow.row_before(stay.to)?])
                },
            ),
        ],
        ..Scene::EMPTY
    }],
};

/// An RTT that shrinks by a millisecond each time before ProbeRTT would be due.
macro_rules! shrinking {
    ($($time:literal $rtt:literal),+) => {
        concat!($("[[path.change]]\nat = \"", $time, "\"\nrtt = \"", $rtt, "\"\n\n"),+)
    };
}

pub(super) static NO_EXIT: Case = Case {
    section: "A.7",
    title: "Never exiting ProbeBW_UP (or Startup) when application-limited with no loss",
    note: "By §5.3.4 ProbeRTT interrupts every state after 5 s without a lower RTT. The RTT therefore shrinks by a \
           millisecond every 4.5 s, and 15 s stand for \"indefinitely\".",
    scenes: &[
        Scene {
            name: "startup",
            state: "startup",
            scenario: usual_path!("16s"),
            flow: "app_rate = \"10mbit\"\n",
            path: shrinking!("4s" "39ms", "8.5s" "38ms", "13s" "37ms"),
            conditions: &[
                condition("application-limited", "", at_least(0.9), "step 2", |flow| {
                    flow.limited("application", 1.0, flow.end())
                }),
                condition("data lost", "B", NONE, "step 3", |flow| {
                    flow.lost(0.1, flow.end())
                }),
                condition("time in Startup", "s", at_least(15.0), "step 3", |flow| {
                    Ok(flow.stay("startup", 0.0)?.to)
                }),
            ],
            ..Scene::EMPTY
        },
        Scene {
            name: "up",
            state: "probe_bw_up",
            scenario: usual_path!("20s"),
            steps: &[Step {
                flow: "app_schedule = \"$t 10mbit\"",
                path: shrinking!("$t+1s" "39ms", "$t+5.5s" "38ms", "$t+10s" "37ms", "$t+14.5s" "36ms"),
                ..Step::enters("probe_bw_up")
            }],
            conditions: &[
                condition("application-limited", "", at_least(0.9), "step 2", |flow| {
                    flow.limited("application", flow.step(0) + 0.2, flow.end())
                }),
                condition("data lost", "B", NONE, "step 3", |flow| {
                    flow.lost(flow.step(0), flow.end())
                }),
                condition("time in UP", "s", at_least(15.0), "step 3", |flow| {
                    let stay = flow.stay("probe_bw_up", flow.step(0))?;
                    Ok(stay.to - stay.from)
                }),
            ],
            ..Scene::EMPTY
        },
    ],
};

pub(super) static REFILL: Case = Case {
    section: "A.22",
    title: "Handling application-limited sending during ProbeBW_REFILL",
    note: "The pause of 35 ms ends just before all data in flight is acknowledged.",
    scenes: &[Scene {
        state: "probe_bw_refill",
        scenario: usual_path!("5s"),
        steps: &[Step {
            flow: "app_schedule = \"$t pause, $t+35ms unlimited\"",
            ..Step::enters("probe_bw_refill")
        }],
        conditions: &[
            condition(
                "minimum delivery rate / max_bw",
                "",
                at_most(0.9),
                "step 3: lower samples; the draft gives no number: low enough that only the pause explains it",
                |flow| {
                    let (rate, max_bw) = (flow.common("delivery_rate"), flow.own("max_bw")?);
                    let (stay, _) = flow.stay_to_end("probe_bw_refill", flow.step(0))?;
                    let ratios = flow
                        .rows(stay.from, stay.to + RTT)?
                        .map(|row| rate[row] / max_bw[row]);
                    Ok(ratios.fold(f64::INFINITY, f64::min))
                },
            ),
            condition(
                "max_bw after / before the round",
                "",
                exactly(1.0),
                "step 3",
                |flow| {
                    let (stay, _) = flow.stay_to_end("probe_bw_refill", flow.step(0))?;
                    Ok(flow.own_at("max_bw", stay.to)? / flow.own_at("max_bw", stay.from)?)
                },
            ),
            condition(
                "transitions from REFILL to UP",
                "",
                at_least(1.0),
                "step 4",
                |flow| flow.count("probe_bw_refill", "probe_bw_up", flow.step(0)),
            ),
            condition(
                "time in REFILL",
                "RTT",
                at_most(2.0),
                "step 4: one round trip after the pause",
                |flow| {
                    let (stay, _) = flow.stay_to_end("probe_bw_refill", flow.step(0))?;
                    Ok((stay.to - stay.from) / RTT)
                },
            ),
            condition(
                "later transitions from UP to DOWN",
                "",
                at_least(1.0),
                "step 4: handles subsequent probing",
                |flow| flow.count("probe_bw_up", "probe_bw_down", flow.step(0)),
            ),
        ],
        ..Scene::EMPTY
    }],
};
