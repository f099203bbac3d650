//! Linux's rules for ACKs, each against its function in `net/ipv4/tcp_input.c`, `tcp_output.c`,
//! `tcp_timer.c` or `tcp.c`.

use fullpipe_cc::EcnCodepoint;
use fullpipe_tcp::{
    Ack, AckKind, AckPolicy, Block, Client, EcnFeedback, Messages, Receiver, SMSS, Segment,
};
use fullpipe_units::{Bytes, Draw, Rng, Span, Time};

use crate::script::{ms, segments};

/// Numbers that Linux's rules ignore.
const IGNORED: AckPolicy = AckPolicy {
    every: 64,
    quick: 0,
    delay: Span::from_secs(9),
    coalesce: Span::ZERO,
};

/// A window that does not grow: 45 segments fit into 64 KiB.
const SMALL: u64 = 45;

/// Time 0 of the tests, so that the first segments echo timestamps from before it.
const START: Time = Time::from_nanos(10_000_000_000);

fn at(millis: f64) -> Time {
    START + ms(millis)
}

fn ago(now: f64, before: f64) -> Time {
    Time::from_nanos(at(now).as_nanos() - ms(before).as_nanos())
}

fn millis(at: Time) -> f64 {
    (at - START).as_nanos() as f64 / 1e6
}

/// A receiver, its ACKs, and the round trip that its peer's segments take.
struct Bench {
    receiver: Receiver,
    acks: Vec<(Time, Ack, Vec<Block>)>,
    rtt: f64,
    next: u64,
}

impl Bench {
    /// A receiver whose round trips take `rtt` ms, after the handshake.
    fn new(receiver: Receiver, rtt: f64) -> Bench {
        let mut bench = Bench {
            receiver,
            acks: Vec::new(),
            rtt,
            next: 0,
        };
        bench.arrive(0.0, |segment| segment.syn = true);
        bench.next = 0;
        bench.acks.clear();
        bench
    }

    fn linux(window: u64, rtt: f64) -> Bench {
        Bench::new(
            Receiver::new(IGNORED, segments(window), SMSS).with_linux_acks(),
            rtt,
        )
    }

    /// Lets the next segment arrive at `now` ms, changed by `change`.
    fn arrive(&mut self, now: f64, change: impl FnOnce(&mut Segment)) {
        let mut segment = Segment {
            seq: self.next,
            sent: ago(now, self.rtt / 2.0),
            echo: ago(now, self.rtt),
            size: SMSS.get() as u16,
            syn: false,
            retransmit: false,
            push: false,
            ecn: EcnCodepoint::NotEct,
            ce: false,
            cwr: false,
        };
        change(&mut segment);
        self.next = self.next.max(segment.seq + 1);
        let acks = &mut self.acks;
        self.receiver
            .on_segment(at(now), &segment, |at, ack, blocks| {
                acks.push((at, ack, blocks.to_vec()))
            });
    }

    /// Lets `count` full segments arrive, the first at `from` ms and each `gap` ms after the last;
    /// returns the time of the last.
    fn stream(&mut self, count: u64, from: f64, gap: f64) -> f64 {
        for n in 0..count {
            self.arrive(from + gap * n as f64, |_| ());
        }
        from + gap * (count - 1) as f64
    }

    fn wait(&mut self, until: f64) {
        let acks = &mut self.acks;
        self.receiver.on_time(at(until), |at, ack, blocks| {
            acks.push((at, ack, blocks.to_vec()))
        });
    }

    /// Returns the ACKs since the last call: time in ms, next segment expected.
    fn sent(&mut self) -> Vec<(f64, u64)> {
        self.acks
            .drain(..)
            .map(|(at, ack, _)| (millis(at), ack.next))
            .collect()
    }

    /// Uses up the quick ACKs of the start with segments 0.1 ms apart, up to time 10 ms.
    fn warm(mut self) -> Bench {
        self.stream(16, 1.0, 0.1);
        assert_eq!(self.sent().len(), 16, "quick ACKs");
        self
    }
}

#[test]
fn the_first_sixteen_segments_are_acknowledged_one_by_one() {
    // tcp_event_data_recv, tcp_incr_quickack(TCP_MAX_QUICKACKS)
    let mut bench = Bench::linux(SMALL, 20.0);
    bench.stream(20, 1.0, 0.1);
    let next: Vec<u64> = bench.sent().iter().map(|(_, next)| *next).collect();
    assert_eq!(next, [(1..=16).collect::<Vec<_>>(), vec![18, 20]].concat());
}

