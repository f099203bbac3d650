//! The sender: a TCP's data path around a congestion controller.
//!
//! The runner hands in ACKs and timer expiries, and after each lets the sender
//! [transmit](Sender::transmit).
//! - [`ack`]: what an ACK does (RFC 2018, 6298, delivery-rate sampling).
//! - [`loss`]: RACK-TLP and the retransmission timeout (RFC 8985, 6298).
//! - [`transmit`]: what leaves, and what stops it.
//! - [`recovery`]: episodes, PRR, undo (RFC 9937, 2883, 4015).

mod ack;
mod handshake;
mod info;
mod loss;
mod memory;
mod recovery;
mod transmit;

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fullpipe_cc::{Conn, Context, Controller, Decision, EcnCodepoint, Observer, RecoveryOwner};
use fullpipe_units::{Bytes, Rng, Span, Time};

pub use self::ack::AckOutcome;
pub use self::info::Info;
use self::loss::Timer;
pub use self::memory::Memory;
use self::recovery::{Episode, Phase};
use crate::app::App;
use crate::ecn::{EcnFeedback, Reaction};
use crate::limit::{Limit, LimitClock};
use crate::pacer::{Pacer, Pacing};
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rate::Flight;
use crate::rate_aggregator::RateAggregator;
use crate::rtt::RttEstimator;
use crate::sent::{Bursts, SentRing};
use crate::wire::SMSS;

/// What a sender is made of.
#[derive(Debug)]
pub struct SenderConfig<C> {
    /// The congestion controller.
    pub controller: C,
    /// Who moves the window in recovery.
    pub owner: RecoveryOwner,
    /// What there is to send.
    pub app: App,
    /// Whether to pace.
    pub pacing: Pacing,
    /// It runs on a host that [takes turns](Sender::transmit_batch): its pacer lets go what became
    /// due in between.
    pub hosted: bool,
    /// There, a delivery-rate sample covers this much time at least.
    pub rate_interval: Span,
    /// The controller's random stream.
    pub rng: Rng,
}

/// A TCP sender.
#[derive(Debug)]
pub struct Sender<C> {
    controller: C,
    owner: RecoveryOwner,
    rng: Rng,
    conn: Conn,
    /// The controller's, as it stood after the last event.
    decision: Decision,
    app: App,
    /// When the handshake was done.
    opened: Option<Time>,

    /// SND.UNA, SND.NXT and the right edge of the peer's window, in segments.
    una: u64,
    next: u64,
    right_edge: u64,
    /// TS.Recent (RFC 7323 §4.3): the timestamp of the latest ACK.
    ts_recent: Time,
    window: SentRing,
    bursts: Bursts,

    flight: Flight,
    /// The window was fully used when this sequence had been sent.
    cwnd_limited_until: u64,

    rtt: RttEstimator,
    rack: Rack,
    /// Segments SACKed, and segments lost and not retransmitted, between `una` and `next`.
    sacked: u64,
    lost: u64,
    /// These, lowest first (RFC 6675 NextSeg); may hold some that turned out not to be lost.
    to_retransmit: BinaryHeap<Reverse<u64>>,
    /// First transmissions below this were judged: delivered or lost.
    judged: u64,
    /// Retransmissions in order of time; entries that are no longer current are skipped.
    retransmitted: VecDeque<(u64, Time)>,
    /// How many there were of them.
    resent: u64,
    /// The sequence behind the last one declared lost.
    last_lost_end: u64,

    phase: Phase,
    episode: Episode,
    prr: Option<Prr>,
    timer: Timer,
    pacer: Pacer,
    ecn: Reaction,
    limits: LimitClock,
    joined: RateAggregator,
}

impl<C: Controller> Sender<C> {
    /// A sender that has not spoken yet; `now` is when it sends its SYN.
    pub fn new(config: SenderConfig<C>, now: Time) -> Sender<C> {
        Sender::within(Memory::default(), config, now)
    }

