//! The contract between a congestion controller and the transport that drives it.
//!
//! A [`Controller`] receives events, each with a [`Context`], and returns a [`Decision`]. The
//! transport reads the decision after the calls of an event, and the next packet obeys it. A packet
//! may leave if and only if bytes in flight plus its size do not exceed `cwnd`. Its [`Descriptor`](crate::Descriptor) declares name, specifications,
//! parameters, trace fields, required signals and the owner of the window in recovery.
//!
//! # Recovery
//!
//! With [`RecoveryOwner::Prr`](crate::RecoveryOwner::Prr) the transport runs PRR towards the
//! controller's `ssthresh` between `Enter` and `Exit`, and owns the window meanwhile. With `Own`
//! (BBR) the controller does.
//!
//! A CE mark begins an episode like a loss, at most once per round trip and not during another
//! episode. The episode ends with the first ACK of a segment sent after it began.
//!
//! If data sent in fast recovery is lost, the next episode follows without a gap. With `Prr` the
//! calls are `Exit` and `Enter`, with `Own` only `Enter`.
//!
//! [`Conn::state`] names the episode. It changes before the call that reports the change. One
//! change has no call: a loss during a mark's episode turns it into fast recovery with `Prr`, since
//! the window was already reduced in this round trip. With `Own` it has two, `Exit` and `Enter`.
//!
//! A timer calls `on_lost` and `on_recovery` (`Enter` or `Timeout`) without an ACK. The transport
//! then transmits, with one `on_sent` per packet.
//!
//! # Differences between transports
//!
//! TCP (`crates/tcp/src/sender/ack.rs`) never calls `on_path`, because it does not detect a path
//! change, and never reports `Persistent`, a rule that only QUIC has (RFC 9002 §7.6). QUIC
//! (`crates/wings/quic/src/congestion_driver.rs`) does both. TCP calls `on_end` when the last data is
//! acknowledged, QUIC when the peer, which has received it, closes the connection.
//!
//! # Dispatch
//!
//! Built-in controllers are variants of [`AnyController`](crate::AnyController), so the per-packet
//! path has no dynamic dispatch. A user's controller is a box in the same enum.

use core::fmt::Debug;

use fullpipe_units::{Bytes, EcnCodepoint, Rate, Rng, Span, Time};

use crate::{Conn, Snapshot};

/// Sender-side congestion control.
///
/// Within one ACK the transport calls, in this order: `on_recovery(Spurious)`, every `on_lost`,
/// `on_recovery(Enter)`, every `on_acked`, `on_ack`, `on_recovery(Exit)`. It reads [`decision`](Controller::decision)
/// after the last of them; PRR also reads `ssthresh` after `Enter`. There are two exceptions. If an
/// episode ends while losses still need repair, `Exit` and the next `Enter` come before `on_ack`.
/// If a tail loss probe turns out to have repaired a loss (RFC 8985 §7.4), `Enter` and `Exit` come
/// after it.
pub trait Controller: Debug + Send {
    /// A packet left and counts as in flight; `packet` is final. Returns whether the decision may
    /// have changed: only then the transport reads it, before it paces this packet and before the
    /// next one leaves. So a restart from idle (`packet.inflight == packet.size`) applies to the
    /// flight that the packet begins.
    ///
    /// A host's pacing queue takes packets ahead of time. Then `cx.now` is the departure, which may
    /// be later than the next event.
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        let _ = (cx, packet);
        false
    }
    /// Returns whether the controller listens to `on_sent`. A library's one is asked once: each call
    /// over the interface takes time, and a controller without `on_sent` spares it with `false`.
    fn hears_sent(&self) -> bool {
        true
    }
    /// Returns whether `on_sent` would change the controller, for a packet that leaves at `now` and is
    /// alone in flight if `from_idle`. A transport may spare the other calls; it asks for every packet, so a
    /// controller that only needs the time can note it here.
    #[inline]
    fn wants_sent(&mut self, now: Time, from_idle: bool) -> bool {
        let _ = (now, from_idle);
        true
    }
    /// The transport declared a packet lost, after an ACK or when a timer fired.
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost);
    /// A packet was newly acknowledged, cumulatively or selectively. Called only if the descriptor
    /// asks for [`Signals::ACKED_EACH`](crate::Signals::ACKED_EACH); an ACK's packets come in the
    /// order of the stream, and [`Ack::newest`] is one of them.
    fn on_acked(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        let _ = (cx, packet);
    }
    /// An ACK newly acknowledged data; called after loss detection.
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack);
    /// A loss or ECN episode began, ended or proved spurious, or the retransmission timer fired.
    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        let _ = (cx, change);
    }
    /// The flow has not used its window: the window must not exceed `cwnd` now, which is less than
    /// the decision's. TCP calls it if the scenario validates windows (RFC 2861, RFC 7661), outside
    /// of recovery, before the first packet after a pause or after any packet. Controllers whose
    /// window is a bound on a rate ignore it.
    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        let _ = (cx, cwnd);
    }
    /// The path of the connection changed.
    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        let _ = (cx, change);
    }
    /// The application handed over a frame. Only a media source has frames; other applications make
    /// no such call.
    fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        let _ = (cx, frame);
    }
    /// The time requested in [`Decision::wake_at`] was reached.
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }
    /// All data of the flow is acknowledged, and it will have no more. Called once, after the last
    /// `on_ack` with the calls that follow it; only `on_recovery(Spurious)` may come later. A flow
    /// that still has data at the end of the run gets no such call.
    fn on_end(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }
    /// Returns the instructions for the transport from now on.
    fn decision(&self) -> Decision;
    /// Replaces `last` by the [`decision`](Controller::decision), for a transport that keeps it.
    #[inline]
    fn decide_into(&self, last: &mut Decision) {
        *last = self.decision();
    }
    /// Pushes the values of [`Descriptor::fields`](crate::Descriptor::fields), in their order.
    /// Called only if the run is traced.
    fn observe(&self, row: &mut Vec<f64>);
}

