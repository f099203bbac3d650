// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Prague (draft-briscoe-iccrg-prague-congestion-control-04, L4STeam's tcp_prague.c):
 * crates/cc/src/algo/prague. `prague_*` in comments are functions of tcp_prague.c.
 *
 * Needs accurate ECN (RFC 9768) at both ends, since with the ECE flag of RFC 3168 all packets of an
 * ACK count as marked, for a round trip. The kernel sends ECT(0); program `ect1`, attached to the
 * egress of a device (tc), makes it ECT(1) for connections that use this algorithm.
 *
 * Approximations:
 *  - Marks are those of packets that were delivered, which the kernel counts (delivered_ce).
 *  - The kernel gets the whole part of the window, and makes its own bursts (tcp_tso_autosize).
 *  - An episode that a full device began counts as one that a mark began.
 */
#include "fp_call.h"

/* Weight of the latest round in alpha (PRAGUE_SHIFT_G), and alpha before the first mark. */
FP_PARAM fp_q16 alpha_gain = FP_Q16(1 / 16.0);
FP_PARAM fp_q16 alpha_init = FP_Q16(1);
/* prague_rtt_scaling: 0 rate, 1 none. */
FP_PARAM fp_word rtt_scaling = 0;
/* RTT at which flows with smaller RTTs grow alike (prague_rtt_target). */
FP_PARAM fp_us target_rtt = 25000;
/* Rounds between the end of slow start and the start of rtt_scaling (prague_rtt_transition). */
FP_PARAM fp_count rtt_transition = 500;

#define MIN_CWND (2 * Q32_ONE)
#define MAX_SCALED_RTT 100000 /* us */
#define BURST_SHIFT 12	      /* prague_burst_shift: at most 1/2^12 s */
#define MOST_WINDOW ((__u64)1 << 51)
#define NO_THRESHOLD U64_MAX

struct fp_state {
	__u64 window; /* frac_cwnd: the target window; 2^-32 segments, as the next three */
	__u64 cwnd; /* follows `window` by one segment per ACK */
	__u64 ssthresh;
	__u64 saved; /* `window` before the last loss, for undo; 0: none */
	__u64 increase; /* segments per round trip, 2^-32 */
	__u64 alpha; /* 2^-32 */
	__u64 alpha_at;
	__u64 reduced_at; /* 0: never */
	__u64 rounds; /* since the end of slow start */
	__u32 window_delivered; /* counters when alpha's observation window began */
	__u32 window_delivered_ce;
	__u32 ce_seen; /* `delivered_ce` at the previous ACK */
	__u32 next_round; /* `delivered` */
	__u8 saw_ce;
	__u8 round_over; /* but the target RTT has not passed yet */
	__u8 in_loss;
	__u8 in_episode; /* of a loss or a mark */
	__u8 leaving; /* it ends with the next ACK */
	__u8 by_mark; /* a mark began it */
	__u8 reduced; /* FP_SSTHRESH, since the last FP_STATE */
};

#define FP_OPS fp_prague
#define FP_OWNS_WINDOW
#define FP_PACED
#include "fp_ops.h"

FP_INLINE bool in_slow_start(const struct fp_state *prague)
{
	return prague->cwnd < prague->ssthresh;
}

/* prague_is_rtt_indep. */
FP_INLINE bool is_rtt_independent(const struct fp_state *prague)
{
	return rtt_scaling == 0 && !in_slow_start(prague) && prague->rounds >= rtt_transition;
}

/* Segments of the target window, rounded up. */
FP_INLINE __u64 ceiling(const struct fp_state *prague)
{
	return max_u64((prague->window + Q32_ONE - 1) >> 32, 1);
}

/* Data sent in 1/2^12 s, at least a segment. */
FP_INLINE __u64 quantum(const struct fp_call *call)
{
	return max_u64(call->pacing_rate >> BURST_SHIFT, call->mss);
}

/* Moves the window in use toward the target window by one segment per ACK. */
FP_INLINE void follow(struct fp_state *prague)
{
	__u64 target = ceiling(prague) << 32;

	if (prague->cwnd > target && prague->cwnd > MIN_CWND) {
		prague->cwnd = max_u64(prague->cwnd - Q32_ONE, target);
		prague->ssthresh = prague->cwnd;
	} else if (prague->cwnd < target) {
		prague->cwnd = min_u64(prague->cwnd + Q32_ONE, target);
	}
}

/* prague_update_cwnd. */
FP_INLINE void grow(struct fp_state *prague, const struct fp_call *call, __u32 marked)
{
	__u64 unmarked = call->acked - min_u32(marked, call->acked), bytes;
	bool used;

	if (marked)
		prague->saw_ce = 1;
	/* A paced flow may use its window without ever filling it. */
	bytes = (prague->cwnd >> 16) * call->mss >> 16;
	used = call->flags & FP_CWND_LIMITED ||
	       (__u64)call->prior_inflight * call->mss + 2 * quantum(call) >= bytes;
	if (unmarked && !prague->in_loss && used) {
		unmarked = min_u64(unmarked, 1 << 16);
		if (in_slow_start(prague)) {
			prague->cwnd = min_u64(prague->cwnd + (unmarked << 32), prague->ssthresh);
			prague->cwnd = min_u64(prague->cwnd, MOST_WINDOW);
			prague->window = prague->cwnd;
			return;
		}
		prague->window += unmarked * prague->increase / ceiling(prague);
		prague->window = min_u64(prague->window, MOST_WINDOW);
	}
	follow(prague);
}

