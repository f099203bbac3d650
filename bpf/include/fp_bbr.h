/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * BBRv2 and BBRv3 as one state machine: crates/cc/src/algo/bbr/v3 with the rules LINUX_V2 or
 * LINUX_V3 (rules.rs), chosen by BBR_VERSION. Names and sections are those of
 * draft-ietf-ccwg-bbr-06; `bbr_*` in comments are functions of google/bbr's tcp_bbr.c.
 *
 * Units: volumes are segments, with _q16 2^-16 segments; bandwidths 2^-30 segments per us; gains and
 * fractions 2^-16; times us.
 */
#ifndef FP_BBR_H
#define FP_BBR_H

#include "fp_call.h"
#include "fp_row.h"

#define BW_SHIFT 30
#define BW_MOST ((__u64)1 << 39)
#define NO_BW U64_MAX	   /* bound unset */
#define NO_INFLIGHT U64_MAX /* bound unset */
#define NO_RTT U32_MAX
#define MAX_CYCLES 4
#define MAX_UP_ROUNDS 30
#define OFFLOAD_FACTOR 3   /* §5.6.4.2, TCP */
#define EPOCH_SEGMENTS (1 << 20) /* bbr_ack_epoch_acked_reset_thresh */
#define MIN_TSO_RATE (1200000 / 8) /* bbr_min_tso_rate, B/s */
#define MIN_RATE 89	   /* B/s; pacing.rs */
#define MAX_BURST 127	   /* segments */
#define NOMINAL_RTT 1000   /* us, before the first sample */

/* BBR.state, in the order of the labels of the trace field. */
enum bbr_state { STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT };
/* BBR.ack_phase. */
enum bbr_phase { INIT, REFILLING, PROBE_STARTING, PROBE_FEEDBACK, PROBE_STOPPING };
enum bbr_episode { NO_EPISODE, FAST_RECOVERY, TIMEOUT };

struct fp_state {
	__u64 max_bw_of[MAX_CYCLES]; /* of the current cycle of ProbeBW and previous ones */
	__u64 max_bw;
	__u64 sample_bw; /* of this ACK; 0 without one */
	__u64 bw_latest;
	__u64 bw_shortterm;
	__u64 undo_bw_shortterm;
	__u64 full_bw;
	__u64 min_rtt_stamp; /* 0: none */
	__u64 probe_rtt_min_stamp;
	__u64 probe_rtt_done_stamp; /* 0: inflight is not small enough yet */
	__u64 cycle_stamp;
	__u64 bw_probe_wait;
	__u64 epoch_start;

	__u32 min_rtt;
	__u32 probe_rtt_min_delay;
	__u32 inflight_latest;
	__u64 inflight_shortterm_q16;
	__u64 inflight_longterm_q16;
	__u64 undo_inflight_shortterm_q16;
	__u64 undo_inflight_longterm_q16;
	__u32 next_round_delivered;
	__u32 loss_round_delivered;
	__u32 round_count;
	__u32 drain_start_round;
	__u32 rounds_since_probe_up;
	__u64 bw_probe_up_acked_q16;
	__u64 probe_up_acked_per_inc_q16;
	__u32 epoch_acked;
	__u64 extra_acked_q16[2]; /* of this half of the window and the previous one */
	__u32 extra_acked_rounds;
	__u64 cwnd_q16; /* the kernel's window is this one, rounded down */
	__u64 prior_cwnd_q16;
	__u32 initial_cwnd;
	__u32 full_bw_count;
	__u32 loss_events; /* ACKs with losses in this round of Startup */
	__u32 lost_seen; /* losses up to here are handled */
	__u32 pacing_gain;
	__u32 cwnd_gain;
	__u32 ecn_alpha;
	__u32 ecn_delivered;
	__u32 ecn_delivered_ce;
	__u32 ce_seen; /* `delivered_ce` at the previous ACK */
	__u32 startup_ecn_rounds;
	__u32 limited_from; /* packets sent with `delivered` in this range are application-limited */
	__u32 limited_until;
	__u32 random;

	__u8 state;
	__u8 ack_phase;
	__u8 episode;
	__u8 ca_state; /* of the episode, until it is over */
	__u8 bw_probe_up_rounds;
	__u8 round_start;
	__u8 loss_round_start;
	__u8 loss_in_round;
	__u8 ecn_in_round;
	__u8 loss_in_cycle;
	__u8 ecn_in_cycle;
	__u8 full_bw_now;
	__u8 full_bw_reached;
	__u8 is_bw_probe_sample;
	__u8 prev_probe_too_high;
	__u8 prev_probe_precautionary;
	__u8 probe_rtt_round_done;
	__u8 idle_restart;
	__u8 has_seen_rtt;
	__u8 gains_are_stale;
	__u8 may_take_fast_path;
	__u8 ecn_eligible;
	__u8 limited;
	__u8 save_due; /* FP_SSTHRESH: the bounds are saved after the losses are handled */
	__u8 exit_due; /* the episode ends with the next ACK */
};

/*
 * Steps are functions of their own for the kernel, which verifies each of them once, for any state
 * (a "global function"; it must return a number and mind null pointers).
 */
#ifdef FP_NATIVE
#define STEP static int
#else
#define STEP __attribute__((noinline)) int
#endif

/* The ACK or loss that is judged: a rate sample, or one made for lost packets. */
struct bbr_sample {
	__u32 tx_in_flight;
	__u32 lost;
	__u32 delivered;
	__u32 delivered_ce;
	bool app_limited;
};

FP_INLINE bool bbr_is_probe_bw(const struct fp_state *bbr)
{
	return bbr->state >= DOWN && bbr->state <= UP;
}

FP_INLINE bool bbr_is_probing(const struct fp_state *bbr)
{
	return bbr->state == STARTUP || bbr->state == REFILL || bbr->state == UP;
}

FP_INLINE __u64 q16(__u32 segments)
{
	return (__u64)segments << 16;
}

/* Model. */

/* BBR.bw (BoundBWForModel). */
FP_INLINE __u64 bbr_bw(const struct fp_state *bbr)
{
	return min_u64(bbr->max_bw, bbr->bw_shortterm);
}

/* Returns the data that `bw` delivers in `us`, in 2^-16 segments. */
FP_INLINE __u64 bbr_volume_q16(__u64 bw, __u64 us)
{
	return bw * min_u64(us, 1 << 24) >> (BW_SHIFT - 16);
}

/* BDPMultiple (§5.6.4.2), bbr_bdp: rounded up to segments. */
FP_INLINE __u32 bbr_bdp(const struct fp_state *bbr, __u64 bw, fp_q16 gain)
{
	__u64 segments;

	if (bbr->min_rtt == NO_RTT)
		return bbr->initial_cwnd;
	segments = bw * min_u64(bbr->min_rtt, 1 << 24);
	segments = ((segments + 65535) >> 16) * gain;
	segments = (segments + ((__u64)1 << BW_SHIFT) - 1) >> BW_SHIFT;
	return min_u64(segments, 1 << 22);
}

/* §5.6.3, bbr_tso_segs_goal: 1/1024 s, and up to 64 KiB more, halved for each 512 us of min_rtt. */
FP_INLINE __u32 bbr_send_quantum(const struct fp_state *bbr, const struct fp_call *call)
{
	__u64 bytes = call->pacing_rate >> 10;
	__u32 least = 2;

	if (bbr->min_rtt >> 9 < 32)
		bytes += 65536 >> (bbr->min_rtt >> 9 & 31);
	bytes = min_u64(bytes, send_quantum_max);
	if (BBR_VERSION == 2 && call->pacing_rate < MIN_TSO_RATE)
		least = 1;
	if (send_quantum_max < 2 * call->mss)
		least = 1;
	if (!call->mss)
		return least;
	return max_u32(min_u32((__u32)bytes / call->mss, MAX_BURST), least);
}

