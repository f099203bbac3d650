/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * BBRv2 and BBRv3 as one state machine: crates/cc/src/algo/bbr/v3 with the rules LINUX_V2 or
 * LINUX_V3 (rules.rs), chosen by BBR_VERSION. Names and sections are those of
 * draft-ietf-ccwg-bbr-06; `bbr_*` in comments are functions of google/bbr's tcp_bbr.c.
 */
#ifndef FP_BBR_H
#define FP_BBR_H

#include "fp_bbr_ack.h"

/* UpdateModelAndState (§5.2.3), bbr_update_model, except for UpdateProbeBWCyclePhase and later. */
FP_STEP bbr_update_model(struct fp_state *bbr, struct fp_call *call, __u8 ca_state)
{
	if (!bbr || !call)
		return 0;
	bbr_update_congestion_signals(bbr, call);
	bbr_update_ack_aggregation(bbr, call);
	bbr_check_startup_high_loss(bbr, call, ca_state);
	bbr_check_full_bw_reached(bbr, call);
	return 0;
}

FP_STEP bbr_update_startup_and_drain(struct fp_state *bbr, struct fp_call *call)
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
		/* OnEnterFastRecovery; for a loss in the episode of a mark the kernel calls no ssthresh. */
		if (call->ca_state == FP_RECOVERY && bbr->ca_state == FP_CWR &&
		    bbr->episode == FAST_RECOVERY && !bbr->save_due) {
			bbr_take_window(bbr, call);
			bbr_save_cwnd(bbr, bbr->state == PROBE_RTT);
			bbr->save_due = 1;
		}
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
