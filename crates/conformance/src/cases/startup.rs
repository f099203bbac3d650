//! Startup and Drain: A.1 to A.4.

use super::{BDP, RATE, RTT};
use crate::case::{Case, Scene, Step, YES, NONE, at_least, at_most, condition, exactly};
use crate::view::{Flow, Measured};
use units::Span;

const PATH: &str = r#"
duration = "2s"

[path]
rate = "50mbit"
rtt = "40ms"
buffer = "4bdp"
"#;

/// When Startup ended, and the row of the ACK that ended it.
fn exit(flow: &Flow<'_>) -> Result<(f64, usize), crate::Why> {
    let (stay, _) = flow.stay_to_end("startup", 0.0)?;
    Ok((stay.to, flow.row(stay.to)?))
}

fn at_exit(flow: &Flow<'_>, field: &str) -> Measured {
    Ok(flow.own(field)?[exit(flow)?.1])
}

pub(super) static PLATEAU: Case = Case {
    section: "A.1",
    title: "Exiting Startup on a bandwidth plateau",
    note: "",
    scenes: &[Scene {
        scenario: PATH,
        conditions: &[
            condition("limited by the application in Startup", "", NONE, "step 2", |flow| {
                flow.limited("application", 0.0, exit(flow)?.0)
            }),
            condition("max_bw / bottleneck at the exit", "", (0.98, 1.02), "step 3: within 2 %", |flow| {
                Ok(at_exit(flow, "max_bw")? / RATE)
            }),
            condition("full_bw_count at the exit", "rounds", exactly(3.0), "step 4", |flow| at_exit(flow, "full_bw_count")),
            condition("rounds since the last growth by 25 %", "rounds", exactly(3.0), "step 4", |flow| {
                let (full_bw, round, exit) = (flow.own("full_bw")?, flow.own("round")?, exit(flow)?.1);
                let grown = (1..=exit).rfind(|row| full_bw[*row] > full_bw[row - 1]).unwrap_or(0);
                Ok(round[exit] - round[grown])
            }),
            condition("full_bw_now at the exit", "", YES, "step 4", |flow| at_exit(flow, "full_bw_now")),
            condition("full_bw_reached at the exit", "", YES, "step 4", |flow| at_exit(flow, "full_bw_reached")),
            condition("Startup to Drain", "times", exactly(1.0), "step 5", |flow| flow.count("startup", "drain", 0.0)),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static LOSS: Case = Case {
    section: "A.2",
    title: "Exiting Startup on loss when application-limited",
    note: "Half the path's rate is written, and from 1 s on 10 % is lost: some ten of the hundred segments of a round \
           trip, in more than the six ranges that §5.3.1.3 asks for.",
    scenes: &[Scene {
        scenario: r#"
duration = "2s"

[path]
rate = "50mbit"
rtt = "40ms"
buffer = "4bdp"

[[path.change]]
at = "1s"
loss = "10%"
"#,
        flow: "app_rate = \"25mbit\"\n",
        conditions: &[
            condition("limited by the application before the loss", "", at_least(0.9), "step 2; not the first round trips", |flow| {
                flow.limited("application", 0.3, 1.0)
            }),
            condition("still in Startup when the loss begins", "", YES, "step 3", |flow| {
                Ok(f64::from(flow.stay("startup", 0.0)?.to > 1.0))
            }),
            condition("lost in the round trip before the exit", "%", at_least(2.0), "step 3: more than LossThresh", |flow| {
                let (exit, row) = exit(flow)?;
                let lost = flow.lost(exit - RTT, exit)?;
                let delivered = flow.common("delivered");
                Ok(100.0 * lost / (lost + delivered[row] - delivered[flow.row(exit - RTT)?]))
            }),
            condition("from the first loss to the exit", "RTT", at_most(4.0),
                "steps 3, 4: a round trip until it shows, a whole one of recovery, and what is left of the third", |flow| {
                let lost = flow.common("lost");
                let first = flow.rows(1.0, flow.end())?.find(|row| lost[*row] > 0.0);
                let first = first.ok_or_else(|| crate::Why::Never("nothing was lost".to_owned()))?;
                Ok((exit(flow)?.0 - flow.time(first)) / RTT)
            }),
            condition("full_bw_count at the exit", "rounds", at_most(2.0), "step 5: no plateau ended it", |flow| at_exit(flow, "full_bw_count")),
            condition("full_bw_reached at the exit", "", YES, "step 5", |flow| at_exit(flow, "full_bw_reached")),
            condition("full_bw_now at the exit", "", YES,
                "step 5 has it; §5.3.1.3 sets full_bw_reached alone, and full_bw_now is what the plateau sets (§5.3.1.2)", |flow| at_exit(flow, "full_bw_now")).reported(),
            condition("Startup to Drain", "times", exactly(1.0), "step 5", |flow| flow.count("startup", "drain", 1.0)),
        ],
        ..Scene::EMPTY
    }],
};

/// Drain's first stay, with the rows at its begin and end.
fn drain(flow: &Flow<'_>) -> Result<(usize, usize), crate::Why> {
    let (stay, _) = flow.stay_to_end("drain", 0.0)?;
    Ok((flow.row(stay.from)?, flow.row(stay.to)?))
}

/// In flight when an ACK came, in estimated BDPs: before what it let go.
fn flight(flow: &Flow<'_>, row: usize) -> Measured {
    Ok(flow.common("inflight")[row] / flow.bdp(row)?)
}

pub(super) static DRAINED: Case = Case {
    section: "A.3",
    title: "Exiting Drain based on inflight",
    note: "",
    scenes: &[Scene {
        scenario: PATH,
        conditions: &[
            condition("pacing_gain in Drain", "", exactly(0.5), "step 2", |flow| Ok(flow.own("pacing_gain")?[drain(flow)?.0])),
            condition("inflight / BDP when Drain begins", "", at_least(1.2), "step 3: there is something to drain", |flow| {
                flight(flow, drain(flow)?.0)
            }),
            condition("inflight / BDP with the last ACK before", "", at_least(1.0), "step 4: not earlier", |flow| {
                flight(flow, drain(flow)?.1 - 1)
            }),
            condition("inflight / BDP at the exit", "", at_most(1.0 + BURST), "step 4; the trace counts the burst that the ACK let go", |flow| {
                flight(flow, drain(flow)?.1)
            }),
            condition("Drain to ProbeBW", "times", exactly(1.0), "step 4", |flow| flow.count("drain", "probe_bw", 0.0)),
        ],
        ..Scene::EMPTY
    }],
};

/// A burst of a millisecond, in BDPs.
const BURST: f64 = 1.0 / 40.0;

pub(super) static DRAINED_BY_TIME: Case = Case {
    section: "A.4",
    title: "Exiting Drain based on time",
    note: "",
    scenes: &[Scene {
        name: "half",
        scenario: PATH,
        steps: &[Step { enters: "drain", after: Span::ZERO, then: "[[path.change]]\nat = \"$t\"\nrate = \"25mbit\"" }],
        conditions: &[
            condition("inflight / BDP at the exit", "", at_least(1.0 + BURST), "step 3", |flow| flight(flow, drain(flow)?.1)),
            condition("rounds in Drain", "rounds", (3.0, 4.0), "step 5", |flow| {
                let (round, (begin, end)) = (flow.own("round")?, drain(flow)?);
                Ok(round[end] - round[begin])
            }),
            condition("Drain to ProbeBW", "times", exactly(1.0), "step 5", |flow| flow.count("drain", "probe_bw", 0.0)),
        ],
        ..Scene::EMPTY
    }],
};
#[allow(unused)] const _X: f64 = BDP;
