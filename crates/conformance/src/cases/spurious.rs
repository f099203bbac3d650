//! Losses that were none: A.18 and A.19.

use super::{RTT, usual_path};
use crate::case::{Case, Scene, Step, at_least, at_most, condition};

pub(super) static FAST_RECOVERY: Case = Case {
    section: "A.18",
    title: "Handling spurious fast recovery",
    note: "",
    scenes: &[Scene {
        scenario: usual_path!("5s"),
        steps: &[Step {
            path: "[[path.change]]\nat = \"$t+60ms\"\njitter = \"60ms reorder\"\n\n[[path.change]]\nat = \"$t+120ms\"\njitter = \"off\"",
            ..Step::enters("probe_bw_up")
        }],
        conditions: &[
            condition("UP to DOWN", "times", at_least(1.0), "x", |flow| flow.count("probe_bw_up", "probe_bw_down", flow.step(0))),
            condition("back", "times", at_least(1.0), "x", |flow| flow.count("probe_bw_down", "probe_bw_refill", flow.step(0))),
            condition("time", "RTT", at_most(9.0), "x", |flow| {
                let (stay, _) = flow.stay_to_end("probe_bw_up", flow.step(0))?;
                let next = flow.stay("probe_bw_refill", stay.to)?;
                Ok((next.from - stay.to) / RTT)
            }),
        ],
        ..Scene::EMPTY
    }],
};

pub(super) static TIMEOUT: Case = Case {
    section: "A.19",
    title: "Handling spurious RTO recovery",
    note: "",
    scenes: &[Scene {
        scenario: usual_path!("8s"),
        steps: &[Step {
            path: "[[path.change]]\nat = \"$t+60ms\"\nrtt = \"1s\"\n\n[[path.change]]\nat = \"$t+120ms\"\nrtt = \"40ms\"",
            ..Step::enters("probe_bw_up")
        }],
        conditions: &[
            condition("UP to DOWN", "times", at_least(1.0), "x", |flow| flow.count("probe_bw_up", "probe_bw_down", flow.step(0))),
            condition("back", "times", at_least(1.0), "x", |flow| flow.count("probe_bw_down", "probe_bw_refill", flow.step(0))),
            condition("time", "RTT", at_most(9.0), "x", |flow| {
                let (stay, _) = flow.stay_to_end("probe_bw_up", flow.step(0))?;
                let next = flow.stay("probe_bw_refill", stay.to)?;
                Ok((next.from - stay.to) / RTT)
            }),
        ],
        ..Scene::EMPTY
    }],
};
