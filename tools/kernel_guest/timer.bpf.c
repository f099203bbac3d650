// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Times of two functions: that of a congestion control for an ACK, and tcp_ack, which calls it.
 * timer.c attaches each pair of programs to a function of the kernel, or to the program of a BPF
 * algorithm: the same trampolines for both.
 */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
#include <bpf/bpf_helpers.h>
#include "times.h"

#define BPF_MAP_TYPE_ARRAY 2

struct {
	__u32 (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 (*max_entries)[2];
	__u32 *key;
	struct times *value;
} measured SEC(".maps");

static __attribute__((always_inline)) int begin(__u32 which)
{
	struct times *times = bpf_map_lookup_elem(&measured, &which);

	if (times)
		times->start = bpf_ktime_get_ns();
	return 0;
}

static __attribute__((always_inline)) int end(__u32 which)
{
	__u64 now = bpf_ktime_get_ns(), took;
	struct times *times = bpf_map_lookup_elem(&measured, &which);
	__u32 bucket;

	if (!times || !times->start)
		return 0;
	took = now - times->start;
	times->start = 0;
	times->count++;
	bucket = took / STEP;
	if (bucket >= BUCKETS)
		bucket = BUCKETS - 1;
	times->of[bucket]++;
	return 0;
}

SEC("fentry") int control_begins(void *ctx) { return begin(0); }
SEC("fexit") int control_ends(void *ctx) { return end(0); }
SEC("fentry") int ack_begins(void *ctx) { return begin(1); }
SEC("fexit") int ack_ends(void *ctx) { return end(1); }

char LICENSE[] SEC("license") = "Dual MIT/GPL";
