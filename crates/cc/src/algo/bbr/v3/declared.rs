//! Parameters and trace fields of v2 and v3, with the draft's defaults.

use fullpipe_units::Span;

use super::Bbr;
use super::states::State;
use crate::algo::bbr::bits;
use crate::{Field, Param, fields, params, words};

words! {
    /// The specification or implementation that BBRv3 follows in rules and defaults.
    pub(super) enum Profile {
        Draft = "draft",
        Linux = "linux",
        Picoquic202409 = "picoquic-2024-09",
        Picoquic202410 = "picoquic-2024-10",
        Loopback = "loopback",
    }
}

params! {
    /// The parameters of v2 and v3; a version that does not declare one uses its default.
    pub(super) struct Params {
        profile: Profile = Param::choice(Profile::WORDS)
            .says(
                "Specification or implementation that sets the rules and defaults",
                "docs/reference/models/bbr3.md",
            ),
        startup_pacing_gain: f64 = Param::number(2.77, 1.0..=4.0)
            .says("Pacing gain of Startup", "§5.3.1.1, §5.6.1"),
        startup_cwnd_gain: f64 = Param::number(2.0, 1.0..=4.0)
            .says("Window gain of Startup", "§5.3.1.1, §5.6.1"),
        drain_pacing_gain: f64 = Param::number(0.5, 0.01..=1.0)
            .says("Pacing gain of Drain", "§5.3.2"),
        drain_cwnd_gain: f64 = Param::number(2.0, 1.0..=4.0)
            .says("Window gain of Drain", "§5.3.2"),
        drain_rounds: Option<u64> = Param::number(3.0, 0.0..=1000.0).unit("rounds").says(
            "Maximum rounds in Drain, even if the queue is not drained; 0 for no limit",
            "§5.3.2 CheckDrainDone",
        ),
        up_pacing_gain: f64 = Param::number(1.25, 1.0..=4.0)
            .says("Pacing gain of ProbeBW_UP", "§5.3.3.5"),
        up_cwnd_gain: f64 = Param::number(2.25, 1.0..=4.0)
            .says("Window gain of ProbeBW_UP", "§5.3.3.5"),
        up_queue_gain: f64 = Param::number(1.25, 1.0..=2.0).says(
            "Data in flight, in BDPs, that indicates a queue and ends ProbeBW_UP",
            "tcp_bbr2.c bbr_bw_probe_pif_gain",
        ),
        down_pacing_gain: f64 = Param::number(0.9, 0.01..=1.0)
            .says("Pacing gain of ProbeBW_DOWN", "§5.3.3.1"),
        cruise_pacing_gain: f64 = Param::number(1.0, 0.5..=2.0)
            .says("Pacing gain of ProbeBW_CRUISE", "§5.3.3.2"),
        refill_pacing_gain: f64 = Param::number(1.0, 0.5..=2.0)
            .says("Pacing gain of ProbeBW_REFILL", "§5.3.3.3"),
        cwnd_gain: f64 = Param::number(2.0, 1.0..=4.0)
            .says("Window gain of ProbeBW, except ProbeBW_UP", "§5.6.1"),
        probe_rtt_pacing_gain: f64 = Param::number(1.0, 0.1..=2.0)
            .says("Pacing gain of ProbeRTT", "§5.3.4.3"),
        probe_rtt_cwnd_gain: f64 = Param::number(0.5, 0.01..=1.0)
            .says("Data in flight in ProbeRTT, in BDPs", "§5.3.4.1"),
        pacing_margin: f64 = Param::number(0.01, 0.0..=0.5)
            .says("Fraction of the bandwidth that pacing leaves unused", "§5.6.2"),
        full_bw_growth: f64 = Param::number(1.25, 1.0..=4.0)
            .says("Minimum factor that counts as growth of the bandwidth", "§5.3.1.2"),
        full_bw_rounds: u32 = Param::number(3.0, 1.0..=100.0).unit("rounds")
            .says(
                "Rounds without bandwidth growth after which the pipe counts as full",
                "§5.3.1.2",
            ),
        loss_threshold: f64 = Param::number(0.02, 0.0..=0.99)
            .says(
                "Maximum tolerated loss rate per round trip when probing for bandwidth",
                "§5.5.10.2",
            ),
        loss_floor: f64 = Param::number(0.0, 0.0..=1000.0).unit("segments")
            .says(
                "Lost data up to this amount is always tolerated",
                "picoquic bbr.c IsInflightTooHigh",
            ),
        startup_loss_events: Option<u32> = Param::number(6.0, 0.0..=1000.0).says(
            "Losses in a round of recovery that end Startup if the loss rate is too high; 0 disables this exit",
            "§5.3.1.3",
        ),
        beta: f64 = Param::number(0.7, 0.1..=1.0)
            .says("Minimum fraction of a bound that remains after losses", "§5.5.10"),
        headroom: f64 = Param::number(0.15, 0.0..=0.9).says(
            "Fraction of inflight_longterm that is left to other flows while cruising",
            "§5.3.3.9 InflightWithHeadroom",
        ),
        min_pipe_cwnd: f64 = Param::number(4.0, 1.0..=100.0).unit("segments")
            .says("Minimum congestion window", "§5.6.4.3"),
        max_bw_window: usize = Param::number(2.0, 1.0..=4.0).unit("cycles")
            .says("Window of the maximum-bandwidth filter, in ProbeBW cycles", "§5.5.5"),
        extra_acked_window: u64 = Param::number(10.0, 1.0..=1000.0).unit("rounds")
            .says(
                "Window of the ACK-aggregation filter; in Linux, samples count up to twice as long",
                "§5.5.9",
            ),
        extra_acked_startup_window: u64 = Param::number(1.0, 1.0..=1000.0).unit("rounds")
            .says("Window of the ACK-aggregation filter until the pipe is first full", "§5.5.9"),
        extra_acked_cap: Option<f64> = Param::number(0.0, 0.0..=10.0).unit("s").says(
            "Limit of the ACK-aggregation allowance: the data delivered in this time; 0 for no limit",
            "tcp_bbr.c bbr_extra_acked_max_us",
        ),
        filter_time: Span = Param::number(0.0, 0.0..=100.0).unit("s").says(
            "Minimum time for which samples of bandwidth and ACK aggregation count, however short the cycles and rounds",
            "docs/evidence/bbr3-drift.md",
        ),
        min_rtt_window: Span = Param::number(10.0, 0.1..=3600.0).unit("s")
            .says("Window of the minimum-RTT filter", "§5.5.7.2"),
        probe_rtt_interval: Span = Param::number(5.0, 0.1..=3600.0).unit("s")
            .says("Time without a lower RTT after which ProbeRTT begins", "§5.3.4.1"),
        probe_rtt_duration: Span = Param::number(0.2, 0.0..=10.0).unit("s")
            .says("Minimum time for which ProbeRTT keeps the data in flight reduced", "§5.3.4.1"),
        probe_rtt_renewed_by_equal: bool = Param::flag(false).says(
            "An RTT equal to the minimum postpones ProbeRTT, as in v2 (<= instead of v3's <)",
            "§5.3.4.3 UpdateMinRTT",
        ),
        probe_wait_base: f64 = Param::number(2.0, 0.0..=3600.0).unit("s")
            .says("Minimum time between two probes for bandwidth", "§5.3.3.8.2"),
        probe_wait_spread: f64 = Param::number(1.0, 0.0..=3600.0).unit("s")
            .says("Maximum random addition to probe_wait_base", "§5.3.3.8.2"),
        reno_rounds: f64 = Param::number(63.0, 1.0..=1e6).unit("rounds").says(
            "Maximum rounds between two probes; the BDP in segments, if smaller, takes its role",
            "§5.3.3.8.2",
        ),
        reno_rounds_choices: u64 = Param::number(2.0, 1.0..=100.0).says(
            "The wait in rounds is shortened by a random number of rounds below this value",
            "§5.3.3.8.3 PickProbeWait",
        ),
        startup_exit_on_delay: bool = Param::flag(false).says(
            "Startup also ends when the minimum of the last seven RTT samples stays high",
            "picoquic bbr.c BBRCheckStartupDone",
        ),
        up_exit_on_delay: bool = Param::flag(false).says(
            "ProbeBW_UP also ends, after at least one minimum RTT, when the RTT is high or inflight implies a queue",
            "picoquic bbr.c BBRUpdateProbeBWCyclePhase",
        ),
        delay_growth: f64 = Param::number(0.25, 0.0..=10.0).says(
            "An RTT is high if it exceeds the minimum by this fraction of it, plus delay_margin",
            "picoquic bbr.c BBRUpdateMinRTT",
        ),
        delay_margin: Span = Param::number(128e-6, 0.0..=1.0).unit("s")
            .says(
                "Time added to delay_growth's threshold for a high RTT",
                "picoquic bbr.c PICOQUIC_MINRTT_MARGIN",
            ),
        delay_guard: Span = Param::number(128e-6, 0.0..=1.0).unit("s").says(
            "Minimum RTT up to which the exits on delay are disabled",
            "picoquic bbr.c PICOQUIC_MINRTT_THRESHOLD",
        ),
        delay_count: u32 = Param::number(7.0, 0.0..=1e6)
            .says(
                "Number of ACKs with a high RTT that Startup tolerates",
                "picoquic bbr.c IsRTTTooHigh",
            ),
        undo: bool = Param::flag(true)
            .says(
                "Restore the previous window and bounds when a loss proves spurious",
                "§5.5.11.2",
            ),
        loss_probe_counts: bool = Param::flag(true)
            .says("Count a loss that a tail loss probe repaired", "§5.5.10.3"),
        fast_path: bool = Param::flag(false).says(
            "Skip most model updates on ACKs of an application-limited flow",
            "tcp_bbr.c bbr_run_fast_path",
        ),
        send_quantum_max: f64 = Param::number(65_536.0, 1.0..=1e6).unit("B")
            .says("Maximum burst size", "§5.6.3"),
        ecn: bool = Param::flag(false).says(
            "Send ECT(0), and react to CE marks as from a queue with a shallow threshold",
            "tcp_bbr.c bbr_can_use_ecn",
        ),
        ecn_alpha_gain: f64 = Param::number(1.0 / 16.0, 0.0..=1.0)
            .says("Weight of the latest round in ecn_alpha", "tcp_bbr.c bbr_ecn_alpha_gain"),
        ecn_alpha_init: f64 = Param::number(1.0, 0.0..=1.0)
            .says(
                "Initial value of ecn_alpha, the average fraction of packets marked CE",
                "tcp_bbr.c bbr_ecn_alpha_init",
            ),
        ecn_factor: f64 = Param::number(85.0 / 256.0, 0.0..=1.0).says(
            "Fraction by which inflight_shortterm is reduced when all packets are marked",
            "tcp_bbr.c bbr_ecn_factor",
        ),
        ecn_threshold: Option<f64> = Param::number(0.5, 0.0..=1.0)
            .says(
                "Maximum tolerated fraction of marked data; 0 for no limit",
                "tcp_bbr.c bbr_ecn_thresh",
            ),
        ecn_startup_rounds: Option<u32> = Param::number(2.0, 0.0..=100.0).unit("rounds").says(
            "Consecutive rounds at or above ecn_threshold that end Startup; 0 disables this exit",
            "tcp_bbr.c bbr_full_ecn_cnt",
        ),
        ecn_max_rtt: Option<Span> = Param::number(0.005, 0.0..=10.0).unit("s").says(
            "Minimum RTT up to which the flow reacts to marks; 0 for no limit",
            "tcp_bbr.c bbr_ecn_max_rtt_us",
        ),
        ecn_reprobe_gain: Option<f64> = Param::number(0.5, 0.0..=2.0).says(
            "Initial growth per round of a probe that starts when marks cease, as a fraction of inflight_longterm; 0 disables such probes",
            "tcp_bbr.c bbr_ecn_reprobe_gain",
        ),
    }
}

