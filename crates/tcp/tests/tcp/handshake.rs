//! The handshake (RFC 6298 §2, RFC 6928).

use crate::script::{Bench, Setup, ms, segments, transfer};
use fullpipe_tcp::App;

#[test]
fn the_syn_gives_the_first_rtt_and_ten_segments_follow() {
    let mut bench = Bench::closed(Setup::fixed(10, App::Unlimited));
    bench.play(
        "  0 > syn
          80 < syn-ack
          80 > 0-9",
    );
    let conn = bench.sender.conn();
    assert_eq!((conn.srtt, conn.min_rtt), (ms(80.0), ms(80.0)));
    assert_eq!(conn.initial_cwnd, segments(10));
}

#[test]
fn a_lost_syn_is_sent_again_after_one_two_and_four_seconds() {
    let mut bench = Bench::closed(Setup::fixed(10, App::Unlimited));
    bench.play(
        "   0 > syn
         1000 > rsyn
         3000 > rsyn
         7000 > rsyn
         7050 -",
    );
    // The echoed timestamp identifies the SYN that is answered (RFC 7323 §4), so Karn's algorithm
    // permits the sample, and the timeout follows from it again.
    bench.play(
        "7100 < syn-ack ts 7000
         7100 > 0-9
         7300 > 10               // PTO = 2 srtt
         7600 > r0-9             // RTO = 3 srtt, from the probe on",
    );
}

#[test]
fn the_answer_to_a_second_syn_changes_nothing() {
    let mut bench = Bench::closed(Setup::fixed(10, transfer(10)));
    bench.play(
        "   0 > syn
         1000 > rsyn
         1010 < syn-ack ts 0
         1010 > 0-9
         1090 < syn-ack ts 1000",
    );
    assert_eq!(bench.sender.conn().srtt, ms(1010.0));
}

#[test]
fn nothing_leaves_before_the_handshake_is_done() {
    let mut bench = Bench::closed(Setup::fixed(10, App::Unlimited));
    bench.play(
        "  0 > syn
         500 -",
    );
    assert_eq!(bench.limit(), fullpipe_tcp::Limit::Handshake);
    assert!(bench.calls().is_empty());
}