/* QuantizationBudget (§5.6.4.2), bbr_quantization_budget. */
FP_INLINE __u64 bbr_quantization_budget_q16(const struct fp_state *bbr, const struct fp_call *call,
					    __u64 cap)
{
	cap = max_u64(cap, q16(max_u32(OFFLOAD_FACTOR * bbr_send_quantum(bbr, call), min_pipe_cwnd)));
	/* A quarter of a small BDP may be less than a packet. */
	if (bbr->state == UP)
		cap += q16(2);
	return cap;
}

/* Inflight (§5.6.4.2), bbr_inflight. */
FP_INLINE __u32 bbr_inflight(const struct fp_state *bbr, const struct fp_call *call, __u64 bw,
			     fp_q16 gain)
{
	return bbr_quantization_budget_q16(bbr, call, q16(bbr_bdp(bbr, bw, gain))) >> 16;
}

/* TargetInflight (§5.3.3.8): the BDP, or the window if congestion has made it smaller. */
FP_INLINE __u64 bbr_target_inflight_q16(const struct fp_state *bbr, const struct fp_call *call)
{
	return min_u64(q16(bbr_inflight(bbr, call, bbr_bw(bbr), FP_ONE)), bbr->cwnd_q16);
}

/* Inflight at which the queue counts as drained. */
FP_INLINE __u32 bbr_drained(const struct fp_state *bbr, const struct fp_call *call)
{
	return bbr_inflight(bbr, call, bbr->max_bw, FP_ONE);
}

/*
 * Returns `inflight` as it will be when the pacer releases the next burst, which is included while
 * probing (bbr_packets_in_net_at_edt).
 */
FP_INLINE __u32 bbr_flight(const struct fp_state *bbr, const struct fp_call *call, __u32 inflight)
{
	__u64 delivered = bbr_bw(bbr) * min_u64(call->departs_in, 1 << 24) / 1000 >> BW_SHIFT;

	if (bbr->pacing_gain > FP_ONE)
		inflight += bbr_send_quantum(bbr, call);
	return inflight - min_u64(delivered, inflight);
}

/* InflightWithHeadroom; NO_INFLIGHT without a long-term bound. */
FP_INLINE __u64 bbr_inflight_with_headroom_q16(const struct fp_state *bbr)
{
	__u64 longterm = bbr->inflight_longterm_q16, left;

	if (longterm == NO_INFLIGHT)
		return NO_INFLIGHT;
	left = max_u64(times_q16(longterm, headroom) & ~(__u64)(FP_ONE - 1), FP_ONE);
	return max_u64(longterm - min_u64(left, longterm), q16(min_pipe_cwnd));
}

/* bbr_extra_acked, bbr_ack_aggregation_cwnd. */
FP_INLINE __u64 bbr_extra_acked_q16(const struct fp_state *bbr)
{
	__u64 extra = max_u64(bbr->extra_acked_q16[0], bbr->extra_acked_q16[1]);

	if (extra_acked_cap)
		extra = min_u64(extra, bbr_volume_q16(bbr_bw(bbr), extra_acked_cap));
	return extra;
}

/* Pacing (§5.6.2), bbr_rate_bytes_per_sec. */
FP_INLINE __u64 bbr_rate(__u64 bw, __u32 mss, fp_q16 gain)
{
	__u64 rate = bw * mss >> 10;

	rate = rate * gain >> 16;
	rate = rate * (FP_ONE - pacing_margin) >> 16;
	return max_u64(rate * 1000000 >> (BW_SHIFT - 10), MIN_RATE);
}

/* InitPacingRate (§5.6.2), bbr_init_pacing_rate_from_rtt. */
FP_INLINE void bbr_init_pacing_rate(const struct fp_state *bbr, struct fp_call *call, __u32 rtt)
{
	__u64 bw = ((__u64)call->cwnd << BW_SHIFT) / max_u32(rtt, 1);

	(void)bbr;
	call->pacing_rate = bbr_rate(min_u64(bw, BW_MOST), call->mss, startup_pacing_gain);
}

/* The first RTT is the handshake's. */
FP_INLINE void bbr_take_first_rtt(struct fp_state *bbr, struct fp_call *call)
{
	if (bbr->has_seen_rtt || !call->srtt)
		return;
	bbr->has_seen_rtt = 1;
	bbr_init_pacing_rate(bbr, call, call->srtt);
	if (call->min_rtt < bbr->min_rtt) {
		bbr->min_rtt = call->min_rtt;
		bbr->min_rtt_stamp = call->now;
	}
	if (call->min_rtt < bbr->probe_rtt_min_delay) {
		bbr->probe_rtt_min_delay = call->min_rtt;
		bbr->probe_rtt_min_stamp = call->now;
	}
}

/* SetPacingRateWithGain (§5.6.2), bbr_set_pacing_rate. */
FP_INLINE void bbr_set_pacing_rate(struct fp_state *bbr, struct fp_call *call, fp_q16 gain)
{
	__u64 rate;

	bbr_take_first_rtt(bbr, call);
	rate = bbr_rate(bbr_bw(bbr), call->mss, gain);
	if (bbr->full_bw_reached || rate > call->pacing_rate)
		call->pacing_rate = rate;
}

/* States. */

FP_INLINE void bbr_enter(struct fp_state *bbr, __u8 state)
{
	bbr->state = state;
	bbr->gains_are_stale = 1;
	bbr->may_take_fast_path = 0;
}

/* The table of §5.6.1, bbr_update_gains. */
FP_INLINE void bbr_update_gains(struct fp_state *bbr)
{
	bbr->gains_are_stale = 0;
	bbr->cwnd_gain = cwnd_gain;
	switch (bbr->state) {
	case STARTUP:
		bbr->pacing_gain = startup_pacing_gain;
		bbr->cwnd_gain = startup_cwnd_gain;
		break;
	case DRAIN:
		bbr->pacing_gain = drain_pacing_gain;
		bbr->cwnd_gain = drain_cwnd_gain;
		break;
	case DOWN: bbr->pacing_gain = down_pacing_gain; break;
	case CRUISE: bbr->pacing_gain = cruise_pacing_gain; break;
	case REFILL: bbr->pacing_gain = refill_pacing_gain; break;
	case UP:
		bbr->pacing_gain = up_pacing_gain;
		bbr->cwnd_gain = up_cwnd_gain;
		break;
	case PROBE_RTT:
		/* Only the cap of §5.6.4.5 reduces the window. */
		bbr->pacing_gain = probe_rtt_pacing_gain;
		bbr->cwnd_gain = FP_ONE;
		break;
	}
}

/* ResetCongestionSignals. */
FP_INLINE void bbr_reset_congestion_signals(struct fp_state *bbr)
{
	bbr->bw_latest = 0;
	bbr->inflight_latest = 0;
	bbr->loss_in_round = 0;
	bbr->ecn_in_round = 0;
	bbr->loss_in_cycle = 0;
	bbr->ecn_in_cycle = 0;
}

