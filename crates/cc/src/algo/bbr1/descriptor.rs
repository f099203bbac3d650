//! What BBRv1 says of itself.

use super::Bbr1;
use super::state::State;
use crate::{
    AnyController, Descriptor, Domain, Field, Param, RecoveryOwner, Signals, Specification,
};

/// The static.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "bbr1",
    purpose: "Paces at the bottleneck's bandwidth, measured, with two BDPs in flight at most; takes no notice of loss.",
    specifications: &[
        Specification {
            name: "Linux 6.12 net/ipv4/tcp_bbr.c",
            note: "followed",
        },
        Specification {
            name: "Cardwell et al., ACM Queue 14(5), 2016",
            note: "the design",
        },
    ],
    params: &[
        Param {
            name: "high_gain",
            unit: "",
            domain: Domain::Number {
                default: 739.0 / 256.0,
                min: 1.0,
                max: 4.0,
            },
            purpose: "pacing and window gain of STARTUP: 2/ln 2",
            section: "tcp_bbr.c bbr_high_gain",
        },
        Param {
            name: "drain_gain",
            unit: "",
            domain: Domain::Number {
                default: 88.0 / 256.0,
                min: 0.01,
                max: 1.0,
            },
            purpose: "pacing gain of DRAIN",
            section: "tcp_bbr.c bbr_drain_gain",
        },
        Param {
            name: "cwnd_gain",
            unit: "",
            domain: Domain::Number {
                default: 2.0,
                min: 1.0,
                max: 4.0,
            },
            purpose: "window gain of PROBE_BW",
            section: "tcp_bbr.c bbr_cwnd_gain",
        },
        Param {
            name: "bw_window",
            unit: "rounds",
            domain: Domain::Number {
                default: 10.0,
                min: 1.0,
                max: 1000.0,
            },
            purpose: "how long a bandwidth sample counts",
            section: "tcp_bbr.c bbr_bw_rtts",
        },
        Param {
            name: "min_rtt_window",
            unit: "s",
            domain: Domain::Number {
                default: 10.0,
                min: 0.1,
                max: 3600.0,
            },
            purpose: "how long an RTT sample counts: the time between two PROBE_RTTs",
            section: "tcp_bbr.c bbr_min_rtt_win_sec",
        },
        Param {
            name: "probe_rtt_duration",
            unit: "s",
            domain: Domain::Number {
                default: 0.2,
                min: 0.0,
                max: 10.0,
            },
            purpose: "how long PROBE_RTT stays at four packets, at least",
            section: "tcp_bbr.c bbr_probe_rtt_mode_ms",
        },
        Param {
            name: "pacing_margin",
            unit: "",
            domain: Domain::Number {
                default: 0.01,
                min: 0.0,
                max: 0.5,
            },
            purpose: "the part of the bandwidth that is left unused",
            section: "tcp_bbr.c bbr_pacing_margin_percent",
        },
        Param {
            name: "send_quantum_max",
            unit: "B",
            domain: Domain::Number {
                default: 65_536.0,
                min: 1.0,
                max: 1e6,
            },
            purpose: "the largest burst",
            section: "tcp_bbr.c bbr_tso_segs_goal",
        },
        Param {
            name: "extra_acked_gain",
            unit: "",
            domain: Domain::Number {
                default: 1.0,
                min: 0.0,
                max: 10.0,
            },
            purpose: "how much of what was acknowledged in bursts is added to the window; 0 is a kernel before 5.1",
            section: "tcp_bbr.c bbr_ack_aggregation_cwnd",
        },
        Param {
            name: "min_rtt_refresh_on_equal",
            unit: "",
            domain: Domain::Flag { default: false },
            purpose: "an RTT equal to the minimum renews it, as in the first versions (<= where mainline has <)",
            section: "tcp_bbr.c bbr_update_min_rtt",
        },
        Param {
            name: "policer_estimator",
            unit: "",
            domain: Domain::Flag { default: true },
            purpose: "two intervals of much loss and the same rate show a policer, whose rate is then kept",
            section: "tcp_bbr.c bbr_lt_bw_sampling",
        },
    ],
    profiles: &[],
    preset_of: None,
    fields: &[
        Field {
            name: "state",
            unit: "",
            purpose: "bbr_mode",
            labels: State::NAMES,
        },
        Field {
            name: "phase",
            unit: "",
            purpose: "cycle_idx: 0 probes, 1 drains, 2 to 7 cruise",
            labels: &[],
        },
        Field {
            name: "round",
            unit: "rounds",
            purpose: "rtt_cnt",
            labels: &[],
        },
        Field {
            name: "max_bw",
            unit: "bit/s",
            purpose: "the bandwidth estimate",
            labels: &[],
        },
        Field {
            name: "min_rtt",
            unit: "s",
            purpose: "the RTT estimate; 0 unset",
            labels: &[],
        },
        Field {
            name: "pacing_gain",
            unit: "",
            purpose: "in force since the last ACK",
            labels: &[],
        },
        Field {
            name: "cwnd_gain",
            unit: "",
            purpose: "in force since the last ACK",
            labels: &[],
        },
        Field {
            name: "extra_acked",
            unit: "B",
            purpose: "added to the window for aggregated ACKs",
            labels: &[],
        },
        Field {
            name: "full_bw",
            unit: "bit/s",
            purpose: "bandwidth at the last growth by 25 %",
            labels: &[],
        },
        Field {
            name: "full_bw_count",
            unit: "rounds",
            purpose: "rounds without such growth",
            labels: &[],
        },
        Field {
            name: "prior_cwnd",
            unit: "B",
            purpose: "the window to go back to",
            labels: &[],
        },
        Field {
            name: "packet_conservation",
            unit: "",
            purpose: "first round of recovery",
            labels: &["no", "yes"],
        },
        Field {
            name: "policer_bw",
            unit: "bit/s",
            purpose: "lt_bw, while it is in use; 0 otherwise",
            labels: &[],
        },
    ],
    recovery: RecoveryOwner::Own,
    needs: Signals::RATE_SAMPLE.and(Signals::PACING),
    random: true,
    build: |config| AnyController::Bbr1(Bbr1::new(config)),
};
