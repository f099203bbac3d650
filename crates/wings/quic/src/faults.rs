//! Deliberate failures: each has a clear error message, and none hangs.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fullpipe_scenario::Scenario;
use fullpipe_tcp::Pacing;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Bytes, Span, Time};
use noq_proto::EcnCodepoint;

use crate::check::Runner;
use crate::data_source::{DataSource, Parts};
use crate::endpoint_metrics::{Clock, addresses};
use crate::peer::Peer;
use crate::plan::{Plan, plans};
use crate::real;
use crate::sink::Sink;
use crate::tls::Identity;
use crate::trace_buffer;
use crate::udp;

const LOOPBACK: &str = "duration = \"20s\"\n[path]\nkind = \"loopback\"\n[[flow]]\n\
                        name = \"download\"\ncc = \"cubic\"\nreceive_window = \"8MB\"\n";

fn scenario(more: &str) -> Scenario {
    Scenario::parse(&format!("{LOOPBACK}{more}\n"), "test.toml").expect("a valid scenario")
}

fn plan(scenario: &Scenario) -> Plan {
    plans(scenario, Runner::Real, TraceLevel::Off)
        .expect("for QUIC")
        .remove(0)
}

/// Returns the two ends of a flow, with the server's identity and the one that the client trusts.
fn ends(scenario: &Scenario, server: &Identity, client: &Identity) -> (DataSource, Sink) {
    let clock = Clock::start();
    let Plan {
        start,
        settings,
        driver,
        meter,
        batch,
        buffer,
        ..
    } = plan(scenario);
    let (server_at, client_at) = addresses();
    let bytes = scenario.flows[0].bytes;
    let sink = Sink::new(
        clock,
        client,
        &settings,
        server_at,
        bytes,
        meter.clone(),
        start,
    );
    (
        DataSource::new(
            clock,
            server,
            &settings,
            client_at,
            Parts {
                driver,
                meter,
                rate: None,
                ecn: false,
                batch,
                buffer,
            },
        ),
        sink,
    )
}

/// Datagrams in flight: arrival time, whether it goes to the client, and data.
type Wire = VecDeque<(Time, bool, Vec<u8>)>;

/// Carries the datagrams that `passes` accepts, with a delay of 5 ms each way, until both ends are
/// done or for one minute of virtual time.
fn carry(source: &mut DataSource, sink: &mut Sink, mut passes: impl FnMut(&[u8]) -> bool) -> Time {
    let (mut now, mut wire) = (Time::ZERO, Wire::new());
    let mut send = |peer: &mut dyn Peer, now: Time, to_client: bool, wire: &mut Wire| {
        while let Some(burst) = peer.burst(now) {
            for datagram in burst.datagrams().filter(|datagram| passes(datagram)) {
                wire.push_back((now + Span::from_millis(5), to_client, datagram.to_vec()));
            }
        }
    };
    let end = Time::ZERO + Span::from_secs(60);
    while now < end && (source.ended().is_none() || sink.ended().is_none()) {
        send(source, now, true, &mut wire);
        send(sink, now, false, &mut wire);
        let arrival = wire.front().map(|(at, ..)| *at);
        let Some(next) = [arrival, source.wake_at(), sink.wake_at()]
            .into_iter()
            .flatten()
            .min()
        else {
            break;
        };
        now = next.max(now);
        while wire.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, to_client, data) = wire.pop_front().expect("the queue is not empty");
            let peer: &mut dyn Peer = if to_client { sink } else { source };
            peer.receive(now, None::<EcnCodepoint>, BytesMut::from(&data[..]));
            peer.on_received(now);
        }
        source.on_time(now);
        sink.on_time(now);
    }
    now
}

fn words(ended: Option<&Result<(), String>>) -> &str {
    ended
        .expect("the connection has ended")
        .as_ref()
        .expect_err("with an error")
}

#[test]
fn a_certificate_that_the_client_does_not_know_ends_it_at_once() {
    let (mut source, mut sink) = ends(
        &scenario("bytes = \"1MB\""),
        &Identity::new(),
        &Identity::new(),
    );
    let at = carry(&mut source, &mut sink, |_| true);
    assert!(
        words(sink.ended()).contains("certificate"),
        "{:?}",
        sink.ended()
    );
    assert!(at < Time::ZERO + Span::from_secs(1), "{at:?}");
}

#[test]
fn a_server_that_is_not_there_is_given_up() {
    let identity = Identity::new();
    let (mut source, mut sink) = ends(&scenario("bytes = \"1MB\""), &identity, &identity);
    let at = carry(&mut source, &mut sink, |_| false);
    assert_eq!(words(sink.ended()), "timed out");
    assert!(at < Time::ZERO + Span::from_secs(6), "{at:?}");
}

