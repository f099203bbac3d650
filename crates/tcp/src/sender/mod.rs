//! The sender: TCP's data path around a congestion controller.
//!
//! The runner passes in ACKs and timer expiries, and lets the sender [transmit](Sender::transmit)
//! after each.
//! - [`ack`]: processing of ACKs (RFC 2018, 6298, delivery-rate sampling).
//! - [`acked`]: the acknowledged packets one by one, if the controller asks for them.
//! - [`loss`]: RACK-TLP and the retransmission timeout (RFC 8985, 6298).
//! - [`transmit`]: sending, and the limit that stops it.
//! - [`recovery`]: recovery episodes, PRR, undo (RFC 9937, 2883, 4015).
//! - [`stack`]: the operating system's parts, if the sender has any.

mod ack;
mod acked;
mod handshake;
mod host_delays;
mod info;
mod loss;
mod memory;
mod recovery;
mod stack;
mod timer;
mod transmit;

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fullpipe_cc::{
    Conn, Context, Controller, Decision, EcnCodepoint, Observer, RecoveryOwner, Snapshot,
};
use fullpipe_units::{Bytes, Rng, Span, Time};

pub use self::ack::AckOutcome;
use self::host_delays::HostDelays;
pub use self::info::Info;
pub use self::memory::Memory;
use self::recovery::Episode;
pub use self::timer::LossDetection;
use self::timer::Timer;
use crate::app::{App, Segmentation};
use crate::ecn::{EcnFeedback, Reaction};
use crate::limit::{Limit, LimitClock};
use crate::pacer::{Pacer, Pacing};
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rate::Flight;
use crate::rate_aggregator::RateAggregator;
use crate::rtt::RttEstimator;
use crate::sent::{Bursts, SentRing};
use crate::stack::{MetricsCache, Stack, StackState};

/// The parts and options of a sender.
#[derive(Debug)]
pub struct SenderConfig<C> {
    /// The congestion controller.
    pub controller: C,
    /// The component that sets the window during recovery.
    pub owner: RecoveryOwner,
    /// The application.
    pub app: App,
    /// Payload of a full segment.
    pub smss: Bytes,
    /// The initial window.
    pub initial_cwnd: Bytes,
    /// When to pace.
    pub pacing: Pacing,
    /// Whether the sender runs on a host that [works in turns](Sender::transmit_batch). Its pacer
    /// then releases the data that became due between turns.
    pub hosted: bool,
    /// Minimum time that a delivery-rate sample covers on a host.
    pub rate_interval: Span,
    /// Parts of the operating system's TCP that an ideal sender does without.
    pub stack: Stack,
    /// Random stream of the controller.
    pub rng: Rng,
}

/// A TCP sender.
#[derive(Debug)]
pub struct Sender<C> {
    controller: C,
    owner: RecoveryOwner,
    rng: Rng,
    conn: Conn,
    /// The controller's decision after the last event.
    decision: Decision,
    app: App,
    segments: Segmentation,
    /// Time at which the handshake completed.
    opened: Option<Time>,

    /// SND.UNA, SND.NXT and the right edge of the peer's window, in segments.
    una: u64,
    next: u64,
    right_edge: u64,
    /// TS.Recent (RFC 7323 §4.3): timestamp of the latest ACK.
    ts_recent: Time,
    window: SentRing,
    bursts: Bursts,

    flight: Flight,
    /// SND.NXT when the congestion window was last fully used.
    cwnd_limited_until: u64,

    rtt: RttEstimator,
    rack: Rack,
    /// Segments between `una` and `next` that are SACKed, and that are lost and not retransmitted.
    sacked: u64,
    lost: u64,
    /// Payload of the SACKed ones.
    sacked_bytes: Bytes,
    /// The lost segments, lowest first (RFC 6675 NextSeg); may contain segments that are no longer
    /// lost.
    to_retransmit: BinaryHeap<Reverse<u64>>,
    /// Sequence below which every first transmission is known to be delivered or lost.
    judged: u64,
    /// Retransmissions in order of their sending times. Readers skip outdated entries.
    retransmitted: VecDeque<(u64, Time)>,
    /// Number of retransmissions so far.
    resent: u64,
    /// One past the last segment declared lost.
    last_lost_end: u64,

