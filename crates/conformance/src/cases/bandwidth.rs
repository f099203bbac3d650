//! Low, changing and policed bandwidth: A.14 to A.17.

use super::{RTT, SEGMENT, payload};
use crate::case::{Case, Scene, Step, YES, at_least, at_most, condition, exactly};
use crate::view::{Flow, Measured, Why};

/// Payload rates of links of 1, 10 and 100 Mbit/s.
const ONE: f64 = payload(1e6);
const TEN: f64 = payload(10e6);
const HUNDRED: f64 = payload(100e6);

pub(super) static BELOW_A_PACKET: Case = Case {
    section: "A.14",
    title: "Correctly managing sub-packet BDPs",
    note: "1 Mbit/s and 5 ms: the BDP is 0.4 packets.",
    scenes: &[Scene {
        state: "probe_bw",
        scenario: "duration = \"20s\"\n\n[path]\nrate = \"1mbit\"\nrtt = \"5ms\"\nbuffer = \"50packets\"\n",
        conditions: &[
            condition(
                "minimum cwnd in ProbeBW",
                "segments",
                at_least(4.0),
                "step 3",
                |flow| {
                    let (from, cwnd) = (flow.stay("probe_bw", 0.0)?.from, flow.common("cwnd"));
                    Ok(flow
                        .rows(from, flow.end())?
                        .map(|row| cwnd[row])
                        .fold(f64::INFINITY, f64::min)
                        / SEGMENT)
                },
            ),
            condition(
                "max_bw / bottleneck at the end",
                "",
                (0.98, 1.02),
                "step 4: matches; tolerance of 2 % as in A.1",
                |flow| Ok(flow.own("max_bw")?[flow.row_before(flow.end())?] / ONE),
            ),
            condition(
                "mean pacing rate / bottleneck",
                "",
                (0.9, 1.25),
                "step 4: between the gains of DOWN and UP",
                |flow| {
                    let (rate, rows) = (flow.common("pacing_rate"), flow.rows(5.0, flow.end())?);
                    let n = rows.len() as f64;
                    Ok(rows.map(|row| rate[row]).sum::<f64>() / n / ONE)
                },
            ),
            condition(
                "delivered / bottleneck",
                "",
                at_least(0.97),
                "step 4: no stalling; tolerance of 2 %, and the pacing margin",
                |flow| Ok(flow.rate(5.0, flow.end())? / ONE),
            ),
        ],
        ..Scene::EMPTY
    }],
};

/// Returns the growth of inflight_longterm in each round of the first UP after the change of the
/// path, in bytes; leading rounds without growth are omitted.
fn steps(flow: &Flow<'_>) -> Result<Vec<f64>, Why> {
    let stay = flow.stay("probe_bw_up", flow.step(1))?;
    let (round, longterm) = (flow.own("round")?, flow.own("inflight_longterm")?);
    let (mut steps, mut last) = (Vec::new(), longterm[flow.row(stay.from)?]);
    for row in flow.rows(stay.from, stay.to - 1e-9)? {
        if row + 1 < round.len() && round[row + 1] > round[row] {
            steps.push(longterm[row] - last);
            last = longterm[row];
        }
    }
    Ok(steps.into_iter().skip_while(|step| *step == 0.0).collect())
}

/// Returns the first row at `since` or later for which `holds` is true.
fn when(
    flow: &Flow<'_>,
    since: f64,
    what: &str,
    holds: impl Fn(usize) -> bool,
) -> Result<usize, Why> {
    let found = flow.rows(since, flow.end())?.find(|row| holds(*row));
    found.ok_or_else(|| Why::Never(format!("{what} by the end of the run")))
}

