//! What is measured of a flow while a run goes on: constant work a packet, no growth with time.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::{Histogram, Sampler};

/// The part of the run that counts.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredTime {
    /// `measure_from`.
    pub from: Time,
    /// The end of the run.
    pub to: Time,
}

impl MeasuredTime {
    /// From `measure_from` to the end of a run of `duration`.
    pub fn of_run(measure_from: Span, duration: Span) -> MeasuredTime {
        MeasuredTime {
            from: Time::ZERO + measure_from,
            to: Time::ZERO + duration,
        }
    }

    /// Whether what happens at `time` counts.
    #[inline]
    pub fn holds(&self, time: Time) -> bool {
        time >= self.from && time <= self.to
    }
}

/// An answer that a flow's client got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// When it was asked for.
    pub start: Time,
    /// When its last byte was there.
    pub end: Time,
    /// Its length.
    pub bytes: Bytes,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Responses {
    pub(crate) times: Histogram,
    /// Each, if somebody wants them.
    rows: Option<Vec<Response>>,
}

/// One flow's measurements.
#[derive(Clone, Debug)]
pub struct FlowMeter {
    window: MeasuredTime,
    /// When its SYN left, or its first packet.
    pub(crate) start: Time,
    pub(crate) rtt: Sampler,
    pub(crate) queue: Sampler,
    pub(crate) sent: u64,
    pub(crate) retransmits: u64,
    pub(crate) delivered: Bytes,
    pub(crate) last_byte: Option<Time>,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) ack_drops: u64,
    pub(crate) responses: Option<Box<Responses>>,
}

impl FlowMeter {
    /// Nothing measured yet.
    pub fn new(window: MeasuredTime, start: Time) -> FlowMeter {
        FlowMeter {
            window,
            start,
            rtt: Sampler::default(),
            queue: Sampler::default(),
            sent: 0,
            retransmits: 0,
            delivered: Bytes::ZERO,
            last_byte: None,
            drops: 0,
            marks: 0,
            ack_drops: 0,
            responses: None,
        }
    }

    /// The same for a flow whose receiver asks for answers; with each of them, if they are
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

    /// A data packet left the sender.
    #[inline]
    pub fn on_sent(&mut self, now: Time, retransmit: bool) {
        if self.window.holds(now) {
            self.sent += 1;
            self.retransmits += u64::from(retransmit);
        }
    }

    /// An RTT sample.
    #[inline]
    pub fn on_rtt(&mut self, now: Time, rtt: Span) {
        if self.window.holds(now) {
            self.rtt.add(rtt);
        }
    }

    /// A packet reached the receiver after waiting so long in queues, and `in_order` more bytes
    /// reached the application.
    #[inline]
    pub fn on_delivered(&mut self, now: Time, waited: Span, in_order: Bytes) {
        if self.window.holds(now) {
            self.queue.add(waited);
            self.delivered += in_order;
        }
    }

    /// `in_order` more bytes reached the application, after nobody knows what waiting: where only
    /// the ends are watched.
    #[inline]
    pub fn on_received(&mut self, now: Time, in_order: Bytes) {
        if self.window.holds(now) {
            self.delivered += in_order;
        }
    }

    /// The same with what another meter of this flow saw at the receiver, in place of its own.
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

    /// Counts nothing of what comes but the transfer's end.
    pub fn stop(&mut self) {
        self.window.from = Time::MAX;
    }

    /// How long its packets waited in queues, which another meter was told of, in place of what
    /// this one was.
    pub fn set_waits(&mut self, other: &FlowMeter) {
        self.queue.clone_from(&other.queue);
    }

    /// The transfer's last byte is there.
    pub fn on_complete(&mut self, now: Time) {
        if now <= self.window.to {
            self.last_byte.get_or_insert(now);
        }
    }

    /// An answer was complete.
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

    /// Each answer of the whole run, if they were wanted.
    pub fn take_responses(&mut self) -> Option<Vec<Response>> {
        self.responses.as_mut()?.rows.take()
    }

    /// A data packet was lost on the way, in a queue or by chance.
    pub fn on_dropped(&mut self, now: Time) {
        self.drops += u64::from(self.window.holds(now));
    }

    /// One of its ACKs was lost on the way back, in a queue or by chance.
    pub fn on_ack_dropped(&mut self, now: Time) {
        self.ack_drops += u64::from(self.window.holds(now));
    }

    /// What befell its packets in a queue that keeps a tally.
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

    /// It begins at another time than was expected, where the clock is real; or it is another
    /// flow's, whose measurements were [taken](crate::WorkloadMeter::take).
    pub fn restart(&mut self, start: Time) {
        (self.start, self.last_byte) = (start, None);
    }

    /// When the flow began.
    pub fn started(&self) -> Time {
        self.start
    }

    /// When the transfer's last byte was there.
    pub fn ended(&self) -> Option<Time> {
        self.last_byte
    }

    /// The part of the window in which the flow was active.
    pub fn active(&self) -> Span {
        let (from, to) = self.active_from_to();
        to.since(from)
    }

    /// Start and end of that part. The end is before the start if the flow was not active then.
    pub fn active_from_to(&self) -> (Time, Time) {
        let to = self.last_byte.unwrap_or(self.window.to);
        (self.start.max(self.window.from), to)
    }
}

/// What befell a flow's packets in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCounters {
    /// Data packets dropped.
    pub drops: u64,
    /// Data packets marked.
    pub marks: u64,
    /// ACKs dropped.
    pub ack_drops: u64,
}

/// Drops and marks by flow, of a queue that decides on packets of any flow at any time.
#[derive(Clone, Debug)]
pub struct PerFlowCounters {
    window: MeasuredTime,
    flows: Vec<FlowCounters>,
}

impl PerFlowCounters {
    /// Nothing counted yet, of so many flows.
    pub fn new(window: MeasuredTime, flows: usize) -> PerFlowCounters {
        PerFlowCounters {
            window,
            flows: vec![FlowCounters::default(); flows],
        }
    }

    /// A data packet was dropped.
    #[inline]
    pub fn on_drop(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].drops += u64::from(self.window.holds(now));
    }

    /// An ACK was dropped.
    pub fn on_ack_drop(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].ack_drops += u64::from(self.window.holds(now));
    }

    /// A data packet was marked.
    #[inline]
    pub fn on_mark(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].marks += u64::from(self.window.holds(now));
    }

    /// What befell a flow.
    pub fn of(&self, flow: u32) -> FlowCounters {
        self.flows[flow as usize]
    }
}
