//! A sender and a receiver over a line that loses, delays, reorders, duplicates and marks packets,
//! and loses reports.

use std::collections::{BTreeMap, BTreeSet};

use fullpipe_cc::{
    Ack, Context, Controller, Decision, Frame, Lost, MediaSource, NoObserver, Recovery,
    RecoveryCause, RecoveryOwner, Signals, Snapshot,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};

use super::*;
use crate::AckPolicy;
use crate::wire;

const SMSS: Bytes = Bytes::new(1_000);

/// A controller that records its calls and checks them against the state of the connection.
#[derive(Debug)]
struct Recorder {
    decision: Decision,
    inflight: BTreeSet<u64>,
    lost: BTreeSet<u64>,
    acked: BTreeSet<u64>,
    marked: u64,
    frames: u64,
    changes: Vec<Recovery>,
}

impl Recorder {
    fn new(cwnd: Bytes, rate: Rate) -> Recorder {
        Recorder {
            decision: Decision {
                pacing_rate: Some(rate),
                send_quantum: Bytes::new(1),
                source_rate: Some(rate.mul_f64(0.8)),
                ..Decision::window(cwnd, cwnd / 2)
            },
            inflight: BTreeSet::new(),
            lost: BTreeSet::new(),
            acked: BTreeSet::new(),
            marked: 0,
            frames: 0,
            changes: Vec::new(),
        }
    }
}

/// The packets are full or end a frame; their sending times are unique, since they are paced.
fn id(packet: &Snapshot) -> u64 {
    packet.sent.as_nanos()
}

impl Controller for Recorder {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        assert!(cx.conn.inflight <= self.decision.cwnd);
        assert!(self.inflight.insert(id(packet)));
        false
    }
    fn on_lost(&mut self, _: &mut Context<'_>, lost: &Lost) {
        assert!(self.inflight.remove(&id(&lost.packet)), "lost twice");
        assert!(self.lost.insert(id(&lost.packet)));
    }
    fn on_acked(&mut self, _: &mut Context<'_>, packet: &Snapshot) {
        let known = self.inflight.remove(&id(packet)) || self.lost.contains(&id(packet));
        assert!(known && self.acked.insert(id(packet)), "acknowledged twice");
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        assert_eq!(cx.conn.inflight == Bytes::ZERO, self.inflight.is_empty());
        assert!(self.acked.contains(&id(&ack.newest)));
        let one_way = ack.one_way.expect("a report has arrival times");
        assert!(one_way >= Span::from_millis(20));
        if let Some(rtt) = ack.rtt {
            assert!(rtt.raw >= Span::from_millis(40) + rtt.remote);
        }
        self.marked += ack.ecn.ce_packets;
        assert_eq!(ack.ece, ack.ecn.ce_packets > 0);
    }
    fn on_recovery(&mut self, _: &mut Context<'_>, change: Recovery) {
        self.changes.push(change);
    }
    fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        assert!(cx.conn.unsent >= frame.size);
        self.frames += 1;
    }
    fn decision(&self) -> Decision {
        self.decision
    }
    fn observe(&self, _: &mut Vec<f64>) {}
}

/// The line between the two ends.
struct Line {
    rng: Rng,
    loss: f64,
    /// Largest additional delay of a packet.
    jitter: Span,
    dark: std::ops::Range<Time>,
}

struct Outcome {
    sender: DatagramSender<Recorder>,
    arrived: BTreeSet<u64>,
    marked: u64,
    frames: u64,
}

