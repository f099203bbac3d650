//! A download and the state of its server's socket: the fields of `ss`, at the end and along the
//! way.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Column, Values};
use fullpipe_cc::{Descriptor, Registry};
use fullpipe_scenario::Scenario;
use fullpipe_sim::{Simulation, Socket};
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Bytes, Span, Time};

/// Samples are half an RTT apart, or this fraction of the download's time so far, if that is more:
/// about fifty samples for each factor of e in time. Means weigh a sample by its time.
const PART: u64 = 50;

/// Indices of an algorithm's fields for which `ss` has a name.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    max_bw: Option<usize>,
    short_term: Option<usize>,
    min_rtt: Option<usize>,
    pacing_gain: Option<usize>,
    cwnd_gain: Option<usize>,
}

impl Fields {
    pub(crate) fn of(descriptor: &Descriptor) -> Fields {
        let at = |name: &str| {
            descriptor
                .fields
                .iter()
                .position(|field| field.name == name)
        };
        let max_bw = at("max_bw");
        // Only an algorithm with a bandwidth estimate is a BBR.
        let of_bbr = |name| max_bw.and(at(name));
        Fields {
            max_bw,
            short_term: of_bbr("bw_shortterm"),
            min_rtt: of_bbr("min_rtt"),
            pacing_gain: of_bbr("pacing_gain"),
            cwnd_gain: of_bbr("cwnd_gain"),
        }
    }

    /// Returns the fields `bbr:(…)` of `ss` for the first flow: bandwidth, RTT, both gains.
    fn bbr(&self, simulation: &mut Simulation) -> [f64; 4] {
        let mut values = Vec::new();
        simulation.controller_fields(0, &mut values);
        let value = |at: Option<usize>| at.map_or(f64::NAN, |at| values[at]);
        // tcp_bbr2.c bbr_bw: the bandwidth after losses, if they have reduced it.
        let bandwidth = match value(self.short_term) {
            short if short > 0.0 => value(self.max_bw).min(short),
            _ => value(self.max_bw),
        };
        [
            bandwidth,
            value(self.min_rtt),
            value(self.pacing_gain),
            value(self.cwnd_gain),
        ]
    }
}

/// Results of a download. Times are in seconds; unknown values are NaN.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Data packets sent, including those of other flows on the path: a measure of the work.
    pub(crate) packets: u64,
    /// Time of day of its start, as a fraction of a day.
    day: f64,
    /// Times from the start to the first and the last sample.
    first: f64,
    last: f64,
    samples: u64,
    done: bool,
    state: State,
    request_time: f64,
    course: Course,
    bbr: [f64; 4],
}

#[derive(Clone, Debug, Default)]
struct State {
    rto: f64,
    rtt: f64,
    rttvar: f64,
    minrtt: f64,
    cwnd: f64,
    ssthresh: f64,
    mss: u64,
    sent: u64,
    retransmitted: u64,
    bytes_sent: u64,
    acked: u64,
    pacing_rate: f64,
    delivery_rate: f64,
    delivered: u64,
    app_limited: bool,
    busy: f64,
    window_limited: f64,
    unacked: u64,
    lost: u64,
    sacked: u64,
    reordered: bool,
}

/// Aggregates over the samples with data in flight.
#[derive(Clone, Debug, Default)]
struct Course {
    samples: u64,
    weight: f64,
    rtt: f64,
    rtt_max: f64,
    cwnd: f64,
    unacked: f64,
    cwnd_max: u64,
    unacked_max: u64,
    lost_max: u64,
    rate: f64,
    rate_weight: f64,
    rate_max: f64,
    limited: u64,
}

/// Runs the first flow of a scenario until all its data is acknowledged, or until the scenario's
/// end. The pair of fractions is the time of day, and the place of the first sample in its
/// interval. Returns `None` if `stop` is set.
pub(crate) fn download(
    scenario: &Scenario,
    registry: &Registry,
    fields: &Fields,
    (day, phase): (f64, f64),
    stop: &AtomicBool,
) -> Option<Record> {
    let mut simulation = Simulation::new(scenario, registry, TraceLevel::Off)
        .unwrap_or_else(|error| panic!("the first path could be run, but this one can't: {error}"));
    simulation.without_summary();
    let mut record = Record {
        day,
        ..Record::default()
    };
    record.sample(&mut simulation, scenario, phase, stop)?;
    record.bbr = fields.bbr(&mut simulation);
    let rivals = (1..scenario.flows.len())
        .filter_map(|flow| simulation.socket(flow))
        .map(|flow| flow.info.sent);
    record.packets = record.state.sent + rivals.sum::<u64>();
    Some(record)
}

