/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Types of BPF objects and of their native builds (-DFP_NATIVE), without other headers. */
#ifndef FP_TYPES_H
#define FP_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
#ifdef FP_NATIVE
typedef unsigned long __u64; /* as in the kernel's asm-generic/int-l64.h */
typedef long __s64;
#else
typedef unsigned long long __u64;
typedef long long __s64;
#endif
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 bool;
enum { false, true };

/*
 * Units of parameters. A parameter is an FP_PARAM with the name of the parameter in
 * crates/cc; the loader converts its value by the name of the type, which BTF has.
 */
typedef __u32 fp_q16;	  /* 1/65536: gains and fractions */
typedef __u64 fp_us;	  /* microseconds; the parameter is in the unit that crates/cc declares */
typedef __u32 fp_count;	  /* whole numbers: rounds, segments, events */
typedef __u8 fp_flag;	  /* 0 or 1 */
typedef __u8 fp_word;	  /* place of a keyword among those that crates/cc declares */
typedef __u32 fp_control; /* a switch of the loader, not a parameter */

#ifdef FP_NATIVE
#define FP_PARAM volatile /* tests set them */
#else
#define FP_PARAM const volatile
#endif

#define FP_ONE 65536
/* A fraction as fp_q16, rounded; for constants. */
#define FP_Q16(x) ((fp_q16)((x) * FP_ONE + 0.5))
#define FP_SECONDS(x) ((fp_us)((x) * 1000000 + 0.5))

#define U32_MAX (~(__u32)0)
#define U64_MAX (~(__u64)0)

/*
 * A function of its own for the kernel, which verifies it once, for any state ("global function"). It
 * must return a number and mind null pointers.
 */
#ifdef FP_NATIVE
#define FP_STEP static int
#else
#define FP_STEP __attribute__((noinline)) int
#endif

#define FP_INLINE static inline __attribute__((always_inline))

#define FP_CALLED static __attribute__((noinline))

FP_INLINE __u64 min_u64(__u64 a, __u64 b) { return a < b ? a : b; }
FP_INLINE __u64 max_u64(__u64 a, __u64 b) { return a > b ? a : b; }
FP_INLINE __u32 min_u32(__u32 a, __u32 b) { return a < b ? a : b; }
FP_INLINE __u32 max_u32(__u32 a, __u32 b) { return a > b ? a : b; }

/* Returns whether counter `a` is not before `b`, if both wrap at 2^32. */
FP_INLINE bool not_before(__u32 a, __u32 b) { return (__s32)(a - b) >= 0; }

/* Returns x * q, rounded down; x below 2^47. */
FP_INLINE __u64 times_q16(__u64 x, fp_q16 q) { return x * q >> 16; }

/* Returns x * q, rounded up. */
FP_INLINE __u64 times_q16_up(__u64 x, fp_q16 q) { return (x * q + FP_ONE - 1) >> 16; }

/* Numbers with a fraction of 32 bits, for windows that grow by little at each ACK. */
#define Q32_ONE ((__u64)1 << 32)

/* Returns a * b for a fraction b of at most one; a below 2^52. */
FP_INLINE __u64 times_q32(__u64 a, __u64 b)
{
	return (a >> 32) * b + ((a & U32_MAX) * b >> 32);
}

/* Returns gain * cwnd / rtt in B/s, at least one; rtt in us, not zero. */
FP_INLINE __u64 window_rate(__u64 cwnd_q32, fp_q16 gain, __u32 mss, __u32 rtt)
{
	__u64 bytes = ((cwnd_q32 >> 16) * gain >> 16) * mss; /* 2^-16 */

	if (bytes >> 43)
		return (bytes / rtt * 1000 >> 16) * 1000;
	return max_u64(bytes * 1000000 / rtt >> 16, 1);
}

/* Returns acked / cwnd as a fraction of at most one; acked is whole segments, cwnd at least one. */
FP_INLINE __u64 share_q32(__u32 acked, __u64 cwnd_q32)
{
	__u64 cwnd = cwnd_q32 >> 16;

	if (!cwnd || (__u64)acked << 16 >= cwnd || acked >> 15)
		return Q32_ONE;
	return ((__u64)acked << 48) / cwnd;
}

#endif
