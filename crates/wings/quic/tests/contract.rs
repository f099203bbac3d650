//! The controller's contract under QUIC: whatever the path does, the calls are in order and the
//! decisions are valid; transfers complete; a recorded run replays to the same decisions.

use fullpipe_cc::replay::{Call, Event, replay};
use fullpipe_cc::{
    CaState, Config, Decision, Recovery, RecoveryCause, RecoveryOwner, Registry, Shared,
};
use fullpipe_quic::virtual_time::Virtual;
use fullpipe_quic::{PROVIDES, Record};
use fullpipe_scenario::Scenario;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Bytes, Rate, Rng, Span};
use proptest::prelude::*;

const SMSS: Bytes = Bytes::new(1472);

/// The algorithms whose signals QUIC provides.
fn algorithms() -> Vec<&'static str> {
    let registry = Registry::default();
    let known = registry.iter().filter(|known| PROVIDES.has(known.needs));
    known.map(|known| known.name).collect()
}

/// Runs a scenario and compares the driver's data in flight with noq's at every step. Returns the
/// calls to the controller of its only flow.
fn record(scenario: &Scenario) -> Record {
    let mut run = Virtual::new(scenario, TraceLevel::Off).expect("a scenario for QUIC");
    run.source(0).record();
    let mut settled = false;
    while !run.advance(1) {
        let Some(driver) = run.source(0).driver() else {
            continue;
        };
        // noq and the driver count the data in flight independently. The counts agree except for a
        // few packets that left before the driver began.
        let apart = driver.uncounted();
        assert!(
            (0..=3 * 1472).contains(&apart),
            "noq has {apart} bytes more in flight"
        );
        assert!(!settled || apart == 0, "noq never has more again: {apart}");
        settled |= apart == 0 && driver.conn().delivered > SMSS * 10;
    }
    assert_eq!(run.failures(), []);
    run.source(0).driver().expect("a request").take_record()
}

fn check_order(owner: RecoveryOwner, events: &[Event]) {
    let mut in_recovery = None;
    for pair in events.windows(2) {
        assert!(pair[0].now <= pair[1].now, "time never goes back");
        if let Call::Lost(_) = pair[0].call {
            // The peer may close the connection at any time.
            let follows = matches!(
                pair[1].call,
                Call::Lost(_)
                    | Call::Acked(_)
                    | Call::Ack(_)
                    | Call::Recovery(_)
                    | Call::Sent(_)
                    | Call::Timer
                    | Call::End
            );
            assert!(follows, "{:?} after a loss", pair[1].call);
        }
    }
    for event in events {
        match &event.call {
            Call::Recovery(Recovery::Enter(cause)) => {
                // Only a controller with its own recovery stays in it from episode to episode.
                let stays = owner == RecoveryOwner::Own && *cause == RecoveryCause::Loss;
                assert!(in_recovery.is_none() || stays && in_recovery == Some(*cause));
                in_recovery = Some(*cause);
            }
            Call::Recovery(Recovery::Exit) => {
                assert!(
                    in_recovery.take().is_some(),
                    "an episode ends only after it began"
                );
            }
            Call::Recovery(Recovery::Spurious) => in_recovery = None,
            Call::Ack(ack) => {
                assert!(ack.newly_acked > Bytes::ZERO && ack.newly_acked <= ack.prior_inflight);
                let settled = ack.newly_acked + ack.newly_lost;
                assert_eq!(
                    event.conn.inflight + settled,
                    ack.prior_inflight,
                    "data in flight before and after"
                );
                assert!(ack.rtt.is_none_or(|rtt| rtt.raw >= event.conn.min_rtt));
            }
            Call::Sent(packet) => {
                assert!(packet.inflight == event.conn.inflight && packet.sent == event.now)
            }
            _ => {}
        }
        let state = match in_recovery {
            None => CaState::Open,
            Some(RecoveryCause::Ecn) => CaState::Reduced,
            Some(RecoveryCause::Loss) => CaState::Recovery,
        };
        assert_eq!(event.conn.state, state, "{:?}", event.call);
    }
}

fn check_decision(decision: &Decision) {
    assert!(decision.cwnd >= SMSS, "{decision:?}");
    assert!(
        decision.pacing_rate.is_none_or(|rate| rate > Rate::ZERO),
        "{decision:?}"
    );
}

fn check_replay(cc: &str, seed: u64, record: &Record) {
    let descriptor = Registry::default().get(cc).expect("a built-in algorithm");
    let config = Config::new(descriptor, &Default::default(), SMSS, SMSS * 10).expect("defaults");
    let mut controller = (descriptor.build)(&config, &mut Shared::default());
    let decisions = replay(
        &mut controller,
        &mut Rng::stream(seed, "flow", "controller"),
        &record.events,
    );
    assert!(record.decisions.len() > 1, "at least one decision");
    for (calls, decision) in record.decisions.iter().filter(|(calls, _)| *calls > 0) {
        assert_eq!(decisions[*calls - 1], *decision, "{cc} after {calls} calls");
    }
}

