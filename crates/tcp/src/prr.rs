//! Proportional Rate Reduction (RFC 9937): how fast the window falls to `ssthresh` in recovery.

use fullpipe_units::Bytes;

/// One recovery episode.
#[derive(Clone, Debug)]
pub struct Prr {
    smss: Bytes,
    ssthresh: Bytes,
    /// Data that can still be delivered, at entry (RFC 9937 §6).
    recover_fs: Bytes,
    delivered: Bytes,
    out: Bytes,
    /// Current congestion window.
    pub cwnd: Bytes,
}

impl Prr {
    /// Begins recovery. `recover_fs` is the data that was outstanding and not yet delivered before
    /// the ACK that began recovery.
    pub fn new(smss: Bytes, ssthresh: Bytes, recover_fs: Bytes) -> Prr {
        let recover_fs = recover_fs.max(smss);
        Prr {
            smss,
            ssthresh,
            recover_fs,
            delivered: Bytes::ZERO,
            out: Bytes::ZERO,
            cwnd: ssthresh,
        }
    }

    /// Processes one ACK of the episode (RFC 9937 §6.2). `delivered` is the data that it newly
    /// acknowledged, cumulatively or selectively; `safe` means that SND.UNA advanced and no data
    /// was newly lost.
    pub fn on_ack(&mut self, delivered: Bytes, inflight: Bytes, safe: bool) {
        self.delivered += delivered;
        let mut count = if inflight > self.ssthresh {
            let product = u128::from(self.delivered.get()) * u128::from(self.ssthresh.get());
            let share = product.div_ceil(u128::from(self.recover_fs.get())) as u64;
            // Whole segments, as in Linux.
            let segments = share.div_ceil(self.smss.get());
            (self.smss * segments).saturating_sub(self.out)
        } else {
            let mut count = self.delivered.saturating_sub(self.out).max(delivered);
            if safe {
                count += self.smss;
            }
            count.min(self.ssthresh - inflight)
        };
        if self.out == Bytes::ZERO {
            // Always send the fast retransmit, regardless of the result above.
            count = count.max(self.smss);
        }
        self.cwnd = inflight + count;
    }

    /// Accounts for data sent during the episode.
    #[inline]
    pub fn on_sent(&mut self, size: Bytes) {
        self.out += size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMSS;

    /// Plays an episode of `acks` one-segment ACKs. Returns the segments sent and the segments in
    /// flight.
    fn play(mut prr: Prr, mut inflight: u64, acks: u64, safe: bool) -> (u64, u64) {
        let mut sent = 0;
        for _ in 0..acks {
            inflight -= 1;
            prr.on_ack(SMSS, SMSS * inflight, safe);
            while SMSS * (inflight + 1) <= prr.cwnd {
                inflight += 1;
                sent += 1;
                prr.on_sent(SMSS);
            }
        }
        (sent, inflight)
    }

    #[test]
    fn half_the_window_sends_one_for_two() {
        let (sent, inflight) = play(Prr::new(SMSS, SMSS * 50, SMSS * 100), 100, 99, true);
        assert_eq!(
            (sent, inflight),
            (49, 50),
            "of 99 segments that can still arrive; the episode ends at ssthresh"
        );
    }

    #[test]
    fn a_cubic_reduction_keeps_seven_tenths() {
        let (sent, _) = play(Prr::new(SMSS, SMSS * 70, SMSS * 100), 100, 90, true);
        assert_eq!(sent, 63);
    }

    #[test]
    fn below_ssthresh_conserves_packets_and_grows_only_when_safe() {
        let (careful, inflight) = play(Prr::new(SMSS, SMSS * 50, SMSS * 100), 20, 10, false);
        assert_eq!((careful, inflight), (10, 20), "one out for one in");
        let (growing, inflight) = play(Prr::new(SMSS, SMSS * 50, SMSS * 100), 20, 10, true);
        assert_eq!((growing, inflight), (20, 30), "slow start towards ssthresh");
    }

    #[test]
    fn the_fast_retransmit_is_never_withheld() {
        let mut prr = Prr::new(SMSS, SMSS * 2, SMSS * 100);
        prr.on_ack(SMSS, SMSS * 96, false);
        assert_eq!(prr.cwnd, SMSS * 97);
    }
}
