//! The values of a controller's arguments, as numbers in the module's memory, in an order that the page asks for.
//!
//! Names, units and meanings are those of `docs/reference/controller.md`. A value that is missing
//! is NaN, a flag 0 or 1, a word its number.

use fullpipe_cc::{
    Ack, CaState, Conn, EcnCodepoint, LossCause, Lost, Recovery, RecoveryCause, Snapshot,
};
use fullpipe_units::{Rate, Span};
use serde_json::{Value, json};

/// The type that a number stands for.
#[derive(Debug)]
pub(crate) enum Kind {
    Number,
    Flag,
    Words(&'static [&'static str]),
}

/// Name, kind and value of each attribute.
pub(crate) type Layout<T> = &'static [(&'static str, Kind, fn(&T) -> f64)];

macro_rules! layout {
    ($layout:ident, $of:ty, $it:ident, $($name:ident: $kind:expr => $value:expr,)*) => {
        pub(crate) const $layout: Layout<$of> = &[$((stringify!($name), $kind, |$it| $value)),*];
    };
}

use Kind::{Flag, Number, Words};

const OPEN: Kind = Words(&["open", "reduced", "recovery", "loss"]);
const CODEPOINTS: Kind = Words(&["off", "ect0", "ect1"]);
const CHANGES: Kind = Words(&["enter", "exit", "spurious", "timeout", "persistent"]);

layout! { CONN, Conn, it,
    smss: Number => it.smss.as_f64(),
    initial_cwnd: Number => it.initial_cwnd.as_f64(),
    inflight: Number => it.inflight.as_f64(),
    unsent: Number => it.unsent.as_f64(),
    delivered: Number => it.delivered.as_f64(),
    delivered_ce: Number => it.delivered_ce.as_f64(),
    lost: Number => it.lost.as_f64(),
    srtt: Number => known((it.srtt != Span::ZERO).then_some(it.srtt)),
    min_rtt: Number => known((it.min_rtt != Span::MAX).then_some(it.min_rtt)),
    app_limited: Flag => flag(it.app_limited),
    cwnd_limited: Flag => flag(it.cwnd_limited),
    state: OPEN => match it.state {
        CaState::Open => 0.0,
        CaState::Reduced => 1.0,
        CaState::Recovery => 2.0,
        CaState::Loss => 3.0,
    },
    in_recovery: Flag => flag(it.in_recovery()),
    reordering_seen: Flag => flag(it.reordering_seen),
    next_departure: Number => it.next_departure.as_secs_f64(),
    paced: Flag => flag(it.paced),
    pacing_rate: Number => rate(it.pacing()),
}

layout! { PACKET, Snapshot, it,
    number: Number => it.number() as f64,
    sent: Number => it.sent.as_secs_f64(),
    first_sent: Number => it.first_sent.as_secs_f64(),
    delivered_at: Number => it.delivered_at.as_secs_f64(),
    delivered: Number => it.delivered.as_f64(),
    delivered_ce: Number => it.delivered_ce.as_f64(),
    lost: Number => it.lost.as_f64(),
    inflight: Number => it.inflight.as_f64(),
    size: Number => it.size.into(),
    app_limited: Flag => flag(it.app_limited),
    retransmit: Flag => flag(it.retransmit),
    ecn: CODEPOINTS => match it.ecn {
        EcnCodepoint::NotEct | EcnCodepoint::Ce => 0.0,
        EcnCodepoint::Ect0 => 1.0,
        EcnCodepoint::Ect1 => 2.0,
    },
}

layout! { LOST, Lost, it,
    lost_since_sent: Number => it.lost_since_sent.as_f64(),
    new_range: Flag => flag(it.new_range),
    cause: Words(&["rack", "rto"]) => match it.cause {
        LossCause::Rack => 0.0,
        LossCause::Rto => 1.0,
    },
}

layout! { ACK, Ack, it,
    newly_acked: Number => it.newly_acked.as_f64(),
    advanced: Flag => flag(it.advanced()),
    cumulative: Number => it.cumulative.as_f64(),
    newly_lost: Number => it.newly_lost.as_f64(),
    prior_inflight: Number => it.prior_inflight.as_f64(),
    rtt: Number => known(it.rtt.map(|rtt| rtt.raw)),
    rtt_local: Number => it.rtt.map_or(0.0, |rtt| rtt.local.as_secs_f64()),
    rtt_remote: Number => it.rtt.map_or(0.0, |rtt| rtt.remote.as_secs_f64()),
    one_way: Number => known(it.one_way),
    rate: Number => rate(it.rate.rate),
    rate_interval: Number => it.rate.interval.as_secs_f64(),
    rate_delivered: Number => it.rate.delivered.as_f64(),
    rate_lost: Number => it.rate.lost.as_f64(),
    rate_delivered_ce: Number => it.rate.delivered_ce.as_f64(),
    rate_app_limited: Flag => flag(it.rate.app_limited),
    ce_packets: Number => it.ecn.ce_packets as f64,
    ece: Flag => flag(it.ece),
    feedback: Number => it.feedback.map_or(f64::NAN, |value| value as f64),
    tlp_repair: Flag => flag(it.tlp_repair),
}

layout! { RECOVERY, Recovery, it,
    kind: CHANGES => match it {
        Recovery::Enter(_) => 0.0,
        Recovery::Exit => 1.0,
        Recovery::Spurious => 2.0,
        Recovery::Timeout { .. } => 3.0,
        Recovery::Persistent => 4.0,
    },
    cause: Words(&["loss", "ecn"]) => match it {
        Recovery::Enter(RecoveryCause::Loss) => 0.0,
        Recovery::Enter(RecoveryCause::Ecn) => 1.0,
        _ => f64::NAN,
    },
    again: Flag => flag(matches!(it, Recovery::Timeout { again: true })),
}

/// Returns what a page must know to read the arguments.
pub(crate) fn layouts() -> Value {
    json!({
        "conn": names(CONN),
        "packet": names(PACKET),
        "lost": names(LOST),
        "ack": names(ACK),
        "recovery": names(RECOVERY),
    })
}

fn names<T>(layout: Layout<T>) -> Value {
    let of = |kind: &Kind| match kind {
        Number => json!("number"),
        Flag => json!("flag"),
        Words(words) => json!(words),
    };
    layout
        .iter()
        .map(|(name, kind, _)| json!([name, of(kind)]))
        .collect()
}

fn known(span: Option<Span>) -> f64 {
    span.map_or(f64::NAN, Span::as_secs_f64)
}

fn rate(rate: Option<Rate>) -> f64 {
    rate.map_or(f64::NAN, |rate| rate.as_bps() as f64)
}

fn flag(flag: bool) -> f64 {
    flag.into()
}
