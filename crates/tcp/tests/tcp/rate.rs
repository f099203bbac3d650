//! Delivery-rate samples (draft-ietf-ccwg-bbr-06 §4.1).

use crate::script::{Bench, Setup, Test, ms, segments, transfer};
use fullpipe_tcp::{Ack, AckKind, App, Stack};
use fullpipe_units::{Bytes, Rate, Span, Time};

fn over(n: u64, millis: f64) -> Option<Rate> {
    Some(Rate::from_delivery(segments(n), ms(millis)))
}

/// Rate at which the serialization time of one segment is a millisecond.
const PER_MS: Rate = Rate::from_bps(1448 * 8 * 1000);

#[test]
fn ten_packets_sent_in_10_ms_and_acknowledged_in_20_came_at_half_their_rate() {
    let mut bench = Bench::open(Setup {
        window: 1,
        rtt: 10.0,
        ..Setup::fixed(100, App::Unlimited)
    });
    bench.play(
        " 0 > 0
          1 < ack 0 win 2
          1 > 1
          2 < ack 0 win 3
          2 > 2
          3 < ack 0 win 4
          3 > 3
          4 < ack 0 win 5
          4 > 4
          5 < ack 0 win 6
          5 > 5
          6 < ack 0 win 7
          6 > 6
          7 < ack 0 win 8
          7 > 7
          8 < ack 0 win 9
          8 > 8
         10 < ack 0 win 10
         10 > 9
         20 < ack 10 win 0",
    );
    let sample = bench.last_ack().rate;
    assert_eq!((sample.rate, sample.interval), (over(10, 20.0), ms(20.0)));
    assert_eq!(bench.outcome.rate, sample.rate);
}

#[test]
fn compressed_acks_are_held_to_the_rate_of_sending() {
    let mut bench = Bench::open(Setup {
        window: 1,
        rtt: 20.0,
        ..Setup::fixed(100, App::Unlimited)
    });
    bench.play(
        "  0 > 0
          10 < ack 0 win 2
          10 > 1
          30 < ack 1 win 1
          45 < ack 1 win 2
          45 > 2
          65 < ack 3 win 0        // 35 ms after the ACK of 0, 45 ms after the sending of 0",
    );
    assert_eq!(bench.last_ack().rate.rate, over(2, 45.0));
}

/// Returns the rate samples on a link of 12 Mbit/s (in 1500-byte packets) with an RTT of 20 ms,
/// whose ACKs arrive in trains of `train`.
fn link(paced: bool, train: usize) -> Vec<(f64, Rate)> {
    let mut setup = Setup {
        rtt: 20.0,
        ..Setup::fixed(50, App::Unlimited)
    };
    if paced {
        setup.controller = Test::fixed(50).paced(PER_MS, segments(1));
    }
    let mut bench = Bench::open(setup);
    let mut free = Time::ZERO;
    let mut acks: Vec<(Time, u64)> = Vec::new();
    let mut rates = Vec::new();
    let mut answered = 0;
    while answered < 1000 {
        for (at, segment) in bench.sent() {
            free = free.max(at) + ms(1.0);
            acks.push((free + ms(20.0), segment.seq + 1));
        }
        let due = acks.get(train - 1).map_or(Time::MAX, |ack| ack.0);
        let next = bench.sender.timer_at().min(bench.sender.departure_at());
        if next <= due {
            bench.pass(next, true);
            continue;
        }
        let next = acks.drain(..train).next_back().unwrap().1;
        bench.pass(due, false);
        bench.receive(
            &Ack {
                next,
                echo: bench.now,
                sent: bench.now,
                window: 1000,
                blocks: 0,
                dsack: false,
                kind: AckKind::Plain,
                ecn: 0,
            },
            &[],
        );
        rates.extend(bench.outcome.rate.map(|rate| (bench.time(bench.now), rate)));
        answered = next;
    }
    rates
}

