//! CUBIC's mean window under periodic loss: the table of RFC 9438 §5.1.
//!
//! Sender and receiver of the simulator on a path with constant delay and without a bottleneck,
//! which drops every 1/p-th packet; no delayed ACKs. The mean window is throughput times RTT over
//! whole loss epochs.
//!
//! In the cubic region the table is a fixed point that the window approaches ever more slowly: an
//! error of x segments changes by about x³ per epoch. So one run ends slow start with a loss 5 %
//! below the fixed point's maximum, mean / 0.925, and its window has to rise from one loss to the
//! next; the other ends it 5 % above, and its window has to fall.

use std::collections::VecDeque;

use fullpipe_cc::{Config, NoObserver, ParamValue, Registry, Shared};
use fullpipe_tcp::{
    Ack, AckPolicy, App, Block, Pacing, Receiver, SMSS, Segment, Sender, SenderConfig,
};
use fullpipe_units::{Bytes, Rng, Span, Time};

/// Results of a run, in segments.
struct Response {
    /// Mean window over `epochs` losses, after the same number of losses to settle.
    mean: f64,
    /// Window at each of the losses.
    peaks: Vec<f64>,
}

/// Measures over `2 * epochs` losses. Before them, the loss of packet `start` ends slow start, at a
/// window about ten segments larger.
fn respond(
    algorithm: &str,
    params: &[(&str, ParamValue)],
    rtt: Span,
    period: u64,
    epochs: u64,
    start: u64,
) -> Response {
    let registry = Registry::default();
    let descriptor = registry.get(algorithm).expect("a built-in algorithm");
    let params = params
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let config = Config::new(descriptor, &params, SMSS, SMSS * 10).expect("valid parameters");
    let mut sender = Sender::new(
        SenderConfig {
            controller: (descriptor.build)(&config, &mut Shared::default()),
            owner: descriptor.recovery,
            app: App::Unlimited,
            pacing: Pacing::Off,
            hosted: false,
            rate_interval: Span::ZERO,
            smss: SMSS,
            initial_cwnd: SMSS * 10,
            stack: fullpipe_tcp::Stack::default(),
            rng: Rng::stream(1, "test", "controller"),
        },
        Time::ZERO,
    );
    let policy = AckPolicy {
        every: 1,
        quick: 16,
        delay: Span::from_millis(40),
        coalesce: Span::ZERO,
    };
    let mut receiver = Receiver::new(policy, Bytes::new(1 << 40), SMSS);
    let mut acks: VecDeque<(Time, Ack, Vec<Block>)> = VecDeque::new();
    let (mut now, mut sent, mut dropped) = (Time::ZERO, 0_u64, 0_u64);
    let (mut begin, mut end) = (None, None);
    let mut peaks = Vec::new();

    let syn = sender.syn(now);
    receiver.on_segment(now, &syn, |at, ack, blocks| {
        acks.push_back((at + rtt, ack, blocks.to_vec()))
    });
    while end.is_none() {
        let due = acks.front().map_or(Time::MAX, |(at, ..)| *at);
        let mut leaving: Vec<Segment> = Vec::new();
        if due <= sender.timer_at() {
            let (at, ack, blocks) = acks.pop_front().expect("an ACK is due");
            now = at;
            sender.on_ack(now, &ack, &blocks, &mut NoObserver);
        } else {
            now = sender.timer_at();
            sender.on_timer(now, &mut NoObserver, |segment| leaving.push(segment));
        }
        sender.transmit(now, &mut NoObserver, |segment| leaving.push(segment));
        for segment in leaving {
            sent += 1;
            if sent == start {
                continue;
            }
            if sent % period == 0 {
                dropped += 1;
                peaks.push(sender.cwnd().as_f64() / SMSS.as_f64());
                let mark = Some((now, sender.conn().delivered));
                if dropped == epochs {
                    begin = mark;
                } else if dropped == 2 * epochs {
                    end = mark;
                }
                continue;
            }
            receiver.on_segment(now, &segment, |at, ack, blocks| {
                acks.push_back((at + rtt, ack, blocks.to_vec()))
            });
        }
    }
    let ((from, before), (to, after)) = begin.zip(end).expect("both marks were passed");
    let segments = (after - before).as_f64() / SMSS.as_f64();
    Response {
        mean: segments / (to - from).as_secs_f64() * rtt.as_secs_f64(),
        peaks,
    }
}

/// CUBIC as in the RFC's model, which has no fast convergence: all losses happen at one window.
fn cubic(rtt_ms: u64, period: u64, epochs: u64, start: f64) -> Response {
    let params = [
        ("slow_start", ParamValue::Word("classic".to_owned())),
        ("fast_convergence", ParamValue::Flag(false)),
    ];
    respond(
        "cubic",
        &params,
        Span::from_millis(rtt_ms),
        period,
        epochs,
        start as u64 - 10,
    )
}

fn check(rtt_ms: u64, period: u64, epochs: u64, published: f64, tolerance: f64) {
    let ours = cubic(rtt_ms, period, epochs, published / 0.925).mean;
    let ratio = ours / published;
    println!(
        "RTT {rtt_ms} ms, p 1/{period}: {ours:.1} segments, RFC 9438 {published}, ratio {ratio:.3}"
    );
    assert!(
        (ratio - 1.0).abs() <= tolerance,
        "RTT {rtt_ms} ms, p 1/{period}: {ours:.1} segments for {published}"
    );
}

/// 1.054·(RTT/p)^0.75: within 5 %.
#[test]
fn in_the_cubic_region_the_mean_window_is_the_rfcs() {
    check(100, 10_000, 60, 187.0, 0.05);
    for (period, published) in [(10_000, 187.0), (100_000, 1_054.0), (1_000_000, 5_926.0)] {
        let [below, above] =
            [0.95, 1.05].map(|part| cubic(100, period, 2, part * published / 0.925).peaks);
        println!("p 1/{period}: {below:.1?} {above:.1?}");
        assert!(
            below.is_sorted() && below[0] < below[3],
            "p 1/{period}, from 5 % below: {below:?}"
        );
        assert!(
            above.is_sorted_by(|a, b| a >= b) && above[0] > above[3],
            "p 1/{period}, from 5 % above: {above:?}"
        );
    }
}

/// 1.2/sqrt(p): within 15 %.
#[test]
fn in_the_reno_friendly_region_the_mean_window_is_renos() {
    check(100, 1_000, 200, 38.0, 0.15);
    check(10, 1_000, 200, 38.0, 0.15);
    check(10, 10_000, 60, 120.0, 0.15);
    check(10, 100_000, 20, 379.0, 0.15);
    check(10, 1_000_000, 4, 1_200.0, 0.15);
}

/// RFC 5681 without delayed ACKs: sqrt(3/2)/sqrt(p).
#[test]
fn newreno_follows_the_square_root_law() {
    for (period, epochs) in [(1_000, 200), (10_000, 60)] {
        let ours = respond("newreno", &[], Span::from_millis(50), period, epochs, 50).mean;
        let law = (1.5 * period as f64).sqrt();
        assert!(
            (ours / law - 1.0).abs() <= 0.1,
            "p 1/{period}: {ours:.1} segments, the formula has {law:.1}"
        );
    }
}
