// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * NewReno (RFC 5681, RFC 6582), as Linux' reno: crates/cc/src/algo/newreno.rs with
 * profile = "linux".
 *
 * Approximations:
 *  - Volumes are whole segments. One that the application did not fill counts as one.
 *  - A window that was reduced because a device was full (tcp_enter_cwr) is reduced as by a mark.
 *  - Slow start is the classic one; hystart and hystart++ are not built.
 */
#include "fp_call.h"

/* L: maximum increase per ACK in slow start, in segments (RFC 3465 §2.2). */
FP_PARAM fp_count abc_limit = 1000000;
/* Fraction of the window that remains after a CE mark (RFC 3168 §6.1.2, RFC 8511 §3.1). */
FP_PARAM fp_q16 beta_ecn = FP_Q16(0.5);

/* Fraction that remains after a loss (RFC 5681 §3.1, equation 4). */
#define BETA_LOSS FP_Q16(0.5)

struct fp_state {
	__u32 counted; /* segments counted toward the next increase */
	__u32 prior_cwnd; /* before the last reduction, for undo */
	__u8 recovering; /* since FP_SSTHRESH, until the window is the kernel's no more */
};

#define FP_OPS fp_newreno
#include "fp_ops.h"

static void fp_begin(struct fp_state *state, struct fp_call *call)
{
	(void)call;
	state->counted = 0;
	state->prior_cwnd = 0;
	state->recovering = 0;
}

/* RFC 5681 §3.1, equation 4: at least two segments. Linux: of the window, not of the flight. */
static void fp_congestion(struct fp_state *state, struct fp_call *call)
{
	fp_q16 beta = call->flags & FP_BY_MARK ? beta_ecn : BETA_LOSS;

	state->prior_cwnd = call->cwnd;
	state->counted = 0;
	call->ssthresh = max_u32(times_q16(call->cwnd, beta), 2);
}

static void fp_ack(struct fp_state *state, struct fp_call *call)
{
	__u32 acked = call->acked, grown;

	if (!(call->flags & FP_CWND_LIMITED))
		return;
	/* RFC 5681 §3.1; RFC 3465 §2.2. */
	if (call->cwnd < call->ssthresh) {
		grown = call->cwnd + min_u32(acked, abc_limit);
		grown = min_u32(grown, call->ssthresh);
		/* Beyond the threshold, the rest counts for congestion avoidance. */
		acked -= min_u32(grown - call->cwnd, acked);
		call->cwnd = grown;
		if (grown < call->ssthresh)
			return;
	}
	/* RFC 3465 §2.1: a segment per window of acknowledged data. */
	if (!call->cwnd)
		return;
	state->counted += acked;
	if (state->counted >= call->cwnd) {
		grown = state->counted / call->cwnd;
		state->counted -= grown * call->cwnd;
		call->cwnd += grown;
	}
}

static void fp_new_state(struct fp_state *state, struct fp_call *call)
{
	state->recovering = call->ca_state == FP_CWR || call->ca_state == FP_RECOVERY;
	if (call->ca_state == FP_LOSS)
		state->counted = 0;
}

/* RFC 5681 has no undo; Linux restores at least the former window. */
static void fp_undo(struct fp_state *state, struct fp_call *call)
{
	call->cwnd = max_u32(call->cwnd, state->prior_cwnd);
}

/* Labels of crates/cc/src/common/reno.rs: slow_start, css, congestion_avoidance, recovery. */
static void fp_observe(const struct fp_state *state, const struct fp_call *call, struct fp_row *row)
{
	row->state = state->recovering ? 3 : call->cwnd < call->ssthresh ? 0 : 2;
	row->values[0] = state->counted;
}