fn scenario(cc: &str, path: &str, flow: &str, seed: u64) -> Scenario {
    let text = format!(
        "stack = \"rfc\"\nduration = \"30s\"\nseed = {seed}\n[path]\n{path}\n[[flow]]\nname = \"flow\"\ncc = \"{cc}\"\n{flow}\n"
    );
    Scenario::parse(&text, "test.toml").expect("a valid scenario")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_contract_holds_on_any_path(
        cc in prop::sample::select(algorithms()),
        seed in 1_u64..1_000_000,
        mbit in 1_u64..50,
        rtt_ms in 1_u64..100,
        packets in 5_u64..200,
        loss in prop_oneof![3 => Just(0.0), 1 => 0.1..5.0_f64],
        reverse_loss in prop_oneof![3 => Just(0.0), 1 => 0.1..5.0_f64],
        duplicate in prop_oneof![3 => Just(0.0), 1 => 0.1..3.0_f64],
        jitter_ms in prop_oneof![2 => Just(0_u64), 1 => 1_u64..20],
        reorder in prop::bool::ANY,
        kb in 10_u64..600,
    ) {
        let how = if reorder { " reorder" } else { "" };
        let jitter = if jitter_ms > 0 { format!("jitter = \"{jitter_ms}ms{how}\"") } else { String::new() };
        let path = format!(
            "rate = \"{mbit}mbit\"\nrtt = \"{rtt_ms}ms\"\nbuffer = \"{packets}packets\"\nloss = \"{loss}%\"\n\
             reverse_loss = \"{reverse_loss}%\"\nduplicate = \"{duplicate}%\"\n{jitter}"
        );
        let scenario = scenario(cc, &path, &format!("bytes = \"{kb}kB\""), seed);
        let owner = Registry::default().get(cc).expect("built in").recovery;
        let record = record(&scenario);
        check_order(owner, &record.events);
        let ends = record.events.iter().filter(|event| event.call == Call::End);
        prop_assert_eq!(ends.count(), 1);
        record.decisions.iter().for_each(|(_, decision)| check_decision(decision));
        check_replay(cc, seed, &record);
    }
}

#[test]
fn a_transfer_completes_whatever_is_lost() {
    for cc in algorithms() {
        let path = "rate = \"10mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"\nloss = \"10%\"\nreverse_loss = \"10%\"";
        let run = fullpipe_quic::virtual_time::run(
            &scenario(cc, path, "bytes = \"500kB\"", 1),
            TraceLevel::Off,
        )
        .expect("for QUIC");
        let flow = &run.summary.flows[0];
        assert!(flow.completion_s.is_some(), "{cc}");
        // The number of losses declared is about that of actual losses, with few others.
        let (drops, again) = (flow.drops as f64, flow.retransmits as f64);
        assert!(
            (0.9 * drops..1.3 * drops + 5.0).contains(&again),
            "{cc}: {drops} dropped, {again} sent again"
        );
    }
}

#[test]
fn episodes_that_were_spurious_are_undone() {
    // Packets overtake each other by more than three places, and none is lost: the window never
    // fills the buffer.
    let path =
        "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"1000packets\"\njitter = \"4ms reorder\"";
    for cc in ["cubic", "bbr3"] {
        let events = record(&scenario(cc, path, "receive_window = \"100kB\"", 1)).events;
        let is = |change: Recovery| move |event: &&Event| event.call == Call::Recovery(change);
        let entered = events
            .iter()
            .filter(is(Recovery::Enter(RecoveryCause::Loss)))
            .count();
        let undone = events.iter().filter(is(Recovery::Spurious)).count();
        assert!(entered > 10, "{cc}: {entered} episodes");
        assert!(
            undone * 10 >= entered * 8,
            "{cc}: {undone} of {entered} undone"
        );
    }
}

#[test]
fn samples_are_of_the_path() {
    let path = "rate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"100packets\"";
    let events = record(&scenario("bbr3", path, "", 1)).events;
    let last = events.iter().rev().find_map(|event| match &event.call {
        Call::Ack(ack) => Some((event.conn.clone(), ack.rate)),
        _ => None,
    });
    let (conn, rate) = last.expect("an ACK");
    // 40 ms plus the packet's serialization time on the links; the endpoints add no time.
    assert!(
        (Span::from_millis(40)..Span::from_micros(41_500)).contains(&conn.min_rtt),
        "{:?}",
        conn.min_rtt
    );
    // QUIC has 1472 of the 1500 bytes.
    let expected = 20e6 * 1472.0 / 1500.0;
    let rate = rate.rate.expect("a sample").as_f64();
    assert!((0.97 * expected..1.03 * expected).contains(&rate), "{rate}");
}
