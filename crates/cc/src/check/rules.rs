//! The rules that a decision must hold after each call, in words.

use fullpipe_units::{Bytes, Rate};

use crate::replay::{Call, Event};
use crate::{Decision, Descriptor, PathChange, Recovery, RecoveryOwner};

/// Windows and thresholds must be smaller.
const ABSURD: Bytes = Bytes::new(1 << 50);

/// A breach of the contract.
pub(super) enum Breach {
    /// The window is below one segment of this size.
    Small(Bytes, Bytes),
    /// Another one: the problem and the fix.
    Other(String, String),
}

impl Breach {
    fn other(problem: impl Into<String>, fix: impl Into<String>) -> Option<Breach> {
        Some(Breach::Other(problem.into(), fix.into()))
    }

    /// Returns problem and fix of a breach that `cause` led to.
    pub(super) fn of(self, cause: &Event) -> (String, String) {
        let (cwnd, smss) = match self {
            Breach::Other(problem, fix) => return (problem, fix),
            Breach::Small(cwnd, smss) => (cwnd.get(), smss.get()),
        };
        let fix = match &cause.call {
            Call::Path(PathChange::Mtu) => {
                "implement on_path: raise the window to at least conn.smss".to_owned()
            }
            call => format!(
                "windows are in bytes: keep it at conn.smss or above in {}",
                method(call)
            ),
        };
        (small(cwnd, smss), fix)
    }
}

/// Says that a window is below one segment.
pub(super) fn small(cwnd: u64, smss: u64) -> String {
    format!("the window is below one segment ({cwnd} of {smss} bytes)")
}

/// Returns the first rule that the decision after `event` breaks. `unread` is the decision before
/// it, if the transport doesn't read the new one.
pub(super) fn breach(
    descriptor: &Descriptor,
    event: &Event,
    unread: Option<Decision>,
    decision: &Decision,
) -> Option<Breach> {
    let (method, smss) = (method(&event.call), event.conn.smss);
    if unread.is_some_and(|before| before != *decision) {
        return Breach::other(
            "the decision changed, and on_sent returned false",
            "return true if the decision changed",
        );
    }
    // Between Enter and Exit the transport owns the window of a controller with PRR.
    let prr = descriptor.recovery == RecoveryOwner::Prr;
    if decision.cwnd < smss && !(prr && event.conn.in_recovery()) {
        return Some(Breach::Small(decision.cwnd, smss));
    }
    if decision.cwnd >= ABSURD {
        return Breach::other(
            format!("the window is {} bytes", decision.cwnd.get()),
            format!("limit the window in {method}"),
        );
    }
    let enters = matches!(event.call, Call::Recovery(Recovery::Enter(_)));
    if prr && enters && decision.ssthresh >= ABSURD {
        return Breach::other(
            "ssthresh has no value, and PRR reduces the window to it",
            "set ssthresh in on_recovery(Enter), or declare RecoveryOwner::Own",
        );
    }
    if decision.pacing_rate.is_some_and(|rate| rate <= Rate::ZERO) {
        return Breach::other(
            "the pacing rate is zero: no packet would ever leave",
            format!("give None or a rate above zero in {method}"),
        );
    }
    if event.call == Call::Timer && decision.wake_at.is_some_and(|at| at <= event.now) {
        return Breach::other(
            "wake_at is not later than now: the timer would fire forever",
            "set a later time, or None, in on_timer",
        );
    }
    None
}

/// Returns the first rule that the values of the trace fields break.
pub(super) fn breach_of_row(descriptor: &Descriptor, row: &[f64]) -> Option<Breach> {
    let fields = descriptor.fields;
    if row.len() != fields.len() {
        return Breach::other(
            format!("observe pushed {} values", row.len()),
            format!("push {}, one for each declared field", fields.len()),
        );
    }
    let place = row.iter().position(|value| !value.is_finite())?;
    Breach::other(
        format!("the trace field {} is {}", fields[place].name, row[place]),
        "push a finite number in observe",
    )
}

/// Returns the name of a call with what distinguishes it: `Path(Mtu)`.
pub(super) fn name(call: &Call) -> String {
    match call {
        Call::Sent(_) => "Sent".to_owned(),
        Call::Lost(_) => "Lost".to_owned(),
        Call::Acked(_) => "Acked".to_owned(),
        Call::Ack(_) => "Ack".to_owned(),
        Call::Frame(_) => "Frame".to_owned(),
        Call::Recovery(_) | Call::Unused(_) | Call::Path(_) | Call::Timer | Call::End => {
            format!("{call:?}")
        }
    }
}

/// Returns the method of the trait that the call is.
fn method(call: &Call) -> &'static str {
    match call {
        Call::Sent(_) => "on_sent",
        Call::Lost(_) => "on_lost",
        Call::Acked(_) => "on_acked",
        Call::Ack(_) => "on_ack",
        Call::Recovery(_) => "on_recovery",
        Call::Unused(_) => "on_unused",
        Call::Path(_) => "on_path",
        Call::Frame(_) => "on_frame",
        Call::Timer => "on_timer",
        Call::End => "on_end",
    }
}
