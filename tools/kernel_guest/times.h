/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#define STEP 4 /* ns */
#define BUCKETS 4096

struct times {
	unsigned long long start;
	unsigned long long count;
	unsigned of[BUCKETS];
};
