//! The contract between controller and transport in whole runs.

use fullpipe_cc::{
    Ack, AnyController, Context, Controller, Decision, Descriptor, EcnCodepoint, Lost, Recovery,
    Registry, Signals, Snapshot,
};
use fullpipe_trace::{Data, Run, TraceLevel};
use fullpipe_units::{Span, Time};

use crate::transitions::entered;
use crate::users::{cubic, declared, of_specifications};

fn run(text: &str, registry: &Registry, level: TraceLevel) -> Run {
    let scenario = of_specifications(text);
    fullpipe_sim::run(&scenario, registry, level).unwrap_or_else(|error| panic!("{error}"))
}

/// Times in seconds and inflight in bytes, after each ACK.
fn inflight(run: &Run) -> Vec<(f64, u64)> {
    let table = &run.trace.as_ref().expect("traced").tables[0];
    let column = |name: &str| {
        let column = table.columns.iter().find(|column| column.name == name);
        &column.expect("a column").data
    };
    let (Data::U64(times), Data::U64(values)) = (column("time"), column("inflight")) else {
        panic!("time and inflight are whole numbers")
    };
    let seconds = times.iter().map(|time| *time as f64 * 1e-9);
    seconds.zip(values.iter().copied()).collect()
}

/// draft-ietf-ccwg-bbr-06 §5.4.1, Linux's CA_EVENT_TX_START: a flow that pauses in ProbeRTT leaves
/// it before the first packet of the next flight. It then has a window of at least a BDP, not the
/// few segments of ProbeRTT, and the window opens by the pacing rate within a round trip.
#[test]
fn bbr_restarts_from_idle_with_its_window() {
    let flow = |cc: &str, schedule: &str| {
        format!(
            "duration = \"15s\"\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"2bdp\"\n\
             [[path.change]]\nat = \"1s\"\nrtt = \"45ms\"\n\
             [[flow]]\n{cc}\n{schedule}"
        )
    };
    for cc in [
        "cc = \"bbr1\"",
        "cc = \"bbr2\"",
        "cc = \"bbr3\"",
        "cc = \"bbr3\"\nparams = { profile = \"linux\" }",
    ] {
        let whole = run(&flow(cc, ""), &Registry::default(), TraceLevel::Acks);
        let states = entered(whole.trace.as_ref().expect("traced"));
        let probe = states.iter().rfind(|entered| entered.state == "probe_rtt");
        let pause = probe.expect("a ProbeRTT").at as f64 * 1e-9 + 0.1;
        let resume = pause + 1.0;
        let schedule = format!("app_schedule = \"{pause}s pause, {resume}s unlimited\"");
        let paused = run(&flow(cc, &schedule), &Registry::default(), TraceLevel::Acks);
        let states = entered(paused.trace.as_ref().expect("traced"));
        let left = states
            .iter()
            .find(|entered| entered.at as f64 * 1e-9 > pause)
            .expect("it leaves ProbeRTT");
        let late = left.at as f64 * 1e-9 - resume;
        assert!(late.abs() < 1e-6, "{cc}: {} {late} s later", left.state);
        let (at, bytes) = *inflight(&paused)
            .iter()
            .find(|(at, _)| *at > resume)
            .expect("the next flight");
        assert!(at < resume + 0.1, "{cc}");
        // A round trip at 20 Mbit/s is 78 segments, half a BDP 39.
        assert!(bytes > 60 * 1448, "{cc}: {bytes} bytes in a round trip");
    }
}

/// A controller around CUBIC's window that uses ECN from the second second on.
#[derive(Debug)]
struct LateEcn {
    window: AnyController,
    ecn: EcnCodepoint,
}

impl Controller for LateEcn {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        self.window.on_sent(cx, packet)
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        self.window.on_lost(cx, lost);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if cx.now > Time::ZERO + Span::from_secs(2) {
            self.ecn = EcnCodepoint::Ect0;
        }
        self.window.on_ack(cx, ack);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        self.window.on_recovery(cx, change);
    }

    fn decision(&self) -> Decision {
        Decision {
            ecn: self.ecn,
            ..self.window.decision()
        }
    }

    fn observe(&self, _: &mut Vec<f64>) {}
}

static LATE_ECN: Descriptor = declared("late-ecn", Signals::NONE, |_, _| {
    AnyController::User(Box::new(LateEcn {
        window: cubic(),
        ecn: EcnCodepoint::NotEct,
    }))
});

#[test]
fn a_controller_turns_ecn_on_and_a_scenario_overrules_it() {
    let registry = Registry::default().with(&LATE_ECN);
    for (ecn, feedback, marked) in [
        ("auto", "accurate", true),
        ("auto", "classic", true),
        ("off", "accurate", false),
    ] {
        let text = format!(
            "duration = \"30s\"\nmeasure_from = \"3s\"\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\n\
             buffer = \"1000packets\"\nqueue = {{ kind = \"codel\", ecn = true }}\n\
             [[flow]]\ncc = \"late-ecn\"\necn = \"{ecn}\"\necn_feedback = \"{feedback}\"\n"
        );
        let run = run(&text, &registry, TraceLevel::Off);
        let link = &run.summary.links[0];
        let found = (link.marks > 0, link.drops > 0);
        assert_eq!(found, (marked, !marked), "{ecn}, {feedback}: {link:?}");
        // Marks are reported and answered: CoDel holds the queue near its target of 5 ms.
        let delay = run.summary.flows[0].queue_delay_s.p95.expect("samples");
        assert!(delay < 0.03, "{ecn}, {feedback}: {delay} s");
    }
}
