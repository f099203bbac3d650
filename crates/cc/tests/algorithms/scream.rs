//! SCReAMv2: the rules and numbers of draft-ietf-ccwg-rfc8298bis-screamv2-01, worked by hand.

use std::collections::BTreeMap;

use fullpipe_cc::{
    Ack, Config, Conn, Context, Controller, EcnCodepoint, EcnCounts, Frame, LossCause, Lost,
    MediaSource, NoObserver, ParamValue, RateSample, Recovery, Registry, RttSample, Snapshot,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::driver::observed;

const MS: fn(u64) -> Span = Span::from_millis;
/// Size of a data unit: the draft's MSS.
const MSS: u64 = 1_000;

/// A flow of packets of 1000 bytes, whose delays the test sets.
struct Flow {
    cc: fullpipe_cc::AnyController,
    fields: Vec<&'static str>,
    conn: Conn,
    now: Time,
    rng: Rng,
    /// Snapshots of the packets in flight.
    sent: std::collections::VecDeque<Snapshot>,
    /// Bytes sent so far.
    number: u64,
}

impl Flow {
    fn new(rtt: Span, max: Rate, params: &[(&str, ParamValue)]) -> Flow {
        let descriptor = Registry::default().get("scream").expect("it is built in");
        let given: BTreeMap<String, ParamValue> = params
            .iter()
            .map(|(key, value)| ((*key).into(), value.clone()))
            .collect();
        let smss = Bytes::new(MSS);
        let mut config = Config::new(descriptor, &given, smss, smss * 10).expect("declared");
        config.source = Some(MediaSource {
            min: Rate::from_bps(100_000),
            max,
            frame_period: MS(20),
        });
        Flow {
            cc: (descriptor.build)(&config, &mut fullpipe_cc::Shared::default()),
            fields: descriptor.fields.iter().map(|field| field.name).collect(),
            conn: Conn {
                srtt: rtt,
                min_rtt: rtt,
                ..Conn::new(Time::ZERO, smss, 1)
            },
            now: Time::ZERO + rtt,
            rng: Rng::stream(1, "scream", "test"),
            sent: std::collections::VecDeque::new(),
            number: 0,
        }
    }

    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut fullpipe_cc::AnyController, &mut Context<'_>) -> T,
    ) -> T {
        let mut cx = Context {
            now: self.now,
            conn: &self.conn,
            rng: &mut self.rng,
            observer: &mut NoObserver,
        };
        call(&mut self.cc, &mut cx)
    }

    fn field(&self, name: &str) -> f64 {
        observed(&self.cc, &self.fields, name)
    }

    fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            self.number += MSS;
            let packet = Snapshot {
                sent: self.now,
                first_sent: self.now,
                delivered_at: self.now,
                delivered: Bytes::ZERO,
                delivered_ce: Bytes::ZERO,
                lost: Bytes::ZERO,
                inflight: Bytes::new(self.number),
                size: MSS as u16,
                app_limited: false,
                ecn: EcnCodepoint::NotEct,
                retransmit: false,
            };
            self.sent.push_back(packet);
            self.call(|cc, cx| cc.on_sent(cx, &packet));
        }
    }

    /// Makes a report of the oldest `packets` in flight, `marked` of them with a mark, that arrived
    /// after a one-way delay of `delay`.
    fn report(&mut self, packets: u64, marked: u64, delay: Span) {
        let mut newest = None;
        for _ in 0..packets {
            let packet = self.sent.pop_front().expect("it was sent");
            self.call(|cc, cx| cc.on_acked(cx, &packet));
            newest = Some(packet);
        }
        let ack = Ack {
            newest: newest.expect("a packet"),
            newly_acked: Bytes::new(MSS * packets),
            cumulative: Bytes::new(MSS * packets),
            newly_lost: Bytes::ZERO,
            prior_inflight: Bytes::new(MSS),
            rtt: Some(RttSample {
                raw: self.conn.srtt,
                local: Span::ZERO,
                remote: Span::ZERO,
            }),
            one_way: Some(delay),
            rate: RateSample {
                rate: None,
                interval: self.conn.srtt,
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                delivered_ce: Bytes::ZERO,
                app_limited: false,
            },
            ecn: EcnCounts {
                ce_packets: marked,
                ce_bytes: (marked > 0).then(|| Bytes::new(MSS * marked)),
            },
            ece: marked > 0,
            feedback: None,
            tlp_repair: false,
        };
        self.call(|cc, cx| cc.on_ack(cx, &ack));
    }

    /// Sends and reports 100 packets in each of `rounds` intervals of 50 ms, without a queue.
    fn run(&mut self, rounds: u32) {
        for _ in 0..rounds {
            self.round(100);
        }
    }

    fn round(&mut self, packets: u64) {
        self.send(packets);
        self.now += MS(50);
        self.report(packets, 0, MS(20));
    }

    fn lose(&mut self) {
        let packet = self.sent.pop_front().expect("it was sent");
        let lost = Lost {
            packet,
            lost_since_sent: Bytes::new(MSS),
            new_range: true,
            cause: LossCause::Rack,
        };
        self.call(|cc, cx| cc.on_lost(cx, &lost));
    }
}

