//! A controller that obeys orders from outside the transport: a program that learns, or a trained
//! policy, sets window and rate once per monitor interval.
//!
//! An interval ends in [`Controller::on_timer`], at the time that its order gave. The steerer then
//! reads [`Steered::closed`] and gives the next [`Order`], which takes effect one nanosecond later,
//! with the timer that `Steered` has set for it. So an order acts between packets, and a simulation
//! that pauses for it has the same events as a run whose controller decides alone.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::{
    Ack, AnyController, Config, Conn, Context, Controller, Decision, Descriptor, Lost, Marks,
    PathChange, RecoveryOwner, Shared, Signals, Snapshot, fields,
};

/// Time between the end of an interval and the effect of the order that follows it.
const REACTION: Span = Span::from_nanos(1);

/// RTT before the first sample (RFC 9002 §6.2.2, kInitialRtt).
const UNKNOWN_RTT: Span = Span::from_millis(333);

/// Congestion window of a paced flow in bandwidth-delay products (draft-ietf-ccwg-bbr-06 §2.4, BBR.DefaultCwndGain).
const CWND_GAIN: f64 = 2.0;

/// Smallest window, in packets (draft-ietf-ccwg-bbr-06 §5.6.4.6, MinPipeCwnd).
const MIN_PACKETS: u64 = 4;

/// The declaration of a steered controller. It is in no default registry, because a scenario alone can't run it.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "agent",
    purpose: "Obeys a program outside the simulation, for fullpipe.gym",
    specifications: &[],
    params: &[],
    profiles: &[],
    preset_of: None,
    fields: Steered::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::NONE,
    marks: |_| Marks::Answered,
    random: false,
    build: |config: &Config, _: &mut Shared| {
        AnyController::Steered(Box::new(Steered::new(config, 1.0)))
    },
};

/// A monitor interval: data that was sent, delivered and lost in it, and its RTT samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// First and last time of the interval.
    pub time: (Time, Time),
    /// Data sent, retransmissions included.
    pub sent: Bytes,
    /// Data delivered.
    pub acked: Bytes,
    /// Data declared lost.
    pub lost: Bytes,
    /// RTT samples, one per ACK that has one, in the order of arrival.
    pub rtts: Vec<Span>,
}

impl Interval {
    /// Returns the length of the interval.
    pub fn length(&self) -> Span {
        self.time.1.since(self.time.0)
    }

    /// Returns the mean of the RTT samples in seconds; `None` without samples.
    pub fn mean_rtt(&self) -> Option<f64> {
        mean(&self.rtts)
    }

    /// Returns the mean RTT of the second half of the samples minus that of the first half, in
    /// seconds; zero with fewer than two samples.
    pub fn rtt_increase(&self) -> f64 {
        let (first, second) = self.rtts.split_at(self.rtts.len() / 2);
        match (mean(first), mean(second)) {
            (Some(first), Some(second)) => second - first,
            _ => 0.0,
        }
    }
}

/// Returns the smoothed RTT, or the one to assume before the first sample.
fn rtt(conn: &Conn) -> Span {
    if conn.srtt > Span::ZERO {
        conn.srtt
    } else {
        UNKNOWN_RTT
    }
}

fn mean(samples: &[Span]) -> Option<f64> {
    let sum: u64 = samples.iter().map(|sample| sample.as_nanos()).sum();
    (!samples.is_empty()).then(|| sum as f64 / samples.len() as f64 / 1e9)
}

/// The instructions for the next interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// Window or rate to use.
    pub target: Target,
    /// End of the interval that begins with this order.
    pub until: Time,
}

/// The quantity that a steerer sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// A congestion window; the flow is paced as the scenario says.
    Window(Bytes),
    /// A pacing rate. The window is then two bandwidth-delay products of that rate and the smoothed
    /// RTT, so that it limits the flow only if ACKs stop to arrive.
    Rate(Rate),
}

