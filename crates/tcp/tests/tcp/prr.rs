//! Proportional Rate Reduction (RFC 9937).

use crate::script::{Bench, Setup, segments};
use fullpipe_tcp::App;

#[test]
fn one_leaves_for_two_that_arrive_until_ssthresh_is_reached() {
    let mut bench = Bench::open(Setup::halving(20, App::Unlimited));
    bench.play(
        "  0 > 0-19
         // RecoverFS 20, ssthresh 10, in flight 16: 3/2 leave, rounded up to whole segments
         100 < ack 0 sack 1-3
         100 > r0 20
         101 < ack 0 sack 1-4
         102 < ack 0 sack 1-5
         102 > 21
         103 < ack 0 sack 1-6
         104 < ack 0 sack 1-7
         104 > 22
         105 < ack 0 sack 1-8
         106 < ack 0 sack 1-9
         106 > 23
         107 < ack 0 sack 1-10
         108 < ack 0 sack 1-11
         108 > 24
         109 < ack 0 sack 1-12
         110 < ack 0 sack 1-13
         110 > 25
         111 < ack 0 sack 1-14
         112 < ack 0 sack 1-15
         112 > 26
         113 < ack 0 sack 1-16
         114 < ack 0 sack 1-17   // in flight equals ssthresh: one for one from here on
         115 < ack 0 sack 1-18
         115 > 27
         116 < ack 0 sack 1-19
         116 > 28",
    );
    assert_eq!(bench.sender.conn().inflight, segments(10));
    bench.play(
        "200 < ack 20            // the ACK of the retransmission ends the episode at ssthresh
         200 > 29",
    );
    assert_eq!(bench.sender.cwnd(), segments(10));
    assert_eq!(bench.calls()[..2], ["lost rack range", "enter"]);
}

#[test]
fn below_ssthresh_it_conserves_packets_and_then_slow_starts() {
    let mut bench = Bench::open(Setup::halving(20, App::Unlimited));
    bench.play(
        "  0 > 0-19
         100 < ack 0 sack 17-19  // 17 lost, none in flight: as many as arrived (CRB)
         100 > r0-2
         200 < ack 1 sack 17-19  // SND.UNA advances and nothing is lost: one more (SSRB)
         200 > r3-4
         201 < ack 2 sack 17-19
         201 > r5-6
         202 < ack 3 sack 17-19
         202 > r7-8
         300 < ack 5 sack 17-19  // two arrived: three leave
         300 > r9-11
         301 < ack 7 sack 17-19
         301 > r12-14
         302 < ack 9 sack 17-19
         302 > r15-16 20         // never more than ssthresh in flight",
    );
    assert_eq!(bench.sender.conn().inflight, segments(9));
}

#[test]
fn a_reduction_that_begins_with_a_timer_sends_the_retransmission() {
    let mut bench = Bench::open(Setup::halving(20, App::Unlimited));
    bench.play(
        "  0 > 0-19
         100 < ack 0 sack 1
         100 > 20
         125 > r0",
    );
    assert_eq!(bench.sender.cwnd(), bench.sender.conn().inflight);
}

#[test]
fn new_losses_make_an_ack_unsafe() {
    let mut bench = Bench::open(Setup::halving(20, App::Unlimited));
    bench.play(
        "  0 > 0-19
         100 < ack 0 sack 10-12  // 0-9 lost, 7 in flight of 10
         100 > r0-2
         105 < ack 0 sack 10-12 14 // 13 lost too: 4 - 3 arrived and not answered, none for safety
         105 > r3
         200 < ack 1 sack 10-12 14 // and 15-19, as the retransmission of 0 left after them
         200 > r4
         201 < ack 2 sack 10-12 14
         201 > r5-6",
    );
}
