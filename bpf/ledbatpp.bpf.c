// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): crates/cc/src/algo/ledbatpp.rs and
 * crates/cc/src/common/ledbat_pp.rs. Sections are the draft's.
 *
 * Approximations:
 *  - Volumes are whole segments. The window has a fraction; the kernel gets its whole part.
 *  - A slowdown ends with the first ACK after its time, since the kernel gives no timer.
 *  - An ACK that only selectively acknowledges raises nothing (tcp_may_raise_cwnd).
 *  - After idle the kernel may lower the window (tcp_slow_start_after_idle), which is then taken over.
 */
#include "fp_call.h"

/* Upper target of the queueing delay (§4.5). */
FP_PARAM fp_us target = 60000;
/* C: strength of the decrease above the target (§4.3). */
FP_PARAM fp_q16 constant = FP_Q16(1);
/* Slow start after a slowdown (§4.4): 0 gain, 1 full. */
FP_PARAM fp_word ramp = 0;
/* Time from the end of a slowdown to the next, in multiples of its length (§4.4). */
FP_PARAM fp_count slowdown_spacing = 9;
/* Samples whose minimum is the current delay, minutes whose minimum is the base (RFC 6817 §2.5). */
FP_PARAM fp_count current_filter = 4;
FP_PARAM fp_count base_history = 10;

#define MIN_WINDOW (2 * Q32_ONE) /* §4.1, §4.4 */
#define MOST_GENTLE 16		 /* §4.2 */
#define HOLD_ROUNDS 2		 /* §4.4 */
#define MOST_SAMPLES 100
#define MOST_MINUTES 60
#define MINUTE 60000000 /* us */
#define NO_DELAY U32_MAX

enum phase { SLOW_START, RESTART, AVOIDANCE, HOLD, RAMP };

/* Values that a reduction changes and an undo restores; windows are 2^-32 segments. */
struct moving {
	__u64 cwnd;
	__u64 ssthresh;
	__u64 began; /* of the slowdown, in HOLD and RAMP */
	__u64 phase;
};

struct fp_state {
	struct moving now;
	struct moving saved; /* cwnd 0: none */
	__u64 slowdown_at; /* 0: not planned */
	__u64 planned_before; /* slowdown_at at the begin of the last episode */
	__u64 hold_until;
	__u64 minute;
	__u32 base; /* minimum of `minutes` */
	__u32 next; /* place in `samples` */
	__u32 next_minute; /* place in `minutes` after the current one */
	__u32 known; /* minutes */
	__u32 samples[MOST_SAMPLES];
	__u32 minutes[MOST_MINUTES];
	__u8 recovering;
	__u8 leaving; /* recovery ends with the next ACK, which counts as one in recovery */
	__u8 reduced; /* FP_SSTHRESH, since the last FP_STATE */
};

#define FP_OPS fp_ledbatpp
#define FP_TAKES_RTT
#include "fp_ops.h"

/* RFC 6817 §2.4.2, update_base_delay, update_current_delay. */
static void fp_take_rtt(struct fp_state *state, struct fp_call *call)
{
	__u32 filter = min_u32(max_u32(current_filter, 1), MOST_SAMPLES);
	__u32 history = min_u32(max_u32(base_history, 1), MOST_MINUTES);
	__u32 place = state->next, i, base = NO_DELAY;
	__u64 minute = call->now / MINUTE;

	if (place >= filter)
		place = 0;
	state->samples[place] = call->rtt;
	state->next = place + 1;
	if (state->known && minute == state->minute) {
		place = state->next_minute - 1;
		if (place < MOST_MINUTES)
			state->minutes[place] = min_u32(state->minutes[place], call->rtt);
		state->base = min_u32(state->base, call->rtt);
		return;
	}
	place = state->next_minute;
	if (place >= history)
		place = 0;
	state->minutes[place] = call->rtt;
	state->next_minute = place + 1;
	state->known = min_u32(state->known + 1, history);
	state->minute = minute;
	for (i = 0; i < history; i++)
		base = min_u32(base, state->minutes[i]);
	state->base = base;
}

