//! The parameters and trace fields that v2 and v3 share, with the draft's defaults.

use super::state::State;
use crate::{Domain, Field, Param};

const fn number(
    name: &'static str,
    unit: &'static str,
    (default, min, max): (f64, f64, f64),
    purpose: &'static str,
    section: &'static str,
) -> Param {
    Param {
        name,
        unit,
        domain: Domain::Number { default, min, max },
        purpose,
        section,
    }
}

const fn flag(
    name: &'static str,
    default: bool,
    purpose: &'static str,
    section: &'static str,
) -> Param {
    Param {
        name,
        unit: "",
        domain: Domain::Flag { default },
        purpose,
        section,
    }
}

/// `param` with another default.
pub(super) const fn with(param: Param, default: f64) -> Param {
    match param.domain {
        Domain::Number { min, max, .. } => Param {
            domain: Domain::Number { default, min, max },
            ..param
        },
        Domain::Flag { .. } | Domain::Choice(_) => panic!("not a number"),
    }
}

/// `param`, set.
pub(super) const fn set(param: Param, default: bool) -> Param {
    Param {
        domain: Domain::Flag { default },
        ..param
    }
}

pub(super) const STARTUP_PACING_GAIN: Param = number(
    "startup_pacing_gain",
    "",
    (2.77, 1.0, 4.0),
    "pacing gain of Startup",
    "§5.3.1.1, §5.6.1",
);
pub(super) const STARTUP_CWND_GAIN: Param = number(
    "startup_cwnd_gain",
    "",
    (2.0, 1.0, 4.0),
    "window gain of Startup",
    "§5.3.1.1, §5.6.1",
);
pub(super) const DRAIN_PACING_GAIN: Param = number(
    "drain_pacing_gain",
    "",
    (0.5, 0.01, 1.0),
    "pacing gain of Drain",
    "§5.3.2",
);
pub(super) const DRAIN_CWND_GAIN: Param = number(
    "drain_cwnd_gain",
    "",
    (2.0, 1.0, 4.0),
    "window gain of Drain",
    "§5.3.2",
);
pub(super) const DRAIN_ROUNDS: Param = number(
    "drain_rounds",
    "rounds",
    (3.0, 0.0, 1000.0),
    "Drain ends when more have gone by, drained or not; 0 waits for ever",
    "§5.3.2 CheckDrainDone",
);
pub(super) const UP_PACING_GAIN: Param = number(
    "up_pacing_gain",
    "",
    (1.25, 1.0, 4.0),
    "pacing gain of ProbeBW_UP",
    "§5.3.3.5",
);
pub(super) const UP_CWND_GAIN: Param = number(
    "up_cwnd_gain",
    "",
    (2.25, 1.0, 4.0),
    "window gain of ProbeBW_UP",
    "§5.3.3.5",
);
pub(super) const UP_QUEUE_GAIN: Param = number(
    "up_queue_gain",
    "",
    (1.25, 1.0, 2.0),
    "BDPs in flight that show a queue and end ProbeBW_UP",
    "tcp_bbr2.c bbr_bw_probe_pif_gain",
);
pub(super) const DOWN_PACING_GAIN: Param = number(
    "down_pacing_gain",
    "",
    (0.9, 0.01, 1.0),
    "pacing gain of ProbeBW_DOWN",
    "§5.3.3.1",
);
pub(super) const CRUISE_PACING_GAIN: Param = number(
    "cruise_pacing_gain",
    "",
    (1.0, 0.5, 2.0),
    "pacing gain of ProbeBW_CRUISE",
    "§5.3.3.2",
);
pub(super) const REFILL_PACING_GAIN: Param = number(
    "refill_pacing_gain",
    "",
    (1.0, 0.5, 2.0),
    "pacing gain of ProbeBW_REFILL",
    "§5.3.3.3",
);
pub(super) const CWND_GAIN: Param = number(
    "cwnd_gain",
    "",
    (2.0, 1.0, 4.0),
    "window gain of ProbeBW, but for UP",
    "§5.6.1",
);
pub(super) const PROBE_RTT_PACING_GAIN: Param = number(
    "probe_rtt_pacing_gain",
    "",
    (1.0, 0.1, 2.0),
    "pacing gain of ProbeRTT",
    "§5.3.4.3",
);
pub(super) const PROBE_RTT_CWND_GAIN: Param = number(
    "probe_rtt_cwnd_gain",
    "",
    (0.5, 0.01, 1.0),
    "BDPs in flight in ProbeRTT",
    "§5.3.4.1",
);
pub(super) const PACING_MARGIN: Param = number(
    "pacing_margin",
    "",
    (0.01, 0.0, 0.5),
    "the part of the bandwidth that is left unused",
    "§5.6.2",
);
pub(super) const FULL_BW_GROWTH: Param = number(
    "full_bw_growth",
    "",
    (1.25, 1.0, 4.0),
    "growth of the bandwidth below this is none",
    "§5.3.1.2",
);
pub(super) const FULL_BW_ROUNDS: Param = number(
    "full_bw_rounds",
    "rounds",
    (3.0, 1.0, 100.0),
    "rounds without growth that are a plateau",
    "§5.3.1.2",
);
pub(super) const LOSS_THRESHOLD: Param = number(
    "loss_threshold",
    "",
    (0.02, 0.0, 0.99),
    "the part of a flight that may be lost",
    "§5.5.10.2",
);
pub(super) const STARTUP_LOSS_EVENTS: Param = number(
    "startup_loss_events",
    "",
    (6.0, 0.0, 1000.0),
    "losses in a round of recovery that end Startup, if the loss rate is too high; 0 never",
    "§5.3.1.3",
);
pub(super) const BETA: Param = number(
    "beta",
    "",
    (0.7, 0.1, 1.0),
    "what is left of a bound after losses, at least",
    "§5.5.10",
);
pub(super) const HEADROOM: Param = number(
    "headroom",
    "",
    (0.15, 0.0, 0.9),
    "the part of inflight_longterm that is left to others while cruising",
    "§5.3.3.9 InflightWithHeadroom",
);
pub(super) const MIN_PIPE_CWND: Param = number(
    "min_pipe_cwnd",
    "segments",
    (4.0, 1.0, 100.0),
    "the least window",
    "§5.6.4.3",
);
pub(super) const MAX_BW_WINDOW: Param = number(
    "max_bw_window",
    "cycles",
    (2.0, 1.0, 4.0),
    "how long a bandwidth sample counts",
    "§5.5.5",
);
pub(super) const EXTRA_ACKED_WINDOW: Param = number(
    "extra_acked_window",
    "rounds",
    (10.0, 1.0, 1000.0),
    "how long a burst of ACKs counts; in Linux up to twice as long",
    "§5.5.9",
);
pub(super) const EXTRA_ACKED_STARTUP_WINDOW: Param = number(
    "extra_acked_startup_window",
    "rounds",
    (1.0, 1.0, 1000.0),
    "the same before the pipe was full",
    "§5.5.9",
);
pub(super) const EXTRA_ACKED_CAP: Param = number(
    "extra_acked_cap",
    "s",
    (0.0, 0.0, 10.0),
    "bursts of ACKs raise the window by what the bandwidth delivers in this time at most; 0 for no cap",
    "tcp_bbr.c bbr_extra_acked_max_us",
);
pub(super) const FILTER_TIME: Param = number(
    "filter_time",
    "s",
    (0.0, 0.0, 100.0),
    "bandwidths and bursts of ACKs count for this long at least, however short cycles and rounds are",
    "docs/models/bbr3-drift.md",
);
pub(super) const MIN_RTT_WINDOW: Param = number(
    "min_rtt_window",
    "s",
    (10.0, 0.1, 3600.0),
    "how long the minimum RTT counts",
    "§5.5.7.2",
);
pub(super) const PROBE_RTT_INTERVAL: Param = number(
    "probe_rtt_interval",
    "s",
    (5.0, 0.1, 3600.0),
    "the time without a lower RTT after which ProbeRTT begins",
    "§5.3.4.1",
);
pub(super) const PROBE_RTT_DURATION: Param = number(
    "probe_rtt_duration",
    "s",
    (0.2, 0.0, 10.0),
    "how long ProbeRTT holds the small flight, at least",
    "§5.3.4.1",
);
pub(super) const PROBE_RTT_RENEWED_BY_EQUAL: Param = flag(
    "probe_rtt_renewed_by_equal",
    false,
    "an RTT as low as the lowest puts ProbeRTT off, as in v2 (<= where v3 has <)",
    "§5.3.4.3 UpdateMinRTT",
);
pub(super) const PROBE_WAIT_BASE: Param = number(
    "probe_wait_base",
    "s",
    (2.0, 0.0, 3600.0),
    "the least time between probes",
    "§5.3.3.8.2",
);
pub(super) const PROBE_WAIT_SPREAD: Param = number(
    "probe_wait_spread",
    "s",
    (1.0, 0.0, 3600.0),
    "what chance adds to it at most",
    "§5.3.3.8.2",
);
pub(super) const RENO_ROUNDS: Param = number(
    "reno_rounds",
    "rounds",
    (63.0, 1.0, 1e6),
    "the time between probes in rounds, where the BDP is not less in segments",
    "§5.3.3.8.2",
);
pub(super) const RENO_ROUNDS_CHOICES: Param = number(
    "reno_rounds_choices",
    "",
    (2.0, 1.0, 100.0),
    "chance takes 0 rounds from it, or 1, as many as these",
    "§5.3.3.8.3 PickProbeWait",
);
pub(super) const UNDO: Param = flag(
    "undo",
    true,
    "a loss that was none gives back what it took",
    "§5.5.11.2",
);
pub(super) const LOSS_PROBE_COUNTS: Param = flag(
    "loss_probe_counts",
    true,
    "a loss that a tail loss probe repaired counts",
    "§5.5.10.3",
);
pub(super) const FAST_PATH: Param = flag(
    "fast_path",
    false,
    "ACKs of a flow that the application limits leave most of the model alone",
    "tcp_bbr.c bbr_run_fast_path",
);
pub(super) const SEND_QUANTUM_MAX: Param = number(
    "send_quantum_max",
    "B",
    (65_536.0, 1.0, 1e6),
    "the largest burst",
    "§5.6.3",
);
pub(super) const ECN: Param = flag(
    "ecn",
    false,
    "marks at a shallow threshold are answered, and packets sent with ECT(0)",
    "tcp_bbr.c bbr_can_use_ecn",
);
pub(super) const ECN_ALPHA_GAIN: Param = number(
    "ecn_alpha_gain",
    "",
    (1.0 / 16.0, 0.0, 1.0),
    "the weight of a round in the average of marks",
    "tcp_bbr.c bbr_ecn_alpha_gain",
);
pub(super) const ECN_ALPHA_INIT: Param = number(
    "ecn_alpha_init",
    "",
    (1.0, 0.0, 1.0),
    "that average at the start",
    "tcp_bbr.c bbr_ecn_alpha_init",
);
pub(super) const ECN_FACTOR: Param = number(
    "ecn_factor",
    "",
    (85.0 / 256.0, 0.0, 1.0),
    "the part of inflight_shortterm that goes when all is marked",
    "tcp_bbr.c bbr_ecn_factor",
);
pub(super) const ECN_THRESHOLD: Param = number(
    "ecn_threshold",
    "",
    (0.5, 0.0, 1.0),
    "the part of a flight that may be marked; 0 for all",
    "tcp_bbr.c bbr_ecn_thresh",
);
pub(super) const ECN_STARTUP_ROUNDS: Param = number(
    "ecn_startup_rounds",
    "rounds",
    (2.0, 0.0, 100.0),
    "rounds with more marks than that which end Startup; 0 never",
    "tcp_bbr.c bbr_full_ecn_cnt",
);
pub(super) const ECN_MAX_RTT: Param = number(
    "ecn_max_rtt",
    "s",
    (0.005, 0.0, 10.0),
    "marks count on paths of this minimum RTT at most; 0 for all",
    "tcp_bbr.c bbr_ecn_max_rtt_us",
);
pub(super) const ECN_REPROBE_GAIN: Param = number(
    "ecn_reprobe_gain",
    "",
    (0.5, 0.0, 2.0),
    "when marks cease, probing begins with this part of inflight_longterm a round; 0 does not probe",
    "tcp_bbr.c bbr_ecn_reprobe_gain",
);