#[test]
fn a_small_window_gets_half_as_many_quick_acks_as_it_has_segments() {
    // tcp_incr_quickack: rcv_wnd / (2 * rcv_mss)
    let mut bench = Bench::linux(10, 20.0);
    bench.stream(9, 1.0, 0.1);
    let next: Vec<u64> = bench.sent().iter().map(|(_, next)| *next).collect();
    assert_eq!(next, [1, 2, 3, 4, 5, 7, 9]);
}

#[test]
fn while_the_window_grows_each_segment_is_acknowledged() {
    // tcp_grow_window: two segments for each, and quick |= 1. 64 KiB to 100 segments are 79264
    // bytes: 28 segments. The low bit undoes the decrement, so 16 quick ACKs are left then.
    let mut bench = Bench::linux(100, 20.0);
    bench.stream(60, 1.0, 0.1);
    let windows: Vec<u32> = bench.acks.iter().map(|(_, ack, _)| ack.window).collect();
    assert_eq!(windows[..4], [47, 49, 51, 53]);
    assert_eq!(*windows.last().unwrap(), 100);
    let next: Vec<u64> = bench.sent().iter().map(|(_, next)| *next).collect();
    let one_by_one = next.iter().take_while(|n| **n < 46).count();
    assert_eq!(one_by_one, 28 + 16);
    assert_eq!(next[one_by_one..], [46, 48, 50, 52, 54, 56, 58, 60]);
}

#[test]
fn after_a_pause_longer_than_the_timeout_acks_are_quick_again() {
    // tcp_event_data_recv: m > icsk_rto, 20 + 200 ms here
    for (pause, quick) in [(219.0, false), (221.0, true)] {
        let mut bench = Bench::linux(SMALL, 20.0).warm();
        let last = bench.stream(2, 3.0, 0.1);
        bench.sent();
        bench.stream(2, last + pause, 0.1);
        assert_eq!(bench.sent().len(), if quick { 2 } else { 1 }, "{pause} ms");
    }
}

#[test]
fn the_timeout_follows_the_gaps_between_segments() {
    // Segments 45 ms apart, on an RTT of 100 ms. The first delay of 40 ms ends in between and
    // doubles (tcp_delack_timer_handler). Then the timeout is 80 / 2 + 45 and approaches 90 ms.
    let mut bench = Bench::linux(SMALL, 100.0).warm();
    bench.stream(8, 100.0, 45.0);
    bench.wait(600.0);
    assert_eq!(
        bench.sent(),
        [
            (140.0, 17),
            (190.0, 19),
            (280.0, 21),
            (370.0, 23),
            (415.0 + 89.921875, 24)
        ]
    );
}

#[test]
fn a_delay_is_no_longer_than_a_round_trip() {
    // tcp_send_delayed_ack: at most srtt, but not below 40 ms
    for (rtt, expected) in [(20.0, 40.0), (60.0, 60.0), (300.0, 80.0)] {
        let mut bench = Bench::linux(SMALL, rtt).warm();
        bench.arrive(100.0, |_| ());
        bench.wait(150.0);
        bench.arrive(200.0, |_| ());
        bench.wait(400.0);
        assert_eq!(
            bench.sent(),
            [(140.0, 17), (200.0 + expected, 18)],
            "{rtt} ms"
        );
    }
}

#[test]
fn a_delay_is_no_longer_than_200_ms() {
    // TCP_DELACK_MAX. Each delay that ends doubles the next: 40, 80, 160, 200 ms.
    let mut bench = Bench::linux(SMALL, 400.0).warm();
    for n in 0_u64..5 {
        bench.arrive(100.0 + 300.0 * n as f64, |_| ());
        bench.wait(350.0 + 300.0 * n as f64);
    }
    let waits: Vec<f64> = (0_u64..)
        .zip(bench.sent())
        .map(|(n, (at, _))| at - 100.0 - 300.0 * n as f64)
        .collect();
    assert_eq!(waits, [40.0, 80.0, 160.0, 200.0, 200.0]);
}

#[test]
fn pushed_or_short_data_is_acknowledged_as_it_is_read() {
    // tcp_measure_rcv_mss, tcp_cleanup_rbuf
    let mut bench = Bench::linux(SMALL, 20.0).warm();
    bench.arrive(10.0, |segment| segment.push = true);
    bench.arrive(11.0, |segment| segment.size = 100);
    assert_eq!(bench.sent(), [(10.0, 17), (11.0, 18)]);
}