/* ResetShortTermModel. */
FP_INLINE void bbr_reset_short_term_model(struct fp_state *bbr)
{
	bbr->bw_shortterm = NO_BW;
	bbr->inflight_shortterm_q16 = NO_INFLIGHT;
}

/* bbr_reset_full_bw; with a baseline: §5.3.3.4. */
FP_INLINE void bbr_reset_full_bw(struct fp_state *bbr, __u64 baseline)
{
	bbr->full_bw = baseline;
	bbr->full_bw_count = 0;
	bbr->full_bw_now = 0;
}

FP_INLINE __u32 bbr_random(struct fp_state *bbr)
{
	__u32 x = bbr->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	bbr->random = x;
	return x;
}

/* PickProbeWait (§5.3.3.8.3). */
FP_INLINE void bbr_pick_probe_wait(struct fp_state *bbr)
{
	bbr->rounds_since_probe_up = (bbr_random(bbr) >> 8) % max_u32(reno_rounds_choices, 1);
	bbr->bw_probe_wait = probe_wait_base + (probe_wait_spread * (bbr_random(bbr) >> 16) >> 16);
}

/* StartProbeBW_DOWN (§5.3.3.1). */
STEP bbr_start_down(struct fp_state *bbr, struct fp_call *call)
{
	if (!bbr || !call)
		return 0;
	bbr_reset_congestion_signals(bbr);
	bbr->probe_up_acked_per_inc_q16 = U64_MAX;
	bbr_pick_probe_wait(bbr);
	bbr->cycle_stamp = call->now;
	bbr->ack_phase = PROBE_STOPPING;
	bbr->next_round_delivered = call->delivered;
	bbr_enter(bbr, DOWN);
	return 0;
}

/* StartProbeBW_CRUISE (§5.3.3.2), bbr_start_bw_probe_cruise. */
FP_INLINE void bbr_start_cruise(struct fp_state *bbr)
{
	if (bbr->inflight_shortterm_q16 != NO_INFLIGHT)
		bbr->inflight_shortterm_q16 =
			min_u64(bbr->inflight_shortterm_q16, bbr->inflight_longterm_q16);
	bbr_enter(bbr, CRUISE);
}

/* StartProbeBW_REFILL (§5.3.3.3). */
STEP bbr_start_refill(struct fp_state *bbr, struct fp_call *call, __u32 up_rounds)
{
	if (!bbr || !call)
		return 0;
	bbr_reset_short_term_model(bbr);
	bbr->bw_probe_up_rounds = up_rounds;
	bbr->bw_probe_up_acked_q16 = 0;
	bbr->prev_probe_precautionary = 0;
	bbr->ack_phase = REFILLING;
	bbr->next_round_delivered = call->delivered;
	if (bbr->state != REFILL)
		bbr_enter(bbr, REFILL);
	return 0;
}

/* RaiseInflightLongtermSlope (§5.3.3.6): doubles the growth each round. */
FP_INLINE void bbr_raise_slope(struct fp_state *bbr)
{
	__u32 rounds = min_u32(bbr->bw_probe_up_rounds, MAX_UP_ROUNDS);

	bbr->bw_probe_up_rounds = min_u32(rounds + 1, MAX_UP_ROUNDS);
	bbr->probe_up_acked_per_inc_q16 = max_u64(bbr->cwnd_q16 >> rounds, FP_ONE);
}

/* StartProbeBW_UP (§5.3.3.4). */
FP_INLINE void bbr_start_up(struct fp_state *bbr, const struct fp_call *call)
{
	bbr->ack_phase = PROBE_STARTING;
	bbr->next_round_delivered = call->delivered;
	bbr->cycle_stamp = call->now;
	if (BBR_VERSION == 3)
		bbr_reset_full_bw(bbr, bbr->sample_bw);
	bbr_enter(bbr, UP);
	bbr_raise_slope(bbr);
}

/* EnterDrain (§5.3.2). */
FP_INLINE void bbr_enter_drain(struct fp_state *bbr, struct fp_call *call)
{
	bbr_enter(bbr, DRAIN);
	bbr->drain_start_round = bbr->round_count;
	/* For ss and traces only. */
	call->ssthresh = bbr_drained(bbr, call);
	bbr_reset_congestion_signals(bbr);
}

/* Congestion. */

/* The second half of bbr_is_inflight_too_high. */
FP_INLINE bool bbr_has_too_many_marks(const struct fp_state *bbr, const struct bbr_sample *sample)
{
	__u64 marked = (__u64)sample->delivered_ce << 16;
	__u64 limit = (__u64)sample->delivered * ecn_threshold;

	if (!ecn_threshold || !bbr->ecn_eligible || !sample->delivered || !sample->delivered_ce)
		return false;
	return marked > limit || (BBR_VERSION == 2 && marked == limit);
}

/* IsInflightTooHigh (§5.5.10.2), bbr_is_inflight_too_high. */
FP_INLINE bool bbr_is_inflight_too_high(const struct fp_state *bbr, const struct bbr_sample *sample)
{
	if (sample->lost && ((__u64)sample->lost << 16) > (__u64)sample->tx_in_flight * loss_threshold)
		return true;
	return bbr_has_too_many_marks(bbr, sample);
}

/* InflightAtLoss, bbr_inflight_hi_from_lost_skb; `size` segments were lost. */
FP_INLINE __u32 bbr_inflight_at_loss(const struct bbr_sample *sample, __u32 size)
{
	__u32 inflight_prev = sample->tx_in_flight - min_u32(size, sample->tx_in_flight);
	__u32 lost_prev = sample->lost - min_u32(size, sample->lost);
	__u32 budget = times_q16_up(inflight_prev, loss_threshold);
	__u64 prefix = budget - min_u32(lost_prev, budget);

	return inflight_prev + (prefix << 16) / max_u32(FP_ONE - loss_threshold, 1);
}

/* HandleInflightTooHigh: takes effect once per probe. */
FP_INLINE void bbr_handle_inflight_too_high(struct fp_state *bbr, struct fp_call *call,
					    const struct bbr_sample *sample)
{
	__u64 target;

	bbr->prev_probe_too_high = 1;
	bbr->is_bw_probe_sample = 0;
	if (!sample->app_limited) {
		target = times_q16(bbr_target_inflight_q16(bbr, call), beta);
		bbr->inflight_longterm_q16 = max_u64(q16(sample->tx_in_flight), target);
	}
	if (bbr->state == UP)
		bbr_start_down(bbr, call);
}

/* NoteLoss. */
FP_INLINE void bbr_note_loss(struct fp_state *bbr, const struct fp_call *call)
{
	if (!bbr->loss_in_round)
		bbr->loss_round_delivered = call->delivered;
	bbr->loss_in_round = 1;
	bbr->loss_in_cycle = 1;
}

/*
 * HandleLostPacket (§5.5.10.2), bbr_skb_marked_lost, for all packets that were newly lost, as if
 * they were one.
 */
STEP bbr_handle_losses(struct fp_state *bbr, struct fp_call *call)
{
	struct bbr_sample sample = {};
	__u32 size;

	if (!bbr || !call)
		return 0;
	size = call->lost - bbr->lost_seen;
	if (!size)
		return 0;
	bbr_note_loss(bbr, call);
	if (call->kind == FP_ACK) {
		sample.tx_in_flight = call->tx_inflight;
		sample.lost = call->lost - call->tx_lost;
		sample.app_limited = call->flags & FP_APP_LIMITED;
	} else {
		/* A timer: all that was in flight. */
		sample.tx_in_flight = call->inflight + size;
		sample.lost = size;
	}
	bbr->lost_seen = call->lost;
	if (bbr->is_bw_probe_sample && bbr_is_inflight_too_high(bbr, &sample)) {
		sample.tx_in_flight = bbr_inflight_at_loss(&sample, size);
		bbr_handle_inflight_too_high(bbr, call, &sample);
	}
	return 0;
}