impl Record {
    /// Advances the simulation from sample to sample until the download is over; returns `None` if
    /// `stop` is set.
    fn sample(
        &mut self,
        simulation: &mut Simulation,
        scenario: &Scenario,
        phase: f64,
        stop: &AtomicBool,
    ) -> Option<()> {
        let step = scenario.rtt(&scenario.flows[0]) / 2;
        let mut last_rate = f64::NAN;
        let mut at = Time::ZERO + step.mul_f64(phase);
        let mut before = Time::ZERO;
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let over = simulation.advance_to(at);
            let socket = simulation.socket(0).expect("a download is TCP");
            if let Some(opened) = socket.info.opened {
                let now = simulation.now();
                if self.samples == 0 {
                    self.first = now.as_secs_f64();
                }
                self.samples += 1;
                if !socket.app_limited {
                    last_rate = socket
                        .delivery_rate
                        .map_or(last_rate, fullpipe_units::Rate::as_f64);
                }
                self.course.add(&socket, (now - before).as_secs_f64());
                self.last = now.as_secs_f64();
                if over || socket.done {
                    self.state =
                        State::of(&socket, now, opened, last_rate, scenario.flows[0].bytes);
                    self.done = socket.done;
                    let end = socket.last_byte.unwrap_or(now);
                    self.request_time = end.since(opened).as_secs_f64();
                    return Some(());
                }
            } else if over {
                return Some(());
            }
            before = simulation.now();
            at = before + step.max((before - Time::ZERO) / PART);
        }
    }
}

impl State {
    fn of(
        socket: &Socket,
        now: Time,
        opened: Time,
        delivery_rate: f64,
        total: Option<Bytes>,
    ) -> State {
        let (sent, retransmitted) = (socket.info.sent, socket.info.retransmitted);
        let mss = socket.smss.get();
        // The last segment may be short.
        let once = |bytes: u64| bytes.min(total.unwrap_or(Bytes::MAX).get());
        let end = if socket.done {
            socket.info.delivered_at
        } else {
            now
        };
        let segments = |bytes: Bytes| (bytes.get() / mss) as f64;
        let none = |bytes: Bytes| bytes.get() >= u64::MAX / 2;
        State {
            rto: socket.info.rto.as_secs_f64(),
            rtt: socket.rtt.0.as_secs_f64(),
            rttvar: socket.info.rttvar.as_secs_f64(),
            minrtt: if socket.rtt.1 == Span::MAX {
                f64::NAN
            } else {
                socket.rtt.1.as_secs_f64()
            },
            cwnd: segments(socket.cwnd),
            ssthresh: if none(socket.ssthresh) {
                f64::NAN
            } else {
                segments(socket.ssthresh)
            },
            mss,
            sent,
            retransmitted,
            bytes_sent: once((sent - retransmitted) * mss) + retransmitted * mss,
            acked: once(socket.info.acked.get()),
            pacing_rate: socket
                .pacing_rate
                .map_or(f64::NAN, fullpipe_units::Rate::as_f64),
            delivery_rate,
            delivered: socket.delivered.get() / mss,
            app_limited: socket.app_limited,
            busy: end.since(opened).as_secs_f64(),
            window_limited: socket.window_limited.as_secs_f64(),
            unacked: socket.info.unacked,
            lost: socket.info.lost,
            sacked: socket.info.sacked,
            reordered: socket.info.reordered,
        }
    }
}

impl Course {
    fn add(&mut self, socket: &Socket, weight: f64) {
        let rtt = socket.rtt.0.as_secs_f64();
        let cwnd = socket.cwnd.get() / socket.smss.get();
        self.rtt_max = self.rtt_max.max(rtt);
        self.cwnd_max = self.cwnd_max.max(cwnd);
        self.unacked_max = self.unacked_max.max(socket.info.unacked);
        self.lost_max = self.lost_max.max(socket.info.lost);
        self.limited += u64::from(socket.app_limited);
        let rate = socket
            .delivery_rate
            .filter(|_| !socket.app_limited)
            .map(fullpipe_units::Rate::as_f64);
        if socket.info.unacked > 0 {
            self.samples += 1;
            self.weight += weight;
            self.rtt += weight * rtt;
            self.cwnd += weight * cwnd as f64;
            self.unacked += weight * socket.info.unacked as f64;
            if let Some(rate) = rate {
                self.rate += weight * rate;
                self.rate_weight += weight;
            }
        }
        self.rate_max = self.rate_max.max(rate.unwrap_or(0.0));
    }
}

