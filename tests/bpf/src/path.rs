//! A path and a transport that make the calls of the kernel: a bottleneck with a drop-tail queue,
//! random loss, an application that pauses, and a receiver that collects ACKs. Lost packets are not
//! sent again: the flow has endless new data.

use std::collections::VecDeque;

use fullpipe_units::Rng;

use crate::Twin;
use crate::call::{CWR, Call, Kind, LOSS, OPEN, RECOVERY, flags};

/// Number of later packets that must arrive before a missing one counts as lost.
const REORDERING: u64 = 3;
const MSS: u32 = 1_000;
/// The kernel's smallest retransmission timeout, us.
const MIN_RTO: u64 = 200_000;

/// The line and its traffic. Times are in us.
#[derive(Clone, Debug)]
pub struct Line {
    /// Time that a packet occupies the bottleneck, ns.
    pub transmission: u64,
    /// Round-trip time without a queue.
    pub delay: u64,
    /// Queue limit, in packets.
    pub limit: u64,
    /// Probability that a packet is lost before the bottleneck.
    pub loss: f64,
    /// The receiver sends ACKs at multiples of this time; 0: for each packet.
    pub ack_every: u64,
    /// Time of sending and of pausing; 0: the application always sends.
    pub on_off: (u64, u64),
    /// Packets that find a longer queue are marked.
    pub mark_above: u64,
    /// Begin and end of an outage, in which all packets are lost.
    pub outage: (u64, u64),
    /// Share of the episodes that prove spurious.
    pub spurious: f64,
    /// Seed of the random losses.
    pub seed: u64,
}

