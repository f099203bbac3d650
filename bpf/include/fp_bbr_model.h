/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * BBR's state and its model of the path (draft-ietf-ccwg-bbr-06 §5.5, §5.6): fp_bbr.h says where it
 * comes from.
 *
 * Units: volumes are segments, with _q16 2^-16 segments; bandwidths 2^-30 segments per us; gains and
 * fractions 2^-16; times us.
 */
#ifndef FP_BBR_MODEL_H
#define FP_BBR_MODEL_H

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
	__u32 send_quantum;
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
FP_CALLED __u32 bbr_bdp(const struct fp_state *bbr, __u64 bw, fp_q16 gain)
{
	__u64 segments;

	if (bbr->min_rtt == NO_RTT)
		return bbr->initial_cwnd;
	segments = bw * min_u64(bbr->min_rtt, 1 << 24);
	segments = ((segments + 65535) >> 16) * gain;
	segments = (segments + ((__u64)1 << BW_SHIFT) - 1) >> BW_SHIFT;
	return min_u64(segments, 1 << 22);
}

/*
 * §5.6.3, bbr_tso_segs_goal: 1/1024 s, and up to 64 KiB more, halved for each 512 us of min_rtt.
 * Called when one of them changes.
 */
FP_INLINE void bbr_set_send_quantum(struct fp_state *bbr, const struct fp_call *call)
{
	__u64 bytes = call->pacing_rate >> 10;
	__u32 least = 2, segments = 0;

	if (bbr->min_rtt >> 9 < 32)
		bytes += 65536 >> (bbr->min_rtt >> 9 & 31);
	bytes = min_u64(bytes, send_quantum_max);
	if (BBR_VERSION == 2 && call->pacing_rate < MIN_TSO_RATE)
		least = 1;
	if (send_quantum_max < 2 * call->mss)
		least = 1;
	if (call->mss)
		segments = (__u32)bytes / call->mss;
	bbr->send_quantum = max_u32(min_u32(segments, MAX_BURST), least);
}

/* QuantizationBudget (§5.6.4.2), bbr_quantization_budget. */
FP_INLINE __u64 bbr_quantization_budget_q16(const struct fp_state *bbr, __u64 cap)
{
	cap = max_u64(cap, q16(max_u32(OFFLOAD_FACTOR * bbr->send_quantum, min_pipe_cwnd)));
	/* A quarter of a small BDP may be less than a packet. */
	if (bbr->state == UP)
		cap += q16(2);
	return cap;
}

/* Inflight (§5.6.4.2), bbr_inflight. */
FP_CALLED __u32 bbr_inflight(const struct fp_state *bbr, __u64 bw, fp_q16 gain)
{
	return bbr_quantization_budget_q16(bbr, q16(bbr_bdp(bbr, bw, gain))) >> 16;
}

/* TargetInflight (§5.3.3.8): the BDP, or the window if congestion has made it smaller. */
FP_INLINE __u64 bbr_target_inflight_q16(const struct fp_state *bbr)
{
	return min_u64(q16(bbr_inflight(bbr, bbr_bw(bbr), FP_ONE)), bbr->cwnd_q16);
}

/* Inflight at which the queue counts as drained. */
FP_INLINE __u32 bbr_drained(const struct fp_state *bbr)
{
	return bbr_inflight(bbr, bbr->max_bw, FP_ONE);
}

/*
 * Returns `inflight` as it will be when the pacer releases the next burst, which is included while
 * probing (bbr_packets_in_net_at_edt).
 */
FP_INLINE __u32 bbr_flight(const struct fp_state *bbr, const struct fp_call *call, __u32 inflight)
{
	__u64 delivered = bbr_bw(bbr) * min_u64(call->departs_in, 1 << 24) / 1000 >> BW_SHIFT;

	if (bbr->pacing_gain > FP_ONE)
		inflight += bbr->send_quantum;
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
FP_INLINE void bbr_init_pacing_rate(struct fp_state *bbr, struct fp_call *call, __u32 rtt)
{
	__u64 bw = ((__u64)call->cwnd << BW_SHIFT) / max_u32(rtt, 1);

	call->pacing_rate = bbr_rate(min_u64(bw, BW_MOST), call->mss, startup_pacing_gain);
	bbr_set_send_quantum(bbr, call);
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
	bbr_set_send_quantum(bbr, call);
}

/* SetPacingRateWithGain (§5.6.2), bbr_set_pacing_rate. */
FP_INLINE void bbr_set_pacing_rate(struct fp_state *bbr, struct fp_call *call, fp_q16 gain)
{
	__u64 rate;

	bbr_take_first_rtt(bbr, call);
	rate = bbr_rate(bbr_bw(bbr), call->mss, gain);
	if (bbr->full_bw_reached || rate > call->pacing_rate)
		call->pacing_rate = rate;
	bbr_set_send_quantum(bbr, call);
}

#endif
