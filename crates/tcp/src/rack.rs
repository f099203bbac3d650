//! RACK (RFC 8985 §6): state of the time-based loss detection. The sender walks its own window with
//! it.

use fullpipe_units::{Span, Time};

/// Number of SACKed segments that makes a loss certain without reordering (RFC 8985 §6.2 step 4,
/// RFC 5681).
const DUP_THRESH: u64 = 3;
/// Number of recoveries for which a widened reordering window persists (RFC 8985 §6.2 step 4).
const PERSIST: u32 = 16;

/// Returns the sort key of a transmission: its time, then its sequence number. Comparing one number
/// takes a few instructions, comparing a pair about ten.
#[inline]
pub(crate) fn order(sent: Time, seq: u64) -> u128 {
    u128::from(sent.as_nanos()) << 64 | u128::from(seq)
}

/// The most recently sent of the delivered segments, and the reordering to tolerate.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: (sent, seq) of that segment; `None` before the first
    /// delivery.
    pub(crate) newest: Option<(Time, u64)>,
    /// RACK.rtt: its RTT.
    pub(crate) rtt: Span,
    /// RACK.reordering_seen.
    reordering: bool,
    /// Largest number of segments by which a segment was late (Linux: tcp_reordering).
    degree: u64,
    /// One beyond the highest sequence delivered: RACK.fack.
    highest: u64,
    /// RACK.reo_wnd_mult, and the number of recoveries for which it persists.
    multiplier: u32,
    persist: u32,
    /// RACK.dsack_round: sequence that must be acknowledged before another DSACK widens the window.
    dsack_round: Option<u64>,
}

impl Rack {
    pub(crate) fn new() -> Rack {
        Rack {
            newest: None,
            rtt: Span::ZERO,
            reordering: false,
            degree: 0,
            highest: 0,
            multiplier: 1,
            persist: 0,
            dsack_round: None,
        }
    }

    /// Begins with the degree of reordering of an earlier connection, zero if unknown.
    pub(crate) fn inherit(&mut self, degree: u64) {
        self.degree = degree;
    }

    /// Returns the largest number of segments by which one was late.
    pub(crate) fn degree(&self) -> u64 {
        self.degree
    }

    /// Updates the most recently sent delivered segment (RFC 8985 §6.2 step 2).
    #[inline]
    pub(crate) fn on_delivered(&mut self, now: Time, sent: Time, seq: u64) {
        self.rtt = now - sent;
        if self
            .newest
            .is_none_or(|(at, of)| order(at, of) < order(sent, seq))
        {
            self.newest = Some((sent, seq));
        }
    }

    /// Detects reordering: a segment sent only once arrived after a later one (RFC 8985 §6.2 step
    /// 3).
    #[inline]
    pub(crate) fn on_sequence(&mut self, lowest_unretransmitted: u64, highest: u64) {
        let late = lowest_unretransmitted < self.highest;
        self.highest = self.highest.max(highest);
        if late {
            self.on_late(lowest_unretransmitted);
        }
    }

    /// Records reordering: the original of segment `seq` arrived late, as the order of
    /// acknowledgments or a timestamp shows.
    #[cold]
    pub(crate) fn on_late(&mut self, seq: u64) {
        self.reordering = true;
        self.degree = self.degree.max(self.highest.saturating_sub(seq));
    }

    /// Forgets the degree of reordering, because a timeout without recovery followed enough
    /// duplicate ACKs to begin one (Linux: tcp_enter_loss).
    pub(crate) fn on_timeout_in_disorder(&mut self, sacked: u64) {
        if sacked >= DUP_THRESH {
            self.degree = self.degree.min(DUP_THRESH);
        }
    }

    /// Returns whether a segment was late by more than the usual threshold.
    #[inline]
    pub(crate) fn is_beyond_threshold(&self) -> bool {
        self.degree > DUP_THRESH
    }

    /// Widens the reordering window after a reported duplicate (RFC 8985 §6.2 step 4).
    pub(crate) fn on_dsack(&mut self, una: u64, next: u64) {
        if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(next);
            self.multiplier += 1;
            self.persist = PERSIST;
        }
    }

    /// Returns RACK.reordering_seen.
    pub(crate) fn has_seen_reordering(&self) -> bool {
        self.reordering
    }

    /// Counts a completed recovery.
    pub(crate) fn on_recovery_exit(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// Returns the time by which a segment may be late (RFC 8985 §6.2 step 4).
    pub(crate) fn reordering_window(
        &self,
        recovering: bool,
        sacked: u64,
        min_rtt: Span,
        srtt: Span,
    ) -> Span {
        let enough = DUP_THRESH.max(self.degree);
        if !self.reordering && (recovering || sacked >= enough) {
            return Span::ZERO;
        }
        (min_rtt / 4 * u64::from(self.multiplier)).min(srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_follows_rfc_8985() {
        let ms = Span::from_millis;
        let mut rack = Rack::new();
        assert_eq!(
            rack.reordering_window(false, 2, ms(40), ms(50)),
            ms(10),
            "a quarter of the minimum RTT"
        );
        assert_eq!(
            rack.reordering_window(false, 3, ms(40), ms(50)),
            Span::ZERO,
            "three SACKed"
        );
        assert_eq!(
            rack.reordering_window(true, 1, ms(40), ms(50)),
            Span::ZERO,
            "in recovery"
        );
        rack.on_sequence(5, 6);
        rack.on_sequence(4, 5);
        assert_eq!(
            rack.reordering_window(true, 9, ms(40), ms(50)),
            ms(10),
            "reordering was seen"
        );
        rack.on_dsack(0, 100);
        rack.on_dsack(99, 200);
        assert_eq!(
            rack.reordering_window(false, 0, ms(40), ms(50)),
            ms(20),
            "once per round"
        );
        rack.on_dsack(100, 200);
        assert_eq!(rack.reordering_window(false, 0, ms(40), ms(50)), ms(30));
        rack.on_dsack(200, 300);
        rack.on_dsack(300, 400);
        assert_eq!(
            rack.reordering_window(false, 0, ms(40), ms(45)),
            ms(45),
            "srtt at most"
        );
        for _ in 0..PERSIST {
            rack.on_recovery_exit();
        }
        assert_eq!(
            rack.reordering_window(false, 0, ms(40), ms(50)),
            ms(10),
            "forgotten after 16 recoveries"
        );
    }

    #[test]
    fn an_inherited_degree_of_reordering_takes_the_place_of_three() {
        let ms = Span::from_millis;
        let mut rack = Rack::new();
        rack.inherit(8);
        let window = |sacked| rack.reordering_window(false, sacked, ms(40), ms(50));
        assert_eq!([3, 7, 8].map(window), [ms(10), ms(10), Span::ZERO]);
    }
}