#[track_caller]
fn close(value: f64, expected: f64) {
    let error = (value - expected).abs() / expected.abs().max(1e-9);
    assert!(error < 1e-6, "{value} instead of {expected}");
}

/// §4.2.2.2: the first packet of two, at 50 ms: 1000 B · MSS/ref_wnd · (1 + 0.02 · 3) = 353.3 B.
/// §4.4: 8 · 3353.3 B / 50 ms · (1 − (1000/3353.3 − 0.1)) · 1000/1020 / 1.2. §4.3: three windows in
/// flight, and 1.5 times the rate for pacing.
#[test]
fn the_target_bitrate_follows_the_reference_window() {
    let mut flow = Flow::new(MS(50), Rate::from_mbps(100), &[]);
    assert_eq!(flow.field("ref_wnd"), 3_000.0, "MIN_REF_WND");
    assert_eq!(
        flow.field("target_bitrate"),
        100_000.0,
        "TARGET_BITRATE_MIN"
    );
    flow.send(2);
    flow.now += MS(50);
    flow.report(1, 0, MS(20));
    let ref_wnd = 3_000.0 + 1_000.0 / 3.0 * 1.06;
    close(flow.field("ref_wnd"), ref_wnd);
    let target = 8.0 * ref_wnd / 0.05 * (1.1 - 1_000.0 / ref_wnd) * (1_000.0 / 1_020.0) / 1.2;
    close(flow.field("target_bitrate"), target);
    let decision = flow.cc.decision();
    assert_eq!(decision.cwnd, Bytes::from_f64(3.0 * ref_wnd));
    assert_eq!(decision.source_rate, Some(Rate::from_bps_f64(target)));
    assert_eq!(decision.pacing_rate, Some(Rate::from_bps_f64(1.5 * target)));
}

/// §4.2.2.2: below VIRTUAL_RTT the growth is s_rtt/VIRTUAL_RTT of it, here 10/25.
#[test]
fn a_short_rtt_grows_as_slowly_as_the_virtual_one() {
    let mut flow = Flow::new(MS(10), Rate::from_mbps(100), &[]);
    flow.send(2);
    flow.now += MS(10);
    flow.report(1, 0, MS(5));
    close(flow.field("ref_wnd"), 3_000.0 + 1_000.0 / 3.0 * 1.06 * 0.4);
}

/// §4.2.2.2: at most MSS + 1.5 · max_bytes_in_flight.
#[test]
fn the_window_does_not_grow_far_above_the_data_in_flight() {
    let mut flow = Flow::new(MS(50), Rate::from_mbps(100), &[]);
    for _ in 0..50 {
        flow.send(4);
        flow.now += MS(50);
        flow.report(4, 0, MS(20));
    }
    let ref_wnd = flow.field("ref_wnd");
    assert!((6_000.0..=7_000.0).contains(&ref_wnd), "{ref_wnd}");
}

/// §4.2.2.2: no growth once the target bitrate is TARGET_BITRATE_MAX. §4.3.2: pacing is then four
/// times faster.
#[test]
fn growth_ends_at_the_maximum_bitrate_and_pacing_relaxes() {
    let max = Rate::from_mbps(1);
    let mut flow = Flow::new(MS(50), max, &[]);
    flow.run(20);
    let before = flow.field("ref_wnd");
    flow.run(20);
    assert_eq!(flow.field("ref_wnd"), before);
    assert_eq!(flow.field("target_bitrate"), 1e6);
    let pacing = flow.cc.decision().pacing_rate;
    assert_eq!(pacing, Some(Rate::from_bps(6_000_000)));
}

