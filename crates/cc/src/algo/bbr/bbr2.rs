//! What BBRv2 says of itself.

use fullpipe_units::Span;

use super::Bbr;
use super::declared::*;
use super::delay::DelayRules;
use super::params::Options;
use super::rules::LINUX_V2;
use crate::common::bbr::pacing::BurstRule;
use crate::{AnyController, Config, Descriptor, RecoveryOwner, Signals, Specification};

/// 2/ln 2, as Linux's fixed point has it: `bbr_high_gain`.
const HIGH_GAIN: f64 = 739.0 / 256.0;

/// The static.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr2",
    purpose: "BBRv3's predecessor: probes until a queue shows, and gives back faster.",
    specifications: &[Specification {
        name: "google/bbr v2alpha net/ipv4/tcp_bbr2.c",
        note: "followed; sections without a file are those of draft-ietf-ccwg-bbr-06 that came of it",
    }],
    params: &[
        with(STARTUP_PACING_GAIN, HIGH_GAIN),
        with(STARTUP_CWND_GAIN, HIGH_GAIN),
        with(DRAIN_PACING_GAIN, 88.0 / 256.0),
        with(DRAIN_CWND_GAIN, HIGH_GAIN),
        with(DRAIN_ROUNDS, 0.0),
        UP_PACING_GAIN,
        with(UP_CWND_GAIN, 2.0),
        UP_QUEUE_GAIN,
        with(DOWN_PACING_GAIN, 0.75),
        CRUISE_PACING_GAIN,
        REFILL_PACING_GAIN,
        CWND_GAIN,
        PROBE_RTT_PACING_GAIN,
        PROBE_RTT_CWND_GAIN,
        PACING_MARGIN,
        FULL_BW_GROWTH,
        FULL_BW_ROUNDS,
        with(LOSS_THRESHOLD, 5.0 / 256.0),
        with(STARTUP_LOSS_EVENTS, 8.0),
        with(BETA, 180.0 / 256.0),
        with(HEADROOM, 38.0 / 256.0),
        MIN_PIPE_CWND,
        MAX_BW_WINDOW,
        with(EXTRA_ACKED_WINDOW, 5.0),
        EXTRA_ACKED_STARTUP_WINDOW,
        with(EXTRA_ACKED_CAP, 0.1),
        MIN_RTT_WINDOW,
        PROBE_RTT_INTERVAL,
        PROBE_RTT_DURATION,
        set(PROBE_RTT_RENEWED_BY_EQUAL, true),
        PROBE_WAIT_BASE,
        PROBE_WAIT_SPREAD,
        RENO_ROUNDS,
        RENO_ROUNDS_CHOICES,
        UNDO,
        set(LOSS_PROBE_COUNTS, false),
        set(FAST_PATH, true),
        SEND_QUANTUM_MAX,
        ECN,
        ECN_ALPHA_GAIN,
        ECN_ALPHA_INIT,
        ECN_FACTOR,
        ECN_THRESHOLD,
        ECN_STARTUP_ROUNDS,
        ECN_MAX_RTT,
        with(ECN_REPROBE_GAIN, 0.0),
    ],
    profiles: &[],
    preset_of: None,
    fields: FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::RATE_SAMPLE
        .and(Signals::PACING)
        .and(Signals::LOST_EACH)
        .and(Signals::TX_INFLIGHT),
    random: true,
    build: |config| AnyController::Bbr(build(config)),
};

fn build(config: &Config) -> Bbr {
    let max = config.number("send_quantum_max");
    let burst = BurstRule {
        length: BurstRule::LINUX_LENGTH,
        by_rtt: true,
        singles: true,
        max,
    };
    let options = Options {
        up_queue_gain: config.number("up_queue_gain"),
        filter_time: Span::ZERO,
        loss_floor: 0.0,
        delay: DelayRules {
            ends_startup: false,
            ends_up: false,
            guard: Span::MAX,
            margin: Span::ZERO,
            growth: 0.0,
            count: u32::MAX,
        },
    };
    Bbr::new(config, LINUX_V2, burst, &options)
}
