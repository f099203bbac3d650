//! BBR: v1 as Linux has it ([`Bbr1`]), v2 and v3 by draft-ietf-ccwg-bbr-06 and Linux ([`Bbr`]).
//!
//! `v1` and `v3` are two machines, v2 is `v3` with other rules. This folder's other files are what
//! the machines share; bandwidths are in bytes per second.

mod estimators;
mod pacing;
mod v1;
mod v3;

pub use v1::{Bbr1, DESCRIPTOR as BBR1};
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
    /// The first.
    const STARTUP: Self;
    /// The one that lets the queue run empty.
    const PROBE_RTT: Self;

    fn name(self) -> &'static str;

    /// Whether the machine has an arrow from here to there.
    fn may_become(self, next: Self) -> bool;
}

/// The part of a controller that no version changes.
#[derive(Debug)]
struct Core<S> {
    segment: Segment,
    state: S,
    pacing_gain: f64,
    cwnd_gain: f64,
    round: RoundCounter,
    /// This ACK begins a round.
    round_start: bool,
    /// Sending again after idle, nothing acknowledged yet.
    idle_restart: bool,
    full_pipe: FullPipe,
    min_rtt: MinRtt,
    dwell: ProbeRttDwell,
    aggregation: AckAggregation,
    pacing: Pacing,
    window: SavedWindow,
    /// For export only: what the pipe held when Startup ended.
    ssthresh: Bytes,
}

impl<S: States> Core<S> {
    /// OnInit (§5.2.1); the pacing rate is still to be initialized.
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

    /// The only way from one state to another.
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

    /// An RTT is known, and the pacing rate does not rest on it yet.
    #[inline]
    fn has_first_rtt(&self, cx: &Context<'_>) -> bool {
        self.pacing.awaits_rtt() && cx.conn.srtt > Span::ZERO
    }

    /// Starts from the first RTT: the handshake's, where the transport takes it.
    fn take_first_rtt(&mut self, cx: &Context<'_>, gain: f64) {
        let rtt = Some(cx.conn.srtt);
        self.pacing
            .init_from_rtt(self.segment, self.window.cwnd, rtt, gain);
        self.min_rtt.seed(cx.now, cx.conn.min_rtt);
        self.pacing.follow_rtt(self.segment, self.min_rtt.rtt);
    }

    /// HandleRestartFromIdle (§5.4.1), `bbr_cwnd_event`: true when `packet` ends an idle time.
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

    /// Segments have another size.
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

/// The window, and what it was before loss or ProbeRTT cut it: draft-ietf-ccwg-bbr-06 §5.6.4.4.
#[derive(Clone, Copy, Debug)]
struct SavedWindow {
    /// The window in force.
    cwnd: Bytes,
    /// The last that was known to be good: `prior_cwnd`.
    prior_cwnd: Bytes,
    /// The loss episode that is under way.
    episode: Episode,
}

impl SavedWindow {
    /// With the initial window.
    fn new(cwnd: Bytes) -> SavedWindow {
        SavedWindow {
            cwnd,
            prior_cwnd: Bytes::ZERO,
            episode: Episode::None,
        }
    }

    /// `bbr_save_cwnd`: remembers the window, unless recovery or ProbeRTT has cut it already: then
    /// only a larger one.
    fn save(&mut self, in_probe_rtt: bool) {
        let is_cut = in_probe_rtt || self.episode != Episode::None;
        self.prior_cwnd = if is_cut {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// The window that was saved, if it is larger.
    fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

/// B/s in the bit/s of traces.
fn bits(bytes_per_second: f64) -> f64 {
    bytes_per_second * 8.0
}

// The lesser and the greater of two numbers, neither of which is NaN: an instruction each.
// `f64::min` and `f64::max`, which must not return a NaN, take five or six, and a controller asks
// for a dozen with every ACK.

/// The lesser.
#[inline]
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The greater.
#[inline]
fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