/// §4.2.2.1: BETA_LOSS once per min(VIRTUAL_RTT, s_rtt) = 25 ms; the inflection point is the
/// window before.
#[test]
fn a_loss_reduces_the_window_to_seven_tenths_at_most_every_25_ms() {
    let mut flow = Flow::new(MS(50), Rate::from_mbps(100), &[]);
    flow.run(40);
    let before = flow.field("ref_wnd");
    flow.send(10);
    flow.lose();
    let again = flow.sent[0];
    flow.now += MS(30);
    // A report of a packet below the highest one acknowledges no further bytes.
    flow.sent.push_front(Snapshot {
        inflight: Bytes::ZERO,
        ..again
    });
    flow.report(1, 0, MS(20));
    close(flow.field("ref_wnd"), 0.7 * before);
    close(flow.field("ref_wnd_i"), before);
    flow.lose();
    flow.now += MS(24);
    flow.sent.push_front(Snapshot {
        inflight: Bytes::ZERO,
        ..again
    });
    flow.report(1, 0, MS(20));
    close(flow.field("ref_wnd"), 0.7 * before);
    flow.now += MS(1);
    flow.sent.push_front(Snapshot {
        inflight: Bytes::ZERO,
        ..again
    });
    flow.report(1, 0, MS(20));
    close(flow.field("ref_wnd"), 0.49 * before);
    close(flow.field("ref_wnd_i"), before);
}

/// §4.2.2.2: right after congestion the growth is additive, MSS a round trip; close to the
/// inflection point a quarter of it.
#[test]
fn growth_is_additive_after_congestion_and_slow_near_the_last_maximum() {
    let mut flow = Flow::new(MS(50), Rate::from_mbps(1000), &[]);
    flow.run(60);
    flow.send(1);
    flow.lose();
    flow.run(1);
    let maximum = flow.field("ref_wnd_i");
    let mut slow = 0;
    for _ in 0..200 {
        let before = flow.field("ref_wnd");
        if before > 1.1 * maximum {
            break;
        }
        // 200 packets are one round trip of a window of 200 packets.
        let rounds = 200_000.0 / before;
        flow.round(200);
        let growth = (flow.field("ref_wnd") - before) / (MSS as f64 * rounds);
        let distance = 8.0 * (before - maximum) / maximum;
        let scale = (distance * distance).clamp(0.1, 1.0);
        assert!(growth >= scale.max(0.25) - 1e-9, "{growth} at {distance}");
        if scale < 0.25 {
            slow += 1;
            assert!(growth < 0.4, "{growth}");
        }
    }
    assert!(slow > 2, "the window has passed its last maximum");
}

/// §4.2.2.1: BETA_ECN, without L4S.
#[test]
fn a_classic_mark_reduces_the_window_to_eight_tenths() {
    let mut flow = Flow::new(MS(50), Rate::from_mbps(100), &[]);
    flow.run(40);
    let before = flow.field("ref_wnd");
    flow.send(1);
    flow.now += MS(50);
    flow.report(1, 1, MS(20));
    close(flow.field("ref_wnd"), 0.8 * before);
    assert_eq!(flow.cc.decision().ecn, EcnCodepoint::NotEct);
}