FP_INLINE bool is_settling(const struct fp_state *prague, const struct fp_call *call)
{
	return prague->reduced_at && call->now < prague->reduced_at + target_rtt;
}

/*
 * prague_enter_cwr: reduces the window by alpha / 2, at most once per round trip and, with RTT
 * scaling, once per target RTT.
 */
FP_INLINE void reduce(struct fp_state *prague, const struct fp_call *call)
{
	if (is_rtt_independent(prague) && is_settling(prague, call))
		return;
	prague->reduced_at = call->now;
	prague->window -= times_q32(prague->window, prague->alpha / 2);
	prague->window = max_u64(prague->window, Q32_ONE);
	/* Slow start ends now, although the window in use takes some ACKs to reach the target. */
	prague->ssthresh = min_u64(prague->ssthresh, prague->cwnd);
}

/* prague_enter_loss: halves the window. */
FP_INLINE void lose(struct fp_state *prague)
{
	prague->saved = prague->window;
	prague->window = max_u64(prague->window / 2, Q32_ONE);
	prague->ssthresh = min_u64(prague->ssthresh, prague->cwnd);
	prague->in_loss = 1;
}

/* DCTCP.Alpha (RFC 8257 §3.3), at the end of an observation window. */
FP_INLINE void update_alpha(struct fp_state *prague, const struct fp_call *call)
{
	__u32 all = call->delivered - prague->window_delivered;
	__u32 marked = min_u32(call->delivered_ce - prague->window_delivered_ce, all);
	__u64 gain = (__u64)alpha_gain << 16, fraction;

	if (!all)
		return;
	fraction = ((__u64)marked << 32) / all;
	prague->alpha = times_q32(prague->alpha, Q32_ONE - gain) + times_q32(fraction, gain);
}

/*
 * prague_rate_scaled_ai_ack_increase: (RTT / target RTT)^2 segments per RTT, with which the rate
 * grows as fast as that of a flow with the target RTT.
 */
FP_INLINE __u64 additive_increase(const struct fp_state *prague, const struct fp_call *call)
{
	__u64 part;

	if (rtt_scaling != 0 || prague->rounds < rtt_transition || call->srtt >= target_rtt ||
	    call->srtt > MAX_SCALED_RTT)
		return Q32_ONE;
	part = ((__u64)call->srtt << 24) / target_rtt;
	return part * part >> 16;
}

/*
 * prague_update_alpha and prague_new_round, at the end of a round; with RTT scaling, of a target
 * RTT.
 */
FP_INLINE void end_round(struct fp_state *prague, const struct fp_call *call)
{
	if (is_rtt_independent(prague) && call->now < prague->alpha_at + target_rtt)
		return;
	prague->round_over = 0;
	prague->next_round = call->delivered;
	/* Before the first mark, nothing indicates an AQM. */
	if (prague->saw_ce) {
		update_alpha(prague, call);
		prague->alpha_at = call->now;
	}
	prague->window_delivered = call->delivered;
	prague->window_delivered_ce = call->delivered_ce;
	if (!in_slow_start(prague))
		prague->rounds++;
	prague->increase = additive_increase(prague, call);
}

/* prague_update_pacing_rate: one window per RTT, two in slow start. */
FP_INLINE void pace(const struct fp_state *prague, struct fp_call *call)
{
	fp_q16 gain = prague->cwnd < prague->ssthresh / 2 ? 2 * FP_ONE : FP_ONE;

	if (call->srtt)
		call->pacing_rate = window_rate(prague->window, gain, call->mss, call->srtt);
}

/* The kernel's window, if it has changed it: timeouts. */
FP_INLINE void take_window(struct fp_state *prague, const struct fp_call *call)
{
	if (prague->cwnd >> 32 != call->cwnd)
		prague->cwnd = (__u64)call->cwnd << 32;
}

FP_INLINE void decide(const struct fp_state *prague, struct fp_call *call)
{
	pace(prague, call);
	call->cwnd = max_u64(prague->cwnd >> 32, 1);
	call->ssthresh = min_u64(prague->ssthresh >> 32, 0x7fffffff);
}

static void fp_ack(struct fp_state *prague, struct fp_call *call)
{
	__u32 marked = call->delivered_ce - prague->ce_seen;

	prague->ce_seen = call->delivered_ce;
	take_window(prague, call);
	grow(prague, call, marked);
	/* udp_prague, cs_in_cwr: a mark counts again after both the RTT and the target RTT. */
	if (marked && is_rtt_independent(prague) && call->srtt < target_rtt && !prague->in_loss &&
	    !is_settling(prague, call))
		reduce(prague, call);
	if (not_before(call->prior_delivered, prague->next_round)) {
		prague->next_round = call->delivered;
		prague->round_over = 1;
	}
	if (prague->round_over)
		end_round(prague, call);
	if (prague->leaving)
		prague->leaving = prague->in_episode = prague->in_loss = 0;
	decide(prague, call);
}

