//! Differences between the versions that are more than numbers: one table per version.

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
    /// Rounds BDPs up to whole segments, and judges losses in segments (Linux counts packets).
    pub whole_segments: bool,
    /// Takes rates and rounds only from samples with a valid interval (Linux:
    /// `rs->interval_us > 0`).
    pub rounds_need_interval: bool,
    /// Does not replace an expired minimum RTT by a sample that may include a delayed ACK (Linux:
    /// `is_ack_delayed`).
    pub beware_of_delayed_acks: bool,
    /// Lowers the short-term bound to the long-term one when CRUISE begins (Linux:
    /// `bbr_start_bw_probe_cruise`).
    pub cruise_meets_longterm: bool,
    /// Restores the window when fast recovery ends, bounded by the model (§5.6.4.4); Linux does
    /// not.
    pub recovery_restores: bool,
    /// Losses reported with an ACK mark its round as one with loss, even if the start of DOWN has
    /// just reset that state (Linux: `losses`).
    pub acks_show_losses: bool,
    /// Raises bounds derived from the BDP to at least three bursts, which the hosts may hold (Linux:
    /// `bbr_inflight`).
    pub bounds_hold_quanta: bool,
    /// Startup that ends by loss takes the data delivered as its bound, if that exceeds the BDP
    /// (v3).
    pub startup_bound_by_delivery: bool,
    /// Counts losses in Startup by the ACKs that report any (Linux), not by holes.
    pub loss_events_by_ack: bool,
    /// Resets the progress toward the next raise of the bound when the window was not full (Linux
    /// v2).
    pub credit_is_lost: bool,
    /// An RTT equal to the minimum renews `min_rtt` (Linux: `<=`).
    pub min_rtt_follows_equal: bool,
    /// DRAIN and `Inflight` use max_bw instead of bw (Linux).
    pub drain_by_max_bw: bool,
    /// Resets the congestion signals of Startup when Drain begins (Linux).
    pub drain_forgets_losses: bool,
    /// Also applies the pacing margin to the first pacing rate (Linux).
    pub margin_at_start: bool,
    /// The window gain of ProbeRTT is 1; only the cap reduces the window (Linux).
    pub probe_rtt_by_cap: bool,
    /// A CE mark counts as a lost packet, unless `ecn` makes the flow answer the share of marks
    /// (draft-ietf-ccwg-bbr-06, "ECN": any CE mark is congestion).
    pub marks_are_losses: bool,
    /// The mark rate is excessive at the threshold, not only above it (v2).
    pub ecn_threshold_included: bool,
    /// Updates `ecn_alpha` even while the connection is not eligible (v2).
    pub ecn_alpha_always: bool,
}

/// The bandwidth whose plateau indicates a full pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlateauOf {
    /// The ACK's bandwidth sample.
    Sample,
    /// The maximum, and only until the pipe is first full (v2).
    MaxBw,
}

/// The condition that ends ProbeBW_UP without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpEnds {
    /// A plateau of the bandwidth (v3: §5.3.3.7).
    AtPlateau,
    /// More than a minimum RTT in the state, and enough inflight to imply a queue (v2).
    AtQueue,
}

/// The amount that Drain and ProbeBW compare with bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flight {
    /// C.inflight.
    Now,
    /// Data that will be in the network when the pacer releases the next packet:
    /// `bbr_packets_in_net_at_edt`.
    AtNextDeparture,
}

/// The events at which a probe's loss rate is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooHigh {
    /// Each lost packet (§5.5.10.2).
    AtLosses,
    /// Each lost packet and each ACK (Linux: `bbr_adapt_upper_bounds`).
    AtLossesAndAcks,
}

/// The values that a spurious recovery restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// Bounds and window (Linux).
    Bounds,
    /// Bounds, window, and the state that the losses ended (§5.5.11.2).
    BoundsAndState,
}

/// Limit up to which Startup's window grows regardless of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyWindow {
    /// Until an initial window has been delivered (§5.6.4.6).
    FirstDelivered,
    /// Up to two initial windows (Linux).
    TwoInitialWindows,
}

/// The kind of filter for the maximum of ACK aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregation {
    /// A sliding window (§5.5.9).
    Sliding,
    /// A window in two halves (Linux).
    InHalves,
}

/// The change that a timeout makes to the model, in addition to saving it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnTimeout {
    /// No change.
    Nothing,
    /// Resets the baseline of the plateau; the window before the timeout becomes the short-term
    /// bound (v2).
    Baseline,
    /// Restarts the search for a plateau; the larger of the window and the saved window becomes the
    /// short-term bound (Linux v3).
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
    marks_are_losses: true,
    ecn_threshold_included: false,
    ecn_alpha_always: false,
};

/// The draft between ends whose RTT is their own: bursts are as large as Linux makes them at a small RTT, since at
/// the draft's size, a millisecond at the rate, each packet of many connections costs a system call.
pub(super) static LOOPBACK: Rules = Rules {
    burst: BurstRule::NEAR,
    ..DRAFT
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
    marks_are_losses: false,
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

/// picoquic's `bbr.c` of 2024: the draft's rules, except that the plateau is detected only once, so
/// UP does not end by a plateau. Its reaction to marks is not modeled.
pub(super) static PICOQUIC: Rules = Rules {
    plateau_of: PlateauOf::MaxBw,
    marks_are_losses: false,
    ..DRAFT
};
