// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Copa (Arun and Balakrishnan, NSDI 2018): crates/cc/src/algo/copa. Sections are the paper's.
 *
 * Approximations:
 *  - The window has a fraction. The kernel gets its whole part.
 *  - An ACK for more than a window changes the window as one for a window does.
 *  - A filter keeps 128 samples. The Rust has no limit, but rarely holds more than 65.
 */
#include "fp_call.h"

/* δ in default mode (§2.1, §2.2), in 1/packets. */
FP_PARAM fp_q16 delta = FP_Q16(0.5);
/* Modes to use (§2.2): 0 both, 1 default. */
FP_PARAM fp_word modes = 0;
/* The queue also counts as nearly empty with at most this number of the flow's packets; 0: §2.2 alone. */
FP_PARAM fp_q16 nearly_empty = FP_Q16(1);
/* Window of RTTmin (§2.1). */
FP_PARAM fp_us min_rtt_window = FP_SECONDS(10);
/* Pacing rate, in windows per RTTstanding (§2.1). */
FP_PARAM fp_q16 pacing_gain = FP_Q16(2);

#define MIN_WINDOW (2 * Q32_ONE) /* markoviancc.cc */
#define MOST_WINDOW ((__u64)1 << 51)
#define STEADY_ROUNDS 3 /* §2.1 */
#define SWING_ROUNDS 4	/* §2.2: RTTmax */
#define NEARLY_EMPTY 10 /* §2.2: a tenth */
#define EMPTY_ROUNDS 5	/* §2.2 */
#define NO_RTT U32_MAX

/* extreme.rs: a less extreme sample is kept only if it is younger by 1/64 of the window. */
#define GRAINS 64
#define CANDIDATES 128

enum mode { SLOW_START, DEFAULT, COMPETITIVE };
enum direction { GOES_UP, GOES_DOWN };
enum keep { LEAST, GREATEST };

/* The extreme RTT within a window of time: candidates in the order of their times. */
struct extreme {
	__u32 first;
	__u32 count;
	struct {
		__u32 at;
		__u32 rtt;
	} candidates[CANDIDATES];
};

struct fp_state {
	__u64 cwnd; /* 2^-32 packets, as the next four */
	__u64 round_cwnd; /* at the start of the round */
	__u64 saved_cwnd; /* before a timeout, for undo; 0: none */
	__u64 cwnd_before; /* at the begin of the last episode */
	__u64 per_delta; /* 1/δ, 2^-16, as the next two */
	__u64 saved_per_delta; /* 0: none */
	__u64 velocity;
	__u64 empty_at; /* the queue was last nearly empty */
	__u32 rtt_min;
	__u32 rtt_standing;
	__u32 next_round; /* `delivered` */
	__u32 steady_rounds; /* since the direction last changed */
	__u8 mode;
	__u8 direction;
	__u8 in_episode; /* FP_CWR, FP_RECOVERY, or 0 */
	__u8 leaving; /* that episode ends with the next ACK */
	__u8 reduced; /* FP_SSTHRESH, since the last FP_STATE */
	struct extreme least;
	struct extreme standing;
	struct extreme greatest;
};

#define FP_OPS fp_copa
#define FP_OWNS_WINDOW
#define FP_PACED
#include "fp_ops.h"

FP_INLINE bool beats(enum keep keep, __u32 a, __u32 b)
{
	return keep == LEAST ? a < b : a > b;
}

/* Takes a sample, and returns the extreme over the last `half_us` / 2 us. */
FP_STEP update(struct extreme *extreme, __u32 now, __u32 rtt, __u64 half_us, __u32 keep)
{
	__u32 first, count, i, place;

	if (!extreme)
		return 0;
	first = extreme->first;
	count = extreme->count;
	for (i = 0; i < CANDIDATES; i++) {
		place = (first + count - 1) % CANDIDATES;
		if (!count || beats(keep, extreme->candidates[place].rtt, rtt))
			break;
		count--;
	}
	place = (first + count - 1) % CANDIDATES;
	if (!count || (__u64)(now - extreme->candidates[place].at) * (2 * GRAINS) >= half_us) {
		if (count == CANDIDATES) {
			first++;
			count--;
		}
		place = (first + count) % CANDIDATES;
		extreme->candidates[place].at = now;
		extreme->candidates[place].rtt = rtt;
		count++;
	}
	for (i = 0; i < CANDIDATES; i++) {
		place = first % CANDIDATES;
		if (count <= 1 || (__u64)(now - extreme->candidates[place].at) * 2 <= half_us)
			break;
		first++;
		count--;
	}
	extreme->first = first;
	extreme->count = count;
	return extreme->candidates[first % CANDIDATES].rtt;
}

/* dq (§2.1). */
FP_INLINE __u32 queue_delay(const struct fp_state *copa)
{
	return copa->rtt_standing - min_u32(copa->rtt_min, copa->rtt_standing);
}

/*
 * Whether the queue is nearly empty: by §2.2, or if few packets of this flow wait, for at most a
 * tenth of RTTmin. In ns.
 */
