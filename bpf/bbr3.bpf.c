// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * BBRv3 (draft-ietf-ccwg-bbr-06, google/bbr v3): crates/cc/src/algo/bbr/v3 with profile = "linux".
 *
 * Approximations, since the kernel hands over less than google's does:
 *  - Inflight and losses when a packet was sent come from records that are made as packets leave, at
 *    least 64 in a round trip. Inflight is exact for packets that are sent in order and once, and that
 *    of the record before otherwise; losses are exact to 1/1024 of the window.
 *  - The kernel does not name lost packets. Those that an ACK finds count as one packet, sent with the
 *    newest packet that it acknowledged; those of a timer as sent with the same amount in flight.
 *  - A loss that a tail loss probe repaired is not seen (loss_probe_counts).
 *  - Whether an ACK reports a mark is whether the count of marked packets grew. ECT(0) is sent where
 *    the connection negotiated ECN.
 *  - Bursts have the size that the kernel gives them (tcp_tso_autosize), which is that of
 *    bbr_tso_segs_goal. Only its effect on the window is computed.
 *  - Packets sent in ProbeRTT count as application-limited by the counter of delivered packets.
 */
#include "fp_types.h"

#define BBR_VERSION 3

/* Gains (§5.6.1). */
FP_PARAM fp_q16 startup_pacing_gain = FP_Q16(710 / 256.0);
FP_PARAM fp_q16 startup_cwnd_gain = FP_Q16(2);
FP_PARAM fp_q16 drain_pacing_gain = FP_Q16(88 / 256.0);
FP_PARAM fp_q16 drain_cwnd_gain = FP_Q16(2);
FP_PARAM fp_count drain_rounds = 0; /* 0: no limit */
FP_PARAM fp_q16 up_pacing_gain = FP_Q16(1.25);
FP_PARAM fp_q16 up_cwnd_gain = FP_Q16(2.25);
FP_PARAM fp_q16 down_pacing_gain = FP_Q16(232 / 256.0);
FP_PARAM fp_q16 cruise_pacing_gain = FP_Q16(1);
FP_PARAM fp_q16 refill_pacing_gain = FP_Q16(1);
FP_PARAM fp_q16 cwnd_gain = FP_Q16(2);
FP_PARAM fp_q16 probe_rtt_pacing_gain = FP_Q16(1);
FP_PARAM fp_q16 probe_rtt_cwnd_gain = FP_Q16(0.5);
/* Startup (§5.3.1). */
FP_PARAM fp_q16 full_bw_growth = FP_Q16(1.25);
FP_PARAM fp_count full_bw_rounds = 3;
FP_PARAM fp_count startup_loss_events = 6; /* 0: no exit by loss */
/* Loss (§5.5.10). */
FP_PARAM fp_q16 loss_threshold = FP_Q16(5 / 256.0);
FP_PARAM fp_q16 beta = FP_Q16(180 / 256.0);
FP_PARAM fp_q16 headroom = FP_Q16(38 / 256.0);
FP_PARAM fp_flag undo = 1;
/* Model and window (§5.5, §5.6). */
FP_PARAM fp_q16 pacing_margin = FP_Q16(0.01);
FP_PARAM fp_count min_pipe_cwnd = 4;
FP_PARAM fp_count max_bw_window = 2;
FP_PARAM fp_count extra_acked_window = 5;
FP_PARAM fp_count extra_acked_startup_window = 1;
FP_PARAM fp_us extra_acked_cap = FP_SECONDS(0.1); /* 0: no limit */
FP_PARAM fp_count send_quantum_max = 65536;
FP_PARAM fp_flag fast_path = 1;
/* ProbeRTT (§5.3.4). */
FP_PARAM fp_us min_rtt_window = FP_SECONDS(10);
FP_PARAM fp_us probe_rtt_interval = FP_SECONDS(5);
FP_PARAM fp_us probe_rtt_duration = FP_SECONDS(0.2);
FP_PARAM fp_flag probe_rtt_renewed_by_equal = 0;
/* The times of probes (§5.3.3.8). */
FP_PARAM fp_us probe_wait_base = FP_SECONDS(2);
FP_PARAM fp_us probe_wait_spread = FP_SECONDS(1);
FP_PARAM fp_count reno_rounds = 63;
FP_PARAM fp_count reno_rounds_choices = 2;
/* Marks (tcp_bbr.c). */
FP_PARAM fp_flag ecn = 0;
FP_PARAM fp_q16 ecn_alpha_gain = FP_Q16(1 / 16.0);
FP_PARAM fp_q16 ecn_alpha_init = FP_Q16(1);
FP_PARAM fp_q16 ecn_factor = FP_Q16(85 / 256.0);
FP_PARAM fp_q16 ecn_threshold = FP_Q16(0.5); /* 0: no limit */
FP_PARAM fp_count ecn_startup_rounds = 2;	   /* 0: no exit by marks */
FP_PARAM fp_us ecn_max_rtt = FP_SECONDS(0.005); /* 0: no limit */
FP_PARAM fp_q16 ecn_reprobe_gain = FP_Q16(0.5); /* 0: no such probes */

/* Rule of BBRv2 alone. */
#define up_queue_gain FP_ONE

#include "fp_bbr.h"

#define FP_OPS fp_bbr3
#define FP_OWNS_WINDOW
#define FP_PACED
#define FP_RESTARTS
#define FP_SENT 128
#include "fp_ops.h"
