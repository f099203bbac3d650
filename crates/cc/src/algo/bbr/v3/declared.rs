//! What can be set and what can be seen, of v2 and v3, with the draft's defaults.

use fullpipe_units::Span;

use super::Bbr;
use super::states::State;
use crate::algo::bbr::bits;
use crate::{Field, Param, fields, params, words};

words! {
    /// Whose rules and defaults BBRv3 has.
    pub(super) enum Profile {
        Draft = "draft",
        Linux = "linux",
        Picoquic202409 = "picoquic-2024-09",
        Picoquic202410 = "picoquic-2024-10",
    }
}

params! {
    /// What v2 or v3 declares; one that a version leaves out has its default there.
    pub(super) struct Params {
        profile: Profile = Param::choice(Profile::WORDS)
            .says("whose rules and defaults", "docs/reference/models/bbr3.md"),
        startup_pacing_gain: f64 = Param::number(2.77, 1.0..=4.0)
            .says("pacing gain of Startup", "§5.3.1.1, §5.6.1"),
        startup_cwnd_gain: f64 = Param::number(2.0, 1.0..=4.0)
            .says("window gain of Startup", "§5.3.1.1, §5.6.1"),
        drain_pacing_gain: f64 = Param::number(0.5, 0.01..=1.0)
            .says("pacing gain of Drain", "§5.3.2"),
        drain_cwnd_gain: f64 = Param::number(2.0, 1.0..=4.0)
            .says("window gain of Drain", "§5.3.2"),
        drain_rounds: Option<u64> = Param::number(3.0, 0.0..=1000.0).unit("rounds").says(
            "Drain ends when more have gone by, drained or not; 0 waits for ever",
            "§5.3.2 CheckDrainDone",
        ),
        up_pacing_gain: f64 = Param::number(1.25, 1.0..=4.0)
            .says("pacing gain of ProbeBW_UP", "§5.3.3.5"),
        up_cwnd_gain: f64 = Param::number(2.25, 1.0..=4.0)
            .says("window gain of ProbeBW_UP", "§5.3.3.5"),
        up_queue_gain: f64 = Param::number(1.25, 1.0..=2.0).says(
            "BDPs in flight that show a queue and end ProbeBW_UP",
            "tcp_bbr2.c bbr_bw_probe_pif_gain",
        ),
        down_pacing_gain: f64 = Param::number(0.9, 0.01..=1.0)
            .says("pacing gain of ProbeBW_DOWN", "§5.3.3.1"),
        cruise_pacing_gain: f64 = Param::number(1.0, 0.5..=2.0)
            .says("pacing gain of ProbeBW_CRUISE", "§5.3.3.2"),
        refill_pacing_gain: f64 = Param::number(1.0, 0.5..=2.0)
            .says("pacing gain of ProbeBW_REFILL", "§5.3.3.3"),
        cwnd_gain: f64 = Param::number(2.0, 1.0..=4.0)
            .says("window gain of ProbeBW, but for UP", "§5.6.1"),
        probe_rtt_pacing_gain: f64 = Param::number(1.0, 0.1..=2.0)
            .says("pacing gain of ProbeRTT", "§5.3.4.3"),
        probe_rtt_cwnd_gain: f64 = Param::number(0.5, 0.01..=1.0)
            .says("BDPs in flight in ProbeRTT", "§5.3.4.1"),
        pacing_margin: f64 = Param::number(0.01, 0.0..=0.5)
            .says("the part of the bandwidth that is left unused", "§5.6.2"),
        full_bw_growth: f64 = Param::number(1.25, 1.0..=4.0)
            .says("growth of the bandwidth below this is none", "§5.3.1.2"),
        full_bw_rounds: u32 = Param::number(3.0, 1.0..=100.0).unit("rounds")
            .says("rounds without growth that are a plateau", "§5.3.1.2"),
        loss_threshold: f64 = Param::number(0.02, 0.0..=0.99)
            .says("the part of a flight that may be lost", "§5.5.10.2"),
        loss_floor: f64 = Param::number(0.0, 0.0..=1000.0).unit("segments")
            .says("this many lost are never too many", "picoquic bbr.c IsInflightTooHigh"),
        startup_loss_events: Option<u32> = Param::number(6.0, 0.0..=1000.0).says(
            "losses in a round of recovery that end Startup, if the loss rate is too high; 0 never",
            "§5.3.1.3",
        ),
        beta: f64 = Param::number(0.7, 0.1..=1.0)
            .says("what is left of a bound after losses, at least", "§5.5.10"),
        headroom: f64 = Param::number(0.15, 0.0..=0.9).says(
            "the part of inflight_longterm that is left to others while cruising",
            "§5.3.3.9 InflightWithHeadroom",
        ),
        min_pipe_cwnd: f64 = Param::number(4.0, 1.0..=100.0).unit("segments")
            .says("the least window", "§5.6.4.3"),
        max_bw_window: usize = Param::number(2.0, 1.0..=4.0).unit("cycles")
            .says("how long a bandwidth sample counts", "§5.5.5"),
        extra_acked_window: u64 = Param::number(10.0, 1.0..=1000.0).unit("rounds")
            .says("how long a burst of ACKs counts; in Linux up to twice as long", "§5.5.9"),
        extra_acked_startup_window: u64 = Param::number(1.0, 1.0..=1000.0).unit("rounds")
            .says("the same before the pipe was full", "§5.5.9"),
        extra_acked_cap: Option<f64> = Param::number(0.0, 0.0..=10.0).unit("s").says(
            "bursts of ACKs raise the window by what the bandwidth delivers in this time at most; 0 for no cap",
            "tcp_bbr.c bbr_extra_acked_max_us",
        ),
        filter_time: Span = Param::number(0.0, 0.0..=100.0).unit("s").says(
            "bandwidths and bursts of ACKs count for this long at least, however short cycles and rounds are",
            "docs/notebook/bbr3-drift.md",
        ),
        min_rtt_window: Span = Param::number(10.0, 0.1..=3600.0).unit("s")
            .says("how long the minimum RTT counts", "§5.5.7.2"),
        probe_rtt_interval: Span = Param::number(5.0, 0.1..=3600.0).unit("s")
            .says("the time without a lower RTT after which ProbeRTT begins", "§5.3.4.1"),
        probe_rtt_duration: Span = Param::number(0.2, 0.0..=10.0).unit("s")
            .says("how long ProbeRTT holds the small flight, at least", "§5.3.4.1"),
        probe_rtt_renewed_by_equal: bool = Param::flag(false).says(
            "an RTT as low as the lowest puts ProbeRTT off, as in v2 (<= where v3 has <)",
            "§5.3.4.3 UpdateMinRTT",
        ),
        probe_wait_base: f64 = Param::number(2.0, 0.0..=3600.0).unit("s")
            .says("the least time between probes", "§5.3.3.8.2"),
        probe_wait_spread: f64 = Param::number(1.0, 0.0..=3600.0).unit("s")
            .says("what chance adds to it at most", "§5.3.3.8.2"),
        reno_rounds: f64 = Param::number(63.0, 1.0..=1e6).unit("rounds").says(
            "the time between probes in rounds, where the BDP is not less in segments",
            "§5.3.3.8.2",
        ),
        reno_rounds_choices: u64 = Param::number(2.0, 1.0..=100.0).says(
            "chance takes 0 rounds from it, or 1, as many as these",
            "§5.3.3.8.3 PickProbeWait",
        ),
        startup_exit_on_delay: bool = Param::flag(false).says(
            "Startup ends when the least of the last seven RTTs stays high",
            "picoquic bbr.c BBRCheckStartupDone",
        ),
        up_exit_on_delay: bool = Param::flag(false).says(
            "ProbeBW_UP ends, after a minimum RTT, when that is high or there must be a queue",
            "picoquic bbr.c BBRUpdateProbeBWCyclePhase",
        ),
        delay_growth: f64 = Param::number(0.25, 0.0..=10.0).says(
            "RTTs are high that are above the minimum by more than this part of it",
            "picoquic bbr.c BBRUpdateMinRTT",
        ),
        delay_margin: Span = Param::number(128e-6, 0.0..=1.0).unit("s")
            .says("and by this time more", "picoquic bbr.c PICOQUIC_MINRTT_MARGIN"),
        delay_guard: Span = Param::number(128e-6, 0.0..=1.0).unit("s").says(
            "on paths of a minimum RTT up to this, delays end nothing",
            "picoquic bbr.c PICOQUIC_MINRTT_THRESHOLD",
        ),
        delay_count: u32 = Param::number(7.0, 0.0..=1e6)
            .says("ACKs with a high RTT that Startup puts up with", "picoquic bbr.c IsRTTTooHigh"),
        undo: bool = Param::flag(true)
            .says("a loss that was none gives back what it took", "§5.5.11.2"),
        loss_probe_counts: bool = Param::flag(true)
            .says("a loss that a tail loss probe repaired counts", "§5.5.10.3"),
        fast_path: bool = Param::flag(false).says(
            "ACKs of a flow that the application limits leave most of the model alone",
            "tcp_bbr.c bbr_run_fast_path",
        ),
        send_quantum_max: f64 = Param::number(65_536.0, 1.0..=1e6).unit("B")
            .says("the largest burst", "§5.6.3"),
        ecn: bool = Param::flag(false).says(
            "marks at a shallow threshold are answered, and packets sent with ECT(0)",
            "tcp_bbr.c bbr_can_use_ecn",
        ),
        ecn_alpha_gain: f64 = Param::number(1.0 / 16.0, 0.0..=1.0)
            .says("the weight of a round in the average of marks", "tcp_bbr.c bbr_ecn_alpha_gain"),
        ecn_alpha_init: f64 = Param::number(1.0, 0.0..=1.0)
            .says("that average at the start", "tcp_bbr.c bbr_ecn_alpha_init"),
        ecn_factor: f64 = Param::number(85.0 / 256.0, 0.0..=1.0).says(
            "the part of inflight_shortterm that goes when all is marked",
            "tcp_bbr.c bbr_ecn_factor",
        ),
        ecn_threshold: Option<f64> = Param::number(0.5, 0.0..=1.0)
            .says("the part of a flight that may be marked; 0 for all", "tcp_bbr.c bbr_ecn_thresh"),
        ecn_startup_rounds: Option<u32> = Param::number(2.0, 0.0..=100.0).unit("rounds").says(
            "rounds with more marks than that which end Startup; 0 never",
            "tcp_bbr.c bbr_full_ecn_cnt",
        ),
        ecn_max_rtt: Option<Span> = Param::number(0.005, 0.0..=10.0).unit("s").says(
            "marks count on paths of this minimum RTT at most; 0 for all",
            "tcp_bbr.c bbr_ecn_max_rtt_us",
        ),
        ecn_reprobe_gain: Option<f64> = Param::number(0.5, 0.0..=2.0).says(
            "when marks cease, probing begins with this part of inflight_longterm a round; 0 does not probe",
            "tcp_bbr.c bbr_ecn_reprobe_gain",
        ),
    }
}

