/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The end of an algorithm's source: it makes a struct_ops map of the algorithm's functions, or, with
 * -DFP_NATIVE, a library for tests. Before it the source defines
 *
 *   FP_OPS          name of the map, and in the kernel; at most 15 characters
 *   FP_OWNS_WINDOW  if the algorithm sets the window and the pacing rate at every ACK
 *                   (cong_control). Otherwise the kernel runs PRR in recovery and sets the pacing
 *                   rate, and FP_ACK is cong_avoid: outside of recovery, if the ACK may raise the
 *                   window.
 *   FP_TAKES_RTT    if it takes RTTs, but not FP_OWNS_WINDOW
 *   FP_RESTARTS     if it minds a restart from idle while the connection is application-limited
 *   FP_SENT         number of records of sending, a power of two, if it reads tx_inflight, tx_lost
 *   FP_SINGLES_BELOW  rate in B/s below which packets may be single segments, with FP_SENT
 *   FP_PACED        if the pacing rate must be kept (sk_pacing_status)
 *   struct fp_state, and the functions below
 */
#ifndef FP_OPS_H
#define FP_OPS_H

#include "fp_call.h"
#include "fp_row.h"
#ifdef FP_SENT
#include "fp_sent.h"
#endif

static void fp_begin(struct fp_state *state, struct fp_call *call);
static void fp_ack(struct fp_state *state, struct fp_call *call);
static void fp_congestion(struct fp_state *state, struct fp_call *call);
static void fp_new_state(struct fp_state *state, struct fp_call *call);
static void fp_undo(struct fp_state *state, struct fp_call *call);
#ifdef FP_RESTARTS
static void fp_restart(struct fp_state *state, struct fp_call *call);
#endif
#ifdef FP_TAKES_RTT
static void fp_take_rtt(struct fp_state *state, struct fp_call *call);
#endif
static void fp_observe(const struct fp_state *state, const struct fp_call *call, struct fp_row *row);

/* `kind` is a constant in each program, so that it has the code of its own function only. */
FP_INLINE void fp_dispatch(struct fp_state *state, struct fp_call *call, __u8 kind)
{
	switch (kind) {
	case FP_BEGIN: fp_begin(state, call); break;
	case FP_ACK: fp_ack(state, call); break;
	case FP_SSTHRESH: fp_congestion(state, call); break;
	case FP_STATE: fp_new_state(state, call); break;
	case FP_UNDO: fp_undo(state, call); break;
#ifdef FP_RESTARTS
	case FP_RESTART: fp_restart(state, call); break;
#endif
#ifdef FP_TAKES_RTT
	case FP_RTT: fp_take_rtt(state, call); break;
#endif
	}
}

#ifdef FP_NATIVE

const __u64 fp_sizes[] = { sizeof(struct fp_state), sizeof(struct fp_call), sizeof(struct fp_row) };

void fp_run(struct fp_state *state, struct fp_call *call) 
{
	fp_dispatch(state, call, call->kind);
}

void fp_read(const struct fp_state *state, const struct fp_call *call, struct fp_row *row)
{
	fp_observe(state, call, row);
}

#ifdef FP_SENT
const __u64 fp_history_size = sizeof(struct fp_history);

void fp_note(struct fp_history *history, const struct fp_sent *now, __u32 cwnd)
{
	fp_note_sending(history, now, cwnd);
}

void fp_recall(struct fp_history *history, struct fp_call *call, __u32 end_seq)
{
	fp_recall_sending(history, call, true, end_seq);
}
#endif

#else

#include "fp_kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The least time between two rows of a connection, in us; 0: no rows. */
const volatile fp_control trace_interval_us = 0;
/* Whether every call goes to `calls`. */
const volatile fp_control record_calls = 0;

struct fp_stats stats = {};

/* Not used: keep the types of the ring buffers' entries in BTF, where the loader reads their layout. */
struct fp_row *fp_row_layout = 0;
struct fp_call_row *fp_call_row_layout = 0;

struct {
	__u32 (*type)[BPF_MAP_TYPE_RINGBUF];
	__u32 (*max_entries)[1 << 18];
} rows SEC(".maps");

struct {
	__u32 (*type)[BPF_MAP_TYPE_RINGBUF];
	__u32 (*max_entries)[1 << 20];
} calls SEC(".maps");

struct fp_sock {
	struct fp_state state;
	__u64 connection;
	__u64 row_due; /* us */
#ifdef FP_SENT
	struct fp_history history;
#endif
};

struct {
	__u32 (*type)[BPF_MAP_TYPE_SK_STORAGE];
	__u32 (*map_flags)[BPF_F_NO_PREALLOC];
	int *key;
	struct fp_sock *value;
} states SEC(".maps");

