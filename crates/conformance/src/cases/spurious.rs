//! Spurious losses: A.18 and A.19.

use super::{BDP, RTT, SEGMENT, usual_path};
use crate::case::{Case, Condition, NONE, Scene, Step, at_least, at_most, condition, exactly};
use crate::view::{Change, Flow, Measured, Stay, Why};
use fullpipe_units::Span;

/// Returns the stay in UP that the spurious loss ends.
fn up<'a>(flow: &Flow<'a>) -> Result<(Stay<'a>, Change<'a>), Why> {
    flow.stay_to_end("probe_bw_up", flow.step(0))
}

/// Returns the start of the next REFILL.
fn back(flow: &Flow<'_>) -> Measured {
    Ok(flow.stay("probe_bw_refill", up(flow)?.0.to)?.from)
}

/// Returns the value that was saved of a trace field for undo, less its value before the loss.
fn saved(flow: &Flow<'_>, field: &str) -> Measured {
    let before = flow.own(field)?[flow.row_before(up(flow)?.0.to)?];
    Ok(flow.own_at(&format!("undo_{field}"), up(flow)?.0.to)? - before)
}

/// Returns the value of a trace field when REFILL begins, less its value before the loss.
fn restored(flow: &Flow<'_>, field: &str) -> Measured {
    let before = flow.own(field)?[flow.row_before(up(flow)?.0.to)?];
    Ok(flow.own_at(field, back(flow)?)? - before)
}

/// Window of REFILL, as a fraction of UP's window.
const REFILL_OF_UP: f64 = 2.0 * BDP / (2.25 * BDP + 2.0 * SEGMENT);

/// Conditions for both kinds of recovery.
const CONDITIONS: &[Condition] = &[
    condition("packets dropped or lost by the path", "packets", NONE, "step 1: the losses are spurious", |flow| {
        let link = &flow.summary().links[0];
        Ok((link.drops + link.losses) as f64)
    }),
    condition("data declared lost", "B", at_least(1.0), "step 1", |flow| {
        Ok(flow.common("lost")[flow.row_before(flow.end())?])
    }),
    condition("transition from UP to DOWN by loss", "", exactly(1.0), "step 1: the loss has an effect", |flow| {
        let (stay, exit) = up(flow)?;
        let lost = flow.common("lost");
        Ok(f64::from(exit.to == "probe_bw_down" && lost[flow.row(stay.to)?] > 0.0))
    }),
    condition("undo_state is ProbeBW_UP", "", exactly(1.0), "step 2, §5.5.10.2", |flow| {
        Ok(f64::from(flow.own_at("undo_state", up(flow)?.0.to)? == 2.0))
    }),
    condition("undo_bw_shortterm - before", "bit/s", NONE, "step 2", |flow| saved(flow, "bw_shortterm")),
    condition("undo_inflight_shortterm - before", "B", NONE, "step 2", |flow| saved(flow, "inflight_shortterm")),
    condition("undo_inflight_longterm - before", "B", NONE, "step 2", |flow| saved(flow, "inflight_longterm")),
    condition("bw_shortterm restored - before", "bit/s", NONE, "step 3", |flow| restored(flow, "bw_shortterm")),
    condition("inflight_shortterm restored - before", "B", NONE, "step 3", |flow| restored(flow, "inflight_shortterm")),
    condition("inflight_longterm restored - before", "B", NONE, "step 3", |flow| restored(flow, "inflight_longterm")),
    condition(
        "cwnd restored / before",
        "",
        at_least(REFILL_OF_UP),
        "step 3; cwnd_gain is 2 in REFILL, and 2.25 plus two segments in UP",
        |flow| {
            let cwnd = flow.common("cwnd");
            Ok(cwnd[flow.row(back(flow)?)?] / cwnd[flow.row_before(up(flow)?.0.to)?])
        },
    ),
    condition(
        "from the end of UP to REFILL",
        "RTT",
        at_most(4.0),
        "step 4: seamlessly; late packets have arrived by then. By way of REFILL: §5.5.11.2",
        |flow| Ok((back(flow)? - up(flow)?.0.to) / RTT),
    ),
    condition(
        "time in REFILL",
        "RTT",
        at_least(0.9),
        "a round (§5.3.3.3); ACKs of late originals, mistaken for those of retransmissions, may shorten it",
        |flow| {
            let (stay, _) = flow.stay_to_end("probe_bw_refill", back(flow)?)?;
            Ok((stay.to - stay.from) / RTT)
        },
    )
    .reported(),
    condition("transitions from REFILL to UP", "", at_least(1.0), "step 4: returns to ProbeBW_UP", |flow| {
        flow.count("probe_bw_refill", "probe_bw_up", back(flow)?)
    }),
];

pub(super) static FAST_RECOVERY: Case = Case {
    section: "A.18",
    title: "Handling spurious fast recovery",
    note: "The trace has ten rows per millisecond, because the ACK that reveals the spurious loss clears the saved values.",
    scenes: &[Scene {
        state: "probe_bw_up",
        scenario: usual_path!("5s"),
        steps: &[Step {
            path: "[[path.change]]\nat = \"$t+20ms\"\njitter = \"60ms reorder\"\n\n\
                   [[path.change]]\nat = \"$t+80ms\"\njitter = \"off\"",
            ..Step::enters("probe_bw_up")
        }],
        every: Some(Span::from_micros(100)),
        conditions: CONDITIONS,
        ..Scene::EMPTY
    }],
};

pub(super) static TIMEOUT: Case = Case {
    section: "A.19",
    title: "Handling spurious RTO recovery",
    note: "With SACK, reordering alone does not trigger a timeout. Therefore all packets are late: the RTT is 1 s for 60 ms.",
    scenes: &[Scene {
        state: "probe_bw_up",
        scenario: usual_path!("5s"),
        steps: &[Step {
            path: "[[path.change]]\nat = \"$t+60ms\"\nrtt = \"1s\"\n\n[[path.change]]\nat = \"$t+120ms\"\nrtt = \"40ms\"",
            ..Step::enters("probe_bw_up")
        }],
        every: Some(Span::from_micros(100)),
        conditions: CONDITIONS,
        ..Scene::EMPTY
    }],
};
