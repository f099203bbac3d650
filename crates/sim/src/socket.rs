//! A sender's state during the run: the information that `ss` would print about its socket.

use fullpipe_cc::Controller;
use fullpipe_tcp::{Info, LIMITS, Limit};
use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::engine::Simulation;
use crate::flow::AnySender;

/// A sender's state.
#[derive(Clone, Copy, Debug)]
pub struct Socket {
    /// Sequence numbers and timers.
    pub info: Info,
    /// Payload of a full segment.
    pub smss: Bytes,
    /// Whether all data to send was acknowledged.
    pub done: bool,
    /// Time at which its receiver had the last byte of the transfer. The receiver reads ahead, so
    /// it may be in the future.
    pub last_byte: Option<Time>,
    /// The window in force.
    pub cwnd: Bytes,
    /// The slow-start threshold; close to [`Bytes::MAX`] if unset.
    pub ssthresh: Bytes,
    /// Smoothed and minimum RTT; zero and [`Span::MAX`] before the first sample.
    pub rtt: (Span, Span),
    /// The pacing rate in force.
    pub pacing_rate: Option<Rate>,
    /// The last ACK's sample of the delivery rate.
    pub delivery_rate: Option<Rate>,
    /// Whether the application has too little to send.
    pub app_limited: bool,
    /// Bytes that arrived, in any order.
    pub delivered: Bytes,
    /// Time for which the receive window held the sender back.
    pub window_limited: Span,
}

impl Simulation {
    /// Stops the measurements for a summary from now on, for callers that only inspect sockets.
    pub fn without_summary(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.meter.stop());
        self.network
            .links
            .iter_mut()
            .for_each(|link| link.stop_counting());
    }

    /// Returns the current state of a flow's sender; `None` for traffic without TCP.
    pub fn socket(&mut self, flow: usize) -> Option<Socket> {
        let now = self.now;
        let flow = &mut self.flows[flow];
        let (last_byte, delivery_rate) = (flow.meter.ended(), flow.last.rate);
        let sender = flow.source.tcp()?;
        let held: [Span; LIMITS.len()] = sender.limits().held(now);
        let conn = sender.conn();
        Some(Socket {
            info: sender.info(),
            smss: conn.smss,
            done: sender.is_done(),
            last_byte,
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            rtt: (conn.srtt, conn.min_rtt),
            pacing_rate: conn.pacing(),
            delivery_rate,
            app_limited: conn.app_limited,
            delivered: conn.delivered,
            window_limited: held[Limit::ReceiveWindow as usize],
        })
    }

    /// Writes the values of a controller's `Descriptor::fields` into `values`.
    pub fn controller_fields(&mut self, flow: usize, values: &mut Vec<f64>) {
        values.clear();
        match &mut self.flows[flow].source {
            AnySender::Datagram(sender) => sender.controller().observe(values),
            source => {
                if let Some(sender) = source.tcp() {
                    sender.controller().observe(values);
                }
            }
        }
    }
}