FP_INLINE struct fp_sock *fp_sock_of(struct sock *sk)
{
	return bpf_sk_storage_get(&states, sk, 0, 0);
}

FP_INLINE __u32 fp_inflight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

FP_INLINE __u8 fp_ca_state_of(struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
}

/* Fills in all that is not particular to FP_ACK. */
FP_INLINE void fp_gather(struct sock *sk, struct fp_call *call, __u8 kind)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 departure = tp->tcp_wstamp_ns, clock = tp->tcp_clock_cache;

	__builtin_memset(call, 0, sizeof(*call));
	call->kind = kind;
	call->now = tp->tcp_mstamp;
	call->pacing_rate = sk->sk_pacing_rate;
	call->cwnd = tp->snd_cwnd;
	call->ssthresh = tp->snd_ssthresh;
	call->ca_state = fp_ca_state_of(sk);
	call->mss = tp->mss_cache;
	call->inflight = fp_inflight(tp);
	call->delivered = tp->delivered;
	call->delivered_ce = tp->delivered_ce;
	call->lost = tp->lost;
	call->srtt = tp->srtt_us >> 3;
	call->min_rtt = tp->rtt_min.s[0].v;
	if (departure > clock)
		call->departs_in = min_u64(departure - clock, U32_MAX);
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		call->flags |= FP_CWND_LIMITED;
	if (tp->ecn_flags & TCP_ECN_OK)
		call->flags |= FP_ECN;
}

/* Fills `row` in; not `kind` and what fp_observe sets. */
FP_INLINE void fp_describe(struct sock *sk, struct fp_row *row, const struct fp_sock *own,
			   const struct fp_call *call)
{
	const struct sock_common *common = &sk->__sk_common;

	__builtin_memset(row, 0, sizeof(*row));
	row->time_ns = bpf_ktime_get_ns();
	row->connection = own->connection;
	row->cookie = common->skc_cookie.counter;
	row->family = common->skc_family;
	if (row->family == AF_INET6) {
		bpf_probe_read_kernel(row->local, 16, &common->skc_v6_rcv_saddr);
		bpf_probe_read_kernel(row->remote, 16, &common->skc_v6_daddr);
	} else {
		bpf_probe_read_kernel(row->local, 4, &common->skc_rcv_saddr);
		bpf_probe_read_kernel(row->remote, 4, &common->skc_daddr);
	}
	row->local_port = common->skc_num;
	row->remote_port = __builtin_bswap16(common->skc_dport);
	row->ca_state = call->ca_state;
	row->pacing_rate = call->pacing_rate;
	row->mss = call->mss;
	row->cwnd = call->cwnd;
	row->ssthresh = call->ssthresh;
	row->inflight = call->inflight;
	row->delivered = call->delivered;
	row->delivered_ce = call->delivered_ce;
	row->lost = call->lost;
	row->srtt = call->srtt;
	if (call->kind == FP_ACK && call->rtt != U32_MAX)
		row->rtt = call->rtt;
	fp_observe(&own->state, call, row);
}

static __attribute__((noinline)) void fp_emit(struct sock *sk, struct fp_sock *own,
					      const struct fp_call *call, __u8 kind)
{
	struct fp_row *row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);

	if (!row) {
		__sync_fetch_and_add(&stats.rows_lost, 1);
		return;
	}
	fp_describe(sk, row, own, call);
	row->kind = kind;
	/* The reader looks by its own clock: to wake it would take longer than the row. */
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
}

/* Makes a call: runs the algorithm, and records the call. */
FP_INLINE void fp_make(struct sock *sk, struct fp_sock *own, struct fp_call *call, __u8 kind)
{
	struct fp_call_row *row = 0;

	if (record_calls) {
		row = bpf_ringbuf_reserve(&calls, sizeof(*row), 0);
		if (row)
			row->call = *call;
		else
			__sync_fetch_and_add(&stats.rows_lost, 1);
	}
	fp_dispatch(&own->state, call, kind);
	if (row) {
		row->connection = own->connection;
		row->pacing_rate = call->pacing_rate;
		row->cwnd = call->cwnd;
		row->ssthresh = call->ssthresh;
		bpf_ringbuf_submit(row, 0);
	}
	if (trace_interval_us && (kind == FP_ACK || kind == FP_STATE) && call->now >= own->row_due) {
		own->row_due = call->now + trace_interval_us;
		fp_emit(sk, own, call, FP_ROW);
	}
}

/* Gives the kernel the decision. */
FP_INLINE void fp_decide(struct sock *sk, const struct fp_call *call)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (tp->snd_cwnd != call->cwnd)
		tp->snd_cwnd = call->cwnd;
	if (tp->snd_ssthresh != call->ssthresh)
		tp->snd_ssthresh = call->ssthresh;