/// The window or rate with which a flow begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum First {
    /// The initial window.
    InitialWindow,
    /// The rate that sends the initial window in one RTT of the handshake, within two limits.
    InitialWindowPerRtt(Rate, Rate),
    /// This window or rate.
    Given(Target),
}

/// Bytes of a connection so far.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    sent: Bytes,
    acked: Bytes,
    lost: Bytes,
}

impl Totals {
    fn of(conn: &Conn) -> Totals {
        Totals {
            // Every byte sent so far is in flight, delivered or lost.
            sent: conn.inflight + conn.delivered + conn.lost,
            acked: conn.delivered,
            lost: conn.lost,
        }
    }
}

/// A controller that is steered from outside.
#[derive(Debug)]
pub struct Steered {
    smss: Bytes,
    cwnd: Bytes,
    rate: Option<Rate>,
    first: First,
    /// Length of the first interval in RTTs.
    warm_up: f64,
    wake_at: Option<Time>,
    /// The order that takes effect after `closed_at`.
    order: Option<Order>,
    closed_at: Option<Time>,
    /// Length of the current interval as ordered.
    length: Span,
    base: Totals,
    current: Interval,
    closed: Interval,
    /// Number of intervals that ended.
    count: u64,
}

impl Steered {
    /// Creates a controller that begins with the initial window; its first interval lasts `warm_up`
    /// RTTs.
    pub fn new(config: &Config, warm_up: f64) -> Steered {
        Steered {
            smss: config.smss,
            cwnd: config.initial_cwnd,
            rate: None,
            first: First::InitialWindow,
            warm_up,
            wake_at: None,
            order: None,
            closed_at: None,
            length: Span::ZERO,
            base: Totals::default(),
            current: Interval::default(),
            closed: Interval::default(),
            count: 0,
        }
    }

    /// Sets how the flow begins, before its first packet: with what window or rate, and the length
    /// of the first interval in RTTs.
    pub fn begin_with(&mut self, first: First, warm_up: f64) {
        (self.first, self.warm_up) = (first, warm_up);
    }

    /// Returns whether the first packet has left.
    pub fn has_begun(&self) -> bool {
        self.wake_at.is_some()
    }

    /// Returns the end of the current interval, or the time at which the next order takes effect.
    pub fn wakes_at(&self) -> Option<Time> {
        self.wake_at
    }

    /// Returns the number of intervals that have ended.
    pub fn intervals(&self) -> u64 {
        self.count
    }

    /// Returns the interval that ended last.
    pub fn closed(&self) -> &Interval {
        &self.closed
    }

    /// Returns whether an interval has ended and no order has taken effect since.
    pub fn awaits_order(&self) -> bool {
        self.closed_at.is_some()
    }

    /// Returns the current window, and the rate if the flow is steered by its rate.
    pub fn window(&self) -> (Bytes, Option<Rate>) {
        (self.cwnd, self.rate)
    }

    /// Returns the length of the current interval as ordered.
    pub fn ordered_length(&self) -> Span {
        self.length
    }

    /// Gives the order for the next interval. It takes effect with the first event after the end of
    /// the current one.
    pub fn steer(&mut self, order: Order) {
        self.order = Some(order);
    }

    /// Ends the current interval at `now`, unless it has ended.
    pub fn close(&mut self, now: Time, conn: &Conn) {
        if self.closed_at.is_some() {
            return;
        }
        let (base, totals) = (self.base, Totals::of(conn));
        self.base = totals;
        core::mem::swap(&mut self.closed, &mut self.current);
        self.current.rtts.clear();
        let Interval {
            time,
            sent,
            acked,
            lost,
            ..
        } = &mut self.closed;
        time.1 = now;
        *sent = totals.sent.saturating_sub(base.sent);
        *acked = totals.acked.saturating_sub(base.acked);
        *lost = totals.lost.saturating_sub(base.lost);
        self.current.time = (now, now);
        self.closed_at = Some(now);
        self.count += 1;
    }