/// §4.2.1.3: l4s_alpha rises by an eighth of the difference, and falls by 1/128. §4.2.2.1: the
/// backoff is l4s_alpha/2, halved since the RTT of 50 ms is twice VIRTUAL_RTT, and a quarter of it
/// close to the inflection point; the first reduction also limits the window to the data in flight.
#[test]
fn l4s_backs_off_in_proportion_to_the_share_of_marks() {
    let l4s = [("is_l4s", ParamValue::Flag(true))];
    let mut flow = Flow::new(MS(50), Rate::from_mbps(1000), &l4s);
    assert_eq!(flow.cc.decision().ecn, EcnCodepoint::Ect1);
    flow.run(60);
    let before = flow.field("ref_wnd").min(100_000.0);
    flow.send(100);
    flow.now += MS(50);
    flow.report(100, 100, MS(20));
    close(flow.field("l4s_alpha"), 0.125);
    close(flow.field("ref_wnd"), before * (1.0 - 0.125 / 2.0 / 2.0));
    let (before, inflection) = (flow.field("ref_wnd"), flow.field("ref_wnd_i"));
    flow.send(100);
    flow.now += MS(50);
    flow.report(100, 100, MS(20));
    let alpha = 0.125 + 0.875 * 0.125;
    close(flow.field("l4s_alpha"), alpha);
    let distance = 8.0 * (before - inflection) / inflection;
    let scale = (distance * distance).clamp(0.1, 1.0).max(0.25);
    close(flow.field("ref_wnd"), before * (1.0 - alpha / 4.0 * scale));
    flow.send(1);
    flow.now += MS(50);
    flow.report(1, 0, MS(20));
    close(flow.field("l4s_alpha"), alpha * 127.0 / 128.0);
}

/// §4.2.1.4, §4.2.2.1: half of the target of 60 ms is the threshold. An average of 40 ms is a third
/// of the way to the target; the backoff of a sixth is halved at 50 ms.
#[test]
fn a_standing_queue_acts_like_marks() {
    let fixed = [("competing_flows", ParamValue::Flag(false))];
    let mut flow = Flow::new(MS(50), Rate::from_mbps(1000), &fixed);
    flow.run(40);
    let before = flow.field("ref_wnd");
    flow.send(2);
    flow.now += MS(50);
    let again = flow.sent[0];
    for (delay, average, factor) in [
        (MS(20 + 80), 0.02, 1.0),
        (MS(20 + 60), 0.03, 1.0),
        (MS(20 + 70), 0.04, 1.0 - 1.0 / 3.0 / 2.0 / 2.0),
    ] {
        flow.now += MS(50);
        flow.sent.push_front(Snapshot {
            inflight: Bytes::ZERO,
            ..again
        });
        flow.report(1, 0, delay);
        close(flow.field("qdelay_avg"), average);
        close(flow.field("ref_wnd"), factor * before);
    }
}

/// §4.4: 25 ms in the queue with a frame period of 20 ms: (25 − 5)/20 · 1/16. A frame of twice the
/// nominal size: 1/64.
#[test]
fn a_queue_in_the_sender_and_large_frames_lower_the_target() {
    let mut flow = Flow::new(MS(50), Rate::from_mbps(1000), &[]);
    flow.run(40);
    let target = flow.field("target_bitrate");
    let nominal = target * 0.02 / 8.0;
    let mut frame = Frame {
        size: Bytes::from_f64(2.0 * nominal),
        waited: MS(25),
    };
    flow.call(|cc, cx| cc.on_frame(cx, &frame));
    close(flow.field("rate_adjust_factor"), 1.0 / 16.0);
    let deviation = flow.field("frame_size_dev");
    assert!((deviation - 1.0 / 64.0).abs() < 1e-5, "{deviation}");
    close(
        flow.field("target_bitrate"),
        target * 1.2 / (1.2 + 1.0 / 16.0 + deviation),
    );
    frame.waited = Span::ZERO;
    for _ in 0..4 {
        flow.call(|cc, cx| cc.on_frame(cx, &frame));
    }
    assert!(flow.field("rate_adjust_factor").abs() < 1e-12, "−1/64 each");
    frame.waited = MS(1_000);
    for _ in 0..10 {
        flow.call(|cc, cx| cc.on_frame(cx, &frame));
    }
    assert_eq!(flow.field("rate_adjust_factor"), 0.5, "its maximum");
}

/// A timeout empties the flight: without that, nothing could be sent and the window not grow.
#[test]
fn after_a_timeout_the_window_can_grow_again() {
    let mut flow = Flow::new(MS(50), Rate::from_mbps(100), &[]);
    flow.run(20);
    flow.send(100);
    for _ in 0..100 {
        flow.lose();
    }
    flow.call(|cc, cx| cc.on_recovery(cx, Recovery::Timeout { again: false }));
    flow.run(2);
    let reduced = flow.field("ref_wnd");
    flow.run(5);
    assert!(flow.field("ref_wnd") > reduced);
}
