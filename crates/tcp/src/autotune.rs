//! Auto-tuning of the receive window: Linux's dynamic right-sizing (net/ipv4/tcp_input.c).

use fullpipe_units::{Bytes, Span, Time};

/// Initial window: half of 128 KiB (Linux: tcp_rmem\[1\], tcp_adv_win_scale).
const INITIAL: Bytes = Bytes::new(64 << 10);
/// Segments that a sender is assumed to send in its first round trip (Linux: TCP_INIT_CWND).
const FIRST_ROUND: u64 = 10;
/// Margin for small variations, in segments.
const CUSHION: u64 = 16;

/// A window that grows with the data that arrives.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    smss: Bytes,
    /// `window_clamp`: limit up to which the window may grow.
    clamp: Bytes,
    /// `rcv_ssthresh`: the advertised window, and in whole segments.
    offered: Bytes,
    segments: u64,
}

impl Growth {
    /// Creates a window that grows to `most`, for segments with a payload of `smss`.
    pub(crate) fn new(most: Bytes, smss: Bytes) -> Growth {
        let offered = INITIAL.min(most);
        Growth {
            smss,
            clamp: most,
            offered,
            segments: offered.get() / smss.get(),
        }
    }

    /// Processes the arrival of a data segment: the window grows by two segments, up to the clamp
    /// (`tcp_grow_window`). Returns whether it grew.
    #[inline]
    pub(crate) fn on_arrival(&mut self) -> bool {
        let grows = self.offered < self.clamp;
        if grows {
            self.offered = (self.offered + self.smss * 2).min(self.clamp);
            self.segments = self.offered.get() / self.smss.get();
        }
        grows
    }

    /// Returns the advertised window, in whole segments.
    #[inline]
    pub(crate) fn segments(&self) -> u64 {
        self.segments
    }
}

/// A window that follows the bytes that the application reads per round trip.
#[derive(Clone, Debug)]
pub(crate) struct AutoTuning {
    growth: Growth,
    most: Bytes,
    /// `rcvq_space`: the most bytes read in a round trip so far, the start of the current round
    /// trip, and the bytes read before it.
    read: Bytes,
    since: Time,
    from: Bytes,
}

impl AutoTuning {
    /// Creates auto-tuning that advertises at most `most`, for segments with a payload of `smss`.
    pub(crate) fn new(most: Bytes, smss: Bytes) -> AutoTuning {
        let initial = INITIAL.min(most);
        AutoTuning {
            growth: Growth::new(initial, smss),
            most,
            read: (smss * FIRST_ROUND).min(initial),
            since: Time::ZERO,
            from: Bytes::ZERO,
        }
    }

    /// Processes the arrival of a data segment. Returns whether the window grew.
    #[inline]
    pub(crate) fn on_arrival(&mut self) -> bool {
        self.growth.on_arrival()
    }

    /// Returns the window at `now`, when the application has read everything before `read`. `rtt`
    /// is the round-trip time, zero if unknown.
    pub(crate) fn window(&mut self, now: Time, read: Bytes, rtt: Span) -> Bytes {
        if rtt == Span::ZERO {
            self.since = now;
        } else if now.since(self.since) >= rtt {
            self.end_round(read - self.from);
            (self.since, self.from) = (now, read);
        }
        self.growth.offered
    }

    /// Ends a round trip in which `read` bytes were read (`tcp_rcv_space_adjust`).
    fn end_round(&mut self, read: Bytes) {
        if read <= self.read {
            return;
        }
        // Twice the bytes read, so that one round's losses don't fill the window, plus room for a
        // sender that keeps growing at the same rate.
        let base = read * 2 + self.growth.smss * CUSHION;
        let growth = u128::from(base.get()) * u128::from((read - self.read).get())
            / u128::from(self.read.get())
            * 2;
        let wanted = base + Bytes::new(u64::try_from(growth).unwrap_or(u64::MAX / 2));
        self.growth.clamp = self.growth.clamp.max(wanted.min(self.most));
        self.read = read;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMSS;

    /// Returns the window after round trip `n`, in which `read` segments were read.
    fn round(tuning: &mut AutoTuning, n: u64, read: u64) -> u64 {
        for _ in 0..read {
            tuning.on_arrival();
        }
        let now = Time::ZERO + Span::from_millis(100 * n);
        let offered = tuning.window(now, tuning.from + SMSS * read, Span::from_millis(100));
        for _ in 0..10_000 {
            tuning.on_arrival();
        }
        assert!(tuning.growth.offered >= offered);
        tuning.growth.offered.get()
    }

    #[test]
    fn follows_tcp_rcv_space_adjust() {
        let mut tuning = AutoTuning::new(Bytes::new(3 << 20), SMSS);
        assert_eq!(
            tuning.window(Time::ZERO, Bytes::ZERO, Span::ZERO),
            Bytes::new(65_536),
            "no RTT is known yet"
        );
        // 10 segments were expected, 10 arrived.
        assert_eq!(round(&mut tuning, 1, 10), 65_536);
        // 2 x 20 + 16 = 56 segments, and 2 x 56 x (20 - 10) / 10 = 112 for the growth.
        assert_eq!(round(&mut tuning, 2, 20), 168 * 1448);
        // No more than in the last round, so no change; 2 x 20 + 16 would be less.
        assert_eq!(round(&mut tuning, 3, 20), 168 * 1448);
        // 2 x 30 + 16 = 76, and 2 x 76 x (30 - 20) / 20 = 76: less than the current clamp.
        assert_eq!(round(&mut tuning, 4, 30), 168 * 1448);
        // 2 x 60 + 16 = 136, and 2 x 136 x (60 - 30) / 30 = 272.
        assert_eq!(round(&mut tuning, 5, 60), 408 * 1448);
        // 2 x 1000 + 16, times 1 + 2 x 940 / 60: limited by the buffer.
        assert_eq!(round(&mut tuning, 6, 1_000), 3 << 20);
    }

    #[test]
    fn what_is_offered_grows_by_two_segments_for_each_that_arrives() {
        let mut tuning = AutoTuning::new(Bytes::new(3 << 20), SMSS);
        let rtt = Span::from_millis(100);
        assert_eq!(
            tuning.window(Time::ZERO + rtt, SMSS * 20, rtt),
            Bytes::new(65_536)
        );
        for n in 1..=10 {
            tuning.on_arrival();
            assert_eq!(
                tuning.window(Time::ZERO + rtt, SMSS * 20, rtt),
                Bytes::new(65_536) + SMSS * (2 * n)
            );
        }
    }

    #[test]
    fn a_small_buffer_holds_what_it_holds() {
        let mut tuning = AutoTuning::new(Bytes::new(10_000), SMSS);
        assert_eq!(round(&mut tuning, 1, 20), 10_000);
    }
}
