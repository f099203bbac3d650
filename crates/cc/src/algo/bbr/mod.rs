//! BBR: v1 as in Linux ([`Bbr1`]), v2 and v3 as in draft-ietf-ccwg-bbr-06 and Linux ([`Bbr`]).
//!
//! `v1` and `v3` are separate state machines; v2 is `v3` with other rules. The other files of this
//! folder are shared by both. Bandwidths are in bytes per second.

mod estimators;
mod pacing;
mod v1;
mod v3;

pub use v1::{BBR1, Bbr1};
pub use v3::{BBR2, BBR3, Bbr, PICOQUIC_2024_09, PICOQUIC_2024_10};

use core::fmt::Debug;

use fullpipe_units::{Bytes, Span};

use self::estimators::{AckAggregation, FullPipe, MinRtt, ProbeRttDwell};
use self::pacing::{Pacing, Segment};
use crate::common::round::RoundCounter;
use crate::common::window::Episode;
use crate::{Config, Conn, Context, Decision, EcnCodepoint, Snapshot, Transition};

/// The states of a version.
trait States: Copy + Debug + PartialEq {
    /// The first state.
    const STARTUP: Self;
    /// The state that drains the queue to measure the RTT.
    const PROBE_RTT: Self;

    fn name(self) -> &'static str;

    /// Returns whether the state machine has a transition from this state to `next`.
    fn may_become(self, next: Self) -> bool;
}

/// The part of a controller that is the same in all versions.
#[derive(Debug)]
struct Core<S> {
    segment: Segment,
    state: S,
    pacing_gain: f64,
    cwnd_gain: f64,
    round: RoundCounter,
    /// Whether the current ACK begins a round.
    round_start: bool,
    /// Whether the flow sends again after idle, with no data acknowledged since.
    idle_restart: bool,
    full_pipe: FullPipe,
    min_rtt: MinRtt,
    dwell: ProbeRttDwell,
    aggregation: AckAggregation,
    pacing: Pacing,
    window: SavedWindow,
    /// For traces only: the BDP when Startup ended.
    ssthresh: Bytes,
}

impl<S: States> Core<S> {
    /// OnInit (§5.2.1), except for the pacing rate, which the caller initializes.
    fn new(
        config: &Config,
        (pacing_gain, cwnd_gain): (f64, f64),
        min_rtt: MinRtt,
        aggregation: AckAggregation,
        pacing: Pacing,
    ) -> Core<S> {
        Core {
            segment: Segment::new(config.smss),
            state: S::STARTUP,
            pacing_gain,
            cwnd_gain,
            round: RoundCounter::default(),
            round_start: false,
            idle_restart: false,
            full_pipe: FullPipe::default(),
            min_rtt,
            dwell: ProbeRttDwell::default(),
            aggregation,
            pacing,
            window: SavedWindow::new(config.initial_cwnd),
            ssthresh: Bytes::MAX,
        }
    }

    /// Changes the state; there is no other way.
    fn enter(&mut self, cx: &mut Context<'_>, to: S, reason: &'static str) {
        debug_assert!(
            self.state.may_become(to),
            "{:?} can't become {to:?}",
            self.state
        );
        cx.observer.transition(
            cx.now,
            Transition {
                from: self.state.name(),
                to: to.name(),
                reason,
            },
        );
        self.state = to;
    }

    /// Returns whether an RTT is known that the pacing rate does not yet use.
    #[inline]
    fn has_first_rtt(&self, cx: &Context<'_>) -> bool {
        self.pacing.awaits_rtt() && cx.conn.srtt > Span::ZERO
    }

    /// Initializes the pacing rate from the first RTT: the handshake's, if the transport measures
    /// it.
    #[cold] // once; the dispatch of `on_sent` stays small
    fn take_first_rtt(&mut self, cx: &Context<'_>, gain: f64) {
        let rtt = Some(cx.conn.srtt);
        self.pacing
            .init_from_rtt(self.segment, self.window.cwnd, rtt, gain);
        self.min_rtt.seed(cx.now, cx.conn.min_rtt);
        self.pacing.follow_rtt(self.segment, self.min_rtt.rtt);
    }

    /// HandleRestartFromIdle (§5.4.1), `bbr_cwnd_event`. Returns true if `packet` ends an idle
    /// period.
    #[inline]
    fn restarts_from_idle(&mut self, cx: &Context<'_>, packet: &Snapshot) -> bool {
        let from_idle = packet.inflight == Bytes::new(u64::from(packet.size));
        if !from_idle || !cx.conn.app_limited {
            return false;
        }
        self.idle_restart = true;
        self.aggregation.restart(cx.now);
        true
    }

    /// SetPacingRateWithGain (§5.6.2), `bbr_set_pacing_rate`.
    #[inline]
    fn set_pacing_rate(&mut self, bytes_per_second: f64) {
        self.pacing
            .follow(self.segment, bytes_per_second, self.full_pipe.reached);
    }

    /// Adapts to a new segment size.
    fn on_mtu(&mut self, conn: &Conn) {
        self.segment = Segment::new(conn.smss);
        self.pacing.refresh(self.segment);
        self.window.cwnd = self.window.cwnd.max(conn.smss);
    }

    /// `bbr_save_cwnd`.
    fn save_cwnd(&mut self) {
        self.window.save(self.state == S::PROBE_RTT);
    }

    #[inline]
    fn decision(&self, ecn: EcnCodepoint) -> Decision {
        Decision {
            pacing_rate: Some(self.pacing.rate),
            send_quantum: self.pacing.quantum,
            mark_app_limited: self.state == S::PROBE_RTT,
            ecn,
            ..Decision::window(self.window.cwnd, self.ssthresh)
        }
    }
}

/// The congestion window, and its value before loss or ProbeRTT reduced it (draft-ietf-ccwg-bbr-06
/// §5.6.4.4).
#[derive(Clone, Copy, Debug)]
struct SavedWindow {
    /// The window in force.
    cwnd: Bytes,
    /// The last window that was known to be good: `prior_cwnd`.
    prior_cwnd: Bytes,
    /// The current loss episode.
    episode: Episode,
}

impl SavedWindow {
    /// Begins with the initial window.
    fn new(cwnd: Bytes) -> SavedWindow {
        SavedWindow {
            cwnd,
            prior_cwnd: Bytes::ZERO,
            episode: Episode::None,
        }
    }

    /// `bbr_save_cwnd`: saves the window. If recovery or ProbeRTT has reduced it already, saves it
    /// only if it is larger than the saved one.
    fn save(&mut self, in_probe_rtt: bool) {
        let is_cut = in_probe_rtt || self.episode != Episode::None;
        self.prior_cwnd = if is_cut {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// Restores the saved window if it is larger.
    fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

/// Converts B/s to the bit/s of traces.
fn bits(bytes_per_second: f64) -> f64 {
    bytes_per_second * 8.0
}

// Minimum and maximum of two numbers that are not NaN, in one instruction each. `f64::min` and
// `f64::max` must handle NaN and take five or six, and a controller calls them a dozen times per
// ACK.

/// Returns the smaller number.
#[inline]
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Returns the larger number.
#[inline]
fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
