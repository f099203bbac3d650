/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The steps of BBR's work at an ACK (draft-ietf-ccwg-bbr-06 §5.2.3). */
#ifndef FP_BBR_ACK_H
#define FP_BBR_ACK_H

#include "fp_bbr_states.h"

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
		bbr_end_startup(bbr);
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
	if (bbr_flight(bbr, call, call->inflight) <= bbr_drained(bbr) ||
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
FP_STEP bbr_adapt_long_term_model(struct fp_state *bbr, struct fp_call *call)
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
		   q16(bbr->rounds_since_probe_up) < bbr_target_inflight_q16(bbr)) {
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
	    flight <= bbr_inflight(bbr, bbr->max_bw, FP_ONE))
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
		       flight >= bbr_inflight(bbr, bbr->max_bw, up_queue_gain);
	if (bbr_is_limited_by_longterm(bbr, call)) {
		/* The bandwidth cannot grow: not a plateau. */
		bbr_reset_full_bw(bbr, bbr->sample_bw);
		return false;
	}
	return bbr->full_bw_now;
}

/* UpdateProbeBWCyclePhase (§5.3.3.9), bbr_update_cycle_phase. */
FP_STEP bbr_update_cycle_phase(struct fp_state *bbr, struct fp_call *call, __u8 ca_state)
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
FP_STEP bbr_update_min_rtt(struct fp_state *bbr, struct fp_call *call)
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
		if (bbr->min_rtt != bbr->probe_rtt_min_delay) {
			bbr->may_take_fast_path = 0;
			bbr->min_rtt = bbr->probe_rtt_min_delay;
			bbr_set_send_quantum(bbr, call);
		}
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
FP_INLINE __u64 bbr_max_inflight_q16(const struct fp_state *bbr)
{
	__u64 bdp = q16(bbr_bdp(bbr, bbr_bw(bbr), bbr->cwnd_gain));

	return bbr_quantization_budget_q16(bbr, bdp + bbr_extra_acked_q16(bbr));
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
FP_STEP bbr_set_cwnd(struct fp_state *bbr, struct fp_call *call)
{
	__u64 most, grown;

	if (!bbr || !call)
		return 0;
	most = bbr_max_inflight_q16(bbr);
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
FP_STEP bbr_bound_after_restoring(struct fp_state *bbr, struct fp_call *call)
{
	if (!bbr || !call)
		return 0;
	bbr->may_take_fast_path = 0;
	if (bbr->full_bw_reached)
		bbr->cwnd_q16 = min_u64(bbr->cwnd_q16, bbr_max_inflight_q16(bbr));
	bbr->cwnd_q16 = max_u64(bbr->cwnd_q16, q16(min_pipe_cwnd));
	bbr_bound_cwnd(bbr);
	return 0;
}

#endif
