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
	__u32 found; /* place of the record of the last ACK: that of the next one is it, or soon after it */
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

/* Whether there is a record at `place`, not later than a packet that was sent at `delivered`. */
FP_INLINE bool fp_is_sent_by(const struct fp_history *history, __u32 place, __u32 delivered)
{
	return (__s32)(history->records - place) > 0 &&
	       not_before(delivered, history->sent[place & (FP_SENT - 1)].delivered);
}

/* Looks for the record from that of the last ACK on, which is less work than a search. */
FP_INLINE bool fp_is_near(const struct fp_history *history, __u32 delivered, __u32 *low)
{
	__u32 place = history->found, step;

	if (!not_before(place, *low) || !fp_is_sent_by(history, place, delivered))
		return false;
#pragma GCC unroll 4
	for (step = 0; step < 4; step++) {
		if (!fp_is_sent_by(history, place + 1, delivered)) {
			*low = place;
			return true;
		}
		place++;
	}
	return false;
}

/*
 * Sets tx_inflight and tx_lost, by the latest record that is not later than the newest acknowledged
 * packet. If the packet was sent once, it ends at sequence `end_seq`, which says how much was sent
 * since the record.
 */
FP_INLINE void fp_recall_sending(struct fp_history *history, struct fp_call *call, bool once,
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
	if (!fp_is_near(history, call->prior_delivered, &low)) {
		/* The record is at `low`, or at most 2 * step - 1 places after it. */
#pragma GCC unroll 16
		for (step = FP_SENT / 2; step; step /= 2)
			if (fp_is_sent_by(history, low + step, call->prior_delivered))
				low += step;
	}
	history->found = low;
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