pub(super) static TEN_TIMES_MORE: Case = Case {
    section: "A.15",
    title: "Increasing bandwidth 10x and ensuring full bandwidth is reached",
    note: "The bandwidth increases from 10 to 100 Mbit/s. Loss in the first UP sets inflight_longterm, which must then be raised.",
    scenes: &[Scene {
        state: "probe_bw_up",
        scenario: "duration = \"14s\"\n\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"400packets\"\n",
        flow: "receive_window = \"4MB\"\n",
        steps: &[
            Step {
                path: "[[path.change]]\nat = \"$t+20ms\"\nloss = \"10%\"\n\n\
                       [[path.change]]\nat = \"$t+120ms\"\nloss = \"0%\"",
                ..Step::enters("probe_bw_up")
            },
            Step {
                path: "[[path.change]]\nat = \"$t\"\nrate = \"100mbit\"",
                ..Step::enters("probe_rtt").after_ms(200)
            },
        ],
        conditions: &[
            condition(
                "inflight_longterm when UP begins",
                "B",
                at_least(4.0 * SEGMENT),
                "step 3",
                |flow| {
                    flow.own_at(
                        "inflight_longterm",
                        flow.stay("probe_bw_up", flow.step(1))?.from,
                    )
                },
            ),
            condition(
                "inflight_longterm raise, round to round",
                "",
                (1.6, 2.4),
                "step 3: doubles; the mean of four rounds, with a tolerance of 20 %, because credit carries over between rounds",
                |flow| match steps(flow)?.as_slice() {
                    [first, _, _, _, fifth, ..] => Ok((fifth / first).sqrt().sqrt()),
                    _ => Err(Why::Never(
                        "inflight_longterm is not raised in five rounds".to_owned(),
                    )),
                },
            ),
            condition(
                "max_bw / 100 Mbit/s at the end",
                "",
                (0.98, 1.02),
                "step 4: full; tolerance of 2 % as in A.1",
                |flow| Ok(flow.own("max_bw")?[flow.row_before(flow.end())?] / HUNDRED),
            ),
            condition(
                "from the start of UP to 98 %",
                "rounds",
                at_most(25.0),
                "step 4: O(log BDP); 3 log2 of 333 segments. UP's gain alone takes 11 rounds for a factor of 10",
                |flow| {
                    let (max_bw, round) = (flow.own("max_bw")?, flow.own("round")?);
                    let from = flow.stay("probe_bw_up", flow.step(1))?.from;
                    let there = when(flow, from, "max_bw does not reach 98 %", |row| {
                        max_bw[row] >= 0.98 * HUNDRED
                    })?;
                    Ok(round[there] - round[flow.row(from)?])
                },
            ),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static TEN_TIMES_LESS: Case = Case {
    section: "A.16",
    title: "Decreasing bandwidth 10x and ensuring max bandwidth adapts down",
    note: "The bandwidth decreases from 100 to 10 Mbit/s.",
    scenes: &[Scene {
        state: "probe_bw_cruise",
        scenario: "duration = \"14s\"\n\n[path]\nrate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n",
        steps: &[Step {
            path: "[[path.change]]\nat = \"$t\"\nrate = \"10mbit\"",
            ..Step::enters("probe_bw_cruise")
        }],
        conditions: &[
            condition(
                "from first loss to setting bw_shortterm",
                "rounds",
                at_most(2.0),
                "step 3: rapidly; at the end of the round with the first loss (§5.5.10.3)",
                |flow| {
                    let (lost, short, round) = (
                        flow.common("lost"),
                        flow.own("bw_shortterm")?,
                        flow.own("round")?,
                    );
                    let before = lost[flow.row(flow.step(0))?];
                    let loss = when(flow, flow.step(0), "nothing lost", |row| lost[row] > before)?;
                    let cut = when(flow, flow.time(loss), "bw_shortterm not set", |row| {
                        short[row] > 0.0
                    })?;
                    Ok(round[cut] - round[loss])
                },
            ),
            condition(
                "bw_shortterm / max_bw when CRUISE ends",
                "",
                at_most(0.49),
                "step 3: rapidly; Beta applied in at least two rounds with loss",
                |flow| {
                    let row =
                        flow.row_before(flow.stay_to_end("probe_bw_cruise", flow.step(0))?.0.to)?;
                    let (short, max_bw) =
                        (flow.own("bw_shortterm")?[row], flow.own("max_bw")?[row]);
                    Ok(if short > 0.0 { short / max_bw } else { 1.0 })
                },
            ),
            condition(
                "UPs until max_bw is 10 Mbit/s",
                "",
                at_most(2.0),
                "step 4: 2 cycles; tolerance of 2 % as in A.1",
                |flow| {
                    let max_bw = flow.own("max_bw")?;
                    let row = when(
                        flow,
                        flow.step(0),
                        "max_bw remains above 10 Mbit/s",
                        |row| max_bw[row] <= 1.02 * TEN,
                    )?;
                    let ups = flow.entries("probe_bw_up", flow.step(0))?;
                    Ok(ups.filter(|entry| entry.at <= flow.time(row)).count() as f64)
                },
            ),
            condition(
                "max_bw / 10 Mbit/s at the end",
                "",
                (0.98, 1.02),
                "step 4: matches; tolerance of 2 % as in A.1",
                |flow| Ok(flow.own("max_bw")?[flow.row_before(flow.end())?] / TEN),
            ),
        ],
        ..Scene::EMPTY
    }],
};

/// Loss rate in CRUISE from `since` on, in %. Excludes the first seven round trips of each CRUISE:
/// in two of them losses of the preceding probe appear, and in five Beta reduces bw_shortterm from
/// 50 to 10 Mbit/s.
fn lost_cruising(flow: &Flow<'_>, since: f64) -> Measured {
    let (lost, delivered) = (flow.common("lost"), flow.common("delivered"));
    let entries: Vec<f64> = flow
        .entries("probe_bw_cruise", since)?
        .map(|change| change.at)
        .collect();
    let (mut away, mut here) = (0.0, 0.0);
    for entry in entries {
        let (from, to) = (entry + 7.0 * RTT, flow.stay("probe_bw_cruise", entry)?.to);
        if let Ok(rows) = flow.rows(from, to) {
            let (first, last) = (rows.start, rows.end - 1);
            away += lost[last] - lost[first];
            here += delivered[last] - delivered[first];
        }
    }
    if here == 0.0 {
        return Err(Why::Never(
            "no CRUISE is longer than seven round trips".to_owned(),
        ));
    }
    Ok(100.0 * away / (away + here))
}

pub(super) static POLICER: Case = Case {
    section: "A.17",
    title: "Handling token bucket policers",
    note: "The bucket of 10 MB lets the flow pass at 50 Mbit/s through Startup and far into ProbeBW.",
    scenes: &[Scene {
        state: "probe_bw",
        scenario: "duration = \"60s\"\n\n[path]\nrate = \"50mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\n\
                   policer = \"10mbit burst 10MB\"\n",
        conditions: &[
            condition("in ProbeBW at the first drop", "", YES, "step 2", |flow| {
                let lost = flow.common("lost");
                let first = flow.time(when(flow, 0.0, "nothing lost", |row| lost[row] > 0.0)?);
                Ok(f64::from(flow.stay("probe_bw", 0.0)?.from < first))
            }),
            condition("bw_shortterm set", "", at_least(1.0), "step 3", |flow| {
                let short = flow.own("bw_shortterm")?;
                Ok(f64::from(
                    when(flow, 0.0, "bw_shortterm not set", |row| short[row] > 0.0).is_ok(),
                ))
            }),
            condition(
                "inflight_shortterm set",
                "",
                exactly(1.0),
                "step 3",
                |flow| {
                    let short = flow.own("inflight_shortterm")?;
                    Ok(f64::from(
                        when(flow, 0.0, "inflight_shortterm not set", |row| {
                            short[row] > 0.0
                        })
                        .is_ok(),
                    ))
                },
            ),
            condition(
                "delivered / token rate after 10 s",
                "",
                (0.9, 1.05),
                "step 4: conforms; the draft gives no number: 1, less at most a tenth for headroom and ProbeRTT",
                |flow| Ok(flow.rate(10.0, flow.end())? / TEN),
            ),
            condition(
                "loss rate in CRUISE after 10 s",
                "%",
                at_most(2.0),
                "step 4: no excessive continuous loss: LossThresh. Excludes seven round trips after each probe: Beta reduces 50 to 10 Mbit/s in five",
                |flow| lost_cruising(flow, 10.0),
            ),
            condition(
                "overall loss rate after 10 s",
                "%",
                at_most(2.0),
                "including losses of probes, which the draft does not bound",
                |flow| {
                    let (lost, delivered) =
                        (flow.lost(10.0, flow.end())?, flow.common("delivered"));
                    let acked =
                        delivered[flow.row_before(flow.end())?] - delivered[flow.row(10.0)?];
                    Ok(100.0 * lost / (lost + acked))
                },
            )
            .reported(),
        ],
        ..Scene::EMPTY
    }],
};