#ifdef FP_PACED
	{
		__u64 rate = min_u64(call->pacing_rate, sk->sk_max_pacing_rate);

		if (sk->sk_pacing_rate != rate)
			sk->sk_pacing_rate = rate;
	}
#endif
}

SEC("struct_ops/init")
int fp_init(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct fp_call call;
	struct fp_sock *own;

	own = bpf_sk_storage_get(&states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!own) {
		__sync_fetch_and_add(&stats.no_memory, 1);
		return 0;
	}
	own->connection = __sync_fetch_and_add(&stats.opened, 1) + 1;
	own->row_due = 0;
#ifdef FP_SENT
	own->history.records = 0;
	own->history.found = 0;
#endif
#ifdef FP_PACED
	if (!sk->sk_pacing_status)
		sk->sk_pacing_status = SK_PACING_NEEDED;
#endif
	fp_gather(sk, &call, FP_BEGIN);
	call.random = bpf_get_prandom_u32();
	fp_make(sk, own, &call, FP_BEGIN);
	fp_decide(sk, &call);
	if (trace_interval_us)
		fp_emit(sk, own, &call, FP_ROW_OPENED);
	return 0;
}

SEC("struct_ops/release")
int fp_release(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct fp_sock *own = fp_sock_of(sk);
	struct fp_call call;

	if (!own)
		return 0;
	__sync_fetch_and_add(&stats.closed, 1);
	if (trace_interval_us) {
		fp_gather(sk, &call, FP_STATE);
		fp_emit(sk, own, &call, FP_ROW_CLOSED);
	}
	bpf_sk_storage_delete(&states, sk);
	return 0;
}

SEC("struct_ops/ssthresh")
int fp_ssthresh(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct fp_sock *own = fp_sock_of(sk);
	struct fp_call call;

	/* Also called before init: the timer of a SYN. */
	if (!own)
		return max_u32(tp->snd_cwnd >> 1, 2);
	fp_gather(sk, &call, FP_SSTHRESH);
	/* tcp_enter_recovery sets undo_marker before this call, tcp_enter_cwr clears it. */
	if (!tp->undo_marker && !tp->lost_out)
		call.flags |= FP_BY_MARK;
	fp_make(sk, own, &call, FP_SSTHRESH);
	return call.ssthresh;
}

SEC("struct_ops/set_state")
int fp_set_state(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct fp_sock *own = fp_sock_of(sk);
	struct fp_call call;

	if (!own)
		return 0;
	fp_gather(sk, &call, FP_STATE);
	call.ca_state = ctx[1];
	fp_make(sk, own, &call, FP_STATE);
	fp_decide(sk, &call);
	return 0;
}

SEC("struct_ops/undo_cwnd")
int fp_undo_cwnd(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct fp_sock *own = fp_sock_of(sk);
	struct fp_call call;

	if (!own)
		return max_u32(tp->snd_cwnd, tp->prior_cwnd);
	fp_gather(sk, &call, FP_UNDO);
	fp_make(sk, own, &call, FP_UNDO);
	return call.cwnd;
}

#ifdef FP_RESTARTS
SEC("struct_ops/cwnd_event")
int fp_cwnd_event(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct fp_sock *own;
	struct fp_call call;

	if ((__u32)ctx[1] != CA_EVENT_TX_START || !tp->app_limited)
		return 0;
	own = fp_sock_of(sk);
	if (!own)
		return 0;
	fp_gather(sk, &call, FP_RESTART);
	call.flags |= FP_APP_LIMITED;
	fp_make(sk, own, &call, FP_RESTART);
	fp_decide(sk, &call);
	return 0;
}
#endif

#ifdef FP_OWNS_WINDOW

/*
 * Number of arguments of cong_control: 2 before Linux 6.10, 4 since. The loader takes it from the
 * kernel's BTF; 0 is by the version.
 */
const volatile fp_control cong_control_args = 0;

FP_INLINE bool fp_has_flag(void)
{
	if (cong_control_args)
		return cong_control_args == 4;
	return LINUX_KERNEL_VERSION >= (6 << 16 | 10 << 8);
}