/// Information that a controller receives with every event.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time of this event.
    pub now: Time,
    /// The state of the connection at this event.
    pub conn: &'a Conn,
    /// The controller's own random stream.
    pub rng: &'a mut Rng,
    /// Receiver of state transitions.
    pub observer: &'a mut dyn Observer,
}

/// Receives notifications of a controller about itself.
pub trait Observer: Debug {
    /// The controller changed its state.
    fn transition(&mut self, now: Time, transition: Transition);
}

/// A state transition of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// State before the transition.
    pub from: &'static str,
    /// State after the transition.
    pub to: &'static str,
    /// Reason for the transition.
    pub reason: &'static str,
}

/// An observer that ignores all notifications.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn transition(&mut self, _: Time, _: Transition) {}
}

/// The reason for which a packet was declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LossCause {
    /// A packet sent later arrived (RFC 8985 §6.2).
    Rack,
    /// The retransmission timer fired (RFC 6298 §5, RFC 8985 §6.3).
    Rto,
}

/// A lost packet.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Lost {
    /// The state of the connection when the packet was sent.
    pub packet: Snapshot,
    /// Bytes lost since the packet was sent, including the packet.
    pub lost_since_sent: Bytes,
    /// Whether a new hole begins: the preceding packet in sequence is not lost.
    pub new_range: bool,
    /// Reason for which it was declared lost.
    pub cause: LossCause,
}

/// An RTT sample, from a packet that was sent once (Karn).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// Time from sending the packet to the arrival of its ACK.
    pub raw: Span,
    /// The part of it that this host took: from the sending of the packet until it left the host,
    /// and from the arrival of the ACK until it was read. Zero unless the descriptor asks for
    /// [`Signals::HOST_DELAYS`](crate::Signals::HOST_DELAYS), and without a model of hosts.
    pub local: Span,
    /// The part of it that the peer's host took, from the arrival of the packet until the ACK left;
    /// zero in the same cases. In a datagram flow, always the time until the report left.
    pub remote: Span,
}

/// A delivery-rate sample: the `RS.*` of draft-ietf-ccwg-bbr-06 §4.1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// The rate; `None` if the interval is shorter than the minimum RTT (§4.1.2.3).
    pub rate: Option<Rate>,
    /// The longer of the send interval and the ACK interval.
    pub interval: Span,
    /// Bytes delivered over the interval.
    pub delivered: Bytes,
    /// Bytes lost since the newest acknowledged packet was sent.
    pub lost: Bytes,
    /// Bytes delivered with a CE mark over the interval.
    pub delivered_ce: Bytes,
    /// Whether the sample may underestimate the path, because the newest acknowledged packet was
    /// sent while the flow was application-limited.
    pub app_limited: bool,
}

/// ECN feedback of one ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets newly reported as CE-marked.
    pub ce_packets: u64,
    /// Bytes in these packets, if the feedback counts bytes.
    pub ce_bytes: Option<Bytes>,
}

