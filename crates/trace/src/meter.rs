//! Measurements of a flow during a run: constant work per packet, in memory that does not grow with
//! time.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::frames::Frames;
use crate::{Histogram, Sampler};

/// The measured part of a run.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredTime {
    /// `measure_from`.
    pub from: Time,
    /// The end of the run.
    pub to: Time,
}

impl MeasuredTime {
    /// Returns the time from `measure_from` to the end of a run of `duration`.
    pub fn of_run(measure_from: Span, duration: Span) -> MeasuredTime {
        MeasuredTime {
            from: Time::ZERO + measure_from,
            to: Time::ZERO + duration,
        }
    }

    /// Returns whether an event at `time` counts.
    #[inline]
    pub fn holds(&self, time: Time) -> bool {
        time >= self.from && time <= self.to
    }
}

/// A response that a flow's client received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Time of the request.
    pub start: Time,
    /// Time at which its last byte arrived.
    pub end: Time,
    /// Length.
    pub bytes: Bytes,
}

/// All responses of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Responses {
    pub(crate) times: Histogram,
    /// Each response, if a trace needs them.
    rows: Option<Vec<Response>>,
}

/// Measurements of one flow.
#[derive(Clone, Debug)]
pub struct FlowMeter {
    window: MeasuredTime,
    /// Time at which its SYN left, or its first packet if it has no SYN.
    pub(crate) start: Time,
    pub(crate) rtt: Sampler,
    pub(crate) queue: Sampler,
    pub(crate) sent: u64,
    pub(crate) retransmits: u64,
    pub(crate) lost: u64,
    pub(crate) delivered: Bytes,
    pub(crate) last_byte: Option<Time>,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) ack_drops: u64,
    pub(crate) responses: Option<Box<Responses>>,
    pub(crate) frames: Option<Box<Frames>>,
}

impl FlowMeter {
    /// Creates an empty meter.
    pub fn new(window: MeasuredTime, start: Time) -> FlowMeter {
        FlowMeter {
            window,
            start,
            rtt: Sampler::default(),
            queue: Sampler::default(),
            sent: 0,
            retransmits: 0,
            lost: 0,
            delivered: Bytes::ZERO,
            last_byte: None,
            drops: 0,
            marks: 0,
            ack_drops: 0,
            responses: None,
            frames: None,
        }
    }

    /// Also measures the frames of a media source.
    #[must_use]
    pub fn with_frames(self) -> FlowMeter {
        FlowMeter {
            frames: Some(Box::default()),
            ..self
        }
    }

    /// Records that an encoder handed over a frame of `size` at `created`.
    pub fn on_frame(&mut self, created: Time, size: Bytes) {
        if let Some(frames) = &mut self.frames {
            frames.on_frame(&self.window, created, size);
        }
    }

    /// Records that `size` bytes of the frame of `created` arrived at `now`, for the first time.
    pub fn on_frame_data(&mut self, now: Time, created: Time, size: Bytes) {
        if let Some(frames) = &mut self.frames {
            frames.on_data(&self.window, now, created, size);
        }
    }

    /// Records that the sender of a transport without retransmissions declared a packet lost.
    pub fn on_lost(&mut self, now: Time) {
        self.lost += u64::from(self.window.holds(now));
    }

    /// Also measures response times, for a flow whose client sends requests; keeps each response if
    /// `wanted`.
    #[must_use]
    pub fn with_responses(self, wanted: bool) -> FlowMeter {
        let rows = wanted.then(Vec::new);
        FlowMeter {
            responses: Some(Box::new(Responses {
                times: Histogram::default(),
                rows,
            })),
            ..self
        }
    }

    /// Records that a data packet left the sender.
    #[inline]
    pub fn on_sent(&mut self, now: Time, retransmit: bool) {
        if self.window.holds(now) {
            self.sent += 1;
            self.retransmits += u64::from(retransmit);
        }
    }

    /// Records an RTT sample.
    #[inline]
    pub fn on_rtt(&mut self, now: Time, rtt: Span) {
        if self.window.holds(now) {
            self.rtt.add(rtt);
        }
    }

    /// Records that a packet reached the receiver after waiting for `waited` in queues, and that
    /// `in_order` more bytes reached the application.
    #[inline(always)] // once for each packet
    pub fn on_delivered(&mut self, now: Time, waited: Span, in_order: Bytes) {
        if self.window.holds(now) {
            self.queue.add(waited);
            self.delivered += in_order;
        }
    }

    /// Records that `in_order` more bytes reached the application, without a sample of the queueing
    /// delay: for runners that observe only the endpoints.
    #[inline]
    pub fn on_received(&mut self, now: Time, in_order: Bytes) {
        if self.window.holds(now) {
            self.delivered += in_order;
        }
    }