/// What losses can end.
const UNDO_STATES: &[&str] = &[
    "none",
    State::NAMES[State::Startup as usize],
    State::NAMES[State::ProbeBwUp as usize],
];

fields! {
    pub(super) impl Bbr as cc {
        state: Field::state(State::NAMES, "BBR.state") => cc.core.state as usize,
        round: Field::value("rounds", "round_count") => cc.core.round.count(),
        bw_latest: Field::value("bit/s", "the most that was delivered in this round; 0 unset")
            => bits(cc.latest.bw),
        max_bw: Field::value("bit/s", "the bandwidth, over this cycle and the last")
            => bits(cc.max_bw.max()),
        bw_shortterm: Field::value("bit/s", "what losses have left of it; 0 unset")
            => cc.bounds.bw_shortterm.map(bits),
        min_rtt: Field::value("s", "the minimum RTT; 0 unset") => cc.core.min_rtt.get(),
        inflight_latest: Field::value("B", "the most that was delivered over an RTT of this round")
            => cc.latest.inflight,
        inflight_longterm: Field::value("B", "what was in flight without too much loss; 0 unset")
            => cc.bounds.inflight_longterm,
        inflight_shortterm: Field::value("B", "what losses have left of the window; 0 unset")
            => cc.bounds.inflight_shortterm,
        pacing_gain: Field::value("", "in force since the last ACK") => cc.core.pacing_gain,
        cwnd_gain: Field::value("", "in force since the last ACK") => cc.core.cwnd_gain,
        extra_acked: Field::value("B", "added to the window for aggregated ACKs")
            => cc.extra_acked(),
        full_bw: Field::value("bit/s", "bandwidth at the last growth by 25 %")
            => bits(cc.core.full_pipe.bw),
        full_bw_count: Field::value("rounds", "rounds without such growth")
            => cc.core.full_pipe.count,
        full_bw_now: Field::yes_no("there is a plateau, since it is looked for")
            => cc.core.full_pipe.now,
        full_bw_reached: Field::yes_no("the pipe has been full once") => cc.core.full_pipe.reached,
        idle_restart: Field::yes_no("sending again after idle, nothing acknowledged yet")
            => cc.core.idle_restart,
        bw_probe_wait: Field::value("s", "the time between probes, drawn when going DOWN")
            => cc.probe.wait,
        rounds_since_probe_up:
            Field::value("rounds", "rounds since going DOWN, and the chance's part")
            => cc.probe.rounds_since_up,
        prior_cwnd: Field::value("B", "the window to go back to") => cc.core.window.prior_cwnd,
        undo_state: Field::state(UNDO_STATES, "the state that losses ended, or none")
            => cc.saved.undo_state(),
        undo_bw_shortterm: Field::value("bit/s", "bw_shortterm before the losses; 0 unset")
            => cc.saved.bounds.and_then(|bounds| bounds.bw_shortterm).map(bits),
        undo_inflight_longterm: Field::value("B", "inflight_longterm before the losses; 0 unset")
            => cc.saved.bounds.and_then(|bounds| bounds.inflight_longterm),
        undo_inflight_shortterm: Field::value("B", "inflight_shortterm before the losses; 0 unset")
            => cc.saved.bounds.and_then(|bounds| bounds.inflight_shortterm),
        ecn_alpha: Field::value("", "the average part of packets that are marked") => cc.ecn.alpha,
    }
}