/// The states that losses can end.
const UNDO_STATES: &[&str] = &[
    "none",
    State::NAMES[State::Startup as usize],
    State::NAMES[State::ProbeBwUp as usize],
];

fields! {
    pub(super) impl Bbr as cc {
        state: Field::state(State::NAMES, "State (BBR.state)") => cc.core.state as usize,
        round: Field::value("rounds", "Number of round trips so far (round_count)")
            => cc.core.round.count(),
        bw_latest: Field::value(
            "bit/s",
            "Maximum delivery rate in the current round; 0 before the first sample",
        )
            => bits(cc.latest.bw),
        max_bw: Field::value(
            "bit/s",
            "Bandwidth estimate: maximum delivery rate over the last max_bw_window cycles",
        )
            => bits(cc.max_bw.max()),
        bw_shortterm: Field::value(
            "bit/s",
            "Short-term upper bound of the bandwidth after losses; 0 if unset",
        )
            => cc.bounds.bw_shortterm.map(bits),
        min_rtt: Field::value("s", "Minimum RTT observed; 0 before the first sample")
            => cc.core.min_rtt.get(),
        inflight_latest:
            Field::value("B", "Maximum data delivered within a round trip, in the current round")
            => cc.latest.inflight,
        inflight_longterm: Field::value(
            "B",
            "Long-term upper bound of inflight: the maximum without excessive loss; 0 if unset",
        )
            => cc.bounds.inflight_longterm,
        inflight_shortterm: Field::value(
            "B",
            "Short-term upper bound of inflight after losses or marks; 0 if unset",
        )
            => cc.bounds.inflight_shortterm,
        pacing_gain: Field::value("", "Pacing gain in force since the last ACK")
            => cc.core.pacing_gain,
        cwnd_gain: Field::value("", "Window gain in force since the last ACK") => cc.core.cwnd_gain,
        extra_acked: Field::value("B", "ACK-aggregation allowance, which is added to the window")
            => cc.extra_acked(),
        full_bw: Field::value("bit/s", "Bandwidth at its last growth by full_bw_growth or more")
            => bits(cc.core.full_pipe.bw),
        full_bw_count:
            Field::value("rounds", "Rounds since the bandwidth last grew by full_bw_growth or more")
            => cc.core.full_pipe.count,
        full_bw_now: Field::yes_no(
            "Whether the bandwidth has reached a plateau since the last reset of the search",
        )
            => cc.core.full_pipe.now,
        full_bw_reached: Field::yes_no("Whether the pipe has been full at least once")
            => cc.core.full_pipe.reached,
        idle_restart: Field::yes_no("Whether the flow sends again after idle, before the first ACK")
            => cc.core.idle_restart,
        bw_probe_wait: Field::value("s", "Time between two probes, drawn when ProbeBW_DOWN begins")
            => cc.probe.wait,
        rounds_since_probe_up:
            Field::value("rounds", "Rounds since ProbeBW_DOWN began, plus a random offset")
            => cc.probe.rounds_since_up,
        prior_cwnd: Field::value("B", "Window before recovery or ProbeRTT, restored afterwards")
            => cc.core.window.prior_cwnd,
        undo_state:
            Field::state(UNDO_STATES, "State that losses ended, restored if they prove spurious")
            => cc.saved.undo_state(),
        undo_bw_shortterm: Field::value("bit/s", "bw_shortterm before the losses; 0 if unset")
            => cc.saved.bounds.and_then(|bounds| bounds.bw_shortterm).map(bits),
        undo_inflight_longterm: Field::value("B", "inflight_longterm before the losses; 0 if unset")
            => cc.saved.bounds.and_then(|bounds| bounds.inflight_longterm),
        undo_inflight_shortterm:
            Field::value("B", "inflight_shortterm before the losses; 0 if unset")
            => cc.saved.bounds.and_then(|bounds| bounds.inflight_shortterm),
        ecn_alpha: Field::value("", "Average fraction of packets marked CE") => cc.ecn.alpha,
    }
}