    /// Begins the next interval if its time has come. Returns whether the decision has changed.
    #[inline]
    fn obey(&mut self, now: Time, conn: &Conn) -> bool {
        let Some(closed_at) = self.closed_at.filter(|closed_at| now > *closed_at) else {
            return false;
        };
        // Without an order all stays as it was.
        let usual = self.length.max(REACTION);
        let until = match self.order.take() {
            Some(order) => {
                self.follow(order.target, conn);
                order.until
            }
            None => closed_at + usual,
        };
        let until = if until > now { until } else { now + usual };
        self.length = until.since(now);
        self.wake_at = Some(until);
        self.closed_at = None;
        true
    }

    fn follow(&mut self, target: Target, conn: &Conn) {
        // The path may have a larger segment than the settings.
        let least = self.smss.max(conn.smss) * MIN_PACKETS;
        match target {
            Target::Window(cwnd) => (self.cwnd, self.rate) = (cwnd.max(conn.smss), None),
            Target::Rate(rate) => {
                self.cwnd = rate.bytes_in(rtt(conn).mul_f64(CWND_GAIN)).max(least);
                self.rate = Some(rate);
            }
        }
    }

    /// Begins the first interval: with the first packet whose sender knows an RTT, or with the first ACK.
    #[cold]
    fn begin(&mut self, now: Time, conn: &Conn) {
        let rtt = rtt(conn);
        match self.first {
            First::InitialWindow => {}
            First::InitialWindowPerRtt(least, most) => {
                let rate = Rate::from_delivery(self.cwnd, rtt).max(least).min(most);
                self.follow(Target::Rate(rate), conn);
            }
            First::Given(target) => self.follow(target, conn),
        }
        self.length = rtt.mul_f64(self.warm_up).max(REACTION);
        self.wake_at = Some(now + self.length);
        self.current.time = (now, now);
    }
}

fields! {
    pub impl Steered as cc {
        intervals: crate::Field::value("", "Number of monitor intervals that have ended") => cc.count,
    }
}

impl Controller for Steered {
    #[inline]
    fn wants_sent(&mut self, _: Time, _: bool) -> bool {
        self.wake_at.is_none() || self.closed_at.is_some()
    }

    fn on_sent(&mut self, cx: &mut Context<'_>, _: &Snapshot) -> bool {
        // QUIC knows no RTT before its first ACK: until then, the initial window is sent.
        if self.wake_at.is_none() {
            let knows = cx.conn.srtt > Span::ZERO;
            if knows {
                self.begin(cx.now, cx.conn);
            }
            return knows;
        }
        self.obey(cx.now, cx.conn)
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, _: &Lost) {
        self.obey(cx.now, cx.conn);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if self.wake_at.is_none() && cx.conn.srtt > Span::ZERO {
            self.begin(cx.now, cx.conn);
            self.base = Totals::of(cx.conn);
        }
        self.obey(cx.now, cx.conn);
        if let Some(rtt) = ack.rtt {
            self.current.rtts.push(rtt.raw);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        if self.obey(cx.now, cx.conn) || self.wake_at.is_none_or(|at| at > cx.now) {
            return;
        }
        self.close(cx.now, cx.conn);
        self.wake_at = Some(cx.now + REACTION);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if change == PathChange::Mtu {
            self.smss = cx.conn.smss;
            let packets = if self.rate.is_some() { MIN_PACKETS } else { 1 };
            self.cwnd = self.cwnd.max(self.smss * packets);
        }
    }

    fn decision(&self) -> Decision {
        Decision {
            pacing_rate: self.rate,
            send_quantum: if self.rate.is_some() {
                self.smss
            } else {
                Bytes::ZERO
            },
            wake_at: self.wake_at,
            ..Decision::window(self.cwnd, Bytes::MAX)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.push_fields(row);
    }
}
