/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A call of an algorithm as data: all that it may read, and the decision that it changes. An
 * algorithm is a function of its calls, so that a recording of them, or a native build, gives the
 * same decisions. Volumes are in segments.
 */
#ifndef FP_CALL_H
#define FP_CALL_H

#include "fp_types.h"

/* Functions of struct tcp_congestion_ops. */
enum fp_kind {
	FP_BEGIN,    /* init */
	FP_ACK,	     /* cong_control or cong_avoid */
	FP_SSTHRESH, /* ssthresh: congestion; the result is `ssthresh` */
	FP_STATE,    /* set_state: `ca_state` is the next state */
	FP_UNDO,     /* undo_cwnd: the loss was spurious; the result is `cwnd` */
	FP_RESTART,  /* cwnd_event, CA_EVENT_TX_START: the first packet after idle */
	FP_RTT,	     /* pkts_acked, before losses are found: `rtt`; not with cong_control */
};

/* States of loss recovery: TCP_CA_*. */
enum fp_ca_state { FP_OPEN, FP_DISORDER, FP_CWR, FP_RECOVERY, FP_LOSS };

enum fp_flags {
	FP_CWND_LIMITED = 1 << 0, /* the flight fully used the window */
	FP_APP_LIMITED = 1 << 1,  /* FP_ACK: the rate sample is; else: the connection is */
	FP_ACK_DELAYED = 1 << 2,  /* the receiver may have delayed this ACK */
	FP_ECN = 1 << 3,	  /* the connection negotiated ECN */
	FP_BY_MARK = 1 << 4,	  /* FP_SSTHRESH: no loss was found, so a mark (or a full device) */
	FP_ADVANCED = 1 << 5,	  /* the ACK advanced SND.UNA */
};

struct fp_call {
	__u64 now; /* us */
	__u64 pacing_rate; /* B/s; the decision */
	__u32 cwnd; /* the decision */
	__u32 ssthresh; /* the decision */
	__u8 kind;
	__u8 ca_state;
	__u8 flags;
	__u8 unused;
	__u32 random;
	__u32 mss; /* payload bytes of a segment */
	__u32 inflight;
	__u32 delivered; /* counters since the connection began, modulo 2^32 */
	__u32 delivered_ce;
	__u32 lost;
	__u32 srtt; /* us; 0 before the first sample */
	__u32 min_rtt; /* us, of the kernel's filter; U32_MAX before the first sample */
	__u32 departs_in; /* ns until the pacer releases the next packet */

	__u32 rtt; /* us; FP_ACK, FP_RTT; U32_MAX without a sample */
	/* FP_ACK only. */
	__u32 interval; /* us, of the rate sample; 0 if it is not valid */
	__u32 sample_delivered; /* over the interval */
	__u32 sample_delivered_ce;
	__u32 prior_delivered; /* `delivered` when the newest acknowledged packet was sent */
	__u32 acked; /* newly acknowledged, cumulatively or selectively */
	__u32 losses; /* newly lost, with this ACK */
	__u32 prior_inflight; /* before this ACK */
	/* `inflight` (with the packet) and `lost` when the newest acknowledged packet was sent. */
	__u32 tx_inflight;
	__u32 tx_lost;
};

/* A call with the decision before it (`call`) and after it. */
struct fp_call_row {
	__u64 connection;
	struct fp_call call;
	__u64 pacing_rate;
	__u32 cwnd;
	__u32 ssthresh;
};

#endif