FP_INLINE bool is_nearly_empty(const struct fp_state *copa, __u32 greatest)
{
	__u64 packets = copa->cwnd >> 16, own, least, swing;

	if (!packets)
		return false;
	own = (__u64)copa->rtt_standing * 1000 * nearly_empty / packets;
	least = min_u64(own, (__u64)copa->rtt_min * 1000 / NEARLY_EMPTY);
	swing = (__u64)(greatest - min_u32(copa->rtt_min, greatest)) * 1000 / NEARLY_EMPTY;
	return (__u64)queue_delay(copa) * 1000 <= max_u64(swing, least);
}

/* §2.1: RTTmin, and RTTstanding over half an srtt. */
FP_INLINE void measure(struct fp_state *copa, const struct fp_call *call)
{
	__u64 srtt = call->srtt;
	__u32 greatest;

	copa->rtt_min = update(&copa->least, call->now, call->rtt, 2 * min_rtt_window, LEAST);
	copa->rtt_standing = update(&copa->standing, call->now, call->rtt, srtt, LEAST);
	greatest = update(&copa->greatest, call->now, call->rtt, 2 * SWING_ROUNDS * srtt, GREATEST);
	if (is_nearly_empty(copa, greatest))
		copa->empty_at = call->now;
}

FP_INLINE __u64 default_per_delta(void)
{
	return Q32_ONE / max_u32(delta, 1);
}

/* §2.2: default mode, while the queue was nearly empty within the last five round trips. */
FP_INLINE void choose_mode(struct fp_state *copa, const struct fp_call *call)
{
	bool filled = call->now - copa->empty_at > (__u64)EMPTY_ROUNDS * call->srtt;
	__u8 mode = filled && modes == 0 ? COMPETITIVE : DEFAULT;

	if (mode == copa->mode)
		return;
	copa->mode = mode;
	if (mode == DEFAULT)
		copa->per_delta = default_per_delta();
}

FP_INLINE void turn(struct fp_state *copa, __u8 direction)
{
	copa->direction = direction;
	copa->velocity = FP_ONE;
	copa->steady_rounds = 0;
}

/* Changes the direction and begins a round, so that directions last for whole rounds. */
FP_INLINE void turn_within_round(struct fp_state *copa, const struct fp_call *call, __u8 direction)
{
	turn(copa, direction);
	copa->round_cwnd = copa->cwnd;
	copa->next_round = call->delivered;
}

/* §2.1, step 4. In competitive mode 1/δ grows by one per round trip (§2.2). */
FP_INLINE void begin_round(struct fp_state *copa, const struct fp_call *call, bool in_recovery)
{
	__u8 direction = copa->cwnd > copa->round_cwnd ? GOES_UP : GOES_DOWN;
	bool moved = copa->cwnd != copa->round_cwnd;

	copa->round_cwnd = copa->cwnd;
	if (moved && direction == copa->direction) {
		copa->steady_rounds++;
		if (copa->steady_rounds >= STEADY_ROUNDS)
			copa->velocity = min_u64(copa->velocity * 2, (__u64)1 << 40);
	} else {
		turn(copa, moved ? direction : copa->direction);
	}
	if (copa->mode == COMPETITIVE && !in_recovery && call->flags & FP_CWND_LIMITED)
		copa->per_delta = min_u64(copa->per_delta + FP_ONE, (__u64)1 << 36);
}

/* §2.1, steps 2 and 3: moves the window toward the target rate of 1/(δ dq). */
FP_INLINE void adjust(struct fp_state *copa, struct fp_call *call)
{
	/* cwnd / RTTstanding <= 1 / (δ dq), without a division. */
	bool below = (copa->cwnd >> 16) * min_u32(queue_delay(copa), 1 << 26) <=
		     copa->per_delta * min_u32(copa->rtt_standing, 1 << 26);
	__u8 direction = below ? GOES_UP : GOES_DOWN;
	__u64 step;

	if (copa->mode == SLOW_START) {
		if (below) {
			if (call->flags & FP_CWND_LIMITED)
				copa->cwnd += (__u64)min_u32(call->acked, 1 << 16) << 32;
			copa->cwnd = min_u64(copa->cwnd, MOST_WINDOW);
			return;
		}
		copa->mode = DEFAULT;
		call->ssthresh = copa->cwnd >> 32; /* for ss only */
		turn_within_round(copa, call, GOES_DOWN);
	}
	if (direction != copa->direction && copa->velocity > FP_ONE)
		turn_within_round(copa, call, direction);
	/* The window changes by at most itself in a round trip. */
	if (copa->per_delta)
		copa->velocity = min_u64(copa->velocity, copa->cwnd / copa->per_delta);
	copa->velocity = max_u64(copa->velocity, FP_ONE);
	step = times_q32(min_u64(copa->velocity * copa->per_delta, MOST_WINDOW),
			 share_q32(call->acked, copa->cwnd));
	if (!below)
		copa->cwnd = max_u64(copa->cwnd - min_u64(step, copa->cwnd), MIN_WINDOW);
	else if (call->flags & FP_CWND_LIMITED)
		copa->cwnd = min_u64(copa->cwnd + step, MOST_WINDOW);
}