/// The information in one ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// The most recently sent packet among the newly acknowledged ones.
    pub newest: Snapshot,
    /// Bytes newly acknowledged, cumulatively or selectively.
    pub newly_acked: Bytes,
    /// Bytes by which SND.UNA advanced, including those that were SACKed earlier. QUIC has no
    /// cumulative acknowledgment: `newly_acked`.
    pub cumulative: Bytes,
    /// Bytes newly declared lost while this ACK was processed.
    pub newly_lost: Bytes,
    /// [`Conn::inflight`] before this ACK.
    pub prior_inflight: Bytes,
    /// RTT sample, if a packet that was sent only once was acknowledged.
    pub rtt: Option<RttSample>,
    /// Time from sending the packet to the peer's sending of this ACK, each by its own clock: only
    /// differences between samples are meaningful. `None` if the peer sends no timestamps, or if
    /// this ACK's timestamp is that of an earlier packet.
    pub one_way: Option<Span>,
    /// Delivery-rate sample.
    pub rate: RateSample,
    /// ECN feedback.
    pub ecn: EcnCounts,
    /// Whether this ACK reports congestion: it has the ECE flag, or its counts of marked packets
    /// have grown.
    pub ece: bool,
    /// Value of the receiver's algorithm, if it sends one:
    /// [`ReceiverDecision::feedback`](crate::ReceiverDecision::feedback).
    pub feedback: Option<u64>,
    /// Whether this ACK shows that a tail loss probe repaired a loss (RFC 8985 §7.4).
    pub tlp_repair: bool,
}

impl Ack {
    /// Returns whether SND.UNA advanced.
    #[inline]
    pub fn advanced(&self) -> bool {
        self.cumulative > Bytes::ZERO
    }
}

/// A frame that a media source has encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Size of the frame.
    pub size: Bytes,
    /// Age of the oldest data that waited to be sent when the frame was handed over; zero if none
    /// waited.
    pub waited: Span,
}

/// The cause of a recovery episode.
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
    /// An episode begins, with `Own` perhaps right after another. With [`RecoveryOwner::Prr`](crate::RecoveryOwner::Prr) the controller
    /// sets `ssthresh` now, and the transport reduces the window to it until `Exit`.
    Enter(RecoveryCause),
    /// The episode is over: all data outstanding at its start was acknowledged.
    Exit,
    /// The losses since `Enter` or `Timeout` were spurious: the controller should undo its
    /// reaction.
    Spurious,
    /// The retransmission timer fired; [`Conn::inflight`] no longer includes the packets that were
    /// therefore declared lost.
    Timeout {
        /// Whether the timer had already resent the first outstanding segment, with nothing
        /// acknowledged since (RFC 5681 §3.1).
        again: bool,
    },
    /// Nothing was acknowledged for several timeouts (RFC 9002 §7.6); follows the `Enter` of these
    /// losses.
    Persistent,
}

/// Changes of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// [`Conn::smss`] changed.
    Mtu,
    /// The path does not carry ECN.
    EcnFailed,
    /// The bandwidth-delay product of this path is known from an earlier connection.
    Seed {
        /// Bandwidth-delay product, in bytes.
        bdp: Bytes,
    },
    /// The slow-start threshold of an earlier connection is known. TCP reports it before the first
    /// packet, if the scenario keeps thresholds (`metrics_cache`). Controllers without one ignore
    /// it.
    Threshold {
        /// Slow-start threshold, in bytes.
        ssthresh: Bytes,
    },
}

/// Instructions for the transport.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Congestion window: a packet may leave iff inflight + its size <= cwnd.
    pub cwnd: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] before the first congestion.
    pub ssthresh: Bytes,
    /// Pacing rate; `None` for an ACK-clocked flow.
    pub pacing_rate: Option<Rate>,
    /// Data that may leave back to back; zero leaves the choice to the transport.
    pub send_quantum: Bytes,
    /// ECN codepoint of sent packets, unless the scenario sets one; must not be `Ce`. QUIC reads
    /// it once, when the connection begins.
    pub ecn: EcnCodepoint,
    /// Rate at which a media source should encode, within its limits; `None` leaves the source at its
    /// maximum. Other applications ignore it.
    pub source_rate: Option<Rate>,
    /// Marks the connection application-limited regardless of the application (BBR's ProbeRTT).
    pub mark_app_limited: bool,
    /// Time at which to call `on_timer`, if any. After that call it must be later, or `None`:
    /// otherwise virtual time would never go on.
    pub wake_at: Option<Time>,
}

impl Decision {
    /// Returns a decision with only a window and a threshold, the decision of a classic controller.
    #[inline]
    pub fn window(cwnd: Bytes, ssthresh: Bytes) -> Decision {
        Decision {
            cwnd,
            ssthresh,
            pacing_rate: None,
            send_quantum: Bytes::ZERO,
            ecn: EcnCodepoint::NotEct,
            source_rate: None,
            mark_app_limited: false,
            wake_at: None,
        }
    }
}