#[test]
fn a_link_of_12_mbits_is_measured_within_a_percent_after_an_rtt() {
    // Data that left before the first ACK, at 31 ms, is measured from the start. Without pacing,
    // the first flight leaves at once, and the send times of the second are still measured from
    // then.
    for (paced, settled) in [(true, 62.0), (false, 121.0)] {
        let rates = link(paced, 1);
        assert!(rates.len() > 900);
        for (at, rate) in rates.iter().filter(|(at, _)| *at > settled) {
            let ratio = rate.as_f64() / PER_MS.as_f64();
            assert!(
                (ratio - 1.0).abs() < 0.01,
                "{ratio} at {at} ms, paced: {paced}"
            );
        }
    }
}

#[test]
fn trains_of_16_acks_do_not_exceed_the_rate_of_sending() {
    let rates = link(true, 16);
    assert!(rates.len() > 50);
    for (at, rate) in rates {
        let ratio = rate.as_f64() / PER_MS.as_f64();
        assert!(ratio < 1.01 || at < 70.0, "{ratio} at {at} ms");
    }
}

#[test]
fn an_interval_below_min_rtt_gives_no_rate() {
    let mut bench = Bench::open(Setup::halving(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         200 > r9
         500 > r0                // nothing else is in flight, so a flight begins
         550 < ack 1 ts 0        // the original of 0",
    );
    let sample = bench.last_ack().rate;
    assert_eq!((sample.rate, sample.interval), (None, ms(50.0)));
    assert_eq!(bench.outcome.rate, None);
}

#[test]
fn the_newest_by_time_of_sending_counts_and_of_equals_the_higher() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(20)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-9
         100 > r0 10-18
         200 < ack 10 sack 10
         200 > 19",
    );
    let newest = bench.last_ack().newest;
    assert_eq!((newest.sent, newest.retransmit), (bench.at(100.0), false));
    assert_eq!(
        newest.inflight,
        segments(2),
        "10, not the retransmission that left at the same time"
    );
}

#[test]
fn application_limited_means_nothing_unsent_and_room_in_the_window() {
    let mut full = Bench::open(Setup::fixed(10, transfer(10)));
    full.play("0 > 0-9");
    assert!(
        !full.sender.conn().app_limited,
        "§4.1.2.4: C.inflight < C.cwnd"
    );
    full.play("100 < ack 1");
    assert!(full.sender.conn().app_limited);
    assert!(full.last_ack().rate.rate.is_some() && !full.last_ack().rate.app_limited);

    let mut short = Bench::open(Setup::fixed(10, transfer(9)));
    short.play("0 > 0-8");
    assert!(short.sender.conn().app_limited);
    assert!(
        short.snapshots().iter().all(|packet| !packet.app_limited),
        "marked after they were sent"
    );

    let mut blocked = Bench::open(Setup {
        window: 5,
        ..Setup::fixed(10, App::Unlimited)
    });
    blocked.play("0 > 0-4");
    assert!(
        !blocked.sender.conn().app_limited,
        "the receiver limits it, not the application"
    );

    let mut losing = Bench::open(Setup::halving(10, transfer(10)));
    losing.play(
        "  0 > 0-9
         100 < ack 0 sack 7-9    // three of the seven lost segments may be sent again
         100 > r0-2",
    );
    assert!(
        !losing.sender.conn().app_limited,
        "§4.1.2.4: C.lost_out <= C.retrans_out"
    );
}

/// Linux looks when the application writes (tcp_rate_check_app_limited, from tcp_sendmsg).
#[test]
fn a_full_send_buffer_marks_when_the_application_writes_again() {
    let open = || {
        let mut setup = Setup::fixed(100, App::Unlimited);
        setup.stack = Stack {
            send_buffer: Some(Bytes::new(30_000)),
            ..Stack::default()
        };
        Bench::open(setup)
    };
    let mut bench = open();
    bench.play(
        "  0 > 0-20
         100 < ack 11",
    );
    assert!(
        !bench.sender.conn().app_limited,
        "it waits until a third of the buffer is free"
    );
    bench.play(
        "101 < ack 12
         101 > 21-28",
    );
    assert!(bench.sender.conn().app_limited);

    let mut bench = open();
    bench.play(
        "  0 > 0-20
         100 < ack 1 sack 8-20
         100 > r1-7",
    );
    assert!(
        !bench.sender.conn().app_limited,
        "acknowledged data behind the hole takes room"
    );
}