/* Queueing delay (RFC 6817 §2.4.2), in us. */
FP_INLINE __u32 queueing(const struct fp_state *state)
{
	__u32 filter = min_u32(max_u32(current_filter, 1), MOST_SAMPLES), current = NO_DELAY, i;

	for (i = 0; i < filter; i++)
		current = min_u32(current, state->samples[i]);
	if (current == NO_DELAY)
		return 0;
	return current - min_u32(state->base, current);
}

/* §4.2: GAIN is one divided by this, min(16, ceil(2 TARGET / base)). */
FP_INLINE __u32 gain_divisor(const struct fp_state *state)
{
	__u64 ratio;

	if (state->base == NO_DELAY)
		return 1;
	if (!state->base)
		return MOST_GENTLE;
	ratio = (2 * target + state->base - 1) / state->base;
	return max_u64(min_u64(ratio, MOST_GENTLE), 1);
}

/* §4.4: plans the next slowdown, unless one is planned. */
FP_INLINE void plan(struct fp_state *state, const struct fp_call *call)
{
	if (state->slowdown_at)
		return;
	if (state->now.phase >= HOLD)
		state->slowdown_at = call->now + (call->now - state->now.began) * slowdown_spacing;
	else
		state->slowdown_at = call->now + HOLD_ROUNDS * call->srtt;
}

/* Ends slow start, a slowdown, or the restart after a timeout. */
FP_INLINE void avoid_congestion(struct fp_state *state, const struct fp_call *call)
{
	state->now.cwnd = min_u64(state->now.cwnd, state->now.ssthresh);
	state->now.ssthresh = state->now.cwnd;
	plan(state, call);
	state->now.phase = AVOIDANCE;
}

/* §4.3: an ACK's share of the change per round trip. */
FP_INLINE void adjust(struct fp_state *state, const struct fp_call *call, __u32 delay)
{
	__u64 cwnd = state->now.cwnd, share = share_q32(call->acked, cwnd);
	__u64 gain = Q32_ONE / gain_divisor(state), excess, change;

	if (delay > target && target) {
		excess = min_u64(((__u64)(delay - target) << 16) / target, 1 << 22);
		/* At most half of the window in a round trip. */
		change = times_q32(cwnd, min_u64(excess * constant, Q32_ONE));
		if (change > gain)
			cwnd -= times_q32(min_u64(change - gain, cwnd / 2), share);
		else
			cwnd += times_q32(gain - change, share);
	} else if (call->flags & FP_CWND_LIMITED) {
		cwnd += times_q32(gain, share);
	}
	state->now.cwnd = max_u64(cwnd, MIN_WINDOW);
}

/* The kernel's window, if it has changed it: PRR, timeouts, idle times. */
FP_INLINE void take_window(struct fp_state *state, const struct fp_call *call)
{
	if (state->now.cwnd >> 32 != call->cwnd)
		state->now.cwnd = (__u64)call->cwnd << 32;
}

FP_INLINE void decide(const struct fp_state *state, struct fp_call *call)
{
	/* Recovery during a slowdown reduces the window to the slowdown's. */
	__u64 ssthresh = state->now.phase == HOLD ? state->now.cwnd : state->now.ssthresh;

	call->cwnd = state->now.cwnd >> 32;
	call->ssthresh = min_u64(ssthresh >> 32, 0x7fffffff);
}

static void fp_ack(struct fp_state *state, struct fp_call *call)
{
	__u32 delay;

	take_window(state, call);
	if (state->leaving) {
		state->leaving = 0;
		return;
	}
	if (state->now.phase == HOLD) {
		if (call->now >= state->hold_until)
			state->now.phase = RAMP;
		decide(state, call);
		return;
	}
	delay = queueing(state);
	if (state->now.phase == SLOW_START && (__u64)delay * 4 > target * 3) {
		/* §4.1: only in the initial slow start. */
		avoid_congestion(state, call);
	} else if (state->now.phase != AVOIDANCE) {
		/* §4.1, §4.4. */
		if (call->flags & FP_CWND_LIMITED) {
			__u64 acked = (__u64)min_u32(call->acked, 1 << 20) << 32;

			if (ramp != 1 || state->now.phase != RAMP)
				acked /= gain_divisor(state);
			state->now.cwnd += acked;
		}
		if (state->now.cwnd >= state->now.ssthresh)
			avoid_congestion(state, call);
	} else if (state->slowdown_at && call->now >= state->slowdown_at) {
		/* §4.4: ssthresh saves the window. */
		state->now.ssthresh = state->now.cwnd;
		state->now.cwnd = MIN_WINDOW;
		state->slowdown_at = 0;
		state->hold_until = call->now + HOLD_ROUNDS * call->srtt;
		state->now.began = call->now;
		state->now.phase = HOLD;
	} else {
		adjust(state, call, delay);
	}
	decide(state, call);
}