    episode: Episode,
    prr: Option<Prr>,
    timer: Timer,
    pacer: Pacer,
    ecn: Reaction,
    limits: LimitClock,
    joined: RateAggregator,
    /// The value of the receiver's algorithm in the current ACK.
    feedback: Option<u64>,
    /// The packets that the current ACK newly acknowledges; `None` unless the controller asks for
    /// each.
    acked: Option<Vec<Snapshot>>,
    /// Times of this host and the peer's; `None` unless the controller asks for them.
    hosts: Option<Box<HostDelays>>,
    /// The operating system's parts that act on each write; most senders have none.
    stack: Option<Box<StackState>>,
    /// Whether a timeout in fast recovery is no second reduction.
    one_reduction: bool,
}

impl<C: Controller> Sender<C> {
    /// Creates a sender that sends its SYN at `now`.
    pub fn new(config: SenderConfig<C>, now: Time) -> Sender<C> {
        Sender::within(Memory::default(), config, now)
    }

    /// Creates a sender that reuses the buffers of a finished one.
    pub fn within(memory: Memory, config: SenderConfig<C>, now: Time) -> Sender<C> {
        let Memory {
            window,
            bursts,
            to_retransmit,
            retransmitted,
        } = memory;
        let SenderConfig {
            controller,
            owner,
            app,
            smss,
            initial_cwnd,
            pacing,
            hosted,
            rate_interval,
            stack,
            rng,
        } = config;
        let decision = controller.decision();
        Sender {
            controller,
            owner,
            rng,
            conn: Conn {
                initial_cwnd,
                ..Conn::new(now, smss, 3)
            },
            decision,
            segments: app.segments(smss),
            app,
            opened: None,
            una: 0,
            next: 0,
            right_edge: 0,
            ts_recent: Time::ZERO,
            window,
            bursts,
            flight: Flight::new(now),
            cwnd_limited_until: 0,
            rtt: RttEstimator::new(),
            rack: Rack::new(),
            sacked: 0,
            sacked_bytes: Bytes::ZERO,
            lost: 0,
            to_retransmit,
            judged: 0,
            retransmitted,
            resent: 0,
            last_lost_end: u64::MAX,
            episode: Episode::default(),
            prr: None,
            timer: Timer::new(stack.loss_detection),
            pacer: if hosted {
                Pacer::bucket(pacing, smss)
            } else {
                Pacer::new(pacing, smss)
            },
            ecn: Reaction::new(EcnFeedback::Accurate, None),
            limits: LimitClock::new(now),
            joined: RateAggregator::new(rate_interval),
            feedback: None,
            acked: None,
            hosts: None,
            stack: StackState::new(
                &stack,
                if owner == RecoveryOwner::Own { 3 } else { 2 },
                smss,
                now,
            ),
            one_reduction: stack.one_reduction,
        }
    }

    /// Sets the ECN feedback, and the codepoint of data; without a codepoint, the controller
    /// decides.
    #[must_use]
    pub fn with_ecn(self, feedback: EcnFeedback, codepoint: Option<EcnCodepoint>) -> Sender<C> {
        Sender {
            ecn: Reaction::new(feedback, codepoint),
            ..self
        }
    }

    /// Lets the connection begin with the values that earlier ones left in `cache`, and leave its
    /// own there.
    #[must_use]
    pub fn with_metrics(mut self, cache: MetricsCache) -> Sender<C> {
        self.stack.get_or_insert_default().set_cache(cache);
        self
    }

