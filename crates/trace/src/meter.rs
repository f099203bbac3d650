//! Measurements of a flow during a run: constant work per packet, in memory that does not grow with
//! time.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::drift::{Drift, FlowDrift, Ratio};
use crate::frames::Frames;
use crate::series::Series;
use crate::{Histogram, Sampler};

/// The measured part of a run.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredTime {
    /// `measure_from`.
    pub from: Time,
    /// The end of the run.
    pub to: Time,
    /// The end of the part that is tested for drift.
    pub tested_to: Time,
}

impl MeasuredTime {
    /// Returns the time between two times, all of it tested for drift.
    pub const fn new(from: Time, to: Time) -> MeasuredTime {
        MeasuredTime {
            from,
            to,
            tested_to: to,
        }
    }

    /// Returns the time from `measure_from` to the end of a run of `duration`.
    pub fn of_run(measure_from: Span, duration: Span) -> MeasuredTime {
        MeasuredTime::new(Time::ZERO + measure_from, Time::ZERO + duration)
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

/// Counts of the receiver since the start of the flow.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    delivered: u64,
    /// Sum of the queueing delays, in ns.
    waited: u64,
    packets: u64,
}

/// Counts of the sender since `measure_from`.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    sent: u64,
    lost: u64,
    /// Sum of the RTT samples, in ns.
    rtt: u64,
    samples: u64,
}

/// The course of a flow's numbers.
#[derive(Clone, Debug)]
struct Course {
    received: Series<Received>,
    seen: Series<Seen>,
    /// Counts of the receiver before `measure_from`.
    earlier: Received,
}

/// Measurements of one flow.
#[derive(Clone, Debug)]
pub struct FlowMeter {
    window: MeasuredTime,
    /// The next edge of the receiver's series, and of the sender's.
    next_received: Time,
    next_seen: Time,
    course: Option<Box<Course>>,
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
            next_received: Time::MAX,
            next_seen: Time::MAX,
            course: None,
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