impl Line {
    /// A line with `mbps` Mbit/s, a round-trip time of `delay` us, and a queue of `limit` packets.
    pub fn new(mbps: f64, delay: u64, limit: u64) -> Line {
        Line {
            transmission: (f64::from(MSS) * 8_000.0 / mbps) as u64,
            delay,
            limit,
            loss: 0.0,
            ack_every: 0,
            on_off: (0, 0),
            mark_above: u64::MAX,
            outage: (0, 0),
            spurious: 0.0,
            seed: 1,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    at: u64, // ns
    first_sent: u64,
    delivered_at: u64,
    delivered: u32,
    delivered_ce: u32,
    lost: u32,
    inflight: u32,
    app_limited: bool,
    marked: bool,
    /// Arrival of its ACK, ns; `None` for a lost packet.
    acked_at: Option<u64>,
}

/// A flow on a line.
#[derive(Debug)]
pub struct Path {
    line: Line,
    rng: Rng,
    /// ns
    now: u64,
    link_free: u64,
    next_departure: u64,
    flight: VecDeque<Sent>,
    next_number: u64,
    first_sent: u64,
    delivered_at: u64,
    delivered: u32,
    delivered_ce: u32,
    lost: u32,
    inflight: u32,
    srtt: u64,
    min_rtt: u32,
    /// `app_limited` of struct tcp_sock: the limit lasts until this number is delivered; 0: none.
    app_limited: u32,
    cwnd_limited: bool,
    ca_state: u8,
    recovery_point: u64,
    prior_ssthresh: u32,
    /// The kernel runs PRR: the algorithm sees no ACKs in recovery.
    prr: bool,
    timer: u64,
    told_idle: bool,
}

impl Path {
    /// Begins a flow.
    pub fn new(line: Line, prr: bool) -> Path {
        Path {
            rng: Rng::stream(line.seed, "line", "loss"),
            line,
            now: 1_000_000_000,
            link_free: 0,
            next_departure: 0,
            flight: VecDeque::new(),
            next_number: 0,
            first_sent: 0,
            delivered_at: 0,
            delivered: 1,
            delivered_ce: 0,
            lost: 0,
            inflight: 0,
            srtt: 0,
            min_rtt: u32::MAX,
            app_limited: 0,
            cwnd_limited: true,
            ca_state: OPEN,
            recovery_point: 0,
            prior_ssthresh: 0,
            prr,
            timer: u64::MAX,
            told_idle: false,
        }
    }

    /// Runs for `seconds`.
    pub fn run(&mut self, twin: &mut Twin, seconds: f64) {
        let end = self.now + (seconds * 1e9) as u64;
        self.srtt = self.line.delay;
        self.min_rtt = self.line.delay as u32;
        twin.run(self.call(Kind::Begin));
        while self.now < end {
            let may_send = self.inflight < twin.cwnd;
            let send_at = if may_send {
                self.application_at(self.now.max(self.next_departure))
            } else {
                u64::MAX
            };
            let ack_at = self.next_ack();
            if send_at < ack_at && send_at < self.timer {
                self.now = send_at;
                self.send(twin);
            } else if ack_at <= self.timer {
                self.now = ack_at;
                self.receive(twin);
            } else {
                self.now = self.timer;
                self.time_out(twin);
            }
            // The application has less to send than the window allows.
            if self.inflight < twin.cwnd && self.application_at(self.now) > self.now {
                self.app_limited = (self.delivered + self.inflight).max(1);
                self.cwnd_limited = false;
            } else if self.inflight >= twin.cwnd {
                self.cwnd_limited = true;
            }
        }
    }

    /// Returns the time from which the application has data, not before `at`.
    fn application_at(&self, at: u64) -> u64 {
        let (on, off) = self.line.on_off;
        if off == 0 {
            return at;
        }
        let period = (on + off) * 1_000;
        if at % period < on * 1_000 {
            at
        } else {
            at / period * period + period
        }
    }

    fn next_ack(&self) -> u64 {
        self.flight
            .iter()
            .find_map(|sent| sent.acked_at)
            .map_or(u64::MAX, |at| at.max(self.now))
    }

    fn send(&mut self, twin: &mut Twin) {
        if self.inflight == 0 {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
            if self.app_limited > 0 && self.told_idle {
                let mut call = self.call(Kind::Restart);
                call.flags |= flags::APP_LIMITED;
                twin.run(call);
            }
            self.told_idle = true;
        }
        self.inflight += 1;
        let (begin, until) = self.line.outage;
        let out = (begin * 1_000..until * 1_000).contains(&(self.now - 1_000_000_000));
        let queue = self.link_free.saturating_sub(self.now) / self.line.transmission;
        let lost = out || self.rng.chance(self.line.loss) || queue > self.line.limit;
        let acked_at = (!lost).then(|| {
            self.link_free = self.link_free.max(self.now) + self.line.transmission;
            let arrival = self.link_free + self.line.delay * 1_000;
            match self.line.ack_every {
                0 => arrival,
                every => arrival.div_ceil(every * 1_000) * every * 1_000,
            }
        });
        self.flight.push_back(Sent {
            number: self.next_number,
            at: self.now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            lost: self.lost,
            inflight: self.inflight,
            app_limited: self.app_limited > 0,
            marked: queue > self.line.mark_above,
            acked_at,
        });
        self.next_number += 1;
        if self.timer == u64::MAX {
            self.arm_timer();
        }
        let gap = match twin.pacing_rate {
            0 | u64::MAX => 0,
            rate => u64::from(MSS) * 1_000_000_000 / rate,
        };
        self.next_departure = self.next_departure.max(self.now) + gap;
    }

    fn arm_timer(&mut self) {
        self.timer = self.now + (self.srtt * 3).max(MIN_RTO) * 1_000;
    }

    fn receive(&mut self, twin: &mut Twin) {
        let prior_inflight = self.inflight;
        let mut newest: Option<Sent> = None;
        let (mut acked, mut marked) = (0, 0);
        while let Some(at) = self
            .flight
            .iter()
            .position(|sent| sent.acked_at.is_some_and(|at| at <= self.now))
        {
            let sent = self.flight.remove(at).expect("just found");
            acked += 1;
            marked += u32::from(sent.marked);
            newest = Some(sent);
        }
        let newest = newest.expect("an ACK is due");
        self.inflight -= acked;
        self.delivered += acked;
        self.delivered_ce += marked;
        let rtt = ((self.now - newest.at) / 1_000) as u32;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = (self.srtt * 7 + u64::from(rtt)) / 8;
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if self.prr {
            let mut call = self.call(Kind::Rtt);
            call.rtt = rtt;
            twin.run(call);
        }
        let losses = self.detect_losses(newest.number);
        if losses > 0 && self.ca_state < RECOVERY {
            self.enter(twin, RECOVERY);
        } else if marked > 0 && self.ca_state == OPEN {
            self.enter(twin, CWR);
        } else if self.ca_state != OPEN && newest.number >= self.recovery_point && losses == 0 {
            self.leave(twin);
        }

        let snd = newest.at - newest.first_sent;
        let interval = snd.max(self.now - newest.delivered_at) / 1_000;
        self.first_sent = newest.at;
        self.delivered_at = self.now;
        let mut call = self.call(Kind::Ack);
        call.rtt = rtt;
        if interval >= u64::from(self.min_rtt) {
            call.interval = interval as u32;
            call.sample_delivered = self.delivered - newest.delivered;
        }
        call.sample_delivered_ce = self.delivered_ce - newest.delivered_ce;
        call.prior_delivered = newest.delivered;
        call.acked = acked;
        call.losses = losses;
        call.prior_inflight = prior_inflight;
        call.tx_inflight = newest.inflight;
        call.tx_lost = newest.lost;
        call.flags |= if newest.app_limited {
            flags::APP_LIMITED
        } else {
            0
        };
        if self.prr && (self.ca_state == RECOVERY || self.ca_state == CWR) {
            twin.reference_only(&call);
        } else {
            twin.run(call);
        }
        if self.inflight == 0 && self.flight.is_empty() {
            self.timer = u64::MAX;
        } else {
            self.arm_timer();
        }
    }

    fn detect_losses(&mut self, newest: u64) -> u32 {
        let mut losses = 0;
        while let Some(oldest) = self.flight.front()
            && oldest.acked_at.is_none()
            && oldest.number + REORDERING <= newest
        {
            self.flight.pop_front();
            losses += 1;
        }
        self.inflight -= losses;
        self.lost += losses;
        losses
    }

    fn enter(&mut self, twin: &mut Twin, state: u8) {
        let mut call = self.call(Kind::Ssthresh);
        if state == CWR {
            call.flags |= flags::BY_MARK;
        }
        if self.ca_state < CWR {
            self.recovery_point = self.next_number;
            self.prior_ssthresh = twin.ssthresh;
            twin.run(call);
            if self.prr {
                twin.reduce();
            }
        }
        self.set_state(twin, state);
    }

    fn leave(&mut self, twin: &mut Twin) {
        if self.ca_state != CWR && self.rng.chance(self.line.spurious) {
            let call = self.call(Kind::Undo);
            twin.run(call);
            // tcp_undo_cwnd_reduction.
            twin.ssthresh = twin.ssthresh.max(self.prior_ssthresh);
        } else if self.prr && self.ca_state != LOSS {
            twin.reduce();
        }
        self.set_state(twin, OPEN);
    }

    fn set_state(&mut self, twin: &mut Twin, state: u8) {
        let mut call = self.call(Kind::State);
        call.ca_state = state;
        twin.run(call);
        self.ca_state = state;
    }

    fn time_out(&mut self, twin: &mut Twin) {
        self.lost += self.inflight;
        self.inflight = 0;
        self.flight.clear();
        let call = self.call(Kind::Ssthresh);
        if self.ca_state != LOSS {
            self.prior_ssthresh = twin.ssthresh;
            twin.run(call);
        }
        // tcp_enter_loss.
        twin.cwnd = 1;
        self.recovery_point = self.next_number;
        self.set_state(twin, LOSS);
        self.timer = u64::MAX;
        self.next_departure = self.now;
    }

    fn call(&self, kind: Kind) -> Call {
        Call {
            kind,
            now: self.now / 1_000,
            ca_state: self.ca_state,
            flags: flags::ECN
                | if self.cwnd_limited {
                    flags::CWND_LIMITED
                } else {
                    0
                },
            random: 1,
            mss: MSS,
            inflight: self.inflight,
            delivered: self.delivered,
            delivered_ce: self.delivered_ce,
            lost: self.lost,
            srtt: self.srtt as u32,
            min_rtt: self.min_rtt,
            departs_in: self.next_departure.saturating_sub(self.now).min(1 << 30) as u32,
            rtt: u32::MAX,
            ..Call::default()
        }
    }
}
