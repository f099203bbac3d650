//! Loss detection by time (RFC 8985 §6). RTT 100 ms, so the reordering window is 25 ms.

use fullpipe_tcp::{LossDetection, Stack};

use crate::script::{Bench, Setup, transfer};

#[test]
fn a_hole_is_lost_when_it_is_an_rtt_and_the_reordering_window_old() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1
         125 > r0
         225 < ack 10",
    );
    assert_eq!(
        bench.calls(),
        ["ack", "lost rack range", "enter", "ack", "exit", "end"]
    );
}

#[test]
fn three_sacked_at_once_are_enough() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-3
         100 > r0",
    );
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1
         101 < ack 0 sack 1-2
         102 < ack 0 sack 1-3
         102 > r0",
    );
}

#[test]
fn reordering_below_a_quarter_of_the_rtt_is_tolerated() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-2
         120 < ack 3             // 0 was late, not lost
         130 < ack 3 sack 5-7    // reordering was seen: three SACKed no longer suffice
         155 > r3 r4             // 0 + 130 + 25",
    );
    assert_eq!(
        bench.calls(),
        ["ack", "ack", "ack", "lost rack range", "lost rack", "enter"]
    );
}

#[test]
fn the_reordering_timer_waits_for_the_latest_that_may_be_lost() {
    let mut bench = Bench::open(Setup::fixed(3, transfer(6)));
    bench.play(
        "  0 > 0-2
         100 < ack 1
         100 > 3
         101 < ack 2
         101 > 4
         103 < ack 3
         103 > 5
         203 < ack 3 sack 5
         226 > r3 r4             // §6.2 step 5: the larger of 100 and 101, + 100 + 25",
    );
}

#[test]
fn the_reordering_timer_looks_behind_what_was_sacked() {
    let mut bench = Bench::open(Setup::fixed(4, transfer(8)));
    bench.play(
        "  0 > 0-3
         100 < ack 1
         100 > 4
         101 < ack 2
         101 > 5
         103 < ack 3
         103 > 6
         104 < ack 4
         104 > 7
         203 < ack 4 sack 6
         204 < ack 4 sack 6-7
         225 -
         225.5 < ack 4 sack 5-7  // 5 was late, 4 (due at 225.5 + 25 - 1) is not lost yet
         249.5 > r4",
    );
}

#[test]
fn a_lost_retransmission_is_detected() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(20)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-9
         100 > r0 10-18
         200 < ack 0 sack 1-10   // 10 left after the retransmission of 0 and arrived before it
         200 > r0 19",
    );
    assert_eq!(
        bench.calls(),
        ["lost rack range", "enter", "ack", "lost rack range", "ack"],
        "one reduction"
    );
}

#[test]
fn a_retransmission_answered_too_soon_says_nothing_but_the_rest_of_the_ack_does() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-3
         100 > r0
         110 < ack 4 sack 5 ts 0 // §6.2 step 2: that was the original of 0, but 5 is newer than 4
         135 > r4                // 0 + 110 + 25: reordering was seen",
    );
}

#[test]
fn a_retransmission_whose_timestamp_is_not_echoed_says_nothing() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(20)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-3 5
         100 > r0 r4 10-12 13
         205 < ack 4 sack 5 ts 0   // §6.2 step 2: the echo is older than the retransmission of 0
         205 > 14",
    );
}

#[test]
fn duplicates_widen_the_window_once_a_round() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 1 dsack 0
         101 < ack 1 dsack 0
         110 < ack 1 sack 2
         160 > r1                // 110 + 2 x 25",
    );
    let mut bench = Bench::open(Setup::fixed(10, transfer(20)));
    bench.play(
        "  0 > 0-9
         100 < ack 1 dsack 0
         100 > 10
         200 < ack 10 dsack 1    // SND.UNA passes the round with this very ACK
         200 > 11-19
         300 < ack 11 sack 12
         375 > r11               // 200 + 100 + 3 x 25",
    );
}

/// An ACK that advances and has a SACK block: 3 was sent at 100, with 4, and 5 at 130. By RFC 8985 the RTT
/// is that of 5, which was sent last, so 4 is lost at once. Linux processes 3 last: it waits for the
/// RTT of 3, the window, and two milliseconds.
#[test]
fn linux_takes_the_rtt_of_the_data_below_a_hole() {
    for (loss_detection, lost) in [
        (LossDetection::Rfc8985, 230.0),
        (LossDetection::Linux, 100.0 + 130.0 + 25.0 + 2.0),
    ] {
        let mut setup = Setup::fixed(3, transfer(6));
        setup.stack = Stack {
            loss_detection,
            ..Stack::default()
        };
        let mut bench = Bench::open(setup);
        bench.play(&format!(
            "  0 > 0-2
             100 < ack 2
             100 > 3 4
             130 < ack 3
             130 > 5
             230 < ack 4 sack 5
             {lost} > r4"
        ));
    }
}
