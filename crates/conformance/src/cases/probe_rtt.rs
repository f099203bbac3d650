//! ProbeRTT: A.10, A.11 and A.20.

use super::{BDP, RATE, RTT, SEGMENT, usual_path};
use crate::case::{Case, NONE, Scene, Step, YES, at_least, at_most, condition, exactly};
use crate::view::{Change, Flow, Stay, Why};
use fullpipe_units::Span;

/// Returns the first stay in ProbeRTT.
fn dip<'a>(flow: &Flow<'a>) -> Result<(Stay<'a>, Change<'a>), Why> {
    flow.stay_to_end("probe_rtt", 0.0)
}

/// Returns the time at which a lower RTT was last seen before the first ProbeRTT.
fn last_lower(flow: &Flow<'_>) -> Result<f64, Why> {
    let (rtt, entry) = (flow.common("min_rtt"), flow.row(dip(flow)?.0.from)?);
    Ok(flow.time(
        (1..entry)
            .rfind(|row| rtt[*row] < rtt[row - 1])
            .unwrap_or(0),
    ))
}

pub(super) static IN_PROBE_BW: Case = Case {
    section: "A.10",
    title: "Entering and exiting ProbeRTT",
    note: "",
    scenes: &[Scene {
        state: "probe_rtt",
        scenario: usual_path!("13s"),
        conditions: &[
            condition(
                "from the last lower RTT to ProbeRTT",
                "s",
                (5.0, 5.0 + RTT),
                "step 2: after 5 s, with the next ACK",
                |flow| Ok(dip(flow)?.0.from - last_lower(flow)?),
            ),
            condition(
                "transitions from ProbeBW to ProbeRTT",
                "",
                at_least(1.0),
                "step 3",
                |flow| flow.count("probe_bw", "probe_rtt", 0.0),
            ),
            condition(
                "cwnd_gain in ProbeRTT",
                "",
                exactly(0.5),
                "step 3",
                |flow| flow.own_at("cwnd_gain", dip(flow)?.0.from),
            ),
            condition(
                "minimum inflight / BDP",
                "",
                at_most(0.5 + SEGMENT / BDP),
                "step 3: half, with a tolerance of one segment",
                |flow| {
                    let (stay, inflight) = (dip(flow)?.0, flow.common("inflight"));
                    let least = flow
                        .rows(stay.from, stay.to)?
                        .map(|row| inflight[row])
                        .fold(f64::INFINITY, f64::min);
                    Ok(least / BDP)
                },
            ),
            condition(
                "time in ProbeRTT",
                "s",
                (0.2, 0.2 + 4.0 * RTT),
                "step 4: at least 200 ms; the draft gives no upper bound: three round trips to reduce inflight, and one round",
                |flow| Ok(dip(flow)?.0.to - dip(flow)?.0.from),
            ),
            condition(
                "rounds in ProbeRTT",
                "rounds",
                at_least(1.0),
                "step 4",
                |flow| {
                    let (round, stay) = (flow.own("round")?, dip(flow)?.0);
                    Ok(round[flow.row(stay.to)?] - round[flow.row(stay.from)?])
                },
            ),
            condition(
                "transitions from ProbeRTT to ProbeBW",
                "",
                at_least(1.0),
                "step 5",
                |flow| flow.count("probe_rtt", "probe_bw", 0.0),
            ),
            condition(
                "delivered / bottleneck in next second",
                "",
                at_least(0.9),
                "step 5: resumes; the draft gives no number: the cost of two half-empty round trips",
                |flow| {
                    let to = dip(flow)?.1.at;
                    Ok(flow.rate(to, to + 1.0)? / RATE)
                },
            ),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static SKIPPED: Case = Case {
    section: "A.11",
    title: "Skipping ProbeRTT due to application-limited sending",
    note: "The trace has a row per millisecond, because no ACK arrives while idle_restart is set.",
    scenes: &[Scene {
        state: "probe_rtt",
        scenario: usual_path!("16s"),
        steps: &[Step {
            flow: "app_schedule = \"$t+100ms pause, $t+11.1s unlimited\"",
            ..Step::enters("probe_bw")
        }],
        every: Some(Span::from_millis(1)),
        conditions: &[
            condition("minimum inflight while idle", "B", NONE, "step 2", |flow| {
                let inflight = flow.common("inflight");
                let rows = flow.rows(flow.step(0) + 0.1, flow.step(0) + 11.1)?;
                Ok(rows.map(|row| inflight[row]).fold(f64::INFINITY, f64::min))
            }),
            condition(
                "idle_restart half an RTT after idle",
                "",
                YES,
                "step 4",
                |flow| flow.own_at("idle_restart", flow.step(0) + 11.1 + RTT / 2.0),
            ),
            condition(
                "idle_restart two RTTs after idle",
                "",
                NONE,
                "§5.3.4.3: reset when data is acknowledged",
                |flow| flow.own_at("idle_restart", flow.step(0) + 11.1 + 2.0 * RTT),
            ),
            condition(
                "ProbeRTTs in the first second after idle",
                "",
                NONE,
                "step 5",
                |flow| {
                    let resumed = flow.step(0) + 11.1;
                    Ok(flow
                        .entries("probe_rtt", resumed)?
                        .filter(|entry| entry.at < resumed + 1.0)
                        .count() as f64)
                },
            ),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static IN_STARTUP: Case = Case {
    section: "A.20",
    title: "Entering and exiting ProbeRTT during Startup",
    note: "The application writes at a fifth of the path's bandwidth, which prolongs Startup; from 11 s on it is unlimited.",
    scenes: &[Scene {
        state: "startup",
        scenario: usual_path!("13s"),
        flow: "app_rate = \"10mbit\"\napp_schedule = \"11s unlimited\"\n",
        conditions: &[
            condition(
                "transitions from Startup to ProbeRTT",
                "",
                at_least(1.0),
                "step 1",
                |flow| flow.count("startup", "probe_rtt", 0.0),
            ),
            condition(
                "time in ProbeRTT",
                "s",
                (0.2, 0.2 + 4.0 * RTT),
                "step 2: as in A.10",
                |flow| Ok(dip(flow)?.0.to - dip(flow)?.0.from),
            ),
            condition(
                "transitions from ProbeRTT to Startup",
                "",
                at_least(1.0),
                "step 3",
                |flow| flow.count("probe_rtt", "startup", 0.0),
            ),
            condition(
                "transitions from ProbeRTT to ProbeBW",
                "",
                NONE,
                "step 3",
                |flow| flow.count("probe_rtt", "probe_bw", 0.0),
            ),
            condition(
                "max_bw / bottleneck at the end",
                "",
                (0.98, 1.02),
                "step 3: continues searching; tolerance of 2 % as in A.1",
                |flow| Ok(flow.own_at("max_bw", flow.end() - RTT)? / RATE),
            ),
        ],
        ..Scene::EMPTY
    }],
};
