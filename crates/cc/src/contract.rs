//! The contract between a congestion controller and whatever transport drives it.
//!
//! A [`Controller`] receives events, each with a [`Context`], and returns a [`Decision`], which the
//! transport reads after every event. A packet may leave if and only if bytes in flight plus its
//! size do not exceed `cwnd`. Its [`Descriptor`](crate::Descriptor) declares name, specifications,
//! parameters, trace fields, required signals and the owner of the window in recovery.
//!
//! # Recovery
//!
//! With [`RecoveryOwner::Prr`](crate::RecoveryOwner::Prr) the transport runs PRR towards the
//! controller's `ssthresh` between `Enter` and `Exit`, and owns the window meanwhile. With `Own`
//! (BBR) the controller does.
//!
//! A CE mark begins an episode like a loss, at most once per round trip and not during another
//! episode. It ends with the first ACK of a segment sent after it.
//!
//! A timer calls `on_lost` and `on_recovery` (`Enter` or `Timeout`) without an ACK. The transport
//! then transmits, with one `on_sent` per packet.
//!
//! # Differences between transports
//!
//! TCP (`crates/tcp/src/sender/ack.rs`) never calls `on_path`, because it does not detect a path
//! change, and never reports `Persistent`, a rule that only QUIC has (RFC 9002 §7.6). QUIC
//! (`crates/quic/src/congestion_driver.rs`) does both.
//!
//! # Dispatch
//!
//! Built-in controllers are variants of [`AnyController`](crate::AnyController), so the per-packet
//! path has no dynamic dispatch. A user's controller is a box in the same enum.

use core::fmt::Debug;

use fullpipe_units::{Bytes, EcnCodepoint, Rate, Rng, Span, Time};

/// Sender-side congestion control.
///
/// The transport calls, in this order within one ACK: `on_recovery(Spurious)`, every `on_lost`,
/// `on_recovery(Enter)`, `on_ack`, `on_recovery(Exit)`; and reads
/// [`decision`](Controller::decision) after each event. In two cases there are more: where an
/// episode ends with losses still to be repaired, `Exit` and the next `Enter` come before `on_ack`;
/// where a tail loss probe turns out to have repaired a loss (RFC 8985 §7.4), `Enter` and `Exit`
/// after.
pub trait Controller: Debug + Send {
    /// A packet left and is counted in flight; `packet` is final.
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        let _ = (cx, packet);
    }
    /// One packet was declared lost; may come from a timer, with no ACK.
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost);
    /// One ACK that newly acknowledges something, after loss detection.
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack);
    /// A loss or ECN episode begins, ends or turns out to have been spurious, or the retransmission
    /// timer fired.
    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        let _ = (cx, change);
    }
    /// The path changed under the connection.
    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        let _ = (cx, change);
    }
    /// The time asked for in [`Decision::wake_at`] has come.
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }
    /// What the transport shall do from now on.
    fn decision(&self) -> Decision;
    /// Pushes the values of [`Descriptor::fields`](crate::Descriptor::fields), in their order.
    /// Called only when traced.
    fn observe(&self, row: &mut Vec<f64>);
}

/// What a controller is told with every event.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time of this event.
    pub now: Time,
    /// The connection as it stands at this event.
    pub conn: &'a Conn,
    /// The controller's own random stream.
    pub rng: &'a mut Rng,
    /// Where state transitions are reported.
    pub observer: &'a mut dyn Observer,
}

/// Receives what a controller wants known of itself.
pub trait Observer: Debug {
    /// The controller went from one state to another, and why.
    fn transition(&mut self, now: Time, transition: Transition);
}

/// A state transition of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state that was left.
    pub from: &'static str,
    /// The state that was entered.
    pub to: &'static str,
    /// The rule that made it so.
    pub reason: &'static str,
}

/// An observer that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn transition(&mut self, _: Time, _: Transition) {}
}