static void fp_begin(struct fp_state *prague, struct fp_call *call)
{
	__builtin_memset(prague, 0, sizeof(*prague));
	prague->cwnd = (__u64)call->cwnd << 32;
	prague->window = prague->cwnd;
	prague->ssthresh = NO_THRESHOLD;
	prague->increase = Q32_ONE;
	prague->alpha = (__u64)alpha_init << 16;
	prague->window_delivered = call->delivered;
	prague->window_delivered_ce = call->delivered_ce;
	prague->ce_seen = call->delivered_ce;
	prague->next_round = call->delivered;
	decide(prague, call);
}

static void fp_congestion(struct fp_state *prague, struct fp_call *call)
{
	take_window(prague, call);
	prague->reduced = 1;
	prague->by_mark = !!(call->flags & FP_BY_MARK);
	if (prague->by_mark)
		reduce(prague, call);
	else
		lose(prague);
	decide(prague, call);
}

static void fp_new_state(struct fp_state *prague, struct fp_call *call)
{
	take_window(prague, call);
	if (call->ca_state == FP_LOSS) {
		prague->in_loss = 1;
		prague->in_episode = prague->leaving = 0;
		/* Slow start leads to the target window, by one segment per ACK. */
		prague->ssthresh = min_u64(prague->cwnd, prague->window);
		prague->in_episode = 1;
	} else if (call->ca_state >= FP_CWR) {
		/* A loss in the episode of a mark, for which the kernel calls no ssthresh. */
		if (call->ca_state == FP_RECOVERY && !prague->reduced && prague->in_episode &&
		    prague->by_mark) {
			lose(prague);
			prague->by_mark = 0;
		}
		prague->in_episode = 1;
		prague->leaving = 0;
	} else {
		prague->leaving = prague->in_episode;
	}
	prague->reduced = 0;
	decide(prague, call);
}

static void fp_undo(struct fp_state *prague, struct fp_call *call)
{
	take_window(prague, call);
	if (prague->saved) {
		prague->window = max_u64(prague->window, prague->saved);
		prague->cwnd = max_u64(prague->cwnd, prague->saved);
		prague->saved = 0;
	}
	prague->in_loss = prague->in_episode = prague->leaving = 0;
	decide(prague, call);
}

/* Labels of prague/descriptor.rs. values: alpha, window and increase, each 2^-16. */
static void fp_observe(const struct fp_state *prague, const struct fp_call *call,
		       struct fp_row *row)
{
	(void)call;
	row->state = prague->in_loss ? 2 : in_slow_start(prague) ? 0 : 1;
	row->values[0] = prague->alpha >> 16;
	row->values[1] = min_u64(prague->window >> 16, U32_MAX);
	row->values[2] = prague->increase >> 16;
}

#ifndef FP_NATIVE

#define ECN_MASK 3
#define ECT_1 1
#define ECT_0 2
#define ETH_HLEN 14
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IP_TOS 1   /* offsets in the header */
#define IP_CHECK 10

/* The parts of a packet that `ect1` uses, at their places in the kernel's struct __sk_buff. */
struct __sk_buff {
	__u32 unused1[4];
	__u32 protocol;
	__u32 unused2[37];
	struct bpf_sock *sk;
	__u32 unused3[4];
};

_Static_assert(__builtin_offsetof(struct __sk_buff, sk) == 168, "include/uapi/linux/bpf.h");

/*
 * tc, egress of a device: makes ECT(0) ECT(1) in packets of connections that use this algorithm
 * (RFC 9331 §4.1).
 */
SEC("tc")
int ect1(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	__u8 bytes[2];
	__u16 before, after;

	if (!sk)
		return 0;
	sk = bpf_sk_fullsock(sk);
	if (!sk || !bpf_sk_storage_get(&states, sk, 0, 0))
		return 0;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, bytes, sizeof(bytes)))
		return 0;
	if (skb->protocol == __builtin_bswap16(ETH_P_IP)) {
		if ((bytes[1] & ECN_MASK) != ECT_0)
			return 0;
		before = (__u16)bytes[1] << 8 | bytes[0];
		bytes[1] = (bytes[1] & ~ECN_MASK) | ECT_1;
		after = (__u16)bytes[1] << 8 | bytes[0];
		bpf_l3_csum_replace(skb, ETH_HLEN + IP_CHECK, before, after, 2);
		bpf_skb_store_bytes(skb, ETH_HLEN + IP_TOS, &bytes[1], 1, 0);
	} else if (skb->protocol == __builtin_bswap16(ETH_P_IPV6)) {
		/* The traffic class is in the middle of the first two bytes. */
		if ((bytes[1] >> 4 & ECN_MASK) != ECT_0)
			return 0;
		bytes[1] = (bytes[1] & ~(ECN_MASK << 4)) | ECT_1 << 4;
		bpf_skb_store_bytes(skb, ETH_HLEN + 1, &bytes[1], 1, 0);
	}
	return 0;
}

#endif
