//! Inspecting a run does not change it, and shows the values that `ss` would show.

use fullpipe_cc::Registry;
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Bytes, Rng, Span, Time};

use crate::users::of_specifications;

fn simulation(text: &str, level: TraceLevel) -> Simulation {
    let scenario = of_specifications(text);
    Simulation::new(&scenario, &Registry::default(), level).expect("a valid scenario")
}

const BUSY: &str = r#"
    duration = "4s"
    start_jitter = "30ms"
    [path]
    rate = "20mbit"
    rtt = "30ms"
    buffer = "1bdp"
    loss = "0.2%"
    reverse_jitter = "hold 5ms"
    [[flow]]
    cc = "cubic"
    [[flow]]
    cc = "bbr1"
    rtt = "+17ms"
"#;

#[test]
fn pauses_change_nothing() {
    let mut whole = simulation(BUSY, TraceLevel::Every(Span::from_millis(10)));
    while !whole.advance(u64::MAX) {}
    let mut paused = simulation(BUSY, TraceLevel::Every(Span::from_millis(10)));
    let mut rng = Rng::stream(1, "pauses", "test");
    let mut at = Time::ZERO;
    loop {
        at += Span::from_nanos(rng.below(3_000_000));
        if paused.advance_to(at) {
            break;
        }
        assert_eq!(paused.now(), at);
        paused.socket(1);
    }
    let [whole, paused] = [whole, paused].map(Simulation::finish);
    assert_eq!(whole.trace.unwrap().hash(), paused.trace.unwrap().hash());
    assert_eq!(whole.summary, paused.summary);
}

#[test]
fn sockets_are_the_same_where_nothing_is_measured_for_a_summary() {
    let [mut measured, mut bare] = [(); 2].map(|()| simulation(BUSY, TraceLevel::Off));
    bare.without_summary();
    for ms in (5..4000).step_by(5) {
        for run in [&mut measured, &mut bare] {
            run.advance_to(Time::ZERO + Span::from_millis(ms));
        }
        for flow in 0..2 {
            assert_eq!(
                format!("{:?}", measured.socket(flow)),
                format!("{:?}", bare.socket(flow)),
                "{ms} ms"
            );
        }
    }
    while !measured.advance(u64::MAX) {}
    let infos = [0, 1].map(|flow| measured.socket(flow).unwrap().info);
    for (flow, info) in measured.finish().summary.flows.iter().zip(infos) {
        assert_eq!(
            (flow.sent, flow.retransmits),
            (info.sent, info.retransmitted)
        );
        assert!(info.retransmitted > 0);
    }
}

/// 100 segments over 10 Mbit/s and 100 ms, ten in the first window: 1500 bytes take 1.2 ms on the
/// link and 0.12 ms on the access link; ACKs take no time.
#[test]
fn a_socket_in_slow_start() {
    let text = r#"
        duration = "10s"
        [path]
        rate = "10mbit"
        rtt = "100ms"
        buffer = "100packets"
        [[flow]]
        cc = "newreno"
        bytes = "144800B"
        quick_acks = 1000
    "#;
    let mut run = simulation(text, TraceLevel::Off);
    assert!(!run.advance_to(Time::ZERO + Span::from_millis(50)));
    let opening = run.socket(0).unwrap();
    assert_eq!(
        (opening.info.opened, opening.info.sent, opening.info.unacked),
        (None, 0, 0)
    );
    // The handshake took slightly more than 100 ms; then ten segments are in flight, none
    // acknowledged.
    run.advance_to(Time::ZERO + Span::from_millis(150));
    let first = run.socket(0).unwrap();
    assert_eq!(
        (first.info.sent, first.info.unacked, first.info.acked),
        (10, 10, Bytes::ZERO)
    );
    assert_eq!((first.cwnd, first.done), (Bytes::new(10 * 1448), false));
    // One RTT later each of them has released two: twenty are in flight.
    run.advance_to(Time::ZERO + Span::from_millis(280));
    let second = run.socket(0).unwrap();
    assert_eq!(
        (second.info.sent, second.info.unacked, second.info.acked),
        (30, 20, Bytes::new(10 * 1448))
    );
    assert_eq!(
        (second.delivered, second.info.lost, second.info.sacked),
        (second.info.acked, 0, 0)
    );
    run.advance_to(Time::ZERO + Span::from_secs(2));
    let end = run.socket(0).unwrap();
    assert!(
        end.done && end.info.unacked == 0 && (end.info.sent, end.info.retransmitted) == (100, 0)
    );
    // The last byte's ACK arrived half an RTT after it.
    assert_eq!(
        end.info.delivered_at - end.last_byte.unwrap(),
        Span::from_millis(50)
    );
}

#[test]
fn traffic_without_a_tcp_has_no_socket() {
    let text = r#"
        duration = "1s"
        path = { rate = "10mbit", rtt = "10ms", buffer = "10packets" }
        flow = [{ cc = "none", app_rate = "1mbit" }]
    "#;
    assert!(simulation(text, TraceLevel::Off).socket(0).is_none());
}
