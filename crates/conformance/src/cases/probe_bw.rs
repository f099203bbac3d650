//! ProbeBW_UP and ProbeBW_DOWN: A.5, A.8, A.9 and A.21.

use super::startup::flight;
use super::{BURST, RTT, SEGMENT, usual_path};
use crate::case::{Case, NONE, Scene, Step, at_least, at_most, condition, exactly};
use crate::view::{Change, Flow, Measured, Stay, Why};

/// Returns the first stay in UP.
fn up<'a>(flow: &Flow<'a>) -> Result<(Stay<'a>, Change<'a>), Why> {
    flow.stay_to_end("probe_bw_up", 0.0)
}

/// Returns the stay in DOWN after the first UP.
fn down<'a>(flow: &Flow<'a>) -> Result<(Stay<'a>, Change<'a>), Why> {
    flow.stay_to_end("probe_bw_down", up(flow)?.0.to)
}

pub(super) static UP_ENDS_AT_PLATEAU: Case = Case {
    section: "A.5",
    title: "Exiting ProbeBW_UP on bandwidth plateau",
    note: "",
    scenes: &[Scene {
        state: "probe_bw_up",
        scenario: usual_path!("5s"),
        conditions: &[
            condition("data lost in UP", "B", NONE, "step 2", |flow| {
                flow.lost(up(flow)?.0.from, up(flow)?.0.to)
            }),
            condition(
                "application-limited in UP",
                "",
                NONE,
                "step 2: fully utilized",
                |flow| flow.limited("application", up(flow)?.0.from, up(flow)?.0.to),
            ),
            condition(
                "rounds in UP",
                "rounds",
                (3.0, 4.0),
                "step 4: three rounds, from the first full round on",
                |flow| {
                    let (round, (stay, _)) = (flow.own("round")?, up(flow)?);
                    Ok(round[flow.row(stay.to)?] - round[flow.row(stay.from)?])
                },
            ),
            condition(
                "full_bw_count at the exit",
                "rounds",
                exactly(3.0),
                "step 4",
                |flow| flow.own_at("full_bw_count", up(flow)?.0.to),
            ),
            condition(
                "full_bw_now at the exit",
                "",
                exactly(1.0),
                "step 4",
                |flow| flow.own_at("full_bw_now", up(flow)?.0.to),
            ),
            condition(
                "transitions from UP to DOWN",
                "",
                exactly(1.0),
                "step 5",
                |flow| flow.count("probe_bw_up", "probe_bw_down", 0.0),
            ),
        ],
        ..Scene::EMPTY
    }],
};

/// Returns the lower of InflightWithHeadroom and Inflight(1.0), at a row.
fn room(flow: &Flow<'_>, row: usize) -> Measured {
    let longterm = flow.own("inflight_longterm")?[row];
    let bdp = flow.own("max_bw")?[row] * flow.own("min_rtt")?[row] / 8.0;
    Ok(if longterm > 0.0 {
        bdp.min(0.85 * longterm)
    } else {
        bdp
    })
}

