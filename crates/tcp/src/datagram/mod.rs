//! A datagram flow: a sender and a receiver around a congestion controller, without
//! retransmissions.
//!
//! Packets are numbered, as with RTP or QUIC. The [receiver](DatagramReceiver) reports each packet
//! (RFC 8888), so nothing waits for a lost one. The sender frees a packet as soon as it is reported
//! or declared lost. There is no handshake and no advertised window.
//! - [`media`]: frames of an encoder, and their queue.
//! - [`receiver`]: arrivals and reports.
//! - [`report`]: the sender's processing of a report, and losses.
//! - [`transmit`]: frames and packets, until a limit stops the sender.
//! - [`episode`]: recovery episodes, as QUIC has them (RFC 9002 §7.3.2).

mod episode;
mod media;
mod receiver;
mod report;
mod transmit;
mod window;

use fullpipe_cc::common::window::linux_pacing_rate;
use fullpipe_cc::{
    Conn, Context, Controller, Decision, EcnCodepoint, Observer, RecoveryOwner, Signals, Snapshot,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use self::episode::Episode;
pub use self::media::Media;
pub use self::receiver::{Arrived, DatagramReceiver};
use self::window::SentPackets;
use crate::app::{App, Segmentation};
use crate::limit::{Limit, LimitClock};
use crate::pacer::Pacing;
use crate::prr::Prr;
use crate::rate::Flight;
use crate::rtt::RttEstimator;
use crate::wire::Segment;

/// The application of a datagram flow.
#[derive(Clone, Debug)]
pub enum DatagramApp {
    /// Frames of an encoder.
    Media(Box<Media>),
    /// Data without frames, in full packets. The application must not end or wait for
    /// acknowledgments.
    Data(App),
}

/// The parts and options of a [`DatagramSender`].
#[derive(Debug)]
pub struct DatagramConfig<C> {
    /// The congestion controller.
    pub controller: C,
    /// The component that sets the window during recovery.
    pub owner: RecoveryOwner,
    /// Signals that the controller asks for.
    pub needs: Signals,
    /// The application.
    pub app: DatagramApp,
    /// Largest payload of a packet.
    pub smss: Bytes,
    /// The initial window.
    pub initial_cwnd: Bytes,
    /// When to pace.
    pub pacing: Pacing,
    /// ECN codepoint of packets; without one, the controller decides.
    pub ecn: Option<EcnCodepoint>,
    /// Random stream of the controller.
    pub rng: Rng,
}

/// Something that a datagram sender hands to its runner.
#[derive(Clone, Copy, Debug)]
pub enum Emitted {
    /// The encoder has handed over a frame of this size.
    Frame(Time, Bytes),
    /// A packet leaves. Its `echo` is the time of its frame, like an RTP timestamp, and `push` marks
    /// the last packet of a frame, like RTP's marker bit.
    Packet(Segment),
}

/// A sender of datagrams.
#[derive(Debug)]
pub struct DatagramSender<C> {
    controller: C,
    owner: RecoveryOwner,
    rng: Rng,
    conn: Conn,
    decision: Decision,
    app: DatagramApp,
    segments: Segmentation,
    opened: Time,
    sent: SentPackets,
    flight: Flight,
    /// Number of the next packet when the window was last fully used.
    cwnd_limited_until: u64,
    rtt: RttEstimator,
    /// Longest time by which a packet arrived after a later one.
    reordering: Span,
    /// Time of the latest progress: an acknowledgment, or the first packet in flight.
    progress: Time,
    episode: Option<Episode>,
    prr: Option<Prr>,
    pace: Pace,
    ecn: Option<EcnCodepoint>,
    limits: LimitClock,
    /// The packets that a report newly acknowledges; `None` unless the controller asks for each.
    acked: Option<Vec<Snapshot>>,
}

/// The pacing gate: at least the time for a packet, or for a quantum, between two of them.
#[derive(Clone, Copy, Debug)]
struct Pace {
    mode: Pacing,
    rate: Option<Rate>,
    quantum: Bytes,
    next: Time,
    /// Bytes that left since `next` was computed.
    burst: Bytes,
}

impl Pace {
    fn is_open(&self, now: Time) -> bool {
        self.rate.is_none() || now >= self.next
    }

    fn on_sent(&mut self, now: Time, size: Bytes) {
        let Some(rate) = self.rate else {
            return;
        };
        self.burst += size;
        if self.burst >= self.quantum {
            self.next = now + rate.time_for(core::mem::take(&mut self.burst));
        }
    }
}

impl<C: Controller> DatagramSender<C> {
    /// Creates a sender that starts at `now`.
    pub fn new(config: DatagramConfig<C>, now: Time) -> DatagramSender<C> {
        let DatagramConfig {
            controller,
            owner,
            needs,
            app,
            smss,
            initial_cwnd,
            pacing,
            ecn,
            rng,
        } = config;
        let decision = controller.decision();
        let segments = match &app {
            DatagramApp::Media(_) => App::Unlimited.segments(smss),
            DatagramApp::Data(app) => app.segments(smss),
        };
        let mut limits = LimitClock::new(now);
        limits.set(now, Limit::Application);
        let mut sender = DatagramSender {
            controller,
            owner,
            rng,
            conn: Conn {
                initial_cwnd,
                ..Conn::new(now, smss, 1)
            },
            decision,
            app,
            segments,
            opened: now,
            sent: SentPackets::default(),
            flight: Flight::new(now),
            cwnd_limited_until: 0,
            rtt: RttEstimator::new(),
            reordering: Span::ZERO,
            progress: now,
            episode: None,
            prr: None,
            pace: Pace {
                mode: pacing,
                rate: None,
                quantum: Bytes::ZERO,
                next: now,
                burst: Bytes::ZERO,
            },
            ecn,
            limits,
            acked: needs.has(Signals::ACKED_EACH).then(Vec::new),
        };
        sender.decide();
        if let DatagramApp::Media(media) = &mut sender.app {
            media.begin_frame(decision.source_rate);
        }
        sender
    }

    /// Calls the controller once, with the current connection state.
    fn call<T>(
        &mut self,
        now: Time,
        observer: &mut dyn Observer,
        f: impl FnOnce(&mut C, &mut Context<'_>) -> T,
    ) -> T {
        self.conn.next_departure = self.pace.next.max(now);
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
    fn decide(&mut self) {
        self.decision = self.controller.decision();
        if self.decision.mark_app_limited {
            self.flight.mark_app_limited(&mut self.conn);
        }
        let Decision {
            ssthresh,
            pacing_rate,
            send_quantum,
            ..
        } = self.decision;
        self.pace.rate = match (self.pace.mode, pacing_rate) {
            (Pacing::Off, _) | (Pacing::Auto, None) => None,
            (_, Some(rate)) => Some(rate),
            (Pacing::On, None) => {
                linux_pacing_rate(self.cwnd(), self.conn.inflight, ssthresh, self.rtt.srtt)
            }
        };
        self.pace.quantum = send_quantum;
        self.conn.pace(self.pace.rate);
    }

    /// Returns the current congestion window.
    pub fn cwnd(&self) -> Bytes {
        self.prr.as_ref().map_or(self.decision.cwnd, |prr| prr.cwnd)
    }

    /// Returns the time at which to call [`on_timer`](DatagramSender::on_timer), if no report
    /// arrives first.
    pub fn timer_at(&self) -> Time {
        let wake = self.decision.wake_at.unwrap_or(Time::MAX);
        wake.min(self.timeout_at())
    }

    /// Returns the time at which to let the sender [transmit](DatagramSender::transmit) again: when
    /// the next frame comes out, more data is written, or the pacer allows the next packet.
    pub fn departure_at(&self) -> Time {
        let paced = match self.limits.current() {
            Limit::Pacing => self.pace.next,
            _ => Time::MAX,
        };
        let written = match (&self.app, self.limits.current()) {
            (DatagramApp::Media(media), _) => media.next_at(),
            (DatagramApp::Data(app), Limit::Application) => {
                app.ready_at(self.opened, self.sent.next(), self.segments)
            }
            (DatagramApp::Data(_), _) => Time::MAX,
        };
        paced.min(written)
    }

    /// Returns the state of the connection.
    pub fn conn(&self) -> &Conn {
        &self.conn
    }

    /// Returns the controller, for observation.
    pub fn controller(&self) -> &C {
        &self.controller
    }

    /// Returns the current slow-start threshold.
    pub fn ssthresh(&self) -> Bytes {
        self.decision.ssthresh
    }

    /// Returns the clock of the flow's limits.
    pub fn limits(&mut self) -> &mut LimitClock {
        &mut self.limits
    }
}

#[cfg(test)]
mod tests;
