//! Pacing in bursts, as in Linux: earliest departure times and TSO-like quanta.

use fullpipe_cc::common::window::linux_pacing_rate;
use fullpipe_units::{Bytes, Rate, Span, Time};

/// When a flow is paced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// If the controller gives a rate.
    #[default]
    Auto,
    /// Always: at the controller's rate, or at a rate derived from the window, as Linux does with
    /// sch_fq.
    On,
    /// Never.
    Off,
}

/// Number of segments that leave before pacing starts (Linux: TCP_INIT_CWND).
const UNPACED_SEGMENTS: u64 = 10;
/// Linux's GSO limit.
const MAX_QUANTUM: Bytes = Bytes::new(65_536);

/// The pacing gate.
#[derive(Clone, Debug)]
pub struct Pacer {
    mode: Pacing,
    smss: Bytes,
    /// Current pacing rate; `None` if unpaced.
    pub rate: Option<Rate>,
    quantum: Bytes,
    /// Time at which the next burst may leave.
    pub next: Time,
    /// Bytes that may still leave in the current burst.
    budget: Bytes,
    burst: Bytes,
    sent: u64,
    /// Number of segments that leave before pacing starts; `u64::MAX` marks a
    /// [bucket](Pacer::bucket).
    unpaced: u64,
}

impl Pacer {
    pub(crate) fn new(mode: Pacing, smss: Bytes) -> Pacer {
        Pacer {
            mode,
            smss,
            rate: None,
            quantum: Bytes::ZERO,
            next: Time::ZERO,
            budget: Bytes::ZERO,
            burst: Bytes::ZERO,
            sent: 0,
            unpaced: UNPACED_SEGMENTS,
        }
    }

    /// Creates a leaky bucket of one quantum instead of Linux's earliest departure times: a sender
    /// that wakes late sends the data that became due in the meantime, up to one quantum.
    pub fn bucket(mode: Pacing, smss: Bytes) -> Pacer {
        Pacer {
            unpaced: u64::MAX,
            ..Pacer::new(mode, smss)
        }
    }

    /// Returns whether this is a [bucket](Pacer::bucket).
    pub(crate) fn is_bucket(&self) -> bool {
        self.unpaced == u64::MAX
    }

    /// Begins to pace a connection that has sent `segments` (Linux: tp->data_segs_out).
    pub(crate) fn begin_after(&mut self, segments: u64) {
        self.sent = self.sent.max(segments);
    }

    /// Returns whether no pacing rate was ever set, and none is needed unless the controller sets
    /// one.
    #[inline]
    pub(crate) fn is_unused(&self) -> bool {
        self.rate.is_none() && self.mode != Pacing::On
    }

    /// Sets the rate that the controller wants, or the rate of Linux's rule if it wants none.
    /// `outstanding` is the data between SND.UNA and SND.NXT; the last argument has the smoothed
    /// RTT and the minimum RTT.
    #[inline]
    pub fn set(
        &mut self,
        wanted: Option<Rate>,
        quantum: Bytes,
        cwnd: Bytes,
        outstanding: Bytes,
        ssthresh: Bytes,
        (srtt, min_rtt): (Span, Span),
    ) {
        let rate = match (self.mode, wanted) {
            (Pacing::Off, _) | (Pacing::Auto, None) => None,
            (_, Some(rate)) => Some(rate),
            (Pacing::On, None) => linux_pacing_rate(cwnd, outstanding, ssthresh, srtt),
        };
        if rate == self.rate && quantum == Bytes::ZERO {
            return;
        }
        self.rate = rate;
        self.quantum = match rate {
            Some(rate) if quantum == Bytes::ZERO => autosize(rate, min_rtt, self.smss),
            _ => quantum.max(self.smss),
        };
    }

    /// Returns the size of a burst: the quantum, or without pacing that of Linux's rule, at the rate
    /// at which it would pace. The arguments are those of [`set`](Pacer::set).
    pub(crate) fn burst_size(
        &self,
        cwnd: Bytes,
        outstanding: Bytes,
        ssthresh: Bytes,
        (srtt, min_rtt): (Span, Span),
    ) -> Bytes {
        if self.rate.is_some() {
            return self.quantum;
        }
        linux_pacing_rate(cwnd, outstanding, ssthresh, srtt)
            .map_or(MAX_QUANTUM, |rate| autosize(rate, min_rtt, self.smss))
    }

    /// Returns whether a packet may leave at `now`.
    #[inline]
    pub fn open(&self, now: Time) -> bool {
        self.rate.is_none() || self.budget > Bytes::ZERO || now >= self.next
    }

    /// Returns the bytes that may leave back to back at `now`: the rest of a burst, or a whole one.
    pub fn allowance(&self, now: Time) -> Bytes {
        match self.rate {
            None => Bytes::MAX,
            Some(_) if self.budget > Bytes::ZERO => self.budget,
            Some(_) if now >= self.next => self.quantum,
            Some(_) => Bytes::ZERO,
        }
    }

    /// Returns whether a burst has begun and has room for more.
    #[inline]
    pub fn is_in_burst(&self) -> bool {
        self.budget > Bytes::ZERO
    }

    /// Returns the time at which a bucket's credit is full; credit that accrues later is lost.
    pub(crate) fn full_at(&self) -> Time {
        self.rate
            .map_or(Time::ZERO, |rate| self.next + rate.time_for(self.quantum))
    }