/// Value of a column for a record.
enum Value {
    Measure(fn(&Record) -> f64),
    Count(fn(&Record) -> u64),
}

use Value::{Count, Measure};

/// All columns, with the names used in a fleet's tables.
const COLUMNS: [(&str, Value); 43] = [
    ("day", Measure(|r| r.day)),
    ("first_s", Measure(|r| r.first)),
    ("last_s", Measure(|r| r.last)),
    ("samples", Count(|r| r.samples)),
    ("done", Count(|r| u64::from(r.done))),
    ("request_time_s", Measure(|r| r.request_time)),
    ("rto_s", Measure(|r| r.state.rto)),
    ("rtt_s", Measure(|r| r.state.rtt)),
    ("rttvar_s", Measure(|r| r.state.rttvar)),
    ("mss_bytes", Count(|r| r.state.mss)),
    ("cwnd_packets", Measure(|r| r.state.cwnd)),
    ("ssthresh_packets", Measure(|r| r.state.ssthresh)),
    ("bytes_sent", Count(|r| r.state.bytes_sent)),
    (
        "bytes_retrans",
        Count(|r| r.state.retransmitted * r.state.mss),
    ),
    ("bytes_acked", Count(|r| r.state.acked)),
    ("data_segs_out", Count(|r| r.state.sent)),
    ("bbr_bw_bps", Measure(|r| r.bbr[0])),
    ("bbr_mrtt_s", Measure(|r| r.bbr[1])),
    ("bbr_pacing_gain", Measure(|r| r.bbr[2])),
    ("bbr_cwnd_gain", Measure(|r| r.bbr[3])),
    ("pacing_rate_bps", Measure(|r| r.state.pacing_rate)),
    ("delivery_rate_bps", Measure(|r| r.state.delivery_rate)),
    ("delivered_packets", Count(|r| r.state.delivered)),
    ("app_limited", Count(|r| u64::from(r.state.app_limited))),
    ("busy_s", Measure(|r| r.state.busy)),
    ("rwnd_limited_s", Measure(|r| r.state.window_limited)),
    ("unacked_packets", Count(|r| r.state.unacked)),
    ("retrans_total_packets", Count(|r| r.state.retransmitted)),
    ("lost_packets", Count(|r| r.state.lost)),
    ("sacked_packets", Count(|r| r.state.sacked)),
    ("reord_seen", Count(|r| u64::from(r.state.reordered))),
    ("minrtt_s", Measure(|r| r.state.minrtt)),
    ("busy_samples", Count(|r| r.course.samples)),
    ("rtt_s_mean", Measure(|r| r.course.rtt / r.course.weight)),
    ("rtt_s_max", Measure(|r| r.course.rtt_max)),
    (
        "cwnd_packets_mean",
        Measure(|r| r.course.cwnd / r.course.weight),
    ),
    (
        "unacked_packets_mean",
        Measure(|r| r.course.unacked / r.course.weight),
    ),
    (
        "delivery_rate_bps_mean",
        Measure(|r| r.course.rate / r.course.rate_weight),
    ),
    ("delivery_rate_bps_max", Measure(|r| r.course.rate_max)),
    ("cwnd_packets_max", Count(|r| r.course.cwnd_max)),
    ("unacked_packets_max", Count(|r| r.course.unacked_max)),
    ("lost_packets_max", Count(|r| r.course.lost_max)),
    ("app_limited_samples", Count(|r| r.course.limited)),
];

/// Returns the columns with one row per record.
pub(crate) fn columns(records: &[Record]) -> Vec<Column> {
    let all = COLUMNS.iter().map(|(name, value)| Column {
        name: (*name).to_owned(),
        values: match value {
            Measure(of) => Values::Measures(records.iter().map(of).collect()),
            Count(of) => Values::Counts(records.iter().map(of).collect()),
        },
    });
    all.collect()
}
