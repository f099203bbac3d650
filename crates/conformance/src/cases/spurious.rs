//! Losses that were none: A.18 and A.19.

use super::{BDP, RTT, SEGMENT, usual_path};
use crate::case::{Case, Condition, NONE, Scene, Step, at_least, at_most, condition, exactly};
use crate::view::{Change, Flow, Measured, Stay, Why};
use fullpipe_units::Span;

/// The UP in which it happens.
fn up<'a>(flow: &Flow<'a>) -> Result<(Stay<'a>, Change<'a>), Why> {
    flow.stay_to_end("probe_bw_up", flow.step(0))
}

/// When REFILL begins after it.
fn back(flow: &Flow<'_>) -> Measured {
    Ok(flow.stay("probe_bw_refill", up(flow)?.0.to)?.from)
}

/// What was saved of a trace field, less what it was before the loss.
fn saved(flow: &Flow<'_>, field: &str) -> Measured {
    let before = flow.own(field)?[flow.row_before(up(flow)?.0.to)?];
    Ok(flow.own_at(&format!("undo_{field}"), up(flow)?.0.to)? - before)
}

/// What a trace field is when REFILL begins, less what it was before the loss.
fn restored(flow: &Flow<'_>, field: &str) -> Measured {
    let before = flow.own(field)?[flow.row_before(up(flow)?.0.to)?];
    Ok(flow.own_at(field, back(flow)?)? - before)
}

/// REFILL's window in UP's.
const REFILL_OF_UP: f64 = 2.0 * BDP / (2.25 * BDP + 2.0 * SEGMENT);

/// The same for both kinds of recovery.
const CONDITIONS: &[Condition] = &[
    condition("dropped or lost by the path", "packets", NONE, "step 1: what is taken for lost is not", |flow| {
        let link = &flow.summary().links[0];
        Ok((link.drops + link.losses) as f64)
    }),
    condition("taken for lost", "B", at_least(1.0), "step 1", |flow| {
        Ok(flow.common("lost")[flow.row_before(flow.end())?])
    }),
    condition("UP to DOWN by it", "", exactly(1.0), "step 1: it has an effect", |flow| {
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
        "step 3; cwnd_gain 2, after 2.25 and two segments",
        |flow| {
            let cwnd = flow.common("cwnd");
            Ok(cwnd[flow.row(back(flow)?)?] / cwnd[flow.row_before(up(flow)?.0.to)?])
        },
    ),
    condition(
        "from leaving UP to REFILL",
        "RTT",
        at_most(4.0),
        "step 4: seamlessly; what was late has come by then. By REFILL: §5.5.11.2",
        |flow| Ok((back(flow)? - up(flow)?.0.to) / RTT),
    ),
    condition(
        "time in REFILL",
        "RTT",
        at_least(0.9),
        "a round (§5.3.3.3); ACKs of late originals, taken for those of retransmissions, may cut it short",
        |flow| {
            let (stay, _) = flow.stay_to_end("probe_bw_refill", back(flow)?)?;
            Ok((stay.to - stay.from) / RTT)
        },
    )
    .reported(),
    condition("REFILL to UP then", "", at_least(1.0), "step 4: returns to ProbeBW_UP", |flow| {
        flow.count("probe_bw_refill", "probe_bw_up", back(flow)?)
    }),
];

pub(super) static FAST_RECOVERY: Case = Case {
    section: "A.18",
    title: "Handling spurious fast recovery",
    note: "Ten rows of the trace a millisecond: the ACK that shows that all was well has nothing saved any more.",
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
    note: "Reordering alone triggers no timeout where there is SACK. So all is late: for 60 ms the RTT is a second.",
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
