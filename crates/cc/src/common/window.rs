//! Parts shared by classic windows: loss episodes, and arithmetic in bytes.

use fullpipe_units::{Bytes, Rate, Span};

use crate::{Ack, CaState, Conn, Context, Lost, Recovery, RecoveryCause, Transition};

/// The current loss episode: a window is reduced once per episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Episode {
    /// No episode.
    #[default]
    None,
    /// Fast recovery; the transport runs PRR.
    Recovery,
    /// After a timeout, until all data outstanding at that time is acknowledged.
    Timeout,
}

/// Returns the state of a classic controller, as named in transitions.
pub fn state(episode: Episode, in_slow_start: bool, css: bool) -> &'static str {
    match (episode, in_slow_start) {
        (Episode::Recovery, _) => "recovery",
        (_, true) if css => "css",
        (_, true) => "slow_start",
        (_, false) => "congestion_avoidance",
    }
}

/// Reports the transition caused by `change`, if the state changed.
pub fn report(cx: &mut Context<'_>, from: &'static str, to: &'static str, change: Recovery) {
    let reason = match change {
        Recovery::Enter(RecoveryCause::Loss) => "loss",
        Recovery::Enter(RecoveryCause::Ecn) => "mark",
        Recovery::Exit => "recovered",
        Recovery::Spurious => "loss was spurious",
        Recovery::Timeout { .. } => "timeout",
        Recovery::Persistent => "persistent congestion",
    };
    if from != to {
        cx.observer
            .transition(cx.now, Transition { from, to, reason });
    }
}

/// A window that is reduced once per episode, collapses on a timeout, and is restored after a
/// spurious loss.
///
/// [`on_recovery`] implements the common sequence; the implementations set the factors.
pub trait Classic {
    /// Returns the current episode.
    fn episode(&mut self) -> &mut Episode;
    /// Returns the state, as named in transitions.
    fn state(&self) -> &'static str;
    /// Handles congestion: saves the current threshold and window and reduces both.
    fn reduce(&mut self, cx: &Context<'_>, cause: RecoveryCause);
    /// Sets the window to `cwnd`, and resets the bytes counted toward its growth.
    fn collapse(&mut self, cwnd: Bytes);
    /// Restores at least the values from before the last reduction.
    fn undo(&mut self);

    /// Handles a retransmission timeout. RFC 5681 §3.1: another timeout of the same segment leaves
    /// ssthresh unchanged. §4.3: a timeout within recovery, after a lost retransmission, is a
    /// second sign of congestion.
    fn on_timeout(&mut self, cx: &Context<'_>, again: bool, cwnd: Bytes) {
        if !again {
            self.reduce(cx, RecoveryCause::Loss);
        }
        self.collapse(cwnd);
    }
}

/// Updates a classic window when the transport's recovery state changes, and reports transitions.
pub fn on_recovery(window: &mut impl Classic, cx: &mut Context<'_>, change: Recovery) {
    let before = window.state();
    let episode = match change {
        Recovery::Enter(cause) => {
            window.reduce(cx, cause);
            Episode::Recovery
        }
        Recovery::Exit => Episode::None,
        Recovery::Spurious => {
            window.undo();
            Episode::None
        }
        Recovery::Timeout { again } => {
            window.on_timeout(cx, again, loss_window(cx.conn));
            Episode::Timeout
        }
        Recovery::Persistent => {
            // RFC 9002 §7.6.2: the minimum window.
            window.on_timeout(cx, true, cx.conn.smss * 2);
            Episode::Timeout
        }
    };
    *window.episode() = episode;
    report(cx, before, window.state(), change);
}

/// Returns the slow-start threshold after a window of `cwnd` is lowered because it was not used:
/// slow start may lead back to three quarters of the window (RFC 2861 §3, RFC 7661 §4.4.3; Linux:
/// tcp_current_ssthresh).
pub fn threshold_after(cwnd: Bytes, ssthresh: Bytes, smss: Bytes) -> Bytes {
    let segments = cwnd.get() / smss.get();
    ssthresh.max(smss * (segments / 2 + segments / 4))
}

/// Returns the window after a timeout: one segment (RFC 5681 §3.1, LW) plus the data still in
/// flight, usually none (Linux: tcp_enter_loss; RACK leaves recently sent data in flight, RFC 8985
/// §6.3).
#[inline]
pub fn loss_window(conn: &Conn) -> Bytes {
    conn.inflight + conn.smss
}

/// Returns the bytes of an ACK that may raise a window by RFC 5681 §3.1: those that it acknowledges
/// cumulatively. A duplicate ACK leaves the window unchanged (§3.2), and the data that it SACKs
/// counts when SND.UNA advances over it.
#[inline]
pub fn counted(conn: &Conn, ack: &Ack) -> Bytes {
    if conn.state == CaState::Loss && ack.advanced() {
        // RFC 3465 §2.3: after a timeout, one ACK may cover much data that left the network before.
        ack.newly_acked
    } else {
        ack.cumulative
    }
}

/// Returns the bytes of an ACK that may raise a window by Linux's `tcp_may_raise_cwnd`: all newly
/// acknowledged ones, if SND.UNA advanced or once packets were seen to arrive far out of order. A
/// short segment counts as a full one, since Linux counts segments.
#[inline]
pub fn counted_by_linux(conn: &Conn, ack: &Ack) -> Bytes {
    if ack.advanced() || conn.reordering_seen {
        conn.smss * ack.newly_acked.get().div_ceil(conn.smss.get())
    } else {
        Bytes::ZERO
    }
}

/// Returns the rate of Linux's `tcp_update_pacing_rate`: the window per RTT, times 2 below half of
/// `ssthresh` and times 1.2 above; `None` before the first RTT sample. The outstanding data replaces
/// a smaller window.
pub fn linux_pacing_rate(
    cwnd: Bytes,
    outstanding: Bytes,
    ssthresh: Bytes,
    srtt: Span,
) -> Option<Rate> {
    let gain = if cwnd < ssthresh / 2 { 2.0 } else { 1.2 };
    let window = cwnd.max(outstanding).as_f64();
    (srtt > Span::ZERO).then(|| Rate::from_bps_f64(gain * window * 8e9 / srtt.as_nanos() as f64))
}

/// FlightSize (RFC 5681 §2) at a congestion event.
///
/// [`Conn::inflight`] excludes the packets that were just declared lost or selectively
/// acknowledged. The lost ones are counted here. If the flight filled the window, the window itself
/// is the flight size, which also covers the acknowledged ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlightSize {
    just_lost: Bytes,
}