    /// Calls the controller once, with the current connection state.
    #[inline(always)] // the context then needs no memory
    fn call<T>(
        &mut self,
        now: Time,
        observer: &mut dyn Observer,
        f: impl FnOnce(&mut C, &mut Context<'_>) -> T,
    ) -> T {
        self.conn.next_departure = self.pacer.next.max(now);
        f(
            &mut self.controller,
            &mut Context {
                now,
                conn: &self.conn,
                rng: &mut self.rng,
                observer,
            },
        )
    }

    /// Reads the controller's decision after the calls of one event.
    #[inline(never)] // with the controller's part in it
    fn decide(&mut self) {
        self.controller.decide_into(&mut self.decision);
        if self.decision.mark_app_limited {
            self.flight.mark_app_limited(&mut self.conn);
        }
        if self.decision.pacing_rate.is_none() && self.pacer.is_unused() {
            return;
        }
        let (
            cwnd,
            Decision {
                ssthresh,
                pacing_rate,
                send_quantum,
                ..
            },
        ) = (self.cwnd(), self.decision);
        let outstanding = self.conn.smss * (self.next - self.una);
        self.pacer.set(
            pacing_rate,
            send_quantum,
            cwnd,
            outstanding,
            ssthresh,
            (self.rtt.srtt, self.rtt.min),
        );
        if self.pacer.rate.is_some() && !self.conn.paced {
            self.pacer.begin_after(self.next);
        }
        self.conn.pace(self.pacer.rate);
    }

    /// Returns the current congestion window.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        match &self.prr {
            Some(prr) => prr.cwnd,
            None => self.decision.cwnd,
        }
    }

    /// Returns the time at which to call [`on_timer`](Sender::on_timer), if no ACK arrives first.
    /// Each ACK changes it, usually to a later time.
    #[inline]
    pub fn timer_at(&self) -> Time {
        self.decision
            .wake_at
            .map_or(self.timer.at(), |wake| self.timer.at().min(wake))
    }

    /// Returns the time at which to let the sender [transmit](Sender::transmit) again, if no ACK
    /// arrives first: when the pacer allows the next burst, when the application will have written
    /// more, or at once if only the host kept the sender from sending more.
    #[inline]
    pub fn departure_at(&self) -> Time {
        match (self.limits.current(), self.opened) {
            (Limit::Pacing, _) => self.pacer.next,
            (Limit::Application, Some(opened)) => {
                self.app.ready_at(opened, self.next, self.segments)
            }
            (Limit::Host, _) => Time::ZERO,
            _ => Time::MAX,
        }
    }

    /// Returns the time from which the host limits the flow because the earlier limit no longer
    /// applies, if the next ACK arrives at `arrival`. Pacing late costs nothing until the bucket's
    /// credit is full.
    pub fn overdue_at(&self, arrival: Time) -> Time {
        match self.limits.current() {
            Limit::Handshake => Time::MAX,
            Limit::Pacing => self.pacer.full_at(),
            Limit::Application | Limit::Host => self.departure_at(),
            Limit::Cwnd | Limit::Recovery | Limit::ReceiveWindow | Limit::SendBuffer => arrival,
        }
    }

    /// Returns the addresses outside the sender that the next ACK will read, for a runner that
    /// prefetches.
    #[inline]
    pub fn rings(&self) -> [*const (); 5] {
        let [sent, next] =
            [self.una, self.next].map(|seq| core::ptr::from_ref(self.window.get(seq)).cast());
        let [oldest, second, new] = self
            .bursts
            .ends()
            .map(|burst| core::ptr::from_ref(burst).cast());
        [sent, next, oldest, second, new]
    }

    /// Returns the state of the connection.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// Returns the controller, for observation.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    /// Returns the controller to steer it from outside, with the state of the connection. The sender
    /// reads the controller's decision in its next call of it.
    pub fn steer(&mut self) -> (&mut C, &Conn) {
        (&mut self.controller, &self.conn)
    }

    /// Returns the current slow-start threshold.
    pub fn ssthresh(&self) -> Bytes {
        self.decision.ssthresh
    }

    /// Returns the clock of the flow's limits.
    pub fn limits(&mut self) -> &mut LimitClock {
        &mut self.limits
    }

    /// Notifies the controller if this ACK ended the flow.
    #[cold]
    fn end_if_done(&mut self, now: Time, observer: &mut dyn Observer) {
        if self.is_done() {
            self.call(now, observer, |controller, cx| controller.on_end(cx));
        }
    }

    /// Returns whether all data of the application has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una == self.segments.total
    }
}
