//! Little bandwidth, other bandwidth, policed bandwidth: A.14 to A.17.

use super::{RTT, SEGMENT, payload};
use crate::case::{Case, Scene, Step, at_least, at_most, condition};
use crate::view::{Flow, Why};

const SLOW: f64 = payload(1e6);

pub(super) static BELOW_A_PACKET: Case = Case {
    section: "A.14",
    title: "Correctly managing sub-packet BDPs",
    note: "",
    scenes: &[Scene {
        scenario: "duration = \"20s\"\n\n[path]\nrate = \"1mbit\"\nrtt = \"5ms\"\nbuffer = \"50packets\"\n",
        conditions: &[
            condition("least cwnd in ProbeBW", "segments", at_least(4.0), "step 3", |flow| {
                let (from, cwnd) = (flow.entries("probe_bw", 0.0)?.next().map(|entry| entry.at), flow.common("cwnd"));
                let from = from.ok_or_else(|| Why::Never("never in ProbeBW".to_owned()))?;
                Ok(flow.rows(from, flow.end())?.map(|row| cwnd[row]).fold(f64::INFINITY, f64::min) / SEGMENT)
            }),
            condition("max_bw / bottleneck at the end", "", (0.98, 1.02), "step 4: matches; 2 % as in A.1", |flow| {
                Ok(flow.own("max_bw")?[flow.row_before(flow.end())?] / SLOW)
            }),
            condition("mean pacing rate / bottleneck", "", (0.9, 1.25), "step 4: between the gains of DOWN and UP", |flow| {
                let rate = flow.common("pacing_rate");
                let rows = flow.rows(5.0, flow.end())?;
                let n = rows.len() as f64;
                Ok(rows.map(|row| rate[row]).sum::<f64>() / n / SLOW)
            }),
            condition("delivered / bottleneck", "", at_least(0.97), "step 4: no stalling; 2 %, and the pacing margin", |flow| {
                Ok(flow.rate(5.0, flow.end())? / SLOW)
            }),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static TEN_TIMES_MORE: Case = Case {
    section: "A.15",
    title: "Increasing bandwidth 10x and ensuring full bandwidth is reached",
    note: "",
    scenes: &[Scene {
        scenario: "duration = \"14s\"\n\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nbuffer = \"100packets\"\n",
        steps: &[
            Step { path: "[[path.change]]\nat = \"$t+20ms\"\nloss = \"10%\"\n\n[[path.change]]\nat = \"$t+120ms\"\nloss = \"0%\"", ..Step::enters("probe_bw_up") },
            Step { path: "[[path.change]]\nat = \"$t\"\nrate = \"100mbit\"", ..Step::enters("probe_bw_cruise").after_ms(200) },
        ],
        conditions: &[
            condition("seconds to 95 %", "s", at_most(10.0), "x", |flow| {
                let max_bw = flow.own("max_bw")?;
                let row = flow.rows(flow.step(1), flow.end())?.find(|row| max_bw[*row] > 0.95 * payload(100e6));
                let row = row.ok_or_else(|| Why::Never("max_bw stays below".to_owned()))?;
                Ok(flow.time(row) - flow.step(1))
            }),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static TEN_TIMES_LESS: Case = Case {
    section: "A.16",
    title: "Decreasing bandwidth 10x and ensuring max bandwidth adapts down",
    note: "",
    scenes: &[Scene {
        scenario: "duration = \"14s\"\n\n[path]\nrate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"1bdp\"\n",
        steps: &[
            Step { path: "[[path.change]]\nat = \"$t\"\nrate = \"10mbit\"", ..Step::enters("probe_bw_cruise") },
        ],
        conditions: &[
            condition("seconds to 102 %", "s", at_most(10.0), "x", |flow| {
                let max_bw = flow.own("max_bw")?;
                let row = flow.rows(flow.step(0), flow.end())?.find(|row| max_bw[*row] < 1.02 * payload(10e6));
                let row = row.ok_or_else(|| Why::Never("max_bw stays above".to_owned()))?;
                Ok(flow.time(row) - flow.step(0))
            }),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static POLICER: Case = Case {
    section: "A.17",
    title: "Handling token bucket policers",
    note: "",
    scenes: &[Scene {
        scenario: "duration = \"20s\"\n\n[path]\nrate = \"100mbit\"\nrtt = \"40ms\"\nbuffer = \"4bdp\"\npolicer = \"10mbit burst 1MB\"\n",
        conditions: &[
            condition("lost after 5s", "%", at_most(2.0), "x", |flow| {
                let lost = flow.lost(10.0, flow.end())?;
                let delivered = flow.common("delivered");
                let d = delivered[flow.row_before(flow.end())?] - delivered[flow.row(10.0)?];
                Ok(100.0 * lost / (lost + d))
            }),
            condition("rate", "", at_most(2.0), "x", |flow| {
                Ok(flow.rate(10.0, flow.end())? / payload(10e6))
            }),
        ],
        ..Scene::EMPTY
    }],
};
#[allow(unused)] const X: f64 = RTT;
#[allow(unused)] fn x(_: &Flow<'_>) {}