static void fp_begin(struct fp_state *state, struct fp_call *call)
{
	__u32 i;

	__builtin_memset(state, 0, sizeof(*state));
	for (i = 0; i < MOST_SAMPLES; i++)
		state->samples[i] = NO_DELAY;
	for (i = 0; i < MOST_MINUTES; i++)
		state->minutes[i] = NO_DELAY;
	state->base = NO_DELAY;
	state->now.cwnd = MIN_WINDOW;
	state->now.ssthresh = U64_MAX;
	decide(state, call);
}

/* Halves the window after a loss or mark, the first within a round trip. */
static void fp_congestion(struct fp_state *state, struct fp_call *call)
{
	take_window(state, call);
	state->saved = state->now;
	state->planned_before = state->slowdown_at;
	state->reduced = 1;
	if (state->now.phase == HOLD) {
		/* The window is at its minimum already: halve the window to restore. */
		state->now.ssthresh = max_u64(state->now.ssthresh / 2, MIN_WINDOW);
	} else {
		plan(state, call);
		state->now.cwnd = max_u64(state->now.cwnd / 2, MIN_WINDOW);
		state->now.ssthresh = state->now.cwnd;
		state->now.phase = AVOIDANCE;
	}
	decide(state, call);
}

/* A timeout; FP_SSTHRESH has taken it for a loss, unless it is for the same segment as before. */
FP_INLINE void time_out(struct fp_state *state, const struct fp_call *call)
{
	__u64 before;

	if (state->reduced) {
		state->now = state->saved;
		state->slowdown_at = state->planned_before;
		before = state->now.phase >= HOLD ? state->now.ssthresh : state->now.cwnd;
		plan(state, call);
		state->now.ssthresh = max_u64(before / 2, MIN_WINDOW);
	}
	state->now.cwnd = (__u64)call->cwnd << 32;
	state->now.phase = RESTART;
}

static void fp_new_state(struct fp_state *state, struct fp_call *call)
{
	bool recovering = call->ca_state == FP_CWR || call->ca_state == FP_RECOVERY;

	state->leaving = state->recovering && call->ca_state < FP_CWR;
	state->recovering = recovering;
	if (call->ca_state == FP_LOSS) {
		time_out(state, call);
		decide(state, call);
	}
	state->reduced = 0;
}

/* Restores at least the previous window. */
static void fp_undo(struct fp_state *state, struct fp_call *call)
{
	take_window(state, call);
	if (state->saved.cwnd) {
		state->now.cwnd = max_u64(state->now.cwnd, state->saved.cwnd);
		state->now.ssthresh = max_u64(state->now.ssthresh, state->saved.ssthresh);
		state->now.phase = state->saved.phase;
		state->now.began = state->saved.began;
		state->saved.cwnd = 0;
	}
	state->recovering = 0;
	decide(state, call);
}

/* Labels of ledbat_pp.rs. values: divisor of GAIN, queueing delay and base delay in us (0: none). */
static void fp_observe(const struct fp_state *state, const struct fp_call *call, struct fp_row *row)
{
	__u32 phase = state->now.phase;

	(void)call;
	row->state = state->recovering ? 4 : phase <= RESTART ? 0 : phase - 1;
	row->min_rtt = state->base == NO_DELAY ? 0 : state->base;
	row->values[0] = gain_divisor(state);
	row->values[1] = queueing(state);
	row->values[2] = row->min_rtt;
}