#[test]
fn a_peer_that_dies_is_given_up_by_the_other() {
    let identity = Identity::new();
    let (mut source, mut sink) = ends(&scenario("bytes = \"50MB\""), &identity, &identity);
    let mut passed = 0;
    let at = carry(&mut source, &mut sink, |_| {
        passed += 1;
        passed < 2_000
    });
    assert_eq!(
        (words(sink.ended()), words(source.ended())),
        ("timed out", "timed out")
    );
    assert!(at < Time::ZERO + Span::from_secs(20), "{at:?}");
}

#[test]
fn a_path_that_swallows_large_packets_is_crossed_with_smaller_ones() {
    let identity = Identity::new();
    let (mut source, mut sink) = ends(&scenario("bytes = \"2MB\""), &identity, &identity);
    carry(&mut source, &mut sink, |datagram| datagram.len() <= 1_300);
    assert_eq!(sink.ended(), Some(&Ok(())), "{} bytes arrived", sink.got());
    assert_eq!(
        source.driver().expect("a request").conn().smss,
        Bytes::new(1_200)
    );
}

#[test]
fn a_path_that_loses_every_third_packet_is_crossed() {
    let identity = Identity::new();
    let (mut source, mut sink) = ends(&scenario("bytes = \"300kB\""), &identity, &identity);
    let mut count = 0_u64;
    carry(&mut source, &mut sink, |_| {
        // A pseudorandom pattern, to avoid synchronization with anything periodic.
        count += 1;
        (count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 10 >= 3
    });
    assert_eq!(sink.ended(), Some(&Ok(())), "{} bytes arrived", sink.got());
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (socket, _) = real::loopback(0).expect("some port is free");
    let port = socket.local_addr().expect("it is bound").port();
    let Err(why) = real::loopback(port) else {
        panic!("the port is in use")
    };
    let why = why.to_string();
    assert!(
        why.contains(&port.to_string()) && why.contains("use another port"),
        "{why}"
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test measures the machine's clock"
)]
fn a_side_whose_socket_fails_does_not_keep_the_other_waiting() {
    let scenario = scenario("");
    let nowhere: SocketAddr = "[::1]:9"
        .parse()
        .expect("an IPv6 address, which an IPv4 socket can't reach");
    for server in [false, true] {
        let begun = Instant::now();
        let (mut source, mut sink, clock) = real::pair(&scenario).expect("the loopback works");
        *(if server { &mut source.to } else { &mut sink.to }) = nowhere;
        let end = Time::ZERO + scenario.duration;
        let ended = udp::run(
            (&mut [source], &mut [sink]),
            clock,
            end,
            &scenario.quic,
            |_, _| (),
        );
        assert!(ended.is_err(), "{server}: {ended:?}");
        // The run must end before the idle timeout of the other side.
        assert!(
            begun.elapsed() < Duration::from_secs(4),
            "{server}: {:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn a_trace_that_does_not_fit_is_refused_before_it_begins() {
    let why = trace_buffer::reserve(0, TraceLevel::Acks, 20, 1_000_000, 400_000_000)
        .expect_err("280 MB and their columns do not fit");
    assert!(why.contains("memory"), "{why}");
    assert!(
        trace_buffer::reserve(0, TraceLevel::Off, 20, u64::MAX, 0).is_ok(),
        "without a trace no memory is needed"
    );
}

#[test]
fn a_trace_buffer_that_is_full_keeps_the_newest_rows_and_says_so() {
    let mut plan = plan(&scenario(""));
    plan.driver.pacing = Pacing::Off;
    let mut buffer = trace_buffer::reserve(
        0,
        TraceLevel::Acks,
        plan.descriptor.fields.len(),
        10,
        u64::MAX,
    )
    .expect("room");
    let driver = crate::CongestionDriver::new(plan.driver, Time::ZERO, plan.meter);
    for ms in 0..3_000 {
        buffer.on_ack(Time::ZERO + Span::from_millis(ms), &driver);
    }
    let times: Vec<u64> = buffer
        .rows()
        .map(|(row, _)| row.time.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(buffer.overwritten() + times.len(), 3_000);
    assert!(buffer.overwritten() > 0);
    assert_eq!(
        times,
        ((3_000 - times.len() as u64)..3_000).collect::<Vec<_>>()
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test measures the machine's clock"
)]
fn a_run_whose_time_is_up_ends_and_leaves_nothing_behind() {
    let begun = Instant::now();
    let scenario =
        Scenario::parse(&LOOPBACK.replace("20s", "300ms"), "test.toml").expect("a valid scenario");
    let run = real::on_loopback(&scenario, TraceLevel::Off, |_, _| ()).expect("the loopback works");
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    let flow = &run.summary.flows[0];
    assert!(
        flow.goodput_bps > 1e6 && flow.completion_s.is_none(),
        "{flow:?}"
    );
    // The run returns only after both threads are joined.
    assert_eq!(run.summary.runner, "quic");
}
