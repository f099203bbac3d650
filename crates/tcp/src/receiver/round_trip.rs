//! A receiver's estimates of the round-trip time.

use fullpipe_units::{Bytes, Span, Time};

use crate::rtt::RttEstimator;
use crate::wire::Segment;

/// The two estimates of Linux's receiver.
#[derive(Debug)]
pub(super) struct RoundTrip {
    /// Round trips of the receiver's own packets that need an answer: its SYN-ACK, and the requests
    /// of its client (`srtt_us`).
    own: RttEstimator,
    /// Twice the SYN's way: an upper bound of the first round trip, since the first data may come
    /// late, and there is no separate ACK of the SYN-ACK.
    handshake: Span,
    /// Time from an ACK to the first segment that echoes its timestamp (`rcv_rtt_est`); zero if
    /// unknown.
    data: Span,
    last_echo: Time,
}

impl RoundTrip {
    pub(super) fn new() -> RoundTrip {
        RoundTrip {
            own: RttEstimator::new(),
            handshake: Span::MAX,
            data: Span::ZERO,
            last_echo: Time::ZERO,
        }
    }

    /// Processes a SYN.
    pub(super) fn on_syn(&mut self, now: Time, segment: &Segment) {
        self.handshake = now.since(segment.sent) * 2;
    }

    /// Processes a data segment. `answers` says whether it is the first one that answers a request;
    /// `full` is the size of a full segment.
    #[inline]
    pub(super) fn on_segment(&mut self, now: Time, segment: &Segment, answers: bool, full: Bytes) {
        let sample = now.since(segment.echo);
        if self.own.srtt == Span::ZERO {
            self.own.sample(sample.min(self.handshake));
        } else if answers {
            self.own.sample(sample);
        }
        // tcp_rcv_rtt_measure_ts: each timestamp once, and only in full segments.
        if segment.echo == self.last_echo {
            return;
        }
        self.last_echo = segment.echo;
        if u64::from(segment.size) < full.get() {
            return;
        }
        // tcp_rcv_rtt_update: a smaller sample counts at once, a larger one with a weight of 1/8.
        self.data = match self.data {
            Span::ZERO => sample,
            data if sample < data => sample,
            data => data - data / 8 + sample / 8,
        };
    }

    /// Returns the smoothed RTT of the receiver's own packets, zero if unknown.
    pub(super) fn smoothed(&self) -> Span {
        self.own.srtt
    }

    /// Returns the receiver's retransmission timeout.
    pub(super) fn timeout(&self) -> Span {
        self.own.rto()
    }

    /// Returns the smaller estimate, zero if unknown.
    pub(super) fn shortest(&self) -> Span {
        self.data.min(self.own.srtt)
    }
}