/* SaveStateUponLoss, bbr_ssthresh: the bounds; FP_SSTHRESH has saved the window. */
FP_INLINE void bbr_save_bounds(struct fp_state *bbr)
{
	if (!bbr->save_due)
		return;
	bbr->save_due = 0;
	bbr->undo_bw_shortterm = bbr->bw_shortterm;
	bbr->undo_inflight_shortterm_q16 = bbr->inflight_shortterm_q16;
	bbr->undo_inflight_longterm_q16 = bbr->inflight_longterm_q16;
}

/* bbr_save_cwnd; if recovery or ProbeRTT has reduced the window, only a larger one. */
FP_INLINE void bbr_save_cwnd(struct fp_state *bbr, bool is_cut)
{
	bbr->prior_cwnd_q16 = is_cut ? max_u64(bbr->prior_cwnd_q16, bbr->cwnd_q16) : bbr->cwnd_q16;
}

/* InitLowerBounds, for the volume. */
FP_INLINE __u64 bbr_shortterm_or_window(struct fp_state *bbr)
{
	if (bbr->inflight_shortterm_q16 == NO_INFLIGHT)
		bbr->inflight_shortterm_q16 = bbr->cwnd_q16;
	return bbr->inflight_shortterm_q16;
}

/* AdaptLowerBoundsFromCongestion (§5.5.10.3), bbr_adapt_lower_bounds. */
FP_INLINE void bbr_adapt_lower_bounds(struct fp_state *bbr)
{
	__u64 by_marks = NO_INFLIGHT, shortterm, bw;

	if (bbr_is_probing(bbr))
		return;
	/* bbr_ecn_lower_bounds. */
	if (bbr->ecn_in_round && ecn_factor) {
		shortterm = bbr_shortterm_or_window(bbr);
		by_marks = times_q16(shortterm, FP_ONE - times_q16(bbr->ecn_alpha, ecn_factor));
	}
	if (bbr->loss_in_round) {
		bw = bbr->bw_shortterm == NO_BW ? bbr->max_bw : bbr->bw_shortterm;
		bbr->bw_shortterm = max_u64(bbr->bw_latest, times_q16(bw, beta));
		shortterm = times_q16(bbr_shortterm_or_window(bbr), beta);
		bbr->inflight_shortterm_q16 = max_u64(q16(bbr->inflight_latest), shortterm);
	}
	if (bbr->inflight_shortterm_q16 != NO_INFLIGHT)
		bbr->inflight_shortterm_q16 = min_u64(bbr->inflight_shortterm_q16, by_marks);
}

/* Ends Startup before a plateau (§5.3.1.3), bbr_handle_queue_too_high_in_startup. */
FP_INLINE void bbr_end_startup(struct fp_state *bbr, const struct fp_call *call)
{
	__u32 bound = bbr_drained(bbr, call);

	bbr->full_bw_reached = 1;
	if (BBR_VERSION == 3)
		bound = max_u32(bound, bbr->inflight_latest);
	bbr->inflight_longterm_q16 = q16(bound);
}

/* bbr_update_ecn_alpha, once per round, and bbr_check_ecn_too_high_in_startup. */
FP_INLINE void bbr_update_ecn_alpha(struct fp_state *bbr, const struct fp_call *call)
{
	__u32 delivered, ratio;

	if (!ecn_factor)
		return;
	if (ecn && call->flags & FP_ECN && (!ecn_max_rtt || bbr->min_rtt <= ecn_max_rtt))
		bbr->ecn_eligible = 1;
	if (!bbr->ecn_eligible && BBR_VERSION == 3)
		return;
	delivered = call->delivered - bbr->ecn_delivered;
	if (!delivered)
		return;
	ratio = ((__u64)(call->delivered_ce - bbr->ecn_delivered_ce) << 16) / delivered;
	bbr->ecn_alpha = min_u64(times_q16(bbr->ecn_alpha, FP_ONE - ecn_alpha_gain) +
				 times_q16(ratio, ecn_alpha_gain), FP_ONE);
	bbr->ecn_delivered = call->delivered;
	bbr->ecn_delivered_ce = call->delivered_ce;
	if (!ecn_startup_rounds || !ecn_threshold || bbr->full_bw_reached || !bbr->ecn_eligible)
		return;
	bbr->startup_ecn_rounds = ratio >= ecn_threshold ? bbr->startup_ecn_rounds + 1 : 0;
	if (bbr->startup_ecn_rounds >= ecn_startup_rounds)
		bbr_end_startup(bbr, call);
}

/* The ACK's steps. */

/* AdvanceMaxBwFilter (§5.5.6): a cycle without a sample does not count. */
FP_INLINE void bbr_advance_max_bw(struct fp_state *bbr)
{
	__u32 cycles = max_u32(min_u32(max_bw_window, MAX_CYCLES), 1), i;
	__u64 most = 0;

	if (!bbr->max_bw_of[0])
		return;
#pragma unroll
	for (i = MAX_CYCLES - 1; i > 0; i--) {
		bbr->max_bw_of[i] = i < cycles ? bbr->max_bw_of[i - 1] : 0;
		most = max_u64(most, bbr->max_bw_of[i]);
	}
	if (cycles > 1)
		bbr->max_bw_of[0] = 0;
	bbr->max_bw = max_u64(most, bbr->max_bw_of[0]);
}

/* UpdateRound (§5.5.1), bbr_update_round_start, with the ACK's bandwidth sample. */
FP_INLINE void bbr_update_round(struct fp_state *bbr, const struct fp_call *call)
{
	bbr->sample_bw = 0;
	bbr->round_start = 0;
	if (!call->interval)
		return;
	/* Rounded up, as by bbr_calculate_bw_sample. */
	bbr->sample_bw = (((__u64)call->sample_delivered << BW_SHIFT) + call->interval - 1) / call->interval;
	bbr->sample_bw = min_u64(bbr->sample_bw, BW_MOST);
	if (!not_before(call->prior_delivered, bbr->next_round_delivered))
		return;
	bbr->next_round_delivered = call->delivered;
	bbr->round_count++;
	bbr->round_start = 1;
	if (bbr->rounds_since_probe_up != U32_MAX)
		bbr->rounds_since_probe_up++;
}

/* UpdateLatestDeliverySignals. */
FP_INLINE void bbr_update_latest_signals(struct fp_state *bbr, const struct fp_call *call)
{
	bbr->loss_round_start = 0;
	if (!call->interval)
		return;
	bbr->bw_latest = max_u64(bbr->bw_latest, bbr->sample_bw);
	bbr->inflight_latest = max_u32(bbr->inflight_latest, call->sample_delivered);
	if (not_before(call->prior_delivered, bbr->loss_round_delivered)) {
		bbr->loss_round_delivered = call->delivered;
		bbr->loss_round_start = 1;
	}
}

