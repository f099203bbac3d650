//! The contract, for every algorithm: for any legal behavior of the transport, decisions remain
//! valid and replay exactly. And the check itself: it says in words what a controller breaks.

use fullpipe_cc::check::{Broken, Kind, Step, Transport, contract, hold, random_steps};
use fullpipe_cc::{
    Ack, AnyController, Config, Context, Controller, Decision, Descriptor, Lost, Marks, Recovery,
    RecoveryOwner, Registry, Shared, Signals,
};
use fullpipe_units::{Bytes, Rate, Rng};

#[test]
fn decisions_stay_sane_and_replay_exactly() {
    for descriptor in Registry::default().iter() {
        contract(descriptor, 80).unwrap_or_else(|broken| panic!("{broken}"));
    }
}

/// Three flows of a group, and two of another. One flow ends.
#[test]
fn groups_hold_the_contract() {
    for seed in 0..250 {
        let rng = &mut Rng::stream(seed, "groups", "steps");
        let steps: Vec<(usize, Step)> = random_steps(rng, 400)
            .into_iter()
            .map(|step| (rng.below(5) as usize, step))
            .collect();
        for descriptor in Registry::default().iter() {
            play_in_groups(descriptor, &steps);
        }
    }
}

fn play_in_groups(descriptor: &'static Descriptor, steps: &[(usize, Step)]) {
    let shared = &mut Shared::default();
    let mut flows = ["a", "a", "a", "b", "b"].map(|group| {
        let config = Config::defaults(descriptor).in_group(Some(group.to_owned()));
        let kind = Kind::fit_for(descriptor)[0];
        Transport::new(kind, descriptor, &config, shared)
    });
    for (place, (flow, step)) in steps.iter().enumerate() {
        if place == steps.len() / 2 {
            flows[1].drain();
            flows[1].end();
        }
        if !flows[*flow].has_ended() {
            flows[*flow].play(step);
        }
    }
    for flow in &mut flows {
        if !flow.has_ended() {
            flow.drain();
        }
        assert!(flow.calls().count() > 0, "the drained flow sent data");
        assert!(flow.broken().is_none(), "{:?}", flow.broken());
    }
}

#[test]
fn ten_thousand_sequences_hold_the_contract() {
    for seed in 0..10_000 {
        let rng = &mut Rng::stream(seed, "ten thousand", "steps");
        let steps = random_steps(rng, 30);
        for descriptor in Registry::default().iter() {
            let kinds = Kind::fit_for(descriptor);
            let kind = kinds[rng.below(kinds.len() as u64) as usize];
            let config = Config::defaults(descriptor);
            if let Err(broken) = hold(kind, descriptor, &config, &steps) {
                panic!("{broken}\nsteps: {steps:?}");
            }
        }
    }
}

/// A window that falls and grows like Reno's, without what `fault` leaves out.
#[derive(Debug)]
struct Faulty {
    fault: &'static str,
    cwnd: Bytes,
    acks: u32,
}

impl Controller for Faulty {
    fn on_lost(&mut self, _: &mut Context<'_>, _: &Lost) {}

    fn on_ack(&mut self, _: &mut Context<'_>, _: &Ack) {
        self.acks += 1;
        match self.fault {
            "panics" => assert!(self.acks < 3, "three ACKs were too many"),
            "stops" if self.acks > 2 => self.cwnd = Bytes::ZERO,
            _ => {}
        }
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        if matches!(change, Recovery::Enter(_) | Recovery::Timeout { .. }) {
            self.cwnd = cx.conn.smss.max(self.cwnd.mul_f64(0.5));
        }
    }

    fn decision(&self) -> Decision {
        let rate = (self.fault == "does not pace").then_some(Rate::ZERO);
        let ssthresh = match self.fault {
            "no threshold" => Bytes::MAX,
            _ => self.cwnd,
        };
        Decision {
            pacing_rate: rate,
            ..Decision::window(self.cwnd, ssthresh)
        }
    }

    fn observe(&self, row: &mut Vec<f64>) {
        if self.fault == "an extra value" {
            row.push(1.0);
        }
    }
}

/// Returns what the check says of the controller with this fault.
fn found(fault: &'static str) -> Broken {
    fn build(config: &Config, fault: &'static str) -> AnyController {
        AnyController::User(Box::new(Faulty {
            fault,
            cwnd: config.initial_cwnd,
            acks: 0,
        }))
    }
    macro_rules! descriptor {
        ($fault:literal) => {{
            static FAULTY: Descriptor = Descriptor {
                name: "faulty",
                purpose: "Breaks the contract.",
                specifications: &[],
                params: &[],
                profiles: &[],
                preset_of: None,
                fields: &[],
                recovery: RecoveryOwner::Prr,
                needs: Signals::NONE,
                marks: |_| Marks::Answered,
                random: false,
                build: |config, _| build(config, $fault),
            };
            &FAULTY
        }};
    }
    let descriptor = match fault {
        "no on_path" => descriptor!("no on_path"),
        "panics" => descriptor!("panics"),
        "stops" => descriptor!("stops"),
        "does not pace" => descriptor!("does not pace"),
        "no threshold" => descriptor!("no threshold"),
        _ => descriptor!("an extra value"),
    };
    contract(descriptor, 300).expect_err("it has a fault")
}

#[test]
fn a_breach_is_said_in_words_with_its_fix() {
    let words = found("no on_path").to_string();
    let expected = "the window is below one segment";
    assert!(words.starts_with("faulty: after Path(Mtu) at "), "{words}");
    assert!(words.contains(expected), "{words}");
    assert!(words.contains(": implement on_path"), "{words}");
    for (fault, expected) in [
        ("panics", "panicked: three ACKs were too many"),
        (
            "stops",
            "windows are in bytes: keep it at conn.smss or above in on_ack",
        ),
        ("does not pace", "the pacing rate is zero"),
        ("no threshold", "set ssthresh in on_recovery(Enter)"),
        ("an extra value", "observe pushed 1 values: push 0"),
    ] {
        let words = found(fault).to_string();
        assert!(words.contains(expected), "{fault}: {words}");
    }
}

#[test]
fn the_steps_of_a_breach_are_few() {
    let steps = found("no on_path").steps;
    assert!(steps.len() < 20, "{steps:?}");
    assert!(
        steps.iter().any(|step| matches!(step, Step::Mtu(_))),
        "{steps:?}"
    );
}