impl FlightSize {
    /// Counts a packet that was declared lost.
    #[inline]
    pub fn on_lost(&mut self, lost: &Lost) {
        self.just_lost += Bytes::new(u64::from(lost.packet.size));
    }

    /// Resets the count after an ACK: earlier losses belong to an earlier event.
    #[inline]
    pub fn on_ack(&mut self) {
        self.just_lost = Bytes::ZERO;
    }

    /// Returns the flight size, at most `cwnd`: after an earlier reduction the window may be
    /// smaller than the flight.
    pub fn at_event(&mut self, conn: &Conn, cwnd: Bytes) -> Bytes {
        let just_lost = core::mem::take(&mut self.just_lost);
        if conn.cwnd_limited {
            cwnd
        } else {
            cwnd.min(conn.inflight + just_lost)
        }
    }
}

/// Increases the window by one segment per window of acknowledged bytes (RFC 3465 §2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdditiveIncrease {
    bytes_acked: Bytes,
}

impl AdditiveIncrease {
    /// Returns the window after `acked` more bytes.
    #[inline]
    pub fn grow(&mut self, mut cwnd: Bytes, acked: Bytes, smss: Bytes) -> Bytes {
        self.bytes_acked += acked;
        while self.bytes_acked >= cwnd {
            self.bytes_acked -= cwnd;
            cwnd += smss;
        }
        cwnd
    }

    /// Returns the acknowledged bytes counted toward the next segment.
    pub const fn bytes_acked(&self) -> Bytes {
        self.bytes_acked
    }

    /// Resets the count when the window is reduced.
    #[inline]
    pub fn reset(&mut self) {
        self.bytes_acked = Bytes::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_segment_a_window_however_the_acks_come() {
        let smss = Bytes::new(1_000);
        for chunk in [500, 1_000, 2_000, 10_000] {
            let (mut increase, mut cwnd) = (AdditiveIncrease::default(), Bytes::new(10_000));
            for _ in 0..(10_000 / chunk) {
                cwnd = increase.grow(cwnd, Bytes::new(chunk), smss);
            }
            assert_eq!(
                cwnd,
                Bytes::new(11_000),
                "acknowledged in chunks of {chunk}"
            );
        }
    }

    #[test]
    fn the_pacing_rate_is_linuxs() {
        let segment = Bytes::new(1_448);
        let rate = |cwnd: u64, outstanding: u64, ssthresh: u64| {
            linux_pacing_rate(
                segment * cwnd,
                segment * outstanding,
                segment * ssthresh,
                Span::from_millis(100),
            )
            .unwrap()
        };
        assert_eq!(rate(100, 100, 300).as_bps(), 23_168_000);
        assert_eq!(rate(100, 100, 100).as_bps(), 13_900_800);
        assert_eq!(
            rate(1, 10, 40).as_bps(),
            2_316_800,
            "after a timeout with ten outstanding"
        );
        let unmeasured = linux_pacing_rate(segment, segment, segment, Span::ZERO);
        assert_eq!(unmeasured, None);
    }

    #[test]
    fn what_is_left_over_counts_for_the_next_window() {
        let mut increase = AdditiveIncrease::default();
        let smss = Bytes::new(1_000);
        // Of 25000 bytes, 10000 pay for the eleventh segment, 11000 for the twelfth; 4000 remain.
        assert_eq!(
            increase.grow(Bytes::new(10_000), Bytes::new(25_000), smss),
            Bytes::new(12_000)
        );
        assert_eq!(
            increase.grow(Bytes::new(12_000), Bytes::new(8_000), smss),
            Bytes::new(13_000)
        );
    }
}