/* UpdateCongestionSignals, bbr_update_congestion_signals. */
FP_INLINE void bbr_update_congestion_signals(struct fp_state *bbr, const struct fp_call *call)
{
	if (!call->interval)
		return;
	/* UpdateMaxBw (§5.5.5): a limited sample counts only if it is not below the estimate. */
	if (bbr->sample_bw &&
	    (bbr->sample_bw >= bbr->max_bw || !(call->flags & FP_APP_LIMITED))) {
		bbr->max_bw_of[0] = max_u64(bbr->max_bw_of[0], bbr->sample_bw);
		bbr->max_bw = max_u64(bbr->max_bw, bbr->sample_bw);
	}
	if (call->losses)
		bbr->loss_in_round = 1;
	if (bbr->loss_round_start) {
		bbr_adapt_lower_bounds(bbr);
		bbr->loss_in_round = 0;
		bbr->ecn_in_round = 0;
	}
}

/* UpdateACKAggregation (§5.5.9), bbr_update_ack_aggregation. */
FP_INLINE void bbr_update_ack_aggregation(struct fp_state *bbr, const struct fp_call *call)
{
	__u32 window = bbr->full_bw_reached ? extra_acked_window : extra_acked_startup_window;
	__u64 interval, expected, extra_q16;

	if (!call->interval)
		return;
	if (bbr->round_start && ++bbr->extra_acked_rounds >= window) {
		bbr->extra_acked_rounds = 0;
		bbr->extra_acked_q16[1] = bbr->extra_acked_q16[0];
		bbr->extra_acked_q16[0] = 0;
	}
	interval = min_u64(call->now - bbr->epoch_start, 1 << 24);
	expected = bbr_bw(bbr) * interval; /* 2^-30 segments */
	/* ACKs that arrive no faster than expected end an epoch: they were not aggregated. */
	if ((__u64)bbr->epoch_acked << BW_SHIFT <= expected ||
	    bbr->epoch_acked + call->acked >= EPOCH_SEGMENTS) {
		bbr->epoch_start = call->now;
		bbr->epoch_acked = 0;
		expected = 0;
	}
	bbr->epoch_acked += call->acked;
	extra_q16 = (((__u64)bbr->epoch_acked << BW_SHIFT) - expected) >> (BW_SHIFT - 16);
	extra_q16 = min_u64(extra_q16, bbr->cwnd_q16);
	bbr->extra_acked_q16[0] = max_u64(bbr->extra_acked_q16[0], extra_q16);
}

FP_INLINE struct bbr_sample bbr_sample_of(const struct fp_call *call)
{
	struct bbr_sample sample = {
		.tx_in_flight = call->tx_inflight,
		.lost = call->lost - call->tx_lost,
		.delivered = call->sample_delivered,
		.delivered_ce = call->sample_delivered_ce,
		.app_limited = call->flags & FP_APP_LIMITED,
	};

	return sample;
}

/* CheckStartupHighLoss (§5.3.1.3), bbr_check_loss_too_high_in_startup. */
FP_INLINE void bbr_check_startup_high_loss(struct fp_state *bbr, const struct fp_call *call,
					   __u8 ca_state)
{
	struct bbr_sample sample;

	if (bbr->full_bw_reached)
		return;
	if (call->losses)
		bbr->loss_events++;
	if (!bbr->loss_round_start)
		return;
	sample = bbr_sample_of(call);
	if (ca_state == FP_RECOVERY && startup_loss_events &&
	    bbr->loss_events >= startup_loss_events && bbr_is_inflight_too_high(bbr, &sample))
		bbr_end_startup(bbr, call);
	bbr->loss_events = 0;
}

/* CheckFullBWReached (§5.3.1.2), bbr_check_full_bw_reached. */
FP_INLINE void bbr_check_full_bw_reached(struct fp_state *bbr, const struct fp_call *call)
{
	__u64 bw = BBR_VERSION == 3 ? bbr->sample_bw : bbr->max_bw;

	if (call->flags & FP_APP_LIMITED || bbr->full_bw_now)
		return;
	/* v2: of max_bw, at the ACK that begins a round, and only until the pipe was full. */
	if (BBR_VERSION == 2 && (bbr->full_bw_reached || !bbr->round_start))
		return;
	if (bw >= times_q16(bbr->full_bw, full_bw_growth)) {
		bbr->full_bw = bw;
		bbr->full_bw_count = 0;
	} else if (bbr->round_start) {
		bbr->full_bw_count++;
		bbr->full_bw_now = bbr->full_bw_count >= full_bw_rounds;
		bbr->full_bw_reached |= bbr->full_bw_now;
	}
}

/* CheckStartupDone. */
FP_INLINE void bbr_check_startup_done(struct fp_state *bbr, struct fp_call *call)
{
	if (bbr->state == STARTUP && bbr->full_bw_reached)
		bbr_enter_drain(bbr, call);
}

/* CheckDrainDone (§5.3.2), bbr_check_drain. */
FP_INLINE void bbr_check_drain_done(struct fp_state *bbr, struct fp_call *call)
{
	if (bbr->state != DRAIN)
		return;
	if (bbr_flight(bbr, call, call->inflight) <= bbr_drained(bbr, call) ||
	    (drain_rounds && bbr->round_count - bbr->drain_start_round > drain_rounds))
		bbr_start_down(bbr, call);
}

FP_INLINE bool bbr_is_limited_by_longterm(const struct fp_state *bbr, const struct fp_call *call)
{
	return call->flags & FP_CWND_LIMITED && bbr->inflight_longterm_q16 != NO_INFLIGHT &&
	       bbr->cwnd_q16 >= bbr->inflight_longterm_q16;
}

/* ProbeInflightLongtermUpward (§5.3.3.6). */
FP_INLINE void bbr_probe_longterm_upward(struct fp_state *bbr, const struct fp_call *call)
{
	__u64 increments;

	if (!bbr_is_limited_by_longterm(bbr, call)) {
		if (BBR_VERSION == 2)
			bbr->bw_probe_up_acked_q16 = 0;
		return;
	}
	bbr->bw_probe_up_acked_q16 += q16(call->acked);
	if (bbr->bw_probe_up_acked_q16 >= bbr->probe_up_acked_per_inc_q16 &&
	    bbr->probe_up_acked_per_inc_q16) {
		increments = bbr->bw_probe_up_acked_q16 / bbr->probe_up_acked_per_inc_q16;
		bbr->bw_probe_up_acked_q16 -= increments * bbr->probe_up_acked_per_inc_q16;
		bbr->inflight_longterm_q16 =
			bbr->inflight_longterm_q16 + (increments << 16);
		bbr->may_take_fast_path = 0;
	}
	if (bbr->round_start)
		bbr_raise_slope(bbr);
}

/* Advances the ACK phase at the start of a round; true if that changed the state. */
FP_INLINE bool bbr_end_of_phase(struct fp_state *bbr, struct fp_call *call)
{
	if (bbr->ack_phase == PROBE_STARTING) {
		bbr->ack_phase = PROBE_FEEDBACK;
	} else if (bbr->ack_phase == PROBE_STOPPING) {
		bbr->is_bw_probe_sample = 0;
		bbr->ack_phase = INIT;
		if (!bbr_is_probe_bw(bbr))
			return false;
		if (!(call->flags & FP_APP_LIMITED))
			bbr_advance_max_bw(bbr);
		if (bbr->prev_probe_precautionary && !bbr->prev_probe_too_high) {
			bbr_start_refill(bbr, call, 0);
			return true;
		}
	}
	return false;
}