/// Runs a media source for four seconds, and another two without loss, so that all is settled.
fn run(line: &mut Line, owner: RecoveryOwner) -> Outcome {
    let rate = Rate::from_mbps(2);
    let source = MediaSource {
        min: Rate::from_bps(100_000),
        max: Rate::from_mbps(10),
        frame_period: Span::from_millis(20),
    };
    let stream = |use_: &str| Rng::stream(7, "media", use_);
    let media = Media::new(source, 0.3, None, stream("frames"), Time::ZERO);
    let config = DatagramConfig {
        controller: Recorder::new(SMSS * 60, rate),
        owner,
        needs: Signals::ACKED_EACH,
        app: DatagramApp::Media(Box::new(media)),
        smss: SMSS,
        initial_cwnd: SMSS * 10,
        pacing: Pacing::Auto,
        ecn: Some(EcnCodepoint::Ect1),
        rng: stream("controller"),
    };
    let mut sender = DatagramSender::new(config, Time::ZERO);
    let mut receiver = DatagramReceiver::new(AckPolicy {
        every: 4,
        quick: 0,
        delay: Span::from_millis(40),
        coalesce: Span::ZERO,
    });
    let (mut packets, mut reports) = (BTreeMap::new(), BTreeMap::new());
    let mut outcome = (BTreeSet::new(), 0, 0);
    let (mut last_report, mut count) = (Time::ZERO, 0_u64);
    let end = Time::ZERO + Span::from_secs(6);
    let calm = Time::ZERO + Span::from_secs(4);
    loop {
        let first = |at: Option<(&(Time, u64), _)>| at.map_or(Time::MAX, |((at, _), _)| *at);
        let due = receiver.report_due().unwrap_or(Time::MAX);
        let now = first(packets.first_key_value().map(|(k, _)| (k, ())))
            .min(first(reports.first_key_value().map(|(k, _)| (k, ()))))
            .min(due)
            .min(sender.timer_at())
            .min(sender.departure_at());
        if now >= end {
            break;
        }
        let mut new_reports = Vec::new();
        receiver.on_time(now, |at, report| new_reports.push((at, report)));
        while packets
            .first_key_value()
            .is_some_and(|((at, _), _)| *at <= now)
        {
            let (_, segment): (_, Segment) = packets.pop_first().expect("it was seen");
            let is_new =
                receiver.on_segment(now, &segment, |at, report| new_reports.push((at, report)));
            if is_new {
                outcome.0.insert(segment.sent.as_nanos());
                outcome.1 += u64::from(segment.ce);
            }
        }
        for (at, report) in new_reports {
            if now > calm || !line.rng.chance(line.loss / 4.0) {
                // Reports keep their order.
                last_report = last_report.max(at + Span::from_millis(20));
                count += 1;
                reports.insert((last_report, count), report);
            }
        }
        while reports
            .first_key_value()
            .is_some_and(|((at, _), _)| *at <= now)
        {
            let (_, report): (_, wire::Ack) = reports.pop_first().expect("it was seen");
            let covered: Vec<_> = receiver.report(&report).collect();
            sender.on_report(now, &report, covered.into_iter(), &mut NoObserver, || {});
            receiver.forget(&report);
        }
        if sender.timer_at() <= now {
            sender.on_timer(now, &mut NoObserver, || {});
        }
        sender.transmit(now, &mut NoObserver, |emitted| match emitted {
            Emitted::Frame(..) => outcome.2 += 1,
            Emitted::Packet(mut segment) => {
                if line.dark.contains(&now) || now < calm && line.rng.chance(line.loss) {
                    return;
                }
                segment.ce = line.rng.chance(0.1);
                let copies = if line.rng.chance(0.02) { 2 } else { 1 };
                for _ in 0..copies {
                    let late = match line.jitter.as_nanos() {
                        0 => 0,
                        most => line.rng.below(most),
                    };
                    let at = now + Span::from_millis(20) + Span::from_nanos(late);
                    count += 1;
                    packets.insert((at, count), segment);
                }
            }
        });
    }
    Outcome {
        sender,
        arrived: outcome.0,
        marked: outcome.1,
        frames: outcome.2,
    }
}

fn line(seed: u64, loss: f64, jitter: u64, dark: std::ops::Range<u64>) -> Line {
    let ms = |ms| Time::ZERO + Span::from_millis(ms);
    Line {
        rng: Rng::stream(seed, "line", "test"),
        loss,
        jitter: Span::from_millis(jitter),
        dark: ms(dark.start)..ms(dark.end),
    }
}

