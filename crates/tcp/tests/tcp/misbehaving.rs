//! Receivers that misbehave: optimistic ACKs (Savage et al., CCR 1999) and concealed marks, and the sender's
//! answer to ACKs of data that it has not sent (RFC 9293 §3.10.7.4).

use fullpipe_cc::EcnCodepoint;
use fullpipe_tcp::{AckPolicy, EcnFeedback, Receiver, SMSS, Segment};
use fullpipe_units::{Bytes, Span, Time};

use crate::script::{Bench, Setup, ms, segments, transfer};

const POLICY: AckPolicy = AckPolicy {
    every: 2,
    quick: 16,
    delay: Span::from_millis(40),
    coalesce: Span::ZERO,
};

fn segment(seq: u64, at: f64) -> Segment {
    Segment {
        seq,
        sent: Time::ZERO + ms(at - 50.0),
        echo: Time::ZERO,
        size: SMSS.get() as u16,
        syn: false,
        retransmit: false,
        push: false,
        ecn: EcnCodepoint::Ect0,
        ce: true,
        cwr: false,
    }
}

/// Returns (next, marks, SACK blocks) of each ACK with which the receiver answers a segment at `at` ms.
fn says(receiver: &mut Receiver, seq: u64, at: f64) -> Vec<(u64, u8, usize)> {
    let mut said = Vec::new();
    receiver.on_segment(Time::ZERO + ms(at), &segment(seq, at), |_, ack, blocks| {
        said.push((ack.next, ack.ecn, blocks.len()));
    });
    said
}

#[test]
fn an_optimist_acknowledges_what_arrived_and_as_much_again_as_in_its_lead() {
    let mut receiver = Receiver::new(POLICY, segments(1000), SMSS).with_optimistic_acks(ms(10.0));
    assert_eq!(says(&mut receiver, 0, 100.0), [(2, 1, 0)]);
    assert_eq!(says(&mut receiver, 1, 105.0), [(4, 2, 0)]);
    assert_eq!(says(&mut receiver, 2, 110.0), [(6, 3, 0)]);
    // The first arrival is older than the lead.
    assert_eq!(says(&mut receiver, 3, 111.0), [(7, 4, 0)]);
    // A loss is concealed, and its data are missing.
    assert_eq!(says(&mut receiver, 6, 130.0), [(8, 5, 0)]);
    assert_eq!(receiver.in_order(), segments(5));
}

#[test]
fn an_optimist_is_honest_after_a_retransmission() {
    let mut receiver = Receiver::new(POLICY, segments(1000), SMSS).with_optimistic_acks(ms(10.0));
    says(&mut receiver, 0, 100.0);
    says(&mut receiver, 1, 101.0);
    assert_eq!(says(&mut receiver, 1, 400.0), [(2, 3, 0)]);
    assert_eq!(receiver.in_order(), segments(2));
}

#[test]
fn a_receiver_that_conceals_marks_reports_none() {
    let mut receiver =
        Receiver::new(POLICY, segments(1000), SMSS).with_ecn_feedback(EcnFeedback::Concealed);
    for seq in 0..20 {
        for (_, marks, _) in says(&mut receiver, seq, 100.0 + seq as f64) {
            assert_eq!(marks, 0);
        }
    }
    assert_eq!(receiver.in_order(), Bytes::new(20 * SMSS.get()));
}

/// An ACK of data in flight is taken; one of data that was not sent is dropped whole.
#[test]
fn the_sender_drops_acks_of_data_that_it_has_not_sent() {
    let mut bench = Bench::open(Setup::fixed(4, transfer(12)));
    bench.play(
        "   0 > 0-3
           60 < ack 2
           60 > 4-5
           90 < ack 7
          110 < ack 6
          110 > 6-9",
    );
}
