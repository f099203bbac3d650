//! What classic windows share: their episodes, and arithmetic in bytes.

use fullpipe_units::Bytes;

use crate::{Conn, Context, Lost, Recovery, RecoveryCause, Transition};

/// Which loss episode is under way: a window is reduced once in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Episode {
    /// None.
    #[default]
    None,
    /// Fast recovery; the transport runs PRR.
    Recovery,
    /// After a timeout, until everything that was outstanding then is acknowledged.
    Timeout,
}

/// The state of a classic controller, as its transitions name it.
pub fn state(episode: Episode, in_slow_start: bool, css: bool) -> &'static str {
    match (episode, in_slow_start) {
        (Episode::Recovery, _) => "recovery",
        (_, true) if css => "css",
        (_, true) => "slow_start",
        (_, false) => "congestion_avoidance",
    }
}

/// Reports the transition that `change` made, if it made one.
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

/// A window that an episode reduces, a timeout takes away, and a loss that was none gives back.
///
/// [`on_recovery`] is the flow that all of them have; what is theirs are the factors.
pub trait Classic {
    /// The episode under way.
    fn episode(&mut self) -> &mut Episode;
    /// What governs the window, as transitions name it.
    fn state(&self) -> &'static str;
    /// Congestion: sets threshold and window, and keeps what was before.
    fn reduce(&mut self, cx: &Context<'_>, cause: RecoveryCause);
    /// The window is `cwnd` from now on, and what was counted towards its growth forgotten.
    fn collapse(&mut self, cwnd: Bytes);
    /// At least what was before the last reduction.
    fn undo(&mut self);

    /// The retransmission timer fired. RFC 5681 §3.1: another timeout of one segment holds
    /// ssthresh. §4.3: one inside recovery, where a retransmission was lost, is a second sign of
    /// congestion.
    fn on_timeout(&mut self, cx: &Context<'_>, again: bool, cwnd: Bytes) {
        if !again {
            self.reduce(cx, RecoveryCause::Loss);
        }
        self.collapse(cwnd);
    }
}

/// Moves a classic window as the transport's recovery changes, and reports its transitions.
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

/// The window after a timeout: one segment (RFC 5681 §3.1, LW), and what is left in flight, usually
/// nothing (Linux: tcp_enter_loss; RACK leaves in flight what was sent last, RFC 8985 §6.3).
#[inline]
pub fn loss_window(conn: &Conn) -> Bytes {
    conn.inflight + conn.smss
}

/// FlightSize (RFC 5681 §2) at a congestion event.
///
/// [`Conn::inflight`] no longer has the packets in it that were just declared lost or selectively
/// acknowledged. The former are counted here; a flight that filled the window *is* the window,
/// which settles the latter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlightSize {
    just_lost: Bytes,
}

impl FlightSize {
    /// A packet was declared lost.
    #[inline]
    pub fn on_lost(&mut self, lost: &Lost) {
        self.just_lost += Bytes::new(u64::from(lost.packet.size));
    }

    /// An ACK was processed: what was lost before it belongs to an earlier event.
    #[inline]
    pub fn on_ack(&mut self) {
        self.just_lost = Bytes::ZERO;
    }

    /// The flight size, at most `cwnd`: the window may be less than the flight after an earlier
    /// reduction.
    pub fn at_event(&mut self, conn: &Conn, cwnd: Bytes) -> Bytes {
        let just_lost = core::mem::take(&mut self.just_lost);
        if conn.cwnd_limited {
            cwnd
        } else {
            cwnd.min(conn.inflight + just_lost)
        }
    }
}

/// One segment more for every window of acknowledged bytes (RFC 3465 §2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdditiveIncrease {
    bytes_acked: Bytes,
}

impl AdditiveIncrease {
    /// The window after `acked` more bytes.
    #[inline]
    pub fn grow(&mut self, mut cwnd: Bytes, acked: Bytes, smss: Bytes) -> Bytes {
        self.bytes_acked += acked;
        while self.bytes_acked >= cwnd {
            self.bytes_acked -= cwnd;
            cwnd += smss;
        }
        cwnd
    }

    /// What counts towards the next segment.
    pub const fn bytes_acked(&self) -> Bytes {
        self.bytes_acked
    }

    /// Forgets what has been counted: the window was reduced.
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
    fn what_is_left_over_counts_for_the_next_window() {
        let mut increase = AdditiveIncrease::default();
        let smss = Bytes::new(1_000);
        // 10000 of 25000 pay for the eleventh segment, 11000 for the twelfth, 4000 remain.
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
