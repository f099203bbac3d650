//! The contract's values on their way over the interface, and back.

use fullpipe_cc::{
    Ack, Decision, EcnCodepoint, EcnCounts, PathChange, RateSample, Recovery, RecoveryCause,
    RttSample,
};
use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::abi::{self, NONE};

pub(crate) fn or_none<T>(value: Option<T>, number: impl FnOnce(T) -> u64) -> u64 {
    value.map_or(NONE, number)
}

fn some(number: u64) -> Option<u64> {
    (number != NONE).then_some(number)
}

pub(crate) const fn ecn_of(bits: u8) -> EcnCodepoint {
    match bits & 3 {
        0 => EcnCodepoint::NotEct,
        1 => EcnCodepoint::Ect1,
        2 => EcnCodepoint::Ect0,
        _ => EcnCodepoint::Ce,
    }
}

impl From<&Ack> for abi::Ack {
    #[inline]
    fn from(it: &Ack) -> abi::Ack {
        let (rtt, rtt_local, rtt_remote) = it.rtt.map_or((NONE, 0, 0), |rtt| {
            (
                rtt.raw.as_nanos(),
                rtt.local.as_nanos(),
                rtt.remote.as_nanos(),
            )
        });
        abi::Ack {
            newest: it.newest,
            newly_acked: it.newly_acked.get(),
            cumulative: it.cumulative.get(),
            newly_lost: it.newly_lost.get(),
            prior_inflight: it.prior_inflight.get(),
            rtt,
            rtt_local,
            rtt_remote,
            one_way: or_none(it.one_way, Span::as_nanos),
            rate: or_none(it.rate.rate, Rate::as_bps),
            rate_interval: it.rate.interval.as_nanos(),
            rate_delivered: it.rate.delivered.get(),
            rate_lost: it.rate.lost.get(),
            rate_delivered_ce: it.rate.delivered_ce.get(),
            ce_packets: it.ecn.ce_packets,
            ce_bytes: or_none(it.ecn.ce_bytes, Bytes::get),
            feedback: or_none(it.feedback, |value| value),
            rate_app_limited: it.rate.app_limited,
            ece: it.ece,
            tlp_repair: it.tlp_repair,
        }
    }
}

impl From<&abi::Ack> for Ack {
    #[inline]
    fn from(it: &abi::Ack) -> Ack {
        Ack {
            newest: it.newest,
            newly_acked: Bytes::new(it.newly_acked),
            cumulative: Bytes::new(it.cumulative),
            newly_lost: Bytes::new(it.newly_lost),
            prior_inflight: Bytes::new(it.prior_inflight),
            rtt: some(it.rtt).map(|raw| RttSample {
                raw: Span::from_nanos(raw),
                local: Span::from_nanos(it.rtt_local),
                remote: Span::from_nanos(it.rtt_remote),
            }),
            one_way: some(it.one_way).map(Span::from_nanos),
            rate: RateSample {
                rate: some(it.rate).map(Rate::from_bps),
                interval: Span::from_nanos(it.rate_interval),
                delivered: Bytes::new(it.rate_delivered),
                lost: Bytes::new(it.rate_lost),
                delivered_ce: Bytes::new(it.rate_delivered_ce),
                app_limited: it.rate_app_limited,
            },
            ecn: EcnCounts {
                ce_packets: it.ce_packets,
                ce_bytes: some(it.ce_bytes).map(Bytes::new),
            },
            ece: it.ece,
            feedback: some(it.feedback),
            tlp_repair: it.tlp_repair,
        }
    }
}

impl From<&Decision> for abi::Decision {
    #[inline]
    fn from(it: &Decision) -> abi::Decision {
        abi::Decision {
            cwnd: it.cwnd.get(),
            ssthresh: it.ssthresh.get(),
            pacing_rate: or_none(it.pacing_rate, Rate::as_bps),
            send_quantum: it.send_quantum.get(),
            source_rate: or_none(it.source_rate, Rate::as_bps),
            wake_at: or_none(it.wake_at, Time::as_nanos),
            ecn: it.ecn as u8,
            mark_app_limited: it.mark_app_limited.into(),
        }
    }
}

impl From<&abi::Decision> for Decision {
    #[inline]
    fn from(it: &abi::Decision) -> Decision {
        Decision {
            cwnd: Bytes::new(it.cwnd),
            ssthresh: Bytes::new(it.ssthresh),
            pacing_rate: some(it.pacing_rate).map(Rate::from_bps),
            send_quantum: Bytes::new(it.send_quantum),
            ecn: ecn_of(it.ecn),
            source_rate: some(it.source_rate).map(Rate::from_bps),
            mark_app_limited: it.mark_app_limited != 0,
            wake_at: some(it.wake_at).map(Time::from_nanos),
        }
    }
}

#[cfg(feature = "host")]
pub(crate) const fn recovery_number(change: Recovery) -> u32 {
    match change {
        Recovery::Enter(RecoveryCause::Loss) => 0,
        Recovery::Enter(RecoveryCause::Ecn) => 1,
        Recovery::Exit => 2,
        Recovery::Spurious => 3,
        Recovery::Timeout { again: false } => 4,
        Recovery::Timeout { again: true } => 5,
        Recovery::Persistent => 6,
    }
}

pub(crate) const fn recovery_of(number: u32) -> Option<Recovery> {
    Some(match number {
        0 => Recovery::Enter(RecoveryCause::Loss),
        1 => Recovery::Enter(RecoveryCause::Ecn),
        2 => Recovery::Exit,
        3 => Recovery::Spurious,
        4 => Recovery::Timeout { again: false },
        5 => Recovery::Timeout { again: true },
        6 => Recovery::Persistent,
        _ => return None,
    })
}

#[cfg(feature = "host")]
pub(crate) const fn path_number(change: PathChange) -> (u32, u64) {
    match change {
        PathChange::Mtu => (0, 0),
        PathChange::EcnFailed => (1, 0),
        PathChange::Seed { bdp } => (2, bdp.get()),
        PathChange::Threshold { ssthresh } => (3, ssthresh.get()),
    }
}

pub(crate) const fn path_of(number: u32, bytes: u64) -> Option<PathChange> {
    let bytes = Bytes::new(bytes);
    Some(match number {
        0 => PathChange::Mtu,
        1 => PathChange::EcnFailed,
        2 => PathChange::Seed { bdp: bytes },
        3 => PathChange::Threshold { ssthresh: bytes },
        _ => return None,
    })
}
