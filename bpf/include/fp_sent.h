/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Inflight and losses when a packet was sent, which the kernel does not keep for each packet: from
 * records of the connection, made when it is about to send. Half of the FP_SENT records cover a
 * window; the others are for losses, one for each 1/1024 of the window.
 */
#ifndef FP_SENT_H
#define FP_SENT_H

#include "fp_call.h"

/* The connection when it was about to send. */
struct fp_sent {
	__u32 delivered;
	__u32 lost;
	__u32 inflight;
	__u32 snd_nxt;
};

struct fp_history {
	__u32 records; /* number of records so far */
	struct fp_sent sent[FP_SENT];
};

FP_INLINE void fp_note_sending(struct fp_history *history, const struct fp_sent *now, __u32 cwnd)
{
	__u32 next = history->records;
	const struct fp_sent *last = &history->sent[(next - 1) & (FP_SENT - 1)];
	__u32 delivered = now->delivered - last->delivered, lost = now->lost - last->lost;

	if (next && delivered <= cwnd / (FP_SENT / 2) && lost <= cwnd / 1024)
		return;
	history->sent[next & (FP_SENT - 1)] = *now;
	history->records = next + 1;
}

/*
 * Sets tx_inflight and tx_lost, by the latest record that is not later than the newest acknowledged
 * packet. If the packet was sent once, it ends at sequence `end_seq`, which says how much was sent
 * since the record.
 */
FP_INLINE void fp_recall_sending(const struct fp_history *history, struct fp_call *call, bool once,
				 __u32 end_seq)
{
	__u32 next = history->records, count = min_u32(next, FP_SENT), low = next - count;
	const struct fp_sent *record;
	__u32 step, since;
	__s32 bytes;

	call->tx_inflight = call->prior_inflight;
	call->tx_lost = call->lost;
	if (!count)
		return;
	/* The record is at `low`, or at most 2 * step - 1 places after it. */
#pragma GCC unroll 16
	for (step = FP_SENT / 2; step; step /= 2) {
		__u32 place = low + step;

		record = &history->sent[place & (FP_SENT - 1)];
		if ((__s32)(next - place) > 0 && not_before(call->prior_delivered, record->delivered))
			low = place;
	}
	record = &history->sent[low & (FP_SENT - 1)];
	call->tx_lost = record->lost;
	call->tx_inflight = record->inflight;
	since = call->prior_delivered - record->delivered;
	bytes = end_seq - record->snd_nxt;
	if (once) {
		if (bytes > 0 && call->mss)
			call->tx_inflight += ((__u32)bytes + call->mss - 1) / call->mss;
		if ((__s32)since > 0)
			call->tx_inflight -= min_u32(since, call->tx_inflight);
	}
	call->tx_inflight = max_u32(call->tx_inflight, 1);
}

#endif