    /// The same, in the memory of another.
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
            pacing,
            hosted,
            rate_interval,
            rng,
        } = config;
        let decision = controller.decision();
        Sender {
            controller,
            owner,
            rng,
            conn: Conn::new(now, SMSS, 3),
            decision,
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
            lost: 0,
            to_retransmit,
            judged: 0,
            retransmitted,
            resent: 0,
            last_lost_end: u64::MAX,
            phase: Phase::Open,
            episode: Episode::default(),
            prr: None,
            timer: Timer::new(),
            pacer: if hosted {
                Pacer::bucket(pacing)
            } else {
                Pacer::new(pacing)
            },
            ecn: Reaction::new(EcnFeedback::Accurate, decision.ecn),
            limits: LimitClock::new(now),
            joined: RateAggregator::new(rate_interval),
        }
    }

    /// The same, with another way to learn of marks, and with a codepoint of its own, if one is
    /// given, in place of the controller's.
    #[must_use]
    pub fn with_ecn(self, feedback: EcnFeedback, codepoint: Option<EcnCodepoint>) -> Sender<C> {
        Sender {
            ecn: Reaction::new(feedback, codepoint.unwrap_or(self.ecn.codepoint(false))),
            ..self
        }
    }

    /// Whether data is ECN-capable.
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn.codepoint(false) != EcnCodepoint::NotEct
    }

    /// Makes one call of the contract.
    #[inline]
    fn call(
        &mut self,
        now: Time,
        observer: &mut dyn Observer,
        f: impl FnOnce(&mut C, &mut Context<'_>),
    ) {
        self.conn.next_departure = self.pacer.next.max(now);
        f(
            &mut self.controller,
            &mut Context {
                now,
                conn: &self.conn,
                rng: &mut self.rng,
                observer,
            },
        );
    }

    /// Reads the controller's decision, after the calls of one event.
    #[inline]
    fn decide(&mut self) {
        self.decision = self.controller.decision();
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
        let outstanding = SMSS * (self.next - self.una);
        self.pacer.set(
            pacing_rate,
            send_quantum,
            cwnd,
            outstanding,
            ssthresh,
            (self.rtt.srtt, self.rtt.min),
        );
        self.conn.pacing_rate = self.pacer.rate;
        self.conn.paced = self.pacer.rate.is_some();
    }

    /// The window in force.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        match &self.prr {
            Some(prr) => prr.cwnd,
            None => self.decision.cwnd,
        }
    }

    /// When to call [`on_timer`](Sender::on_timer), if no ACK comes first. It moves with every ACK,
    /// mostly away.
    #[inline]
    pub fn timer_at(&self) -> Time {
        self.decision
            .wake_at
            .map_or(self.timer.at(), |wake| self.timer.at().min(wake))
    }

    /// When to let the sender [transmit](Sender::transmit) again, if no ACK comes first: the
    /// pacer's gate opens, or the application will have written, or at once, when only the host
    /// kept it from sending more.
    #[inline]
    pub fn departure_at(&self) -> Time {
        match (self.limits.current(), self.opened) {
            (Limit::Pacing, _) => self.pacer.next,
            (Limit::Application, Some(opened)) => self.app.ready_at(opened, self.next),
            (Limit::Host, _) => Time::ZERO,
            _ => Time::MAX,
        }
    }

    /// From when on it is the host that holds the flow back, if the next ACK came at `arrival`:
    /// since what had stopped it no longer does. A late gate of the pacer costs nothing while its
    /// bucket gives the time back.
    pub fn overdue_at(&self, arrival: Time) -> Time {
        match self.limits.current() {
            Limit::Handshake => Time::MAX,
            Limit::Pacing => self.pacer.full_at(),
            Limit::Application | Limit::Host => self.departure_at(),
            Limit::Cwnd | Limit::Recovery | Limit::ReceiveWindow => arrival,
        }
    }

    /// Where the next ACK will look beside the sender itself, for a runner that fetches ahead.
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

    /// The connection.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// The controller, to observe it.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    /// The slow-start threshold in force.
    pub fn ssthresh(&self) -> Bytes {
        self.decision.ssthresh
    }

    /// What limits the flow, over time.
    pub fn limits(&mut self) -> &mut LimitClock {
        &mut self.limits
    }

    /// Everything there is to send was acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.app.total() == Some(self.una)
    }
}
