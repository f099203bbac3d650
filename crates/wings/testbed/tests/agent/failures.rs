//! Failures, and the agents' messages about them.

use fullpipe_testbed::agent::{FlowPlan, Plan, RecordKind};

use super::lab::*;

#[test]
fn an_absent_server_and_an_absent_client_are_said_in_time() {
    let Some(lab) = Lab::new("absent") else {
        return;
    };
    let plan = plan(5_000 * MS, vec![flow("one", 5001, writes(None, &[], None))]);
    let words = failure(&lab.send(&plan));
    assert!(
        words.contains("flow \"one\" to 10.9.0.2:5001: no receiver listens there"),
        "{words}"
    );
    let away = Plan {
        receiver: "10.9.0.77".parse().expect("an address"),
        patience: 300 * MS,
        ..plan.clone()
    };
    let words = failure(&lab.send(&away));
    assert!(
        words.contains("flow \"one\" to 10.9.0.77:5001: no answer within 0.3 s"),
        "{words}"
    );
    let brief = Plan {
        patience: 300 * MS,
        ..plan
    };
    let words = failure(&lab.receive(&brief).wait_with_output().expect("it ends"));
    assert!(
        words.contains("no sender connected within 0.3 s"),
        "{words}"
    );
}

#[test]
fn a_peer_that_dies_breaks_its_flows_and_says_so() {
    let Some(lab) = Lab::new("dies") else { return };
    let plan = plan(
        5_000 * MS,
        vec![flow("one", 5001, writes(Some(1_000_000), &[], None))],
    );
    let mut receiver = lab.receive(&plan);
    let sender = lab
        .agent(&lab.near, "send", Some(&plan))
        .spawn()
        .expect("nsenter runs");
    std::thread::sleep(std::time::Duration::from_millis(500));
    receiver.kill().expect("it runs");
    let words = failure(
        &sender
            .wait_with_output()
            .expect("it ends long before the run would"),
    );
    receiver.wait().expect("it was killed");
    assert!(
        words.contains("flow \"one\" to 10.9.0.2:5001: the"),
        "{words}"
    );
    let (_, sent) = lab.records("send");
    assert_eq!(of(&sent, RecordKind::Failure, 0).len(), 1);
    assert!(
        of(&sent, RecordKind::Info, 0).len() > 10,
        "the samples are kept"
    );
}

#[test]
fn an_unknown_algorithm_is_refused_with_what_there_is() {
    let Some(lab) = Lab::new("unknown") else {
        return;
    };
    let wrong = FlowPlan {
        congestion: "bbr9".to_owned(),
        ..flow("one", 5001, writes(None, &[], None))
    };
    let words = failure(&lab.send(&plan(1_000 * MS, vec![wrong])));
    assert!(
        words.contains("flow \"one\": the kernel refuses algorithm \"bbr9\""),
        "{words}"
    );
    assert!(
        words.contains("use one of ")
            && words.contains("reno")
            && words.contains("modprobe tcp_bbr9"),
        "{words}"
    );
    assert!(!lab.folder.join("send").exists(), "before anything begins");
}
