/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rows of `fullpipe kernel trace`, in the ring buffer `rows`. The layout has no gaps. */
#ifndef FP_ROW_H
#define FP_ROW_H

#include "fp_types.h"

enum fp_row_kind {
	FP_ROW,	       /* the state of a connection */
	FP_ROW_OPENED, /* a connection began to use the algorithm */
	FP_ROW_CLOSED, /* it closed, or changed to another algorithm */
};

struct fp_row {
	__u64 time_ns;	   /* CLOCK_MONOTONIC */
	__u64 connection;  /* number of the connection, from 1 in each loaded object */
	__u64 cookie;	   /* of the socket, as ss -e shows it; 0 if the kernel has not made one */
	__u64 pacing_rate; /* B/s */
	__u64 bw;	   /* bandwidth estimate, B/s; 0 if the algorithm has none */
	__u8 local[16];	   /* IPv4 addresses are in the first four bytes */
	__u8 remote[16];
	__u16 family; /* 2 IPv4, 10 IPv6 */
	__u16 local_port;
	__u16 remote_port;
	__u8 kind;
	__u8 state;    /* index among the labels of the algorithm's trace field `state` */
	__u8 ca_state; /* TCP_CA_* */
	__u8 unused[3];
	__u32 mss;	/* payload bytes */
	__u32 cwnd;	/* segments, as all volumes here */
	__u32 ssthresh; /* 0x7fffffff if unset */
	__u32 inflight;
	__u32 delivered; /* counters since the connection began, modulo 2^32 */
	__u32 delivered_ce;
	__u32 lost;
	__u32 srtt;    /* us */
	__u32 rtt;     /* us, the latest sample; 0 if this call had none */
	__u32 min_rtt; /* us, the algorithm's; 0 if it has none yet */
	/* Values of the algorithm, as its source names them. */
	__u32 values[5];
};

_Static_assert(sizeof(struct fp_row) == 144, "the loader reads this layout");

/* Counters of a loaded object. */
struct fp_stats {
	__u64 opened;	 /* connections that began to use the algorithm */
	__u64 closed;	 /* ... and stopped */
	__u64 no_memory; /* connections without memory for their state, which keep their first window */
	__u64 rows_lost; /* rows for which the ring buffer had no room */
};

#endif
