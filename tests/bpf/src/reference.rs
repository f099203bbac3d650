//! A controller of fullpipe-cc that takes the kernel's calls.

use std::collections::BTreeMap;

use fullpipe_cc::{
    Ack, AnyController, CaState, Config, Conn, Context, Controller, Decision, EcnCodepoint,
    EcnCounts, LossCause, Lost, NoObserver, ParamValue, RateSample, Recovery, RecoveryCause,
    RecoveryOwner, Registry, RttSample, Shared, Snapshot,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use crate::call::{Call, Kind, LOSS, OPEN, RECOVERY, flags};

/// Largest loss in one packet, since `Snapshot::size` has 16 bits.
const MOST_BYTES: u32 = u16::MAX as u32;

/// Returns the rate, rounded up to whole bit/s, as Linux rounds up. Where an epoch of ACK aggregation
/// and a rate sample begin together, its rate times its time must not be less than its delivery.
fn rounded_up(delivered: Bytes, interval: Span) -> Rate {
    Rate::from_bps(Rate::from_delivery(delivered, interval).as_bps() + 1)
}

/// The controller, with what the contract reports later than the kernel does.
#[derive(Debug)]
pub struct Reference {
    cc: AnyController,
    conn: Conn,
    rng: Rng,
    owner: RecoveryOwner,
    mss: u64,
    /// Counter of delivered packets when the connection began.
    first_delivered: u32,
    first_lost: u32,
    lost: u32,
    delivered_ce: u32,
    /// `ssthresh` was called since the last `set_state`.
    reduced: bool,
    by_mark: bool,
    /// The contract reports the begin of an episode after its losses, and its end after the ACK.
    entering: Option<RecoveryCause>,
    leaving: bool,
    /// A mark's episode ends because a loss begins one.
    handing_over: bool,
    in_episode: bool,
    /// Packets sent with `delivered` in this range were sent in ProbeRTT.
    limited: Option<(u32, u32)>,
    now: Time,
    /// Of `pkts_acked`, for the ACK that follows.
    rtt: u32,
}

impl Reference {
    /// Builds the algorithm `name` with these parameters, for the connection that `begin` begins.
    pub fn new(name: &str, params: &BTreeMap<String, ParamValue>, begin: &Call) -> Reference {
        let descriptor = Registry::default().get(name).expect("a built-in algorithm");
        let smss = Bytes::new(u64::from(begin.mss));
        let config = Config::new(descriptor, params, smss, smss * u64::from(begin.cwnd))
            .unwrap_or_else(|error| panic!("{error:?}"));
        let now = Time::from_nanos(begin.now * 1_000);
        let mut conn = Conn::new(now, smss, 3);
        conn.initial_cwnd = smss * u64::from(begin.cwnd);
        let mut reference = Reference {
            cc: (descriptor.build)(&config, &mut Shared::default()),
            conn,
            rng: Rng::stream(1, "flow", "cc"),
            owner: descriptor.recovery,
            mss: u64::from(begin.mss),
            first_delivered: begin.delivered,
            first_lost: begin.lost,
            lost: begin.lost,
            delivered_ce: begin.delivered_ce,
            reduced: false,
            by_mark: false,
            entering: None,
            leaving: false,
            handing_over: false,
            in_episode: false,
            limited: None,
            now,
            rtt: u32::MAX,
        };
        reference.observe(begin);
        let packet = reference.packet(begin);
        if begin.srtt > 0 {
            reference.call(|cc, cx| {
                cc.on_sent(cx, &packet);
            });
        }
        reference
    }

    /// Returns the decision.
    pub fn decision(&self) -> Decision {
        self.cc.decision()
    }

    /// Returns the window, in segments.
    pub fn cwnd(&self) -> f64 {
        self.cc.decision().cwnd.as_f64() / self.mss as f64
    }

    /// Returns a trace field.
    pub fn field(&self, name: &str, algorithm: &str) -> f64 {
        let descriptor = Registry::default()
            .get(algorithm)
            .expect("a built-in algorithm");
        let mut row = Vec::new();
        self.cc.observe(&mut row);
        row[descriptor
            .fields
            .iter()
            .position(|field| field.name == name)
            .expect("a declared field")]
    }

    /// Makes the calls of the contract that correspond to the kernel's.
    pub fn run(&mut self, call: &Call) {
        self.observe(call);
        match call.kind {
            // The contract has the RTT in the ACK.
            Kind::Begin => {}
            Kind::Rtt => self.rtt = call.rtt,
            Kind::Ssthresh => {
                self.reduced = true;
                self.by_mark = call.has(flags::BY_MARK);
                if self.owner == RecoveryOwner::Prr {
                    self.tell_losses(call, true);
                }
            }
            Kind::State => self.new_state(call),
            Kind::Undo => {
                self.enter();
                self.conn.state = CaState::Open;
                self.recovery(Recovery::Spurious);
                (self.leaving, self.in_episode) = (false, false);
            }
            Kind::Restart => {
                self.conn.app_limited = call.has(flags::APP_LIMITED);
                self.conn.inflight = self.volume(1);
                let packet = self.packet(call);
                self.call(|cc, cx| {
                    cc.on_sent(cx, &packet);
                });
            }
            Kind::Ack => self.ack(call),
        }
    }

    fn new_state(&mut self, call: &Call) {
        let cause = if self.by_mark {
            RecoveryCause::Ecn
        } else {
            RecoveryCause::Loss
        };
        let reduced = core::mem::take(&mut self.reduced);
        match call.ca_state {
            LOSS => {
                self.conn.state = CaState::Loss;
                self.tell_losses(call, true);
                self.recovery(Recovery::Timeout { again: !reduced });
                (self.leaving, self.in_episode) = (false, true);
                self.entering = None;
            }
            state if state > 1 => {
                // A loss in the episode of a mark: the kernel calls no ssthresh.
                if !reduced
                    && state == RECOVERY
                    && self.conn.state == CaState::Reduced
                    && self.owner == RecoveryOwner::Own
                {
                    self.handing_over = true;
                    self.entering = Some(RecoveryCause::Loss);
                }
                self.conn.state = if state == RECOVERY {
                    CaState::Recovery
                } else {
                    CaState::Reduced
                };
                (self.leaving, self.in_episode) = (false, true);
                if reduced {
                    self.entering = Some(cause);
                }
                if self.owner == RecoveryOwner::Prr {
                    self.enter();
                }
            }
            _ => self.leaving = self.in_episode,
        }
    }

    fn ack(&mut self, call: &Call) {
        self.tell_losses(call, false);
        self.enter();
        let mss = self.mss;
        let rtt = call.rtt.min(core::mem::replace(&mut self.rtt, u32::MAX));
        let limited = self.is_limited(call);
        let marked = self.volume(call.delivered_ce.wrapping_sub(self.delivered_ce));
        self.delivered_ce = call.delivered_ce;
        let delivered = self.volume(call.sample_delivered);
        let interval = Span::from_micros(u64::from(call.interval));
        let ack = Ack {
            newest: Snapshot {
                app_limited: limited,
                ..self.packet(call)
            },
            newly_acked: self.volume(call.acked),
            cumulative: self.volume(call.acked),
            newly_lost: self.volume(call.losses),
            prior_inflight: self.volume(call.prior_inflight),
            rtt: (rtt != u32::MAX).then(|| RttSample {
                raw: Span::from_micros(u64::from(rtt)),
                local: Span::ZERO,
                remote: Span::ZERO,
            }),
            one_way: None,
            rate: RateSample {
                rate: (call.interval > 0).then(|| rounded_up(delivered, interval)),
                interval,
                delivered,
                lost: self.volume(call.lost.wrapping_sub(call.tx_lost)),
                delivered_ce: self.volume(call.sample_delivered_ce),
                app_limited: limited,
            },
            ecn: EcnCounts {
                ce_packets: marked.get() / mss,
                ce_bytes: Some(marked),
            },
            ece: marked > Bytes::ZERO,
            feedback: None,
            tlp_repair: false,
        };
        self.call(|cc, cx| cc.on_ack(cx, &ack));
        if core::mem::take(&mut self.leaving) {
            self.conn.state = CaState::Open;
            self.in_episode = false;
            self.recovery(Recovery::Exit);
        }
        if self.cc.decision().mark_app_limited {
            let from = match self.limited {
                Some((from, until)) if until.wrapping_sub(call.delivered) as i32 >= 0 => from,
                _ => call.delivered,
            };
            self.limited = Some((from, call.delivered.wrapping_add(call.inflight)));
        }
    }

    fn is_limited(&self, call: &Call) -> bool {
        let in_probe_rtt = self.limited.is_some_and(|(from, until)| {
            call.prior_delivered.wrapping_sub(from) as i32 >= 0
                && until.wrapping_sub(call.prior_delivered) as i32 >= 0
        });
        in_probe_rtt || call.has(flags::APP_LIMITED)
    }

    fn enter(&mut self) {
        if core::mem::take(&mut self.handing_over) {
            self.recovery(Recovery::Exit);
        }
        if let Some(cause) = self.entering.take() {
            self.recovery(Recovery::Enter(cause));
        }
    }

    /// Reports new losses: those of a timer packet by packet, those of an ACK as one packet.
    fn tell_losses(&mut self, call: &Call, by_timer: bool) {
        let count = call.lost.wrapping_sub(self.lost);
        self.lost = call.lost;
        if by_timer {
            for since in 1..=count {
                self.tell_loss(call, call.inflight + count, since, 1);
            }
            return;
        }
        let most = (MOST_BYTES / call.mss).max(1);
        let mut left = count;
        while left > 0 {
            let size = left.min(most);
            left -= size;
            let since = call.lost.wrapping_sub(call.tx_lost);
            self.tell_loss(call, call.tx_inflight, since, size);
        }
    }

    fn tell_loss(&mut self, call: &Call, inflight: u32, since: u32, size: u32) {
        let by_timer = call.kind != Kind::Ack;
        let lost = Lost {
            packet: Snapshot {
                inflight: self.volume(inflight),
                size: (u64::from(size) * self.mss) as u16,
                app_limited: !by_timer && self.is_limited(call),
                ..self.packet(call)
            },
            lost_since_sent: self.volume(since),
            new_range: true,
            cause: if by_timer {
                LossCause::Rto
            } else {
                LossCause::Rack
            },
        };
        self.call(|cc, cx| cc.on_lost(cx, &lost));
    }

    /// Takes over the state of the connection.
    fn observe(&mut self, call: &Call) {
        self.now = Time::from_nanos(call.now * 1_000);
        let since = |counter: u32, first: u32| {
            Bytes::new(u64::from(counter.wrapping_sub(first)) * self.mss)
        };
        self.conn.inflight = self.volume(call.inflight);
        self.conn.delivered = since(call.delivered, self.first_delivered);
        self.conn.lost = since(call.lost, self.first_lost);
        self.conn.delivered_ce = self.volume(call.delivered_ce);
        self.conn.srtt = Span::from_micros(u64::from(call.srtt));
        self.conn.min_rtt = if call.min_rtt == u32::MAX {
            Span::MAX
        } else {
            Span::from_micros(u64::from(call.min_rtt))
        };
        self.conn.cwnd_limited = call.has(flags::CWND_LIMITED);
        self.conn.next_departure = self.now + Span::from_nanos(u64::from(call.departs_in));
        if call.kind == Kind::Begin && call.ca_state == OPEN {
            self.conn.state = CaState::Open;
        }
    }

    fn packet(&self, call: &Call) -> Snapshot {
        Snapshot {
            sent: self.now,
            first_sent: self.now,
            delivered_at: self.now,
            // Zero in an ACK that acknowledges nothing new.
            delivered: self.volume(match call.prior_delivered {
                0 => 0,
                delivered => delivered.wrapping_sub(self.first_delivered),
            }),
            delivered_ce: Bytes::ZERO,
            lost: self.volume(call.tx_lost.wrapping_sub(self.first_lost)),
            inflight: self.volume(if call.kind == Kind::Ack {
                call.tx_inflight
            } else {
                1
            }),
            size: self.mss as u16,
            app_limited: false,
            ecn: EcnCodepoint::NotEct,
            retransmit: false,
        }
    }

    fn volume(&self, segments: u32) -> Bytes {
        Bytes::new(u64::from(segments) * self.mss)
    }

    fn recovery(&mut self, change: Recovery) {
        self.call(|cc, cx| cc.on_recovery(cx, change));
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut AnyController, &mut Context<'_>) -> T) -> T {
        let mut cx = Context {
            now: self.now,
            conn: &self.conn,
            rng: &mut self.rng,
            observer: &mut NoObserver,
        };
        call(&mut self.cc, &mut cx)
    }
}