pub(super) static DOWN_ENDS_DRAINED: Case = Case {
    section: "A.8",
    title: "Exiting ProbeBW_DOWN on inflight",
    note: "The buffer is half a BDP, so that UP ends with losses, which set inflight_longterm, and DOWN must leave headroom.",
    scenes: &[Scene {
        state: "probe_bw_down",
        scenario: "duration = \"5s\"\n\n[path]\nrate = \"50mbit\"\nrtt = \"40ms\"\nbuffer = \"0.5bdp\"\n",
        conditions: &[
            condition("pacing_gain in DOWN", "", exactly(0.9), "step 2", |flow| {
                flow.own_at("pacing_gain", down(flow)?.0.from)
            }),
            condition(
                "inflight_longterm in DOWN",
                "B",
                at_least(1.0),
                "step 3: headroom is required",
                |flow| flow.own_at("inflight_longterm", down(flow)?.0.from),
            ),
            condition(
                "inflight / bound when DOWN begins",
                "",
                at_least(1.0 + BURST),
                "step 4: the lower of the two bounds; there is a queue to drain",
                |flow| {
                    let row = flow.row(down(flow)?.0.from)?;
                    Ok(flow.common("inflight")[row] / room(flow, row)?)
                },
            ),
            condition(
                "inflight / bound at the exit",
                "",
                at_most(1.0 + BURST),
                "step 4: 1, with a tolerance of one burst",
                |flow| {
                    let row = flow.row(down(flow)?.0.to)?;
                    Ok(flow.common("inflight")[row] / room(flow, row)?)
                },
            ),
            condition(
                "transition from DOWN to CRUISE",
                "",
                exactly(1.0),
                "step 5",
                |flow| Ok(f64::from(down(flow)?.1.to == "probe_bw_cruise")),
            ),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static DOWN_ENDS_BY_TIME: Case = Case {
    section: "A.9",
    title: "Exiting ProbeBW_DOWN after max time",
    note: "At 2 s, in CRUISE, the RTT shrinks by a millisecond, so that ProbeRTT does not interfere.",
    scenes: &[Scene {
        state: "probe_bw_down",
        scenario: usual_path!("8s"),
        path: "\n[[path.change]]\nat = \"2s\"\nrtt = \"39ms\"\n",
        steps: &[
            Step::enters("probe_bw_up"),
            Step {
                path: "[[path.change]]\nat = \"$t\"\nrate = \"45mbit\"",
                ..Step::enters("probe_bw_down")
            },
        ],
        conditions: &[
            condition(
                "minimum inflight / BDP in DOWN",
                "",
                at_least(1.0),
                "step 2",
                |flow| {
                    let (stay, _) = flow.stay_to_end("probe_bw_down", flow.step(1))?;
                    let rows = flow.rows(stay.from, stay.to - 1e-9)?;
                    rows.map(|row| flight(flow, row))
                        .try_fold(f64::INFINITY, |least, each| Ok(least.min(each?)))
                },
            ),
            condition(
                "time in DOWN - bw_probe_wait",
                "s",
                (0.0, 0.001),
                "step 3: no earlier, but with the next ACK",
                |flow| {
                    let (stay, _) = flow.stay_to_end("probe_bw_down", flow.step(1))?;
                    Ok(stay.to - stay.from - flow.own_at("bw_probe_wait", stay.from)?)
                },
            ),
            condition(
                "bw_probe_wait",
                "s",
                (2.0, 3.0),
                "§5.3.3.8.3: 2 s plus up to 1 s",
                |flow| flow.own_at("bw_probe_wait", flow.step(1)),
            ),
            condition(
                "transition from DOWN to REFILL",
                "",
                exactly(1.0),
                "step 4",
                |flow| {
                    let (_, exit) = flow.stay_to_end("probe_bw_down", flow.step(1))?;
                    Ok(f64::from(exit.to == "probe_bw_refill"))
                },
            ),
        ],
        ..Scene::EMPTY
    }],
};

/// Loses 10 % for 50 ms, beginning half a round trip after `$t`.
const LOSS: &str = "[[path.change]]\nat = \"$t+20ms\"\nloss = \"10%\"\n\n[[path.change]]\nat = \"$t+70ms\"\nloss = \"0%\"";

pub(super) static LOSS_BELOW_LONGTERM: Case = Case {
    section: "A.21",
    title: "Handling loss during ProbeBW_UP after inflight_longterm is set",
    note: "Loss in the first UP sets inflight_longterm and makes the second UP a careful one. Loss in the third UP is judged.",
    scenes: &[Scene {
        state: "probe_bw_up",
        scenario: usual_path!("9s"),
        steps: &[
            Step {
                path: LOSS,
                ..Step::enters("probe_bw_up")
            },
            Step::enters("probe_bw_up").after_ms(500),
            Step {
                path: LOSS,
                ..Step::enters("probe_bw_up").after_ms(1)
            },
        ],
        conditions: &[
            condition(
                "inflight_longterm when UP begins",
                "B",
                at_least(4.0 * SEGMENT),
                "step 1",
                |flow| flow.own_at("inflight_longterm", flow.step(2)),
            ),
            condition(
                "inflight_longterm after / before loss",
                "",
                at_most(0.999),
                "step 4: scaled down",
                |flow| {
                    let (stay, _) = flow.stay_to_end("probe_bw_up", flow.step(2))?;
                    let longterm = flow.own("inflight_longterm")?;
                    Ok(longterm[flow.row(stay.to)?] / longterm[flow.row_before(stay.to)?])
                },
            ),
            condition(
                "inflight_longterm after loss / BDP",
                "",
                at_least(0.7),
                "step 4: not below Beta · min(BDP, cwnd), §5.5.10.2",
                |flow| {
                    let (stay, _) = flow.stay_to_end("probe_bw_up", flow.step(2))?;
                    let row = flow.row(stay.to)?;
                    let target = flow.bdp(row)?.min(flow.common("cwnd")[row - 1]);
                    Ok(flow.own("inflight_longterm")?[row] / target)
                },
            ),
            condition(
                "time in UP",
                "RTT",
                at_most(3.0),
                "steps 3 and 5: less than for a plateau, which takes 3 rounds",
                |flow| {
                    let (stay, _) = flow.stay_to_end("probe_bw_up", flow.step(2))?;
                    Ok((stay.to - stay.from) / RTT)
                },
            ),
            condition(
                "transition from UP to DOWN",
                "",
                exactly(1.0),
                "step 5",
                |flow| {
                    let (_, exit) = flow.stay_to_end("probe_bw_up", flow.step(2))?;
                    Ok(f64::from(exit.to == "probe_bw_down"))
                },
            ),
        ],
        ..Scene::EMPTY
    }],
};