/* AdaptLongTermModel (§5.5.10.4), bbr_adapt_upper_bounds. True if it changed the state by phase. */
STEP bbr_adapt_long_term_model(struct fp_state *bbr, struct fp_call *call)
{
	struct bbr_sample sample;

	if (!bbr || !call)
		return 0;
	if (bbr->round_start && bbr_end_of_phase(bbr, call))
		return 1;
	sample = bbr_sample_of(call);
	if (bbr_is_inflight_too_high(bbr, &sample)) {
		if (bbr->is_bw_probe_sample)
			bbr_handle_inflight_too_high(bbr, call, &sample);
	} else if (bbr->inflight_longterm_q16 != NO_INFLIGHT) {
		/* More than the bound has arrived without excessive loss: the bound is too low. */
		bbr->inflight_longterm_q16 = max_u64(bbr->inflight_longterm_q16, q16(sample.tx_in_flight));
		if (bbr->state == UP)
			bbr_probe_longterm_upward(bbr, call);
	}
	return 0;
}

FP_INLINE __u32 ilog2(__u32 x)
{
	__u32 log = 0;

	if (x >> 16)
		log += 16, x >>= 16;
	if (x >> 8)
		log += 8, x >>= 8;
	if (x >> 4)
		log += 4, x >>= 4;
	if (x >> 2)
		log += 2, x >>= 2;
	return log + (x >> 1);
}

/* IsTimeToProbeBW (§5.3.3.8), bbr_check_time_to_probe_bw. True if it changed the state. */
FP_INLINE bool bbr_check_time_to_probe(struct fp_state *bbr, struct fp_call *call, __u8 ca_state)
{
	__u32 up_rounds = 0;
	__u64 bound;

	if (ecn_reprobe_gain && bbr->ecn_eligible && bbr->ecn_in_cycle && !bbr->loss_in_cycle &&
	    ca_state <= FP_DISORDER) {
		/* Marks have ceased. */
		bound = bbr->inflight_longterm_q16;
		if (bound == NO_INFLIGHT)
			bound = bbr->cwnd_q16;
		up_rounds = ilog2(max_u64(times_q16(bound, ecn_reprobe_gain) >> 16, 1));
	} else if (call->now - bbr->cycle_stamp <= bbr->bw_probe_wait &&
		   bbr->rounds_since_probe_up < reno_rounds &&
		   q16(bbr->rounds_since_probe_up) < bbr_target_inflight_q16(bbr, call)) {
		return false;
	}
	bbr_start_refill(bbr, call, up_rounds);
	return true;
}

FP_INLINE void bbr_in_down(struct fp_state *bbr, struct fp_call *call, __u8 ca_state)
{
	__u32 flight;

	if (bbr_check_time_to_probe(bbr, call, ca_state))
		return;
	/* IsTimeToCruise (§5.3.3.9). */
	flight = bbr_flight(bbr, call, call->prior_inflight);
	if (flight <= bbr_inflight_with_headroom_q16(bbr) >> 16 &&
	    flight <= bbr_inflight(bbr, call, bbr->max_bw, FP_ONE))
		bbr_start_cruise(bbr);
}

/* IsTimeToGoDown (§5.3.3.9). */
FP_INLINE bool bbr_is_time_to_go_down(struct fp_state *bbr, const struct fp_call *call)
{
	__u32 flight = bbr_flight(bbr, call, call->prior_inflight);

	/* As much in flight as was too much the last time, up to a fraction of a segment. */
	if (bbr->prev_probe_too_high && bbr->inflight_longterm_q16 != NO_INFLIGHT &&
	    q16(flight + 1) > bbr->inflight_longterm_q16) {
		bbr->prev_probe_precautionary = 1;
		return true;
	}
	if (BBR_VERSION == 2)
		return call->now - bbr->cycle_stamp > bbr->min_rtt &&
		       flight >= bbr_inflight(bbr, call, bbr->max_bw, up_queue_gain);
	if (bbr_is_limited_by_longterm(bbr, call)) {
		/* The bandwidth cannot grow: not a plateau. */
		bbr_reset_full_bw(bbr, bbr->sample_bw);
		return false;
	}
	return bbr->full_bw_now;
}

/* UpdateProbeBWCyclePhase (§5.3.3.9), bbr_update_cycle_phase. */
STEP bbr_update_cycle_phase(struct fp_state *bbr, struct fp_call *call, __u8 ca_state)
{
	if (!bbr || !call)
		return 0;
	if (!bbr->full_bw_reached || bbr_adapt_long_term_model(bbr, call))
		return 0;
	if (bbr->state == DOWN) {
		bbr_in_down(bbr, call, ca_state);
	} else if (bbr->state == CRUISE) {
		bbr_check_time_to_probe(bbr, call, ca_state);
	} else if (bbr->state == REFILL) {
		if (bbr->round_start) {
			/* Data acknowledged from now on was sent in REFILL, perhaps beyond the path. */
			bbr->is_bw_probe_sample = 1;
			bbr_start_up(bbr, call);
		}
	} else if (bbr->state == UP) {
		if (bbr_is_time_to_go_down(bbr, call)) {
			bbr->prev_probe_too_high = 0;
			bbr_start_down(bbr, call);
		}
	}
	return 0;
}

/* ProbeRTTCwnd (§5.6.4.5). */
FP_INLINE __u32 bbr_probe_rtt_cwnd(const struct fp_state *bbr)
{
	return max_u32(bbr_bdp(bbr, bbr_bw(bbr), probe_rtt_cwnd_gain), min_pipe_cwnd);
}

/* CheckProbeRTTDone, ExitProbeRTT (§5.3.4.4). */
FP_INLINE void bbr_check_probe_rtt_done(struct fp_state *bbr, struct fp_call *call)
{
	if (!bbr->probe_rtt_done_stamp || call->now <= bbr->probe_rtt_done_stamp)
		return;
	bbr->probe_rtt_min_stamp = call->now;
	bbr->cwnd_q16 = max_u64(bbr->cwnd_q16, bbr->prior_cwnd_q16);
	bbr_reset_short_term_model(bbr);
	if (bbr->full_bw_reached) {
		bbr_start_down(bbr, call);
		bbr_start_cruise(bbr);
	} else {
		bbr_enter(bbr, STARTUP);
	}
}

/* HandleProbeRTT (§5.3.4.3). */
FP_INLINE void bbr_handle_probe_rtt(struct fp_state *bbr, struct fp_call *call)
{
	if (!bbr->probe_rtt_done_stamp) {
		if (call->inflight <= bbr_probe_rtt_cwnd(bbr)) {
			bbr->probe_rtt_done_stamp = call->now + probe_rtt_duration;
			bbr->probe_rtt_round_done = 0;
			bbr->next_round_delivered = call->delivered;
		}
	} else {
		bbr->probe_rtt_round_done |= bbr->round_start;
		if (bbr->probe_rtt_round_done)
			bbr_check_probe_rtt_done(bbr, call);
	}
}