#[test]
fn a_duplicate_calls_for_sixteen_quick_acks() {
    // tcp_data_queue, tcp_enter_quickack_mode(TCP_MAX_QUICKACKS)
    let mut bench = Bench::linux(SMALL, 20.0).warm();
    bench.arrive(10.0, |segment| segment.seq = 3);
    bench.stream(17, 11.0, 0.1);
    let next: Vec<u64> = bench.sent().iter().map(|(_, next)| *next).collect();
    assert_eq!(next, [vec![16], (17..=31).collect(), vec![33]].concat());
}

/// A client that asks again `think` ms after each answer of three full segments and 152 bytes.
fn dialog(think: u64) -> Bench {
    let rng = || Rng::stream(1, "a", "app");
    let answers = Messages::new(Draw::Constant(Bytes::new(4_496)), rng(), SMSS);
    let client = Client::new(
        answers,
        Draw::Constant(Span::from_millis(think)),
        rng(),
        at(0.0),
    );
    let receiver = Receiver::new(IGNORED, segments(SMALL), SMSS)
        .with_linux_acks()
        .with_client(client);
    Bench::new(receiver, 20.0)
}

/// Lets answer `n` of [`dialog`] arrive at `now` ms; returns the ACKs: time after the arrival, next
/// segment expected, whether it is a request.
fn answer(bench: &mut Bench, n: u64, now: f64) -> Vec<(f64, u64, bool)> {
    for i in 0..4 {
        bench.arrive(now, |segment| {
            segment.seq = 4 * n + i;
            if i == 3 {
                (segment.size, segment.push) = (152, true);
            }
        });
    }
    assert!(bench.receiver.take_answer(at(now)).is_some());
    bench.wait(now + 100.0);
    bench
        .acks
        .drain(..)
        .map(|(at, ack, _)| {
            let after = millis(at) - now;
            (after, ack.next - 4 * n, ack.kind == AckKind::Request)
        })
        .collect()
}

#[test]
fn in_a_dialog_the_request_carries_the_ack() {
    // tcp_event_data_sent: data within the ACK timeout after data begins ping-pong mode, in which
    // neither quick ACKs nor the read of pushed data acknowledge (tcp_in_quickack_mode,
    // tcp_cleanup_rbuf).
    let mut bench = dialog(30);
    let first = answer(&mut bench, 0, 100.0);
    assert_eq!(
        first,
        [
            (0.0, 1, false),
            (0.0, 2, false),
            (0.0, 3, false),
            (0.0, 4, false),
            (30.0, 4, true)
        ],
        "quick ACKs"
    );
    let second = answer(&mut bench, 1, 200.0);
    assert_eq!(
        second,
        [(0.0, 2, false), (0.0, 4, false), (30.0, 4, true)],
        "one for two segments"
    );
}

#[test]
fn a_delayed_ack_that_no_request_carried_ends_the_dialog() {
    // tcp_delack_timer_handler: leave ping-pong mode, ato = TCP_ATO_MIN
    let mut bench = dialog(30);
    answer(&mut bench, 0, 100.0);
    for n in 0..3 {
        bench.arrive(200.0, |segment| segment.seq = 4 + n);
    }
    bench.arrive(240.0, |segment| {
        (segment.seq, segment.size, segment.push) = (7, 152, true);
    });
    assert_eq!(
        bench.sent(),
        [(200.0, 6), (240.0, 7), (240.0, 8)],
        "the timer, then the read"
    );
}

#[test]
fn a_classic_mark_calls_for_two_quick_acks_and_cwr_for_one() {
    // __tcp_ecn_check_ce, tcp_ecn_accept_cwr
    let receiver = Receiver::new(IGNORED, segments(SMALL), SMSS)
        .with_linux_acks()
        .with_ecn_feedback(EcnFeedback::Classic);
    let mut bench = Bench::new(receiver, 20.0);
    let ect = |segment: &mut Segment| segment.ecn = EcnCodepoint::Ect0;
    for n in 0_u32..16 {
        bench.arrive(1.0 + 0.1 * f64::from(n), ect);
    }
    bench.sent();
    for (now, ce, cwr) in [
        (10.0, true, false),
        (11.0, true, false),
        (12.0, true, false),
        (13.0, false, false),
        (14.0, false, true),
        (15.0, false, false),
    ] {
        bench.arrive(now, |segment| {
            ect(segment);
            (segment.ce, segment.cwr) = (ce, cwr);
        });
    }
    assert_eq!(
        bench.sent(),
        [(10.0, 17), (11.0, 18), (13.0, 20), (14.0, 21)],
        "the first mark; the next ones demand nothing new"
    );
    // A retransmission, which is not ECN-capable.
    bench.arrive(16.0, ect);
    bench.sent();
    bench.arrive(17.0, |_| ());
    assert_eq!(bench.sent(), [(17.0, 24)]);
}