#[test]
fn every_packet_is_acknowledged_or_lost_whatever_the_line_does() {
    for seed in 0..40 {
        for owner in [RecoveryOwner::Own, RecoveryOwner::Prr] {
            let (loss, jitter) = (
                [0.0, 0.02, 0.2][seed as usize % 3],
                [0, 5, 60][seed as usize / 3 % 3],
            );
            let dark = if seed % 4 == 0 { 1_000..2_500 } else { 0..0 };
            let outcome = run(&mut line(seed, loss, jitter, dark), owner);
            let (cc, conn) = (outcome.sender.controller(), outcome.sender.conn());
            let recent = |sent: &&u64| **sent < 5_500_000_000;
            assert_eq!(cc.inflight.iter().filter(recent).count(), 0, "seed {seed}");
            assert_eq!(cc.frames, outcome.frames);
            let settled: BTreeSet<_> = cc.acked.iter().filter(recent).copied().collect();
            let arrived: BTreeSet<_> = outcome.arrived.iter().filter(recent).copied().collect();
            assert!(
                settled.is_subset(&outcome.arrived),
                "seed {seed}: it arrived"
            );
            if loss == 0.0 && jitter < 60 && seed % 4 != 0 {
                assert_eq!(settled, arrived, "seed {seed}: all arrivals were reported");
                assert!(cc.lost.is_empty() || jitter > 0, "seed {seed}");
                assert!(outcome.marked - cc.marked <= 12, "seed {seed}");
            }
            let in_flight = cc.inflight.len() as u64;
            assert!(conn.inflight <= SMSS * in_flight);
        }
    }
}

#[test]
fn losses_of_one_round_trip_are_one_episode_with_a_point_of_exit() {
    let outcome = run(&mut line(1, 0.02, 0, 0..0), RecoveryOwner::Prr);
    let changes = &outcome.sender.controller().changes;
    let mut open = None;
    for change in changes {
        match (open, change) {
            (None, Recovery::Enter(cause)) => open = Some(*cause),
            (Some(_), Recovery::Exit | Recovery::Spurious) => open = None,
            other => panic!("{other:?} in {changes:?}"),
        }
    }
    let of = |cause| {
        changes
            .iter()
            .filter(|it| **it == Recovery::Enter(cause))
            .count()
    };
    assert!(
        of(RecoveryCause::Loss) > 5 && of(RecoveryCause::Ecn) > 5,
        "{changes:?}"
    );
}

#[test]
fn a_dark_line_ends_in_a_timeout_that_backs_off() {
    let outcome = run(&mut line(2, 0.0, 0, 1_000..3_500), RecoveryOwner::Own);
    let changes = &outcome.sender.controller().changes;
    let timeouts: Vec<bool> = changes
        .iter()
        .filter_map(|change| match change {
            Recovery::Timeout { again } => Some(*again),
            _ => None,
        })
        .collect();
    // The RTO is 240 ms, since the RTT is 40 ms and Linux's least variance 200 ms.
    // The third flight uses up the window, so nothing probes the line before the fourth timeout.
    let times = "0.24, 0.72, 1.68 and 3.6 s";
    assert_eq!(timeouts, [false, true, true, true], "after {times}");
}

#[test]
fn reordering_within_the_window_is_no_loss_and_a_late_arrival_is_undone() {
    let outcome = run(&mut line(3, 0.0, 8, 0..0), RecoveryOwner::Own);
    assert!(
        outcome.sender.controller().lost.is_empty(),
        "8 ms is below a quarter of 40 ms"
    );
    let outcome = run(&mut line(3, 0.0, 35, 0..0), RecoveryOwner::Own);
    let cc = outcome.sender.controller();
    assert!(!cc.lost.is_empty());
    assert!(cc.changes.contains(&Recovery::Spurious), "{:?}", cc.changes);
    // The window adapts: nearly all of them are at the start.
    assert!(
        cc.lost.len() < 40,
        "{} of {}",
        cc.lost.len(),
        cc.acked.len()
    );
}
