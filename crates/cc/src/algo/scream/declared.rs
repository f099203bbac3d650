//! Descriptor, parameters and trace fields of SCReAMv2.

use fullpipe_units::Span;

use super::Scream;
use crate::common::delay::BASE_HISTORY;
use crate::{
    AnyController, Descriptor, Field, Marks, Param, RecoveryOwner, Signals, Specification, fields,
    params,
};

/// Descriptor of SCReAMv2.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "scream",
    purpose: "SCReAMv2, for real-time media: sets the rate of the encoder, and backs off on delay, marks and losses.",
    specifications: &[
        Specification {
            name: "draft-ietf-ccwg-rfc8298bis-screamv2-01",
            note: "§4.1 to §4.4, and the compensation of competing flows, §4.5.4",
        },
        Specification {
            name: "EricssonResearch/scream code/ScreamV2Tx.cpp",
            note: "details that the draft leaves open: the interval of §4.5.4, the loss event rate",
        },
    ],
    params: &Params::ROWS,
    profiles: &[],
    preset_of: None,
    fields: Scream::FIELDS,
    recovery: RecoveryOwner::Own,
    needs: Signals::PACING
        .and(Signals::TIMESTAMPS)
        .and(Signals::ACKED_EACH),
    marks: |_| Marks::Answered,
    random: false,
    build: |config, _| AnyController::Scream(Box::new(Scream::new(config))),
};

const fn factor(default: f64, max: f64, purpose: &'static str, section: &'static str) -> Param {
    Param::number(default, 0.0..=max).says(purpose, section)
}

params! {
    /// The parameters.
    pub(super) struct Params {
        is_l4s: bool = Param::flag(false).says(
            "IS_L4S: sends ECT(1), and backs off in proportion to the marks; otherwise a mark is classic ECN",
            "§4.2.2",
        ),
        qdelay_target_lo: f64 = Param::number(0.06, 0.001..=10.0).unit("s")
            .says("QDELAY_TARGET_LO: minimum target of the queueing delay", "§4.2.2"),
        qdelay_target_hi: f64 = Param::number(0.4, 0.001..=10.0).unit("s")
            .says("QDELAY_TARGET_HI: maximum target of the queueing delay", "§4.2.2"),
        competing_flows: bool = Param::flag(true).says(
            "Raises the target while flows that fill the buffer share the bottleneck",
            "§4.5.4",
        ),
        min_ref_wnd: f64 = Param::number(3000.0, 1.0..=1e6).unit("B")
            .says("MIN_REF_WND: minimum reference window", "§4.2.2"),
        bytes_in_flight_head_room: f64 = Param::number(1.5, 1.0..=10.0).says(
            "BYTES_IN_FLIGHT_HEAD_ROOM: largest reference window, in multiples of the data in flight",
            "§4.2.2",
        ),
        beta_loss: f64 = factor(0.7, 1.0, "BETA_LOSS: factor of the reference window on loss", "§4.2.2"),
        beta_ecn: f64 = factor(0.8, 1.0, "BETA_ECN: factor of the reference window on a classic mark", "§4.2.2"),
        post_congestion_delay_rtt: f64 = Param::number(100.0, 1.0..=1e4).unit("RTT").says(
            "POST_CONGESTION_DELAY_RTT: time after congestion in which the growth is cautious",
            "§4.2.2",
        ),
        mul_increase_factor: f64 = factor(
            0.02,
            1.0,
            "MUL_INCREASE_FACTOR: largest growth per round trip, as a share of the reference window",
            "§4.2.2",
        ),
        virtual_rtt: Span = Param::number(0.025, 0.001..=1.0).unit("s")
            .says("VIRTUAL_RTT: flows with smaller RTTs behave as with this one", "§4.2.2"),
        l4s_avg_g_up: f64 = factor(0.125, 1.0, "L4S_AVG_G_UP: gain of l4s_alpha's increase", "§4.2.1.3"),
        l4s_avg_g_down: f64 = factor(0.0078125, 1.0, "L4S_AVG_G_DOWN: gain of l4s_alpha's decrease", "§4.2.1.3"),
        qdelay_avg_g: f64 = factor(0.25, 1.0, "QDELAY_AVG_G: gain of the average queueing delay's increase", "§4.2.1.4"),
        reduce_jitter: bool = Param::flag(false).says(
            "REDUCE_JITTER: slows growth and lowers the headroom while the queueing delay varies",
            "§4.2.1.4",
        ),
        ref_wnd_overhead_min: f64 = Param::number(1.5, 1.0..=10.0).says(
            "REF_WND_OVERHEAD_MIN: least data in flight to allow, in reference windows",
            "§4.3.1",
        ),
        ref_wnd_overhead_max: f64 = Param::number(3.0, 1.0..=10.0).says(
            "REF_WND_OVERHEAD_MAX: most data in flight to allow, in reference windows",
            "§4.3.1",
        ),
        packet_pacing_headroom: f64 = Param::number(1.5, 1.0..=10.0)
            .says("PACKET_PACING_HEADROOM: pacing rate, in target bitrates", "§4.3.2"),
        max_relaxed_pacing_factor: f64 = Param::number(4.0, 1.0..=10.0).says(
            "MAX_RELAXED_PACING_FACTOR: further factor of the pacing rate at the maximum bitrate",
            "§4.3.2",
        ),
        rate_adjust_gain: f64 = factor(
            0.0625,
            1.0,
            "RATE_ADJUST_GAIN: gain of the correction for the delay in the sender's queue",
            "§4.4",
        ),
        frame_size_dev_alpha: f64 = factor(
            0.015625,
            1.0,
            "FRAME_SIZE_DEV_ALPHA: gain of the average excess of the frames' sizes",
            "§4.4",
        ),
        base_history: usize = BASE_HISTORY,
    }
}

fields! {
    pub(super) impl Scream as cc {
        ref_wnd: Field::value("B", "Reference window") => cc.ref_wnd,
        ref_wnd_i: Field::value("B", "Inflection point: reference window before the last reduction")
            => cc.ref_wnd_i,
        target_bitrate: Field::value("bit/s", "Rate to which the encoder is set") => cc.rate.target,
        qdelay: Field::value("s", "Queueing delay of the latest report") => cc.queue.qdelay,
        qdelay_avg: Field::value("s", "Average of the queueing delay") => cc.queue.average,
        qdelay_target: Field::value("s", "Target of the queueing delay") => cc.queue.target(),
        l4s_alpha: Field::value("", "Average share of marked packets") => cc.marks.alpha,
        rate_adjust_factor: Field::value(
            "",
            "Correction of the target bitrate for the delay in the sender's queue",
        )
            => cc.rate.adjust_factor,
        frame_size_dev: Field::value("", "Average excess of the frames' sizes over the nominal one")
            => cc.rate.frame_size_dev,
    }
}