/* UpdateMinRTT and CheckProbeRTT (§5.3.4.3), bbr_update_min_rtt. */
STEP bbr_update_min_rtt(struct fp_state *bbr, struct fp_call *call)
{
	bool expired, equal;

	if (!bbr || !call)
		return 0;
	if (!bbr->probe_rtt_min_stamp)
		bbr->probe_rtt_min_stamp = call->now;
	expired = call->now - bbr->probe_rtt_min_stamp > probe_rtt_interval;
	if (call->rtt != NO_RTT) {
		equal = probe_rtt_renewed_by_equal && call->rtt == bbr->probe_rtt_min_delay;
		if (call->rtt < bbr->probe_rtt_min_delay || equal ||
		    (expired && !(call->flags & FP_ACK_DELAYED))) {
			bbr->probe_rtt_min_delay = call->rtt;
			bbr->probe_rtt_min_stamp = call->now;
		}
	}
	/* Linux: an equal RTT renews min_rtt. */
	if (bbr->probe_rtt_min_delay <= bbr->min_rtt ||
	    (bbr->min_rtt_stamp && call->now - bbr->min_rtt_stamp > min_rtt_window)) {
		if (bbr->min_rtt != bbr->probe_rtt_min_delay)
			bbr->may_take_fast_path = 0;
		bbr->min_rtt = bbr->probe_rtt_min_delay;
		bbr->min_rtt_stamp = bbr->probe_rtt_min_stamp;
	}
	/* An idle flow has seen the empty path anyway. */
	if (expired && !bbr->idle_restart && bbr->state != PROBE_RTT) {
		bbr->probe_rtt_done_stamp = 0;
		bbr->probe_rtt_round_done = 0;
		bbr->ack_phase = PROBE_STOPPING;
		bbr->next_round_delivered = call->delivered;
		bbr_enter(bbr, PROBE_RTT);
		bbr_save_cwnd(bbr, true);
	}
	if (bbr->state == PROBE_RTT)
		bbr_handle_probe_rtt(bbr, call);
	if (call->acked)
		bbr->idle_restart = 0;
	return 0;
}

/* UpdateMaxInflight. */
FP_INLINE __u64 bbr_max_inflight_q16(const struct fp_state *bbr, const struct fp_call *call)
{
	__u64 bdp = q16(bbr_bdp(bbr, bbr_bw(bbr), bbr->cwnd_gain));

	return bbr_quantization_budget_q16(bbr, call, bdp + bbr_extra_acked_q16(bbr));
}

/* BoundCwndForProbeRTT (§5.6.4.5) and BoundCwndForModel (§5.6.4.7). */
FP_INLINE void bbr_bound_cwnd(struct fp_state *bbr)
{
	__u64 cap = NO_INFLIGHT;

	if (bbr->state == PROBE_RTT)
		bbr->cwnd_q16 = min_u64(bbr->cwnd_q16, q16(bbr_probe_rtt_cwnd(bbr)));
	if (bbr->state == PROBE_RTT || bbr->state == CRUISE)
		cap = bbr_inflight_with_headroom_q16(bbr);
	else if (bbr_is_probe_bw(bbr))
		cap = bbr->inflight_longterm_q16;
	cap = min_u64(cap, bbr->inflight_shortterm_q16);
	bbr->cwnd_q16 = min_u64(bbr->cwnd_q16, max_u64(cap, q16(min_pipe_cwnd)));
}

/* SetCwnd (§5.6.4.6), bbr_set_cwnd. */
STEP bbr_set_cwnd(struct fp_state *bbr, struct fp_call *call)
{
	__u64 most, grown;

	if (!bbr || !call)
		return 0;
	most = bbr_max_inflight_q16(bbr, call);
	grown = bbr->cwnd_q16 + q16(call->acked);
	bbr->may_take_fast_path = 0;
	if (bbr->full_bw_reached) {
		bbr->may_take_fast_path = grown >= most;
		bbr->cwnd_q16 = min_u64(grown, most);
	} else if (bbr->cwnd_q16 < most || bbr->cwnd_q16 < q16(2 * bbr->initial_cwnd)) {
		bbr->cwnd_q16 = grown;
	} else {
		bbr->may_take_fast_path = 1;
	}
	bbr->cwnd_q16 = max_u64(bbr->cwnd_q16, q16(min_pipe_cwnd));
	bbr_bound_cwnd(bbr);
	return 0;
}

/* Bounds a restored window by the model. */
STEP bbr_bound_after_restoring(struct fp_state *bbr, struct fp_call *call)
{
	if (!bbr || !call)
		return 0;
	bbr->may_take_fast_path = 0;
	if (bbr->full_bw_reached)
		bbr->cwnd_q16 = min_u64(bbr->cwnd_q16, bbr_max_inflight_q16(bbr, call));
	bbr->cwnd_q16 = max_u64(bbr->cwnd_q16, q16(min_pipe_cwnd));
	bbr_bound_cwnd(bbr);
	return 0;
}

/* UpdateModelAndState (§5.2.3), bbr_update_model, except for UpdateProbeBWCyclePhase and later. */
STEP bbr_update_model(struct fp_state *bbr, struct fp_call *call, __u8 ca_state)
{
	if (!bbr || !call)
		return 0;
	bbr_update_congestion_signals(bbr, call);
	bbr_update_ack_aggregation(bbr, call);
	bbr_check_startup_high_loss(bbr, call, ca_state);
	bbr_check_full_bw_reached(bbr, call);
	return 0;
}

STEP bbr_update_startup_and_drain(struct fp_state *bbr, struct fp_call *call)
{
	if (!bbr || !call)
		return 0;
	bbr_check_startup_done(bbr, call);
	bbr_check_drain_done(bbr, call);
	return 0;
}

/* Marks packets that are sent in ProbeRTT as application-limited (§5.3.4.3), and finds such ones. */
FP_INLINE void bbr_mark_limited(struct fp_state *bbr, const struct fp_call *call)
{
	if (bbr->limited && !not_before(bbr->limited_until, call->delivered))
		bbr->limited = 0;
	if (!bbr->limited)
		bbr->limited_from = call->delivered;
	bbr->limited = 1;
	bbr->limited_until = call->delivered + call->inflight;
}

FP_INLINE void bbr_find_limited(const struct fp_state *bbr, struct fp_call *call)
{
	if (bbr->limited && not_before(call->prior_delivered, bbr->limited_from) &&
	    not_before(bbr->limited_until, call->prior_delivered))
		call->flags |= FP_APP_LIMITED;
}

/* The kernel has another window after a timeout, or if another controller was there before. */
FP_INLINE void bbr_take_window(struct fp_state *bbr, const struct fp_call *call)
{
	if (bbr->cwnd_q16 >> 16 != call->cwnd)
		bbr->cwnd_q16 = q16(call->cwnd);
}

/* UpdateOnACK (§5.2.3), bbr_main. */
static void fp_ack(struct fp_state *bbr, struct fp_call *call)
{
	__u8 ca_state = bbr->exit_due ? bbr->ca_state : call->ca_state;
	bool fast;

	bbr_take_window(bbr, call);
	bbr_find_limited(bbr, call);
	bbr_handle_losses(bbr, call);
	bbr_save_bounds(bbr);
	bbr_update_round(bbr, call);
	if (bbr->round_start)
		bbr_update_ecn_alpha(bbr, call);
	if (bbr->ecn_eligible && call->delivered_ce != bbr->ce_seen)
		bbr->ecn_in_round = 1;
	bbr->ce_seen = call->delivered_ce;
	bbr_update_latest_signals(bbr, call);
	/* bbr_run_fast_path: an ACK of a limited flow that brings nothing new. */
	fast = bbr->may_take_fast_path && fast_path && call->flags & FP_APP_LIMITED &&
	       bbr->sample_bw < bbr->max_bw && !bbr->loss_in_round && !bbr->ecn_in_round;
	if (!fast)
		bbr_update_model(bbr, call, ca_state);
	bbr_update_startup_and_drain(bbr, call);
	bbr_update_cycle_phase(bbr, call, ca_state);
	bbr_update_min_rtt(bbr, call);
	/* UpdateControlParameters. */
	if (!fast || !bbr->may_take_fast_path) {
		if (bbr->gains_are_stale)
			bbr_update_gains(bbr);
		bbr_set_pacing_rate(bbr, call, bbr->pacing_gain);
		bbr_set_cwnd(bbr, call);
	}
	/* AdvanceLatestDeliverySignals. */
	if (bbr->loss_round_start) {
		bbr->bw_latest = bbr->sample_bw;
		bbr->inflight_latest = call->sample_delivered;
	}
	if (call->lost != call->tx_lost)
		bbr->loss_in_cycle = 1;
	if (call->sample_delivered_ce)
		bbr->ecn_in_cycle = 1;
	/* RestoreCwnd, at the end of a timeout's episode. */
	if (bbr->exit_due) {
		bbr->exit_due = 0;
		if (bbr->episode == TIMEOUT) {
			bbr->cwnd_q16 = max_u64(bbr->cwnd_q16, bbr->prior_cwnd_q16);
			bbr_bound_after_restoring(bbr, call);
		}
		bbr->episode = NO_EPISODE;
	}
	if (bbr->state == PROBE_RTT)
		bbr_mark_limited(bbr, call);
	call->cwnd = bbr->cwnd_q16 >> 16;
}

