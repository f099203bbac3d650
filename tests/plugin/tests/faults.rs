//! A failure or a breach of the contract ends the run, with an error that names the library.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fullpipe_cc::{Fault, Registry, check};

use super::{built, loaded, run};

fn fault_at(place: &str) -> Fault {
    let library = loaded(&built("faulty"), "faulty");
    let text = format!(
        r#"
        duration = "2s"
        [path]
        rate = "20mbit"
        rtt = "40ms"
        buffer = "1bdp"
        [[flow]]
        cc = "faulty"
        params = {{ place = "{place}" }}
        "#
    );
    let registry = Registry::default().with(library);
    let payload = catch_unwind(AssertUnwindSafe(|| run(&text, &registry)))
        .err()
        .unwrap_or_else(|| panic!("{place}: the run has no fault"));
    *payload
        .downcast::<Fault>()
        .unwrap_or_else(|_| panic!("{place}: another panic"))
}

#[test]
fn a_panic_ends_the_run_with_its_words_and_its_place() {
    for (place, call, words) in [
        ("build", "create failed: ", "no controller today"),
        ("on_ack", "on_ack at ", "this ACK is one too many"),
        ("on_sent", "on_sent at ", "this packet is one too many"),
        ("decision", "on_ack at ", "undecided"),
        ("observe", "observe failed: ", "unseen"),
    ] {
        let fault = fault_at(place);
        assert_eq!(fault.algorithm, "faulty");
        assert!(
            fault.problem.starts_with(call),
            "{place}: {}",
            fault.problem
        );
        assert!(fault.problem.contains(words), "{place}: {}", fault.problem);
        assert!(
            fault.problem.contains("tests/plugin/src/lib.rs:"),
            "{place}: {}",
            fault.problem
        );
    }
}

#[test]
fn a_breach_ends_the_run_with_the_call() {
    for (place, problem, fix) in [
        (
            "window",
            "the window is 0",
            "keep it at one segment or more",
        ),
        (
            "pacing",
            "the pacing rate is 0",
            "pace faster, or not at all",
        ),
        (
            "timer",
            "wake_at is not later, so the timer would fire forever",
            "set a later time, or none",
        ),
    ] {
        let fault = fault_at(place);
        let call = if place == "timer" {
            "on_timer"
        } else {
            "on_ack"
        };
        assert!(
            fault.problem.starts_with(&format!("after {call} at ")),
            "{}",
            fault.problem
        );
        assert!(fault.problem.ends_with(problem), "{}", fault.problem);
        assert_eq!(fault.fix, fix);
    }
}

#[test]
fn the_contract_tests_speak() {
    static PLACES: [(&str, &str); 3] = [
        ("on_ack", "this ACK is one too many"),
        ("window", "the window is 0: keep it at one segment or more"),
        ("mtu", "after Path(Mtu) at "),
    ];
    let library = loaded(&built("faulty"), "faulty");
    let said: Vec<String> = check::variants(library)
        .iter()
        .map(|config| {
            let steps = [
                check::Step::Send(1),
                check::Step::Wait(fullpipe_units::Span::from_millis(1)),
                check::Step::Ack(check::Arrival {
                    skips: 0,
                    loses: false,
                    acks: 1,
                    marked: 0,
                    spurious: false,
                    repaired: false,
                    persistent: false,
                }),
                check::Step::Mtu(fullpipe_units::Bytes::new(60_000)),
            ];
            check::hold(check::Kind::Quic, library, config, &steps)
                .err()
                .map_or(String::new(), |broken| broken.to_string())
        })
        .collect();
    for (place, words) in PLACES {
        assert!(
            said.iter().any(|each| each.contains(words)),
            "{place}: {said:#?}"
        );
    }
    let mtu = said
        .iter()
        .find(|each| each.contains("Path(Mtu)"))
        .expect("found above");
    assert!(
        mtu.contains("the window is below one segment")
            && mtu.contains("implement on_path: raise the window to at least conn.smss"),
        "{mtu}"
    );
}