/// The connection, kept by the transport: the `C.*` of draft-ietf-ccwg-bbr-06 §2.
#[derive(Clone, Debug, PartialEq)]
pub struct Conn {
    /// Sender maximum segment size: payload bytes.
    pub smss: Bytes,
    /// The initial window (RFC 6928), bytes.
    pub initial_cwnd: Bytes,
    /// Bytes sent and neither acknowledged nor declared lost.
    pub inflight: Bytes,
    /// Bytes acknowledged so far, cumulatively or selectively.
    pub delivered: Bytes,
    /// Of these, bytes that arrived with a CE mark.
    pub delivered_ce: Bytes,
    /// Bytes declared lost so far.
    pub lost: Bytes,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Span,
    /// Smallest RTT of the connection; [`Span::MAX`] before the first sample.
    pub min_rtt: Span,
    /// The latest rate bubble: there was too little to send (draft-ietf-ccwg-bbr-06 §4.1.2.4).
    pub app_limited: bool,
    /// The window was fully used by the flight that is being acknowledged (RFC 9438 §4.2, RFC
    /// 7661).
    pub cwnd_limited: bool,
    /// Fast recovery is under way.
    pub in_recovery: bool,
    /// When the pacer will let the next packet go; not before the present.
    pub next_departure: Time,
    /// Packets are paced, by the controller's rate or the transport's.
    pub paced: bool,
    /// The pacing rate in force; none when not paced.
    pub pacing_rate: Option<Rate>,
    /// How many send quanta the offload path may hold (draft-ietf-ccwg-bbr-06 §5.6.4.2): 3 for TCP,
    /// 1 for QUIC.
    pub offload_factor: u64,
}

impl Conn {
    /// A connection at `now` of which nothing was sent yet, with the initial window of RFC 6928.
    pub fn new(now: Time, smss: Bytes, offload_factor: u64) -> Conn {
        Conn {
            smss,
            initial_cwnd: smss * 10,
            inflight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            delivered_ce: Bytes::ZERO,
            lost: Bytes::ZERO,
            srtt: Span::ZERO,
            min_rtt: Span::MAX,
            app_limited: false,
            cwnd_limited: false,
            in_recovery: false,
            next_departure: now,
            paced: false,
            pacing_rate: None,
            offload_factor,
        }
    }
}

/// The state of the connection when a packet was sent: the `P.*` of draft-ietf-ccwg-bbr-06 §4.1.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshot {
    /// When the packet left.
    pub sent: Time,
    /// Send time of the packet that started the flight sampled.
    pub first_sent: Time,
    /// When [`Conn::delivered`] last grew.
    pub delivered_at: Time,
    /// [`Conn::delivered`] then.
    pub delivered: Bytes,
    /// [`Conn::delivered_ce`] then.
    pub delivered_ce: Bytes,
    /// [`Conn::lost`] then.
    pub lost: Bytes,
    /// [`Conn::inflight`] **with** this packet.
    pub inflight: Bytes,
    /// Payload bytes of the packet; `inflight == size` means a start from idle.
    pub size: u16,
    /// Sent in an application-limited phase.
    pub app_limited: bool,
    /// Its ECN codepoint.
    pub ecn: EcnCodepoint,
    /// A retransmission.
    pub retransmit: bool,
}

/// Why a packet was declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// A packet sent later arrived (RFC 8985 §6.2).
    Rack,
    /// The retransmission timer fired (RFC 6298 §5, RFC 8985 §6.3).
    Rto,
}

/// One lost packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lost {
    /// The state when it was sent.
    pub packet: Snapshot,
    /// Bytes lost since it was sent, itself included.
    pub lost_since_sent: Bytes,
    /// The packet before it, in sequence, is not lost: a new hole begins.
    pub new_range: bool,
    /// Why.
    pub cause: LossCause,
}

/// An RTT sample, from a packet that was sent once (Karn).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// From sending to the arrival of the ACK.
    pub raw: Span,
    /// The part that the receiver says it spent delaying the ACK; zero when it doesn't say (TCP).
    pub ack_delay: Span,
}