/* OnInit (§5.2.1). */
static void fp_begin(struct fp_state *bbr, struct fp_call *call)
{
	__builtin_memset(bbr, 0, sizeof(*bbr));
	bbr->bw_shortterm = NO_BW;
	bbr->undo_bw_shortterm = NO_BW;
	bbr->min_rtt = NO_RTT;
	bbr->probe_rtt_min_delay = NO_RTT;
	bbr->inflight_shortterm_q16 = NO_INFLIGHT;
	bbr->inflight_longterm_q16 = NO_INFLIGHT;
	bbr->undo_inflight_shortterm_q16 = NO_INFLIGHT;
	bbr->undo_inflight_longterm_q16 = NO_INFLIGHT;
	bbr->probe_up_acked_per_inc_q16 = U64_MAX;
	bbr->next_round_delivered = call->delivered;
	/* As in Linux, the first loss round begins with the second flight. */
	bbr->loss_round_delivered = call->delivered + 1;
	bbr_take_window(bbr, call);
	bbr->initial_cwnd = min_u32(call->cwnd, 127);
	bbr->lost_seen = call->lost;
	bbr->ecn_alpha = ecn_alpha_init;
	bbr->ecn_delivered = call->delivered;
	bbr->ecn_delivered_ce = call->delivered_ce;
	bbr->ce_seen = call->delivered_ce;
	bbr->epoch_start = call->now;
	bbr->cycle_stamp = call->now;
	bbr->random = call->random ? call->random : 1;
	bbr_update_gains(bbr);
	bbr_init_pacing_rate(bbr, call, NOMINAL_RTT);
	bbr_take_first_rtt(bbr, call);
}

/* Called when an episode begins, before FP_STATE, and not again for the same timeout. */
static void fp_congestion(struct fp_state *bbr, struct fp_call *call)
{
	bbr_take_window(bbr, call);
	bbr_save_cwnd(bbr, bbr->state == PROBE_RTT || bbr->episode != NO_EPISODE);
	bbr->save_due = 1;
}

static void fp_new_state(struct fp_state *bbr, struct fp_call *call)
{
	__u64 bound;

	switch (call->ca_state) {
	case FP_CWR:
	case FP_RECOVERY:
		/* OnEnterFastRecovery. */
		bbr->episode = FAST_RECOVERY;
		bbr->ca_state = call->ca_state;
		bbr->exit_due = 0;
		break;
	case FP_LOSS:
		/* OnEnterRTO; the kernel has reduced the window since it found the losses. */
		bbr_handle_losses(bbr, call);
		bbr_take_window(bbr, call);
		bbr_save_bounds(bbr);
		bbr->episode = TIMEOUT;
		bbr->ca_state = FP_LOSS;
		bbr->exit_due = 0;
		if (BBR_VERSION == 3) {
			bbr_reset_full_bw(bbr, 0);
			bound = max_u64(bbr->cwnd_q16, bbr->prior_cwnd_q16);
		} else {
			bbr->full_bw = 0;
			bound = bbr->prior_cwnd_q16;
		}
		if (!bbr_is_probing(bbr) && bbr->inflight_shortterm_q16 == NO_INFLIGHT)
			bbr->inflight_shortterm_q16 = bound;
		break;
	default:
		if (bbr->episode != NO_EPISODE)
			bbr->exit_due = 1;
	}
}

/* HandleSpuriousLossDetection (§5.5.11.2), bbr_undo_cwnd. */
static void fp_undo(struct fp_state *bbr, struct fp_call *call)
{
	bbr_take_window(bbr, call);
	bbr_save_bounds(bbr);
	bbr->loss_in_round = 0;
	bbr_reset_full_bw(bbr, 0);
	if (undo) {
		bbr->cwnd_q16 = max_u64(bbr->cwnd_q16, bbr->prior_cwnd_q16);
		/* Unset is the loosest bound. */
		bbr->bw_shortterm = max_u64(bbr->bw_shortterm, bbr->undo_bw_shortterm);
		bbr->inflight_shortterm_q16 =
			max_u64(bbr->inflight_shortterm_q16, bbr->undo_inflight_shortterm_q16);
		bbr->inflight_longterm_q16 =
			max_u64(bbr->inflight_longterm_q16, bbr->undo_inflight_longterm_q16);
		bbr->may_take_fast_path = 0;
	}
	bbr->episode = NO_EPISODE;
	bbr->exit_due = 0;
	bbr_bound_after_restoring(bbr, call);
	call->cwnd = bbr->cwnd_q16 >> 16;
}

/* HandleRestartFromIdle (§5.4.1), bbr_cwnd_event. */
static void fp_restart(struct fp_state *bbr, struct fp_call *call)
{
	bbr_take_window(bbr, call);
	bbr_take_first_rtt(bbr, call);
	if (!(call->flags & FP_APP_LIMITED))
		return;
	bbr->idle_restart = 1;
	bbr->epoch_start = call->now;
	bbr->epoch_acked = 0;
	/* The path's bandwidth is enough: a higher rate would only overrun a buffer. */
	if (bbr_is_probe_bw(bbr))
		bbr_set_pacing_rate(bbr, call, FP_ONE);
	else if (bbr->state == PROBE_RTT)
		bbr_check_probe_rtt_done(bbr, call);
	call->cwnd = bbr->cwnd_q16 >> 16;
}

/* values: inflight_longterm, inflight_shortterm (0 if unset), extra_acked, rounds, ecn_alpha. */
static void fp_observe(const struct fp_state *bbr, const struct fp_call *call, struct fp_row *row)
{
	__u64 longterm = bbr->inflight_longterm_q16, shortterm = bbr->inflight_shortterm_q16;

	row->state = bbr->state;
	row->bw = bbr_bw(bbr) * call->mss / 1024 * 1000000 >> (BW_SHIFT - 10);
	row->min_rtt = bbr->min_rtt == NO_RTT ? 0 : bbr->min_rtt;
	row->values[0] = longterm == NO_INFLIGHT ? 0 : longterm >> 16;
	row->values[1] = shortterm == NO_INFLIGHT ? 0 : shortterm >> 16;
	row->values[2] = bbr_extra_acked_q16(bbr) >> 16;
	row->values[3] = bbr->round_count;
	row->values[4] = bbr->ecn_alpha;
}

#endif