pub(super) const LOSS_FLOOR: Param = number(
    "loss_floor",
    "segments",
    (0.0, 0.0, 1000.0),
    "so many lost are never too many",
    "picoquic bbr.c IsInflightTooHigh",
);
pub(super) const STARTUP_EXIT_ON_DELAY: Param = flag(
    "startup_exit_on_delay",
    false,
    "Startup ends when the least of the last seven RTTs stays high",
    "picoquic bbr.c BBRCheckStartupDone",
);
pub(super) const UP_EXIT_ON_DELAY: Param = flag(
    "up_exit_on_delay",
    false,
    "ProbeBW_UP ends, after a minimum RTT, when that is high or there must be a queue",
    "picoquic bbr.c BBRUpdateProbeBWCyclePhase",
);
pub(super) const DELAY_GROWTH: Param = number(
    "delay_growth",
    "",
    (0.25, 0.0, 10.0),
    "RTTs are high that are above the minimum by more than this part of it",
    "picoquic bbr.c BBRUpdateMinRTT",
);
pub(super) const DELAY_MARGIN: Param = number(
    "delay_margin",
    "s",
    (128e-6, 0.0, 1.0),
    "and by this time more",
    "picoquic bbr.c PICOQUIC_MINRTT_MARGIN",
);
pub(super) const DELAY_GUARD: Param = number(
    "delay_guard",
    "s",
    (128e-6, 0.0, 1.0),
    "on paths of a minimum RTT up to this, delays end nothing",
    "picoquic bbr.c PICOQUIC_MINRTT_THRESHOLD",
);
pub(super) const DELAY_COUNT: Param = number(
    "delay_count",
    "",
    (7.0, 0.0, 1e6),
    "ACKs with a high RTT that Startup puts up with",
    "picoquic bbr.c IsRTTTooHigh",
);