    /// Also keeps the course of goodput, delays and losses, from which [`FlowSummary`](crate::FlowSummary)
    /// tells whether they are steady.
    #[must_use]
    pub fn with_course(self) -> FlowMeter {
        let series = || {
            Some((
                Series::new(self.window, true)?,
                Series::new(self.window, false)?,
            ))
        };
        let Some((received, seen)) = series() else {
            return self;
        };
        FlowMeter {
            next_received: received.next(),
            next_seen: seen.next(),
            course: Some(Box::new(Course {
                received,
                seen,
                earlier: Received::default(),
            })),
            ..self
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
        if now >= self.next_seen {
            self.pass_seen(now);
        }
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
        if now >= self.next_received {
            self.pass_received(now);
        }
        if self.window.holds(now) {
            self.queue.add(waited);
            self.delivered += in_order;
        } else {
            self.on_early(now, Some(waited), in_order);
        }
    }

    /// Counts, for the course alone, what arrived before the window.
    #[inline(never)] // the warm-up is short
    fn on_early(&mut self, now: Time, waited: Option<Span>, in_order: Bytes) {
        if let Some(course) = self.course.as_mut().filter(|_| now < self.window.from) {
            course.earlier.delivered += in_order.get();
            course.earlier.waited += waited.map_or(0, Span::as_nanos);
            course.earlier.packets += u64::from(waited.is_some());
        }
    }

    #[cold]
    fn pass_received(&mut self, now: Time) {
        let total = self.received();
        if let Some(course) = &mut self.course {
            self.next_received = course.received.pass(now, total);
        }
    }

    #[cold]
    fn pass_seen(&mut self, now: Time) {
        let total = self.seen();
        if let Some(course) = &mut self.course {
            self.next_seen = course.seen.pass(now, total);
        }
    }

    fn received(&self) -> Received {
        let earlier = self.course.as_ref().map(|course| course.earlier);
        let earlier = earlier.unwrap_or_default();
        let (waited, packets) = self.queue.total();
        Received {
            delivered: earlier.delivered + self.delivered.get(),
            waited: earlier.waited + waited as u64,
            packets: earlier.packets + packets,
        }
    }

    fn seen(&self) -> Seen {
        let (rtt, samples) = self.rtt.total();
        Seen {
            sent: self.sent,
            lost: self.retransmits + self.lost,
            rtt: rtt as u64,
            samples,
        }
    }

    /// Records that `in_order` more bytes reached the application, without a sample of the queueing
    /// delay: for runners that observe only the endpoints.
    #[inline]
    pub fn on_received(&mut self, now: Time, in_order: Bytes) {
        if now >= self.next_received {
            self.pass_received(now);
        }
        if self.window.holds(now) {
            self.delivered += in_order;
        } else {
            self.on_early(now, None, in_order);
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
            course,
            ..
        } = receiver;
        let course = match (self.course, course) {
            (Some(sender), Some(receiver)) => Some(Box::new(Course {
                seen: sender.seen,
                ..*receiver
            })),
            _ => None,
        };
        FlowMeter {
            queue,
            delivered,
            last_byte,
            responses,
            course,
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
        let waits = other.received();
        if let (Some(course), Some(other)) = (&mut self.course, &other.course) {
            let theirs = other.received.finish(waits);
            course.received.merge(&theirs, |ours, theirs| {
                (ours.waited, ours.packets) = (theirs.waited, theirs.packets);
            });
            course.earlier.waited = other.earlier.waited;
            course.earlier.packets = other.earlier.packets;
        }
    }

    /// Returns the course of the flow's numbers; empty for a flow that is not active for the whole window.
    pub(crate) fn drifts(&self) -> FlowDrift {
        let Some(course) = &self.course else {
            return FlowDrift::default();
        };
        // With a start jitter, a flow that starts with the window starts a little later.
        let latest = self.window.from + course.received.part();
        if self.start > latest || self.last_byte.is_some() {
            return FlowDrift::default();
        }
        let received = course.received.finish(self.received());
        let seen = course.seen.finish(self.seen());
        let part = course.received.part().as_secs_f64();
        let goodput = parts(&received, |from, to| Ratio {
            sum: (to.delivered - from.delivered) as f64 * 8.0,
            of: part,
        });
        let queue = parts(&received, |from, to| Ratio {
            sum: (to.waited - from.waited) as f64 / 1e9,
            of: (to.packets - from.packets) as f64,
        });
        let rtt = parts(&seen, |from, to| Ratio {
            sum: (to.rtt - from.rtt) as f64 / 1e9,
            of: (to.samples - from.samples) as f64,
        });
        let loss = parts(&seen, |from, to| Ratio {
            sum: (to.lost - from.lost) as f64,
            of: (to.sent - from.sent) as f64,
        });
        // The warm-up of a flow begins with its first whole part.
        let (before, end) = (course.received.before, course.received.tested().end);
        let start = self.start.max(course.received.edge(0));
        let skip = (0..before)
            .take_while(|index| course.received.edge(*index) < start)
            .count();
        let edge = |index| (course.received.edge(index + skip) - Time::ZERO).as_secs_f64();
        let whole = |parts: &[Ratio]| {
            let parts = &parts[..end];
            let drift = Drift::of(&parts[before..])?;
            // A warm-up longer than the window is not doubted.
            if !course.received.is_whole() {
                return Some(drift);
            }
            Some(drift.with_warm_up(&parts[skip..], before - skip, edge))
        };
        FlowDrift {
            goodput_bps: whole(&goodput),
            rtt_s: Drift::of(&rtt[course.seen.tested()]),
            queue_delay_s: whole(&queue),
            loss_fraction: Drift::of(&loss[course.seen.tested()]),
        }
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

/// Returns the differences of the totals at neighboring edges.
fn parts<T>(totals: &[T], part: impl Fn(&T, &T) -> Ratio) -> Vec<Ratio> {
    totals
        .windows(2)
        .map(|pair| part(&pair[0], &pair[1]))
        .collect()
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