/* §2.1: paces at twice the window per RTTstanding, which limits bursts. */
FP_INLINE void pace(const struct fp_state *copa, struct fp_call *call)
{
	__u32 rtt = copa->rtt_standing == NO_RTT ? call->srtt : copa->rtt_standing;

	if (rtt)
		call->pacing_rate = window_rate(copa->cwnd, pacing_gain, call->mss, rtt);
}

/* The kernel's window, if it has changed it: timeouts. */
FP_INLINE void take_window(struct fp_state *copa, const struct fp_call *call)
{
	if (copa->cwnd >> 32 != call->cwnd)
		copa->cwnd = (__u64)call->cwnd << 32;
}

static void fp_ack(struct fp_state *copa, struct fp_call *call)
{
	bool in_recovery = copa->in_episode;

	if (copa->leaving)
		copa->leaving = copa->in_episode = 0;
	take_window(copa, call);
	if (call->rtt != NO_RTT)
		measure(copa, call);
	if (copa->rtt_standing == NO_RTT)
		return;
	if (copa->mode != SLOW_START)
		choose_mode(copa, call);
	if (not_before(call->prior_delivered, copa->next_round)) {
		copa->next_round = call->delivered;
		if (copa->mode != SLOW_START)
			begin_round(copa, call, in_recovery);
	}
	adjust(copa, call);
	pace(copa, call);
	call->cwnd = copa->cwnd >> 32;
}

static void fp_begin(struct fp_state *copa, struct fp_call *call)
{
	__builtin_memset(copa, 0, __builtin_offsetof(struct fp_state, least));
	copa->least.count = copa->standing.count = copa->greatest.count = 0;
	copa->cwnd = (__u64)call->cwnd << 32;
	copa->round_cwnd = copa->cwnd;
	copa->per_delta = default_per_delta();
	copa->velocity = FP_ONE;
	copa->rtt_min = NO_RTT;
	copa->rtt_standing = NO_RTT;
	copa->next_round = call->delivered;
	pace(copa, call);
}

/* §2.2: halves 1/δ, but not below its value in default mode, where losses have no effect. */
FP_INLINE void lose(struct fp_state *copa)
{
	copa->saved_cwnd = 0;
	copa->saved_per_delta = copa->per_delta;
	if (copa->mode == COMPETITIVE)
		copa->per_delta = max_u64(copa->per_delta / 2, default_per_delta());
}

static void fp_congestion(struct fp_state *copa, struct fp_call *call)
{
	take_window(copa, call);
	copa->cwnd_before = copa->cwnd;
	copa->reduced = 1;
	lose(copa);
	pace(copa, call);
}

static void fp_new_state(struct fp_state *copa, struct fp_call *call)
{
	if (call->ca_state == FP_LOSS) {
		if (copa->reduced)
			copa->saved_cwnd = copa->cwnd_before;
		take_window(copa, call);
		copa->cwnd = max_u64(copa->cwnd, MIN_WINDOW);
		turn_within_round(copa, call, GOES_UP);
		copa->in_episode = copa->leaving = 0;
	} else if (call->ca_state >= FP_CWR) {
		/* A loss in the episode of a mark, for which the kernel calls no ssthresh. */
		if (call->ca_state == FP_RECOVERY && copa->in_episode == FP_CWR && !copa->reduced)
			lose(copa);
		copa->in_episode = call->ca_state;
		copa->leaving = 0;
	} else {
		copa->leaving = !!copa->in_episode;
	}
	copa->reduced = 0;
	pace(copa, call);
	call->cwnd = copa->cwnd >> 32;
}

static void fp_undo(struct fp_state *copa, struct fp_call *call)
{
	take_window(copa, call);
	if (copa->saved_per_delta) {
		copa->cwnd = max_u64(copa->cwnd, copa->saved_cwnd);
		if (copa->mode == COMPETITIVE)
			copa->per_delta = max_u64(copa->per_delta, copa->saved_per_delta);
		copa->saved_per_delta = 0;
	}
	copa->in_episode = copa->leaving = 0;
	pace(copa, call);
	call->cwnd = copa->cwnd >> 32;
}

/* Labels of copa/declared.rs. values: RTTstanding and dq in us, δ and velocity (2^-16). */
static void fp_observe(const struct fp_state *copa, const struct fp_call *call, struct fp_row *row)
{
	(void)call;
	row->state = copa->mode;
	if (copa->rtt_standing != NO_RTT) {
		row->min_rtt = copa->rtt_min;
		row->values[0] = copa->rtt_standing;
		row->values[1] = queue_delay(copa);
	}
	if (copa->per_delta)
		row->values[2] = Q32_ONE / copa->per_delta;
	row->values[3] = min_u64(copa->velocity, U32_MAX);
}