const fn field(name: &'static str, unit: &'static str, purpose: &'static str) -> Field {
    Field {
        name,
        unit,
        purpose,
        labels: &[],
    }
}

const fn flag_field(name: &'static str, purpose: &'static str) -> Field {
    Field {
        name,
        unit: "",
        purpose,
        labels: &["no", "yes"],
    }
}

/// What losses can end: the labels of `undo_state`.
const UNDO_STATES: &[&str] = &["none", State::Startup.name(), State::ProbeBwUp.name()];

/// What [`Bbr::observe`](super::Bbr) pushes, in its order.
pub(super) const FIELDS: &[Field] = &[
    Field {
        name: "state",
        unit: "",
        purpose: "BBR.state",
        labels: State::NAMES,
    },
    field("round", "rounds", "round_count"),
    field(
        "bw_latest",
        "bit/s",
        "the most that was delivered in this round; 0 unset",
    ),
    field(
        "max_bw",
        "bit/s",
        "the bandwidth, over this cycle and the last",
    ),
    field(
        "bw_shortterm",
        "bit/s",
        "what losses have left of it; 0 unset",
    ),
    field("min_rtt", "s", "the minimum RTT; 0 unset"),
    field(
        "inflight_latest",
        "B",
        "the most that was delivered over an RTT of this round",
    ),
    field(
        "inflight_longterm",
        "B",
        "what was in flight without too much loss; 0 unset",
    ),
    field(
        "inflight_shortterm",
        "B",
        "what losses have left of the window; 0 unset",
    ),
    field("pacing_gain", "", "in force since the last ACK"),
    field("cwnd_gain", "", "in force since the last ACK"),
    field(
        "extra_acked",
        "B",
        "added to the window for aggregated ACKs",
    ),
    field("full_bw", "bit/s", "bandwidth at the last growth by 25 %"),
    field("full_bw_count", "rounds", "rounds without such growth"),
    flag_field("full_bw_now", "there is a plateau, since it is looked for"),
    flag_field("full_bw_reached", "the pipe has been full once"),
    flag_field(
        "idle_restart",
        "sending again after idle, nothing acknowledged yet",
    ),
    field(
        "bw_probe_wait",
        "s",
        "the time between probes, drawn when going DOWN",
    ),
    field(
        "rounds_since_probe_up",
        "rounds",
        "rounds since going DOWN, and the chance's part",
    ),
    field("prior_cwnd", "B", "the window to go back to"),
    Field {
        name: "undo_state",
        unit: "",
        purpose: "the state that losses ended, or none",
        labels: UNDO_STATES,
    },
    field(
        "undo_bw_shortterm",
        "bit/s",
        "bw_shortterm before the losses; 0 unset",
    ),
    field(
        "undo_inflight_longterm",
        "B",
        "inflight_longterm before the losses; 0 unset",
    ),
    field(
        "undo_inflight_shortterm",
        "B",
        "inflight_shortterm before the losses; 0 unset",
    ),
    field(
        "ecn_alpha",
        "",
        "the average part of packets that are marked",
    ),
];