#[test]
fn a_change_of_marks_gets_two_acks_with_dctcp() {
    // dctcp_ece_ack_update: the delayed one with the old state, and one at once with the new one
    let receiver = Receiver::new(IGNORED, segments(SMALL), SMSS)
        .with_linux_acks()
        .with_ecn_feedback(EcnFeedback::Dctcp);
    let mut bench = Bench::new(receiver, 20.0).warm();
    bench.arrive(10.0, |_| ());
    bench.arrive(11.0, |segment| segment.ce = true);
    let acks: Vec<(u64, u8)> = bench
        .acks
        .iter()
        .map(|(_, ack, _)| (ack.next, ack.ecn))
        .collect();
    assert_eq!(acks, [(17, 0), (18, 1)]);
}

/// A receiver that compresses ACKs by 5 % of the RTT, past its quick ACKs, with segment 16 missing.
fn compressing(rtt: f64) -> Bench {
    let receiver = Receiver::new(IGNORED, segments(SMALL), SMSS)
        .with_linux_acks()
        .with_sack_compression(0.05);
    let mut bench = Bench::new(receiver, rtt).warm();
    bench.next = 17;
    bench
}

#[test]
fn from_the_fourth_on_acks_of_a_hole_wait_for_five_percent_of_the_rtt() {
    // __tcp_ack_snd_check: min(5 % of RTT, 1 ms), and a slack of 0.1 ms
    for (rtt, wait) in [(4.0, 0.3), (10.0, 0.6), (100.0, 1.1)] {
        let mut bench = compressing(rtt);
        bench.stream(6, 200.0, 0.01);
        bench.wait(210.0);
        let acks: Vec<(f64, u64, Block)> = bench
            .acks
            .drain(..)
            .map(|(at, ack, blocks)| (millis(at), ack.next, blocks[0]))
            .collect();
        let block = |end| Block { start: 17, end };
        assert_eq!(
            acks,
            [
                (200.0, 16, block(18)),
                (200.01, 16, block(19)),
                (200.02, 16, block(20)),
                (200.03 + wait, 16, block(23)),
            ],
            "{rtt} ms"
        );
    }
}

#[test]
fn an_ack_stands_for_at_most_44() {
    // tcp_comp_sack_nr
    let mut bench = compressing(100.0);
    bench.stream(49, 200.0, 0.001);
    let last: Vec<u64> = bench
        .acks
        .iter()
        .map(|(_, _, blocks)| blocks[0].end)
        .collect();
    assert_eq!(
        last,
        [18, 19, 20, 65],
        "44 withheld, and the next one leaves"
    );
}

#[test]
fn a_filled_hole_is_acknowledged_at_once() {
    // tcp_data_queue: ICSK_ACK_NOW; tcp_event_ack_sent ends the compression
    let mut bench = compressing(100.0);
    bench.stream(5, 200.0, 0.01);
    bench.sent();
    bench.arrive(200.5, |segment| segment.seq = 16);
    bench.wait(210.0);
    assert_eq!(bench.sent(), [(200.5, 22)]);
}

#[test]
fn a_third_block_sends_the_ack_that_was_withheld() {
    // tcp_sack_new_ofo_skb, TCP_SACK_BLOCKS_EXPECTED
    let mut bench = compressing(100.0);
    bench.stream(3, 200.0, 0.01);
    bench.sent();
    for (now, seq) in [(201.0, 20), (201.1, 22), (201.2, 24)] {
        bench.arrive(now, |segment| segment.seq = seq);
    }
    let acks: Vec<(f64, usize)> = bench
        .acks
        .iter()
        .map(|(at, _, blocks)| (millis(*at), blocks.len()))
        .collect();
    assert_eq!(acks, [(201.2, 2)], "before the third");
    bench.wait(210.0);
    assert_eq!(bench.acks.last().unwrap().2.len(), 3);
}