    /// Accounts for a packet that leaves.
    #[inline]
    pub fn on_sent(&mut self, now: Time, size: Bytes) {
        if self.rate.is_none() {
            return;
        }
        self.sent += 1;
        if self.budget == Bytes::ZERO {
            self.budget = self.quantum;
        }
        self.budget = self.budget.saturating_sub(size);
        self.burst += size;
        if self.budget == Bytes::ZERO {
            self.end_burst(now);
        }
    }

    /// Ends the burst, full or not: the next one may leave once the rate allows for this one.
    #[inline]
    pub fn end_burst(&mut self, now: Time) {
        self.budget = Bytes::ZERO;
        let (burst, Some(rate)) = (core::mem::take(&mut self.burst), self.rate) else {
            return;
        };
        if burst == Bytes::ZERO || self.sent < self.unpaced {
            return self.drip(now, burst, rate);
        }
        let length = rate.time_for(burst);
        // A burst that left late, because the window was closed or a timer was coarse, gets credit
        // of up to half of its length (Linux: tcp_update_skb_after_send).
        let credit = if self.next == Time::ZERO {
            Span::ZERO
        } else {
            now.since(self.next).min(length / 2)
        };
        self.next = self.next.max(now) + (length - credit);
    }

    /// Ends a burst of a bucket, whose credit is zero at `next`. Does nothing for other pacers.
    #[cold]
    fn drip(&mut self, now: Time, burst: Bytes, rate: Rate) {
        if burst > Bytes::ZERO && self.unpaced == u64::MAX {
            let credit = now.since(self.next).min(rate.time_for(self.quantum));
            self.next = (self.next.max(now) + rate.time_for(burst)) - credit;
        }
    }
}

/// Returns the burst size of Linux's tcp_tso_autosize: about one millisecond of data, more at small
/// RTTs, in whole segments, at least two.
fn autosize(rate: Rate, min_rtt: Span, smss: Bytes) -> Bytes {
    let millisecond = (rate.as_bps() / 8) >> 10;
    let halvings = (min_rtt.as_nanos() / 1_000) >> 9;
    let near = if halvings < 32 {
        MAX_QUANTUM.get() >> halvings
    } else {
        0
    };
    let bytes = (millisecond + near).min(MAX_QUANTUM.get());
    // Both fit into 32 bits, which are divided faster.
    smss * u64::from(bytes as u32 / smss.get() as u32).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SMSS;

    #[test]
    fn quanta_are_linuxs() {
        let segments = |mbps: u64, rtt_ms: u64| {
            autosize(Rate::from_mbps(mbps), Span::from_millis(rtt_ms), SMSS) / SMSS.get()
        };
        assert_eq!(segments(20, 20), Bytes::new(2), "at least two");
        assert_eq!(segments(100, 50), Bytes::new(8));
        assert_eq!(segments(10_000, 50), Bytes::new(45), "64 KiB at most");
        assert_eq!(segments(100, 1), Bytes::new(31), "more at small RTTs");
    }

    #[test]
    fn paces_at_the_rate() {
        let mut pacer = Pacer::new(Pacing::Auto, SMSS);
        let rate = Rate::from_mbps(100);
        pacer.set(
            Some(rate),
            SMSS * 8,
            SMSS * 100,
            SMSS * 100,
            Bytes::MAX,
            (Span::ZERO, Span::MAX),
        );
        let (mut now, mut sent) = (Time::from_nanos(1), 0);
        let end = now + Span::from_secs(1);
        while now < end {
            while pacer.open(now) {
                pacer.on_sent(now, SMSS);
                sent += 1;
            }
            now = pacer.next;
        }
        let expected = 100e6 / 8.0 / 1448.0;
        assert!(
            (sent as f64 - expected).abs() < 8.0 + 10.0,
            "{sent} of {expected} and the unpaced start"
        );
    }

    #[test]
    fn a_bucket_gives_back_what_became_due_up_to_a_quantum() {
        let mut pacer = Pacer::bucket(Pacing::Auto, SMSS);
        let rate = Rate::from_bps(1448 * 8 * 1_000);
        pacer.set(
            Some(rate),
            SMSS * 5,
            SMSS * 100,
            SMSS * 100,
            Bytes::MAX,
            (Span::ZERO, Span::MAX),
        );
        let mut sent_at = |ms: u64| {
            let now = Time::ZERO + Span::from_millis(ms);
            let mut sent = 0;
            while pacer.open(now) {
                pacer.on_sent(now, SMSS);
                pacer.end_burst(now);
                sent += 1;
            }
            sent
        };
        assert_eq!(
            sent_at(1_000),
            6,
            "a full bucket, and the packet that empties it"
        );
        assert_eq!(sent_at(1_001), 1, "one a millisecond");
        assert_eq!(
            sent_at(1_004),
            3,
            "late: the packets that became due in the meantime"
        );
        assert_eq!(sent_at(1_020), 6, "too late: a quantum at most");
    }

    #[test]
    fn unpaced_is_always_open() {
        let mut pacer = Pacer::new(Pacing::Off, SMSS);
        pacer.set(
            Some(Rate::from_mbps(1)),
            SMSS,
            SMSS,
            SMSS,
            SMSS,
            (Span::ZERO, Span::MAX),
        );
        for _ in 0..100 {
            assert!(pacer.open(Time::ZERO));
            pacer.on_sent(Time::ZERO, SMSS);
        }
    }
}
