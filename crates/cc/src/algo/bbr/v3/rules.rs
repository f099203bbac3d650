//! Where the versions differ by more than a number: one table for each.

use crate::algo::bbr::estimators::Growth;
use crate::algo::bbr::pacing::BurstRule;

/// The rules of a version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub plateau_of: PlateauOf,
    pub growth: Growth,
    pub up_ends: UpEnds,
    pub flight: Flight,
    pub too_high: TooHigh,
    pub undo: Undo,
    pub early_window: EarlyWindow,
    pub aggregation: Aggregation,
    pub on_timeout: OnTimeout,
    pub burst: BurstRule,
    /// BDPs are rounded up to whole segments, and losses judged in segments (Linux counts packets).
    pub whole_segments: bool,
    /// Rates come from samples of a valid interval alone, and so do rounds (Linux: `rs->interval_us
    /// > 0`).
    pub rounds_need_interval: bool,
    /// An RTT that may include a delay of the receiver's doesn't replace an expired minimum (Linux:
    /// `is_ack_delayed`).
    pub beware_of_delayed_acks: bool,
    /// A short-term bound above the long-term one comes down when CRUISE begins (Linux:
    /// `bbr_start_bw_probe_cruise`).
    pub cruise_meets_longterm: bool,
    /// Fast recovery ends with the window that it began with, bounded by the model (§5.6.4.4);
    /// Linux leaves it alone.
    pub recovery_restores: bool,
    /// What is lost with an ACK makes its round one of loss, even if going DOWN has just forgotten
    /// it (Linux: `losses`).
    pub acks_show_losses: bool,
    /// Bounds that come from the BDP include what the hosts hold (Linux: `bbr_inflight`).
    pub bounds_hold_quanta: bool,
    /// Startup that ends by loss is bound by what was delivered, if that is more than the BDP (v3).
    pub startup_bound_by_delivery: bool,
    /// Losses in Startup are counted by ACKs that bring some (Linux), not by holes.
    pub loss_events_by_ack: bool,
    /// What counts towards the next raise is lost when the window was not full (Linux v2).
    pub credit_is_lost: bool,
    /// An RTT equal to the minimum takes part in the ageing of `min_rtt` (Linux: `<=`).
    pub min_rtt_follows_equal: bool,
    /// DRAIN and `Inflight` look at max_bw rather than at bw (Linux).
    pub drain_by_max_bw: bool,
    /// What Startup lost is forgotten when Drain begins (Linux).
    pub drain_forgets_losses: bool,
    /// The first pacing rate leaves the margin, too (Linux).
    pub margin_at_start: bool,
    /// The window gain of ProbeRTT is 1 and the cap alone makes the dip (Linux).
    pub probe_rtt_by_cap: bool,
    /// The fraction of CE marks that is too much is reached, not passed (v2).
    pub ecn_threshold_included: bool,
    /// `ecn_alpha` moves even while the connection is not eligible (v2).
    pub ecn_alpha_always: bool,
}

/// The bandwidth whose plateau shows a full pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlateauOf {
    /// The ACK's own sample.
    Sample,
    /// The maximum, and only until the pipe was full once (v2).
    MaxBw,
}

/// What ends ProbeBW_UP when nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpEnds {
    /// A plateau of the bandwidth (v3: §5.3.3.7).
    AtPlateau,
    /// More than a minimum RTT in the state and so much in flight that there must be a queue (v2).
    AtQueue,
}

/// What is compared with bounds in Drain and ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flight {
    /// C.inflight.
    Now,
    /// What will be in the network when the pacer lets the next packet go:
    /// `bbr_packets_in_net_at_edt`.
    AtNextDeparture,
}

/// When a probe's loss rate is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooHigh {
    /// With each lost packet (§5.5.10.2).
    AtLosses,
    /// And with each ACK (Linux: `bbr_adapt_upper_bounds`).
    AtLossesAndAcks,
}

/// What a spurious recovery gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// Bounds and window (Linux).
    Bounds,
    /// And the state that the losses ended (§5.5.11.2).
    BoundsAndState,
}

/// How long Startup's window grows, whatever the model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyWindow {
    /// Until an initial window was delivered (§5.6.4.6).
    FirstDelivered,
    /// Up to two initial windows (Linux).
    TwoInitialWindows,
}

/// How the maximum of aggregated ACKs is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregation {
    /// §5.5.9.
    Sliding,
    /// Linux.
    InHalves,
}

/// What a timeout does to the model, beyond saving it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnTimeout {
    /// Nothing.
    Nothing,
    /// The baseline of the plateau goes; the window before is the short-term bound (v2).
    Baseline,
    /// The search for a plateau begins anew; the larger of the windows is the short-term bound
    /// (Linux v3).
    Plateau,
}

/// draft-ietf-ccwg-bbr-06.
pub(super) static DRAFT: Rules = Rules {
    plateau_of: PlateauOf::Sample,
    growth: Growth::AtRoundStart,
    up_ends: UpEnds::AtPlateau,
    flight: Flight::Now,
    too_high: TooHigh::AtLosses,
    undo: Undo::BoundsAndState,
    early_window: EarlyWindow::FirstDelivered,
    aggregation: Aggregation::Sliding,
    on_timeout: OnTimeout::Nothing,
    burst: BurstRule::DRAFT,
    whole_segments: false,
    rounds_need_interval: false,
    beware_of_delayed_acks: false,
    cruise_meets_longterm: false,
    recovery_restores: true,
    acks_show_losses: false,
    bounds_hold_quanta: false,
    startup_bound_by_delivery: true,
    loss_events_by_ack: false,
    credit_is_lost: false,
    min_rtt_follows_equal: false,
    drain_by_max_bw: false,
    drain_forgets_losses: false,
    margin_at_start: false,
    probe_rtt_by_cap: false,
    ecn_threshold_included: false,
    ecn_alpha_always: false,
};

/// google/bbr v3, `net/ipv4/tcp_bbr.c`.
pub(super) static LINUX_V3: Rules = Rules {
    growth: Growth::AtEveryAck,
    flight: Flight::AtNextDeparture,
    too_high: TooHigh::AtLossesAndAcks,
    undo: Undo::Bounds,
    early_window: EarlyWindow::TwoInitialWindows,
    aggregation: Aggregation::InHalves,
    on_timeout: OnTimeout::Plateau,
    burst: BurstRule::LINUX_V3,
    whole_segments: true,
    rounds_need_interval: true,
    beware_of_delayed_acks: true,
    cruise_meets_longterm: true,
    recovery_restores: false,
    acks_show_losses: true,
    bounds_hold_quanta: true,
    loss_events_by_ack: true,
    min_rtt_follows_equal: true,
    drain_by_max_bw: true,
    drain_forgets_losses: true,
    margin_at_start: true,
    probe_rtt_by_cap: true,
    ..DRAFT
};

/// google/bbr v2alpha, `net/ipv4/tcp_bbr2.c`.
pub(super) static LINUX_V2: Rules = Rules {
    plateau_of: PlateauOf::MaxBw,
    growth: Growth::AtRoundStart,
    up_ends: UpEnds::AtQueue,
    on_timeout: OnTimeout::Baseline,
    burst: BurstRule::LINUX_V2,
    startup_bound_by_delivery: false,
    credit_is_lost: true,
    ecn_threshold_included: true,
    ecn_alpha_always: true,
    ..LINUX_V3
};

/// picoquic's `bbr.c` of 2024, by the draft but for the plateau, which is looked for once: UP has
/// none.
pub(super) static PICOQUIC: Rules = Rules {
    plateau_of: PlateauOf::MaxBw,
    ..DRAFT
};