#[test]
fn fixed_rules_compress_too() {
    let policy = AckPolicy {
        every: 2,
        quick: 0,
        delay: Span::from_millis(40),
        coalesce: Span::ZERO,
    };
    let receiver = Receiver::new(policy, segments(SMALL), SMSS).with_sack_compression(0.05);
    let mut bench = Bench::new(receiver, 10.0);
    bench.stream(2, 100.0, 0.01);
    bench.next = 3;
    bench.sent();
    bench.stream(6, 200.0, 0.01);
    bench.wait(210.0);
    assert_eq!(
        bench.sent(),
        [(200.0, 2), (200.01, 2), (200.02, 2), (200.63, 2)]
    );
}

/// A receiver behind coalescing for 1 ms, after its first quick ACKs; the next segment is 16.
fn coalescing() -> Bench {
    let policy = AckPolicy {
        coalesce: ms(1.0),
        ..IGNORED
    };
    let receiver = Receiver::new(policy, segments(SMALL), SMSS).with_linux_acks();
    let mut bench = Bench::new(receiver, 20.0);
    let last = bench.stream(16, 2.0, 2.0);
    bench.wait(last + 1.0);
    let times: Vec<f64> = bench.sent().iter().map(|(at, _)| *at).collect();
    assert_eq!(times[..3], [3.0, 5.0, 7.0], "each a train of its own");
    assert_eq!(times.len(), 16, "quick ACKs");
    bench
}

#[test]
fn a_train_is_acknowledged_as_one_large_segment() {
    // __tcp_ack_snd_check: more than one full segment. The train ends 1 ms after its begin.
    let mut bench = coalescing();
    bench.stream(5, 50.0, 0.1);
    bench.arrive(51.0, |_| ());
    assert_eq!(bench.sent(), [(51.0, 21)]);
    // The next train is a single segment: its ACK is delayed by ato = 40 ms from its end.
    bench.wait(100.0);
    assert_eq!(bench.sent(), [(92.0, 22)]);
}

#[test]
fn a_train_ends_with_pushed_data_and_with_44_segments() {
    // tcp_gro_receive: PSH; skb_gro_receive: 64 KiB
    let mut bench = coalescing();
    bench.stream(3, 50.0, 0.1);
    bench.arrive(50.3, |segment| segment.push = true);
    assert_eq!(bench.sent(), [(50.3, 20)]);
    let last = bench.stream(45, 60.0, 0.01);
    assert_eq!(bench.sent(), [(60.43, 64)]);
    bench.wait(last + 10.0);
    assert_eq!(bench.sent(), [], "one segment alone waits");
}

#[test]
fn a_train_ends_before_a_segment_that_does_not_continue_it() {
    // tcp_gro_receive: another sequence number, CWR, or another ECN field
    type Change = fn(&mut Segment);
    let changes: [Change; 3] = [
        |segment| segment.seq += 2,
        |segment| segment.cwr = true,
        |segment| (segment.ecn, segment.ce) = (EcnCodepoint::Ect0, true),
    ];
    for change in changes {
        let mut bench = coalescing();
        bench.stream(3, 50.0, 0.1);
        bench.arrive(50.3, change);
        assert_eq!(bench.sent(), [(50.3, 19)]);
    }
}

#[test]
fn a_train_above_a_hole_is_one_duplicate() {
    let mut bench = coalescing();
    bench.next += 1;
    bench.stream(5, 50.0, 0.1);
    bench.wait(60.0);
    assert_eq!(bench.acks.len(), 1);
    let (at, ack, blocks) = bench.acks.pop().unwrap();
    assert_eq!((millis(at), ack.next), (51.0, 16));
    assert_eq!(blocks, [Block { start: 17, end: 22 }]);
    // The retransmission waits for its train, too, and then fills the hole.
    bench.arrive(70.0, |segment| segment.seq = 16);
    bench.wait(80.0);
    assert_eq!(bench.sent(), [(71.0, 22)]);
}

#[test]
fn a_delayed_ack_that_is_due_ends_the_train() {
    let mut bench = coalescing();
    bench.arrive(50.0, |_| ());
    bench.arrive(90.5, |_| ());
    // The first train ended at 51 ms, and its ACK is due at 91 ms, which finds the second.
    bench.wait(100.0);
    assert_eq!(bench.sent(), [(91.0, 18)]);
}