    /// Replaces the receiver's measurements by those of `receiver`, another meter of this flow.
    #[must_use]
    pub fn with_receiver(self, receiver: FlowMeter) -> FlowMeter {
        let FlowMeter {
            queue,
            delivered,
            last_byte,
            responses,
            ..
        } = receiver;
        FlowMeter {
            queue,
            delivered,
            last_byte,
            responses,
            ..self
        }
    }

    /// Excludes everything that happens from now on, except the end of the transfer.
    pub fn stop(&mut self) {
        self.window.from = Time::MAX;
    }

    /// Replaces the queueing delays by those of `other`, a meter that observed the network.
    pub fn set_waits(&mut self, other: &FlowMeter) {
        self.queue.clone_from(&other.queue);
    }

    /// Records that the transfer's last byte arrived.
    pub fn on_complete(&mut self, now: Time) {
        if now <= self.window.to {
            self.last_byte.get_or_insert(now);
        }
    }

    /// Records that a response is complete.
    pub fn on_response(&mut self, response: Response) {
        let Some(responses) = &mut self.responses else {
            return;
        };
        if self.window.holds(response.end) {
            responses.times.add(response.end - response.start);
        }
        if let Some(rows) = responses
            .rows
            .as_mut()
            .filter(|_| response.end <= self.window.to)
        {
            rows.push(response);
        }
    }

    /// Takes each response of the whole run, if they were kept.
    pub fn take_responses(&mut self) -> Option<Vec<Response>> {
        self.responses.as_mut()?.rows.take()
    }

    /// Records that a data packet was lost in the network, in a queue or randomly.
    pub fn on_dropped(&mut self, now: Time) {
        self.drops += u64::from(self.window.holds(now));
    }

    /// Records that one of the flow's ACKs was lost in the network, in a queue or randomly.
    pub fn on_ack_dropped(&mut self, now: Time) {
        self.ack_drops += u64::from(self.window.holds(now));
    }

    /// Adds the counters of a queue that counts drops and marks itself.
    pub fn on_tally(&mut self, tallied: FlowCounters) {
        self.drops += tallied.drops;
        self.marks += tallied.marks;
        self.ack_drops += tallied.ack_drops;
    }

    /// goodput = in-order application bytes / (min(end, last byte) - max(start, measure_from)).
    pub fn goodput(&self) -> Rate {
        let active = self.active();
        if active == Span::ZERO {
            Rate::ZERO
        } else {
            Rate::from_delivery(self.delivered, active)
        }
    }

    /// Sets a new start: on a real clock, where flows start later than planned, or for reuse by the
    /// next flow after [`WorkloadMeter::take`](crate::WorkloadMeter::take).
    pub fn restart(&mut self, start: Time) {
        (self.start, self.last_byte) = (start, None);
    }

    /// Returns the time at which the flow began.
    pub fn started(&self) -> Time {
        self.start
    }

    /// Returns the time at which the transfer's last byte arrived.
    pub fn ended(&self) -> Option<Time> {
        self.last_byte
    }

    /// Returns the length of the part of the window in which the flow was active.
    pub fn active(&self) -> Span {
        let (from, to) = self.active_from_to();
        to.since(from)
    }

    /// Returns the start and end of the part of the window in which the flow was active. The end is
    /// before the start if the flow was not active within the window.
    pub fn active_from_to(&self) -> (Time, Time) {
        let to = self.last_byte.unwrap_or(self.window.to);
        (self.start.max(self.window.from), to)
    }
}

/// Drops and marks of one flow's packets in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCounters {
    /// Data packets dropped.
    pub drops: u64,
    /// Data packets marked.
    pub marks: u64,
    /// ACKs dropped.
    pub ack_drops: u64,
}

/// Drops and marks per flow, for a queue that may drop or mark a packet of any flow at any time.
#[derive(Clone, Debug)]
pub struct PerFlowCounters {
    window: MeasuredTime,
    flows: Vec<FlowCounters>,
}

impl PerFlowCounters {
    /// Creates counters for `flows` flows, all zero.
    pub fn new(window: MeasuredTime, flows: usize) -> PerFlowCounters {
        PerFlowCounters {
            window,
            flows: vec![FlowCounters::default(); flows],
        }
    }

    /// Records that a data packet was dropped.
    #[inline]
    pub fn on_drop(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].drops += u64::from(self.window.holds(now));
    }

    /// Records that an ACK was dropped.
    pub fn on_ack_drop(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].ack_drops += u64::from(self.window.holds(now));
    }

    /// Records that a data packet was marked.
    #[inline]
    pub fn on_mark(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].marks += u64::from(self.window.holds(now));
    }

    /// Returns the counters of one flow.
    pub fn of(&self, flow: u32) -> FlowCounters {
        self.flows[flow as usize]
    }
}