/// A delivery-rate sample: the `RS.*` of draft-ietf-ccwg-bbr-06 §4.1.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// The rate, or none when the interval is shorter than the minimum RTT (§4.1.2.3).
    pub rate: Option<Rate>,
    /// The longer of the send and the ACK interval.
    pub interval: Span,
    /// Bytes delivered over the interval.
    pub delivered: Bytes,
    /// Bytes lost since the newest acknowledged packet was sent.
    pub lost: Bytes,
    /// Bytes delivered with a CE mark over the interval.
    pub delivered_ce: Bytes,
    /// The sample may understate the path: the newest acknowledged packet was sent
    /// application-limited.
    pub app_limited: bool,
}

/// ECN feedback of one ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets newly reported as CE-marked.
    pub ce_packets: u64,
    /// Bytes of these, where the feedback counts bytes.
    pub ce_bytes: Option<Bytes>,
}

/// One ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// The most recently sent of the packets newly acknowledged.
    pub newest: Snapshot,
    /// Bytes newly acknowledged.
    pub newly_acked: Bytes,
    /// Bytes newly declared lost while this ACK was processed.
    pub newly_lost: Bytes,
    /// [`Conn::inflight`] before this ACK.
    pub prior_inflight: Bytes,
    /// The RTT sample, if a packet sent once was acknowledged.
    pub rtt: Option<RttSample>,
    /// From sending to the peer's sending of this ACK, by both clocks: only differences mean
    /// something. None when the peer gives no timestamps, or this ACK's is that of an earlier
    /// packet.
    pub one_way: Option<Span>,
    /// The delivery-rate sample.
    pub rate: RateSample,
    /// ECN feedback.
    pub ecn: EcnCounts,
    /// This ACK shows that a tail loss probe repaired a loss (RFC 8985 §7.4).
    pub tlp_repair: bool,
}

/// What started a recovery episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryCause {
    /// A lost packet.
    Loss,
    /// A CE mark.
    Ecn,
}

/// Changes of the transport's recovery state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// An episode begins; with [`RecoveryOwner::Prr`](crate::RecoveryOwner::Prr) the controller
    /// sets `ssthresh` here and the transport runs the window down to it until `Exit`.
    Enter(RecoveryCause),
    /// The episode is over: everything outstanding at its start was acknowledged.
    Exit,
    /// The losses since `Enter` or `Timeout` were none: undo.
    Spurious,
    /// The retransmission timer fired; [`Conn::inflight`] counts what is left after its losses were
    /// marked.
    Timeout {
        /// The timer had resent the first outstanding segment already: nothing was acknowledged
        /// since (RFC 5681 §3.1).
        again: bool,
    },
    /// Nothing came through for several timeouts (RFC 9002 §7.6); after the `Enter` of these
    /// losses.
    Persistent,
}

/// Changes of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// [`Conn::smss`] has a new value.
    Mtu,
    /// The path does not carry ECN.
    EcnFailed,
    /// A remembered bandwidth-delay product of this path.
    Seed {
        /// Its value.
        bdp: Bytes,
    },
}

/// What the transport shall do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// A packet may leave iff inflight + its size <= cwnd.
    pub cwnd: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] before the first congestion.
    pub ssthresh: Bytes,
    /// The pacing rate; none for an ACK-clocked flow.
    pub pacing_rate: Option<Rate>,
    /// How much may leave back to back; zero leaves the choice to the transport.
    pub send_quantum: Bytes,
    /// The codepoint to send with, not `Ce`.
    pub ecn: EcnCodepoint,
    /// Mark the connection application-limited whatever the application does (BBR's ProbeRTT).
    pub mark_app_limited: bool,
    /// Call `on_timer` then.
    pub wake_at: Option<Time>,
}

impl Decision {
    /// A window and a threshold, nothing else: what a classic controller decides.
    #[inline]
    pub fn window(cwnd: Bytes, ssthresh: Bytes) -> Decision {
        Decision {
            cwnd,
            ssthresh,
            pacing_rate: None,
            send_quantum: Bytes::ZERO,
            ecn: EcnCodepoint::NotEct,
            mark_app_limited: false,
            wake_at: None,
        }
    }
}
