//! The retransmission timeout (RFC 6298, RFC 8985 §6.3). The RTT is 100 ms: a probe at 200 ms, then
//! an RTO of 300 ms.

use crate::script::controller::Call;
use crate::script::{Bench, Setup, ms, segments, transfer};
use fullpipe_cc::Recovery;
use fullpipe_tcp::{App, LossDetection, Stack};

#[test]
fn it_doubles() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "   0 > 0-9
          200 > r9               // the probe
          500 > r0               // 0.3 s
         1100 > r0               // 0.6 s
         2300 > r0               // 1.2 s
         4700 > r0",
    );
    let timeouts: Vec<String> = bench
        .calls()
        .iter()
        .filter(|call| call.starts_with("timeout"))
        .cloned()
        .collect();
    assert_eq!(
        timeouts,
        ["timeout", "timeout again", "timeout again", "timeout again"]
    );
}

/// RFC 5681 §3.1: ssthresh stays constant only if the timer has already resent this same segment.
#[test]
fn a_timeout_after_progress_is_another_sign_of_congestion() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         200 > r9
         500 > r0
         600 < ack 1
         600 > r1-2
         900 > r1                // 0.3 s later",
    );
    let timeouts: Vec<String> = bench
        .calls()
        .iter()
        .filter(|call| call.starts_with("timeout"))
        .cloned()
        .collect();
    assert_eq!(timeouts, ["timeout", "timeout"]);
}

#[test]
fn everything_is_lost_and_comes_again_in_slow_start() {
    let mut bench = Bench::open(Setup::halving(10, transfer(12)));
    bench.play(
        "  0 > 0-9
         200 > 10
         500 > r0                // the loss window: one segment
         600 < ack 1
         600 > r1-2
         700 < ack 3
         700 > r3-6
         800 < ack 7
         800 > r7-10 11          // ssthresh: five
         900 < ack 12",
    );
    let calls = bench.calls();
    assert_eq!(
        calls[..12]
            .iter()
            .filter(|call| call.starts_with("lost rto"))
            .count(),
        11
    );
    assert_eq!(
        calls[11..],
        ["timeout", "ack", "ack", "ack", "ack", "exit", "end"]
    );
}

#[test]
fn what_was_sent_less_than_an_rtt_ago_stays_in_flight() {
    let mut bench = Bench::open(Setup {
        window: 5,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "  0 > 0-4
         100 < ack 0 sack 1-4 win 5
         100 > r0
         350 < ack 0 sack 1-4 win 7
         350 > 5-6
         400 > r0                // RFC 8985 §6.3: the first segment, and those older than RACK.rtt",
    );
    let timeout = bench
        .log()
        .iter()
        .find(|event| matches!(event.call, Call::Recovery(Recovery::Timeout { .. })))
        .unwrap();
    assert_eq!(timeout.conn.inflight, segments(2));
    bench.play("1000 > r0 r5 r6       // 0.6 s later, all are older");
}

/// `tcp_timeout_mark_lost`: a timeout tolerates no reordering, also after reordering was seen. The
/// latest segments are 110 ms old, between the RTT of 100 ms and the 125 ms of fast recovery.
#[test]
fn a_timeout_has_no_reordering_window() {
    let mut bench = Bench::open(Setup {
        window: 5,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "  0 > 0-4
         100 < ack 0 sack 2 win 5
         100 < ack 3 sack 4 win 2    // 0 and 1 were late, not lost
         125 > r3                    // 0 + 100 + 25
         315 < ack 3 sack 4 win 4
         315 > 5-6
         425 > r3 r5 r6",
    );
    let timeout = bench
        .log()
        .iter()
        .find(|event| matches!(event.call, Call::Recovery(Recovery::Timeout { .. })))
        .unwrap();
    assert_eq!(timeout.conn.inflight, segments(0));
}

#[test]
fn a_new_ack_ends_the_backoff_and_restarts_the_timer() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "   0 > 0-9
          200 > r9
          500 > r0
         1100 > r0
         1200 < ack 1
         1200 > r1-2
         1500 > r1               // RFC 6298 §5.3",
    );
}

#[test]
fn probe_and_timeout_count_from_the_last_new_ack() {
    let mut bench = Bench::open(Setup {
        window: 10,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "   0 > 0-9
          100 < ack 4 win 6
          190 < ack 8 win 2      // srtt 111.25, rttvar 50.625
          412.5 > r9             // 190 + 2 srtt
          726.25 > r8-9          // 412.5 + srtt + 4 rttvar",
    );
    assert_eq!(bench.sender.conn().srtt, ms(111.25));
}

/// 3 arrives after the reordering timer was armed for it, and 5 left before that: by RFC 6298 §5.3 the
/// timeout counts from the ACK, in Linux from the departure of 5 (tcp_rearm_rto).
#[test]
fn linux_counts_the_timeout_after_a_reordering_timer_from_the_departure() {
    for (loss_detection, lost, again) in [
        (LossDetection::Rfc8985, 135.0, 664.087646),
        (LossDetection::Linux, 137.0, 643.868896),
    ] {
        let mut setup = Setup::halving(10, transfer(10));
        setup.stack = Stack {
            loss_detection,
            ..Stack::default()
        };
        let mut bench = Bench::open(setup);
        bench.play(&format!(
            "  0 > 0-9
             100 < ack 0 sack 1
             101 < ack 2
             110 < ack 2 sack 6-9
             {lost} > r2
             240 < ack 3
             240 > r3-4
             340 < ack 3 sack 4 6-9
             340 > r5
             360 < ack 5
             {again} > r5"
        ));
    }
}

#[test]
fn karn_leaves_it_to_the_timestamp_which_copy_is_answered() {
    for (echo, rtt) in [("600", 120.0), ("0", 720.0)] {
        let mut bench = Bench::open(Setup::fixed(1, transfer(2)));
        bench.play(&format!(
            "  0 > 0
             300 > 1
             600 > r0
             720 < ack 1 ts {echo}
             {}",
            if echo == "600" { "720 > r1" } else { "720 -" }
        ));
        assert_eq!(bench.last_ack().rtt.unwrap().raw, ms(rtt), "RFC 7323 §4.1");
        assert_eq!(bench.sender.conn().min_rtt, ms(100.0));
    }
}

#[test]
fn a_selective_ack_of_a_retransmission_gives_no_sample() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 2-9
         100 > r0 r1
         230 < ack 0 sack 1-9
         230 > r0                // lost again: it left before the copy of 1",
    );
    assert_eq!(bench.last_ack().rtt, None);
}

#[test]
fn what_waited_behind_a_retransmission_gives_no_sample() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         200 > r9
         500 > r0
         600 < ack 10            // 1-8 arrived long ago, but their ACKs were lost",
    );
    assert_eq!(
        bench.last_ack().rtt.unwrap().raw,
        ms(100.0),
        "the RTT of the retransmission, from its timestamp"
    );
    assert_eq!(bench.sender.conn().srtt, ms(100.0));
}

#[test]
fn the_oldest_segment_makes_srtt_and_the_newest_min_rtt() {
    let mut bench = Bench::open(Setup {
        window: 1,
        ..Setup::fixed(10, App::Unlimited)
    });
    bench.play(
        "  0 > 0
          10 < ack 0 win 2
          10 > 1
         100 < ack 2 win 1
         100 > 2",
    );
    assert_eq!(bench.sender.conn().srtt, ms(100.0));
    assert_eq!(bench.sender.conn().min_rtt, ms(90.0));
    assert_eq!(bench.last_ack().rtt.unwrap().raw, ms(90.0));
}
