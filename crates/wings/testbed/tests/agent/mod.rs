//! The agents of both sides, as programs, in two network namespaces joined by a veth. Where
//! namespaces are not allowed, the tests report that and pass.

mod arrivals;
mod failures;
mod lab;

use std::process::{Command, Stdio};

use fullpipe_testbed::agent::{AppPlan, FlowPlan, Plan, Record, RecordKind};
use lab::*;

#[test]
fn transfers_arrive_to_the_byte_and_samples_come_in_time() {
    let Some(lab) = Lab::new("transfers") else {
        return;
    };
    let paced = FlowPlan {
        start: 200 * MS,
        ..flow("paced", 5002, writes(Some(8_000_000), &[], None))
    };
    let bbr = FlowPlan {
        congestion: "reno".to_owned(),
        ..flow("one", 5001, writes(None, &[], Some(3_000_001)))
    };
    let plan = plan(1_200 * MS, vec![bbr, paced]);
    let mut receiver = lab.receive(&plan);
    let output = lab.send(&plan);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(receiver.wait().expect("it ends with the flows").success());

    let (epoch, sent) = lab.records("send");
    let (_, received) = lab.records("receive");
    assert_eq!(of(&received, RecordKind::End, 0)[0].number(0), 3_000_001);
    let started = of(&sent, RecordKind::Start, 0)[0].time;
    assert!(
        of(&received, RecordKind::End, 0)[0].time > started,
        "both ends use one clock"
    );
    assert_eq!(
        sent.last().map(|record| record.kind),
        Some(RecordKind::Done)
    );

    // 8 Mbit/s for the remaining second is a megabyte, give or take the granularity of the kernel's
    // clock.
    let started = of(&sent, RecordKind::Start, 1)[0].time;
    assert!(started >= epoch + 200 * MS);
    let bytes = of(&received, RecordKind::Read, 1)
        .last()
        .expect("some came")
        .number(0);
    assert!((850_000..=1_000_000).contains(&bytes), "{bytes}");
    let samples = of(&sent, RecordKind::Info, 1).len();
    assert!(
        (50..=102).contains(&samples),
        "{samples} samples in a second, one per 10 ms"
    );
    let info = of(&sent, RecordKind::Info, 1)
        .last()
        .expect("some were taken")
        .data
        .clone();
    assert!(
        info.len() >= 232,
        "the whole of TCP_INFO: {} bytes",
        info.len()
    );
}

#[test]
fn an_application_pauses_and_goes_on() {
    let Some(lab) = Lab::new("pauses") else {
        return;
    };
    let changes = [(300 * MS, Some(0)), (600 * MS, Some(8_000_000))];
    let plan = plan(
        900 * MS,
        vec![flow(
            "on-off",
            5001,
            writes(Some(8_000_000), &changes, None),
        )],
    );
    let mut receiver = lab.receive(&plan);
    assert!(lab.send(&plan).status.success());
    assert!(receiver.wait().expect("it ends").success());
    let (_, sent) = lab.records("send");
    let opened = of(&sent, RecordKind::Open, 0)[0].time;
    let (_, received) = lab.records("receive");
    let during = |from: u64, to: u64| {
        let reads = of(&received, RecordKind::Read, 0);
        let by = |time| {
            reads
                .iter()
                .rfind(|read| read.time <= opened + time)
                .map_or(0, |read| read.number(0))
        };
        by(to * MS) - by(from * MS)
    };
    assert!(
        (200_000..=310_000).contains(&during(0, 350)),
        "{} bytes in 300 ms",
        during(0, 350)
    );
    assert_eq!(during(400, 600), 0, "it pauses");
    assert!(
        during(600, 900) > 150_000,
        "{} bytes after the pause",
        during(600, 900)
    );
}

#[test]
fn a_client_asks_waits_and_thinks() {
    let Some(lab) = Lab::new("requests") else {
        return;
    };
    let app = AppPlan::Answers {
        sizes: vec![1_000, 250_000, 7],
        thinks: vec![50 * MS, 100 * MS, 0],
    };
    let plan = plan(600 * MS, vec![flow("web", 5001, app)]);
    let mut receiver = lab.receive(&plan);
    let output = lab.send(&plan);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(receiver.wait().expect("it ends").success());
    let (_, received) = lab.records("receive");
    let answers = of(&received, RecordKind::Answer, 0);
    assert_eq!(
        answers
            .iter()
            .map(|answer| answer.number(1))
            .collect::<Vec<_>>(),
        [1_000, 250_000, 7]
    );
    assert!(
        answers[1].number(0) >= answers[0].time + 50 * MS,
        "it thinks first"
    );
    assert!(answers[2].number(0) >= answers[1].time + 100 * MS);
    assert_eq!(of(&received, RecordKind::End, 0)[0].number(0), 251_007);
}

#[test]
fn a_tap_sees_every_packet_with_its_headers() {
    let Some(lab) = Lab::new("tap") else { return };
    let plan = plan(
        800 * MS,
        vec![flow(
            "one",
            5001,
            writes(Some(4_000_000), &[], Some(200_000)),
        )],
    );
    let mut command = lab.near.command(env!("CARGO_BIN_EXE_fullpipe-agent"));
    command
        .args(["tap", "v0"])
        .arg(lab.folder.join("tap"))
        .stdout(Stdio::piped());
    let mut tap = ready(command);
    let mut receiver = lab.receive(&plan);
    assert!(lab.send(&plan).status.success());
    assert!(receiver.wait().expect("it ends").success());
    // nsenter becomes the agent, so the child process is the agent.
    assert!(
        Command::new("kill")
            .args(["-TERM", &tap.id().to_string()])
            .status()
            .expect("kill runs")
            .success()
    );
    assert!(tap.wait().expect("it ends").success());
    let (_, records) = lab.records("tap");
    let (_, sent) = lab.records("send");
    let packets = of(&records, RecordKind::Packet, 0);
    let payload = |record: &&Record| {
        let length = u32::from_le_bytes(record.data[1..5].try_into().expect("four bytes"));
        u64::from(length) - 20 - u64::from(record.data[5 + 32] >> 4) * 4
    };
    let out: Vec<_> = packets
        .iter()
        .copied()
        .filter(|record| record.data[0] == 1)
        .collect();
    assert_eq!(
        out.iter().map(payload).sum::<u64>(),
        200_000,
        "all of it went out"
    );
    assert!(packets.len() > out.len(), "ACKs came back");
    assert_eq!(of(&records, RecordKind::Missed, 0)[0].number(0), 0);
    let first = of(&sent, RecordKind::Start, 0)[0].time;
    assert!(out[0].time.abs_diff(first) < 50 * MS, "both use one clock");
}

#[test]
fn a_first_flow_that_starts_late_is_waited_for() {
    let Some(lab) = Lab::new("late") else { return };
    let late = FlowPlan {
        start: 700 * MS,
        ..flow("late", 5001, writes(None, &[], Some(10_000)))
    };
    let plan = Plan {
        patience: 300 * MS,
        ..plan(1_200 * MS, vec![late])
    };
    let receiver = lab.receive(&plan);
    let output = lab.send(&plan);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = receiver.wait_with_output().expect("it ends with the flows");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