SEC("struct_ops/cong_control")
int fp_cong_control(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct rate_sample *rs;
	struct fp_sock *own = fp_sock_of(sk);
	struct fp_call call;

	if (!own)
		return 0;
	/*
	 * The verifier knows the constant, and does not look at the other branch. In assembly, since the
	 * compiler would make one load of both, from an address that the verifier refuses.
	 */
	if (fp_has_flag())
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(rs) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(rs) : "r"(ctx));
	fp_gather(sk, &call, FP_ACK);
	call.rtt = rs->rtt_us < 0 ? U32_MAX : rs->rtt_us;
	if (rs->delivered >= 0 && rs->interval_us > 0) {
		call.interval = min_u64(rs->interval_us, U32_MAX);
		call.sample_delivered = rs->delivered;
	}
	if (bpf_core_field_exists(rs->delivered_ce) && rs->delivered_ce > 0)
		call.sample_delivered_ce = rs->delivered_ce;
	call.prior_delivered = rs->prior_delivered;
	call.acked = rs->acked_sacked;
	call.losses = rs->losses;
	call.prior_inflight = rs->prior_in_flight;
	if (rs->is_app_limited)
		call.flags |= FP_APP_LIMITED;
	if (rs->is_ack_delayed)
		call.flags |= FP_ACK_DELAYED;
#ifdef FP_SENT
	if (bpf_core_field_exists(rs->last_end_seq))
		fp_recall_sending(&own->history, &call, !rs->is_retrans, rs->last_end_seq);
	else
		fp_recall_sending(&own->history, &call, false, 0);
#endif
	fp_make(sk, own, &call, FP_ACK);
	fp_decide(sk, &call);
	return 0;
}

/* bbr_sndbuf_expand: the socket may hold three windows, since a window may grow in recovery, too. */
SEC("struct_ops/sndbuf_expand")
int fp_sndbuf_expand(__u64 *ctx)
{
	(void)ctx;
	return 3;
}

#else

SEC("struct_ops/cong_avoid")
int fp_cong_avoid(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct fp_sock *own = fp_sock_of(sk);
	struct fp_call call;

	if (!own)
		return 0;
	fp_gather(sk, &call, FP_ACK);
	/* tcp_is_cwnd_limited: in slow start the window may also be twice the flight. */
	if (call.cwnd < call.ssthresh && call.cwnd < 2 * tp->max_packets_out)
		call.flags |= FP_CWND_LIMITED;
	call.acked = ctx[2];
	call.rtt = U32_MAX;
	fp_make(sk, own, &call, FP_ACK);
	fp_decide(sk, &call);
	return 0;
}

#endif

#ifdef FP_TAKES_RTT
SEC("struct_ops/pkts_acked")
int fp_pkts_acked(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct ack_sample *sample = (const struct ack_sample *)ctx[1];
	struct fp_sock *own;
	struct fp_call call;

	if (sample->rtt_us < 0)
		return 0;
	own = fp_sock_of(sk);
	if (!own)
		return 0;
	fp_gather(sk, &call, FP_RTT);
	call.rtt = sample->rtt_us;
	fp_make(sk, own, &call, FP_RTT);
	return 0;
}
#endif

#ifdef FP_SENT
/* Before a packet leaves, the kernel asks for its least size. */
SEC("struct_ops/min_tso_segs")
int fp_min_tso_segs(__u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	/* The kernel asks several times between two ACKs: look the state up at the first one only. */
	__u64 counters = (__u64)tp->lost << 32 | tp->delivered;
	struct fp_sock *own;

	if (icsk->icsk_ca_priv[0] != counters) {
		icsk->icsk_ca_priv[0] = counters;
		own = fp_sock_of(sk);
		if (own) {
			struct fp_sent now = {
				.delivered = tp->delivered,
				.lost = tp->lost,
				.inflight = fp_inflight(tp),
				.snd_nxt = tp->snd_nxt,
			};

			fp_note_sending(&own->history, &now, tp->snd_cwnd);
		}
	}
#ifdef FP_SINGLES_BELOW
	if (sk->sk_pacing_rate < FP_SINGLES_BELOW)
		return 1;
#endif
	return 2;
}
#endif

#define FP_STRING_(x) #x
#define FP_STRING(x) FP_STRING_(x)

#ifndef FP_SECTION
#define FP_SECTION ".struct_ops.link"
#endif

SEC(FP_SECTION)
struct tcp_congestion_ops FP_OPS = {
	.init = (void *)fp_init,
	.release = (void *)fp_release,
	.ssthresh = (void *)fp_ssthresh,
	.set_state = (void *)fp_set_state,
	.undo_cwnd = (void *)fp_undo_cwnd,
#ifdef FP_RESTARTS
	.cwnd_event = (void *)fp_cwnd_event,
#endif
#ifdef FP_OWNS_WINDOW
	.cong_control = (void *)fp_cong_control,
	.sndbuf_expand = (void *)fp_sndbuf_expand,
#else
	.cong_avoid = (void *)fp_cong_avoid,
#endif
#ifdef FP_TAKES_RTT
	.pkts_acked = (void *)fp_pkts_acked,
#endif
#ifdef FP_SENT
	.min_tso_segs = (void *)fp_min_tso_segs,
#endif
	.name = FP_STRING(FP_OPS),
};

#endif /* FP_NATIVE */

#endif
