/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* BBR's states, and its reactions to loss and to marks. */
#ifndef FP_BBR_STATES_H
#define FP_BBR_STATES_H

#include "fp_bbr_model.h"

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
FP_STEP bbr_start_down(struct fp_state *bbr, struct fp_call *call)
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
FP_STEP bbr_start_refill(struct fp_state *bbr, struct fp_call *call, __u32 up_rounds)
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
	call->ssthresh = bbr_drained(bbr);
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
		target = times_q16(bbr_target_inflight_q16(bbr), beta);
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
 * HandleLostPacket (§5.5.10.2), bbr_skb_marked_lost, for all packets that were newly lost. Those of an
 * ACK are taken as one.
 */
FP_STEP bbr_handle_losses(struct fp_state *bbr, struct fp_call *call)
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
		/* A timer: all that was in flight, packet by packet until it was too much. */
		sample.tx_in_flight = call->inflight + size;
		sample.lost = min_u32(size, times_q16(sample.tx_in_flight, loss_threshold) + 1);
		size = 1;
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
FP_INLINE void bbr_end_startup(struct fp_state *bbr)
{
	__u32 bound = bbr_drained(bbr);

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
		bbr_end_startup(bbr);
}

#endif
