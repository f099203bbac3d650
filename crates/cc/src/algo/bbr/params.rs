//! What can be set, read once from the configuration.

use fullpipe_units::Span;

use super::delay::DelayRules;
use super::rules::Rules;
use crate::Config;

/// Numbers and rules of one connection. Rarely read fields and hot ones alike: it lies apart from
/// what changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    pub rules: Rules,
    pub startup_pacing_gain: f64,
    pub startup_cwnd_gain: f64,
    pub drain_pacing_gain: f64,
    pub drain_cwnd_gain: f64,
    pub drain_rounds: u64,
    pub up_pacing_gain: f64,
    pub up_cwnd_gain: f64,
    /// v2 alone.
    pub up_queue_gain: f64,
    pub down_pacing_gain: f64,
    pub cruise_pacing_gain: f64,
    pub refill_pacing_gain: f64,
    pub cwnd_gain: f64,
    pub probe_rtt_pacing_gain: f64,
    pub probe_rtt_cwnd_gain: f64,
    pub full_bw_growth: f64,
    pub full_bw_rounds: u32,
    pub loss_threshold: f64,
    /// Segments.
    pub loss_floor: f64,
    /// Zero: losses don't end Startup.
    pub startup_loss_events: u32,
    pub beta: f64,
    pub headroom: f64,
    /// Segments.
    pub min_pipe_cwnd: f64,
    pub extra_acked_window: u64,
    pub extra_acked_startup_window: u64,
    /// Infinite: no cap.
    pub extra_acked_cap: f64,
    pub probe_rtt_duration: Span,
    pub probe_wait_base: f64,
    pub probe_wait_spread: f64,
    pub reno_rounds: f64,
    pub reno_rounds_choices: u64,
    pub filter_time: Span,
    pub delay: DelayRules,
    pub undo: bool,
    pub loss_probe_counts: bool,
    pub fast_path: bool,
    pub ecn: bool,
    pub ecn_alpha_gain: f64,
    pub ecn_factor: f64,
    pub ecn_threshold: f64,
    pub ecn_startup_rounds: u32,
    /// [`Span::MAX`]: at any RTT.
    pub ecn_max_rtt: Span,
    pub ecn_reprobe_gain: f64,
}

/// What only one of the versions declares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub up_queue_gain: f64,
    pub filter_time: Span,
    pub loss_floor: f64,
    pub delay: DelayRules,
}

impl Params {
    pub(super) fn new(config: &Config, rules: Rules, options: &Options) -> Params {
        let number = |name| config.number(name);
        let or_none = |value: f64, none: f64| if value == 0.0 { none } else { value };
        let ecn_max_rtt = number("ecn_max_rtt");
        Params {
            rules,
            startup_pacing_gain: number("startup_pacing_gain"),
            startup_cwnd_gain: number("startup_cwnd_gain"),
            drain_pacing_gain: number("drain_pacing_gain"),
            drain_cwnd_gain: number("drain_cwnd_gain"),
            drain_rounds: or_none(number("drain_rounds"), u64::MAX as f64) as u64,
            up_pacing_gain: number("up_pacing_gain"),
            up_cwnd_gain: number("up_cwnd_gain"),
            up_queue_gain: options.up_queue_gain,
            down_pacing_gain: number("down_pacing_gain"),
            cruise_pacing_gain: number("cruise_pacing_gain"),
            refill_pacing_gain: number("refill_pacing_gain"),
            cwnd_gain: number("cwnd_gain"),
            probe_rtt_pacing_gain: number("probe_rtt_pacing_gain"),
            probe_rtt_cwnd_gain: number("probe_rtt_cwnd_gain"),
            full_bw_growth: number("full_bw_growth"),
            full_bw_rounds: number("full_bw_rounds") as u32,
            loss_threshold: number("loss_threshold"),
            loss_floor: options.loss_floor,
            startup_loss_events: number("startup_loss_events") as u32,
            beta: number("beta"),
            headroom: number("headroom"),
            min_pipe_cwnd: number("min_pipe_cwnd"),
            extra_acked_window: number("extra_acked_window") as u64,
            extra_acked_startup_window: number("extra_acked_startup_window") as u64,
            extra_acked_cap: or_none(number("extra_acked_cap"), f64::INFINITY),
            probe_rtt_duration: Span::from_secs_f64(number("probe_rtt_duration")),
            probe_wait_base: number("probe_wait_base"),
            probe_wait_spread: number("probe_wait_spread"),
            reno_rounds: number("reno_rounds"),
            reno_rounds_choices: number("reno_rounds_choices") as u64,
            filter_time: options.filter_time,
            delay: options.delay,
            undo: config.flag("undo"),
            loss_probe_counts: config.flag("loss_probe_counts"),
            fast_path: config.flag("fast_path"),
            ecn: config.flag("ecn"),
            ecn_alpha_gain: number("ecn_alpha_gain"),
            ecn_factor: number("ecn_factor"),
            ecn_threshold: number("ecn_threshold"),
            ecn_startup_rounds: number("ecn_startup_rounds") as u32,
            ecn_max_rtt: if ecn_max_rtt == 0.0 {
                Span::MAX
            } else {
                Span::from_secs_f64(ecn_max_rtt)
            },
            ecn_reprobe_gain: number("ecn_reprobe_gain"),
        }
    }
}