#[test]
fn the_bubble_is_gone_when_more_was_delivered_than_the_mark() {
    let controller = Test {
        mark_acks: 1,
        ..Test::fixed(5)
    };
    let mut bench = Bench::open(Setup {
        controller,
        ..Setup::fixed(5, App::Unlimited)
    });
    bench.play(
        "  0 > 0-4                // marked: until more than five are delivered
         100 < ack 1
         100 > 5
         101 < ack 5
         101 > 6-9",
    );
    assert!(bench.sender.conn().app_limited);
    bench.play(
        "102 < ack 6
         102 > 10",
    );
    assert!(!bench.sender.conn().app_limited);
    let marked: Vec<bool> = bench
        .snapshots()
        .iter()
        .map(|packet| packet.app_limited)
        .collect();
    assert_eq!(
        marked,
        [
            true, true, true, true, true, true, true, true, true, true, false
        ]
    );
    assert!(
        bench.last_ack().rate.app_limited,
        "of the acknowledged packet"
    );
}

#[test]
fn an_application_that_writes_slowly_marks_all_but_its_first() {
    let app = App::Paced {
        rate: Rate::from_bps(PER_MS.as_bps() / 10),
        bytes: None,
    };
    let mut bench = Bench::open(Setup::fixed(10, app));
    bench.pass(bench.at(95.0), true);
    let packets = bench.snapshots();
    assert_eq!(packets.len(), 9);
    assert!(packets.iter().all(|packet| packet.app_limited));
}

#[test]
fn a_snapshot_holds_the_connection_with_the_packet() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(20)));
    bench.play(
        "  0 > 0-9
         100 < ack 0 sack 1-7
         100 > r0 10-16
         200 < ack 10
         200 > 17-19",
    );
    let packets = bench.snapshots();
    for (n, packet) in packets[..10].iter().enumerate() {
        assert_eq!(
            (packet.inflight, packet.size),
            (segments(n as u64 + 1), 1448)
        );
        assert_eq!(
            (packet.sent, packet.first_sent, packet.delivered_at),
            (bench.at(0.0), bench.at(0.0), bench.at(0.0))
        );
    }
    let again = packets[10];
    assert!(again.retransmit);
    assert_eq!(
        (again.delivered, again.lost, again.inflight),
        (segments(7), segments(1), segments(3))
    );
    assert_eq!(
        (again.sent, again.first_sent, again.delivered_at),
        (bench.at(100.0), bench.at(0.0), bench.at(100.0))
    );
    let sample = bench.last_ack().rate;
    assert_eq!(
        (sample.delivered, sample.lost),
        (segments(3), segments(0)),
        "bytes lost since the retransmission left"
    );
}

#[test]
fn losses_count_since_the_newest_packet_was_sent() {
    let mut bench = Bench::open(Setup::fixed(10, transfer(10)));
    bench.play(
        "  0 > 0-9
         100 < ack 1
         101 < ack 1 sack 4-6
         101 > r1-3",
    );
    let ack = bench.last_ack();
    assert_eq!(
        (ack.rate.lost, ack.newly_lost, ack.rate.delivered),
        (segments(3), segments(3), segments(4))
    );
    assert_eq!(ack.prior_inflight, segments(9));
}

#[test]
fn the_probe_of_a_lone_segment_begins_no_flight() {
    let mut bench = Bench::open(Setup {
        rtt: 400.0,
        ..Setup::fixed(10, transfer(1))
    });
    bench.play(
        "   0 > 0
         1000 > r0",
    );
    let probe = bench.snapshots()[1];
    assert_eq!(
        (probe.first_sent, probe.inflight),
        (bench.at(0.0), segments(1))
    );
    assert_eq!(probe.sent - probe.first_sent, Span::from_secs(1));
}
