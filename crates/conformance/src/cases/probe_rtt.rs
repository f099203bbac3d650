//! ProbeRTT: A.10, A.11 and A.20.

use super::{BDP, RATE, RTT};
use crate::case::{Case, NONE, Scene, at_least, at_most, condition, exactly};
use crate::view::{Change, Flow, Stay, Why};

/// The first ProbeRTT.
fn dip<'a>(flow: &Flow<'a>) -> Result<(Stay<'a>, Change<'a>), Why> {
    flow.stay_to_end("probe_rtt", 0.0)
}

/// When a lower RTT was last seen before the first ProbeRTT.
fn last_lower(flow: &Flow<'_>) -> Result<f64, Why> {
    let (rtt, entry) = (flow.common("min_rtt"), flow.row(dip(flow)?.0.from)?);
    Ok(flow.time((1..entry).rfind(|row| rtt[*row] < rtt[row - 1]).unwrap_or(0)))
}

pub(super) static IN_PROBE_BW: Case = Case {
    section: "A.10",
    title: "Entering and exiting ProbeRTT",
    note: "",
    scenes: &[Scene {
        scenario: r#"
duration = "13s"

[path]
rate = "50mbit"
rtt = "40ms"
buffer = "4bdp"
"#,
        conditions: &[
            condition("from the last lower RTT to ProbeRTT", "s", (5.0, 5.1), "step 2: 5 s, and an ACK to see it", |flow| {
                Ok(dip(flow)?.0.from - last_lower(flow)?)
            }),
            condition("ProbeBW to ProbeRTT", "times", at_least(1.0), "step 3", |flow| flow.count("probe_bw", "probe_rtt", 0.0)),
            condition("cwnd_gain in ProbeRTT", "", exactly(0.5), "step 3", |flow| flow.own_at("cwnd_gain", dip(flow)?.0.from)),
            condition("in flight at the least / BDP", "", at_most(0.5), "step 3", |flow| {
                let stay = dip(flow)?.0;
                let inflight = flow.common("inflight");
                let least = flow.rows(stay.from, stay.to)?.map(|row| inflight[row]).fold(f64::INFINITY, f64::min);
                Ok(least / BDP)
            }),
            condition("time in ProbeRTT", "s", (0.2, 0.2 + 4.0 * RTT),
                "step 4: 200 ms at least; three round trips to come down to half a BDP, and one to see it", |flow| {
                let stay = dip(flow)?.0;
                Ok(stay.to - stay.from)
            }),
            condition("rounds in ProbeRTT", "rounds", at_least(1.0), "step 4", |flow| {
                let (round, stay) = (flow.own("round")?, dip(flow)?.0);
                Ok(round[flow.row(stay.to)?] - round[flow.row(stay.from)?])
            }),
            condition("ProbeRTT to ProbeBW", "times", at_least(1.0), "step 5", |flow| flow.count("probe_rtt", "probe_bw", 0.0)),
            condition("delivered / bottleneck in the second after", "", at_least(0.9),
                "step 5: resumes sending; the draft has no number: a tenth is what two rounds of half a window cost in a second", |flow| {
                let to = dip(flow)?.1.at;
                Ok(flow.rate(to, to + 1.0)? / RATE)
            }),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static IN_STARTUP: Case = Case {
    section: "A.20",
    title: "Entering and exiting ProbeRTT during Startup",
    note: "",
    scenes: &[Scene {
        scenario: r#"
duration = "12s"

[path]
rate = "50mbit"
rtt = "40ms"
buffer = "4bdp"
"#,
        flow: "app_rate = \"10mbit\"\n",
        conditions: &[
            condition("Startup to ProbeRTT", "times", at_least(1.0), "step 1", |flow| flow.count("startup", "probe_rtt", 0.0)),
            condition("time in ProbeRTT", "s", (0.2, 0.2 + 4.0 * RTT), "step 2", |flow| {
                let stay = dip(flow)?.0;
                Ok(stay.to - stay.from)
            }),
            condition("ProbeRTT to Startup", "times", at_least(1.0), "step 3", |flow| flow.count("probe_rtt", "startup", 0.0)),
            condition("ProbeRTT to ProbeBW", "times", NONE, "step 3", |flow| flow.count("probe_rtt", "probe_bw", 0.0)),
        ],
        ..Scene::EMPTY
    }],
};
