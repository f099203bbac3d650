//! Flows that arrive.

use std::process::Command;

use fullpipe_testbed::agent::{AppPlan, FlowPlan, Plan, Record, RecordKind};

use super::lab::*;

/// Flow `number` of a workload whose receiver is at port 5001.
fn arrival(number: u16, start: u64, app: AppPlan) -> FlowPlan {
    FlowPlan {
        near_port: Some(6_000 + number),
        start,
        ..flow(&format!("web#{number}"), 5001, app)
    }
}

#[test]
fn each_flow_that_arrives_brings_its_bytes_and_no_other() {
    let Some(lab) = Lab::new("arrivals") else {
        return;
    };
    // Many flows in one millisecond, more than are sampled at a time.
    let size = |number: u16| 1 + u64::from(number) * 997;
    let mut flows: Vec<_> = (0..150)
        .map(|number| {
            arrival(
                number,
                u64::from(number) * MS / 8,
                writes(None, &[], Some(size(number))),
            )
        })
        .collect();
    flows.push(arrival(
        150,
        0,
        AppPlan::Chunks(vec![(0, 5_000), (200 * MS, 7), (350 * MS, 300_000)]),
    ));
    flows.push(flow("beside", 5002, writes(None, &[], Some(10_000))));
    flows.rotate_right(1);
    let plan = plan(3_000 * MS, flows);
    let mut receiver = lab.receive(&plan);
    let output = lab.send(&plan);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        receiver
            .wait()
            .expect("it ends, since all flows have ended")
            .success()
    );
    let ((_, sent), (_, received)) = (lab.records("send"), lab.records("receive"));
    let number = |records: &[Record], kind, flow| of(records, kind, flow)[0].number(0);
    for place in 0..150 {
        let ends = [
            number(&sent, RecordKind::End, 1 + place),
            number(&received, RecordKind::End, 1 + place),
        ];
        assert_eq!(ends, [size(place); 2], "web#{place}");
        assert_eq!(of(&received, RecordKind::Open, 1 + place).len(), 1);
    }
    assert_eq!(
        (
            number(&received, RecordKind::End, 151),
            number(&received, RecordKind::End, 0)
        ),
        (305_007, 10_000)
    );
    let started = of(&sent, RecordKind::Start, 151)[0].time;
    let reads = of(&received, RecordKind::Read, 151);
    let beyond = |bytes: u64| {
        reads
            .iter()
            .find(|read| read.number(0) > bytes)
            .expect("it came")
            .time
            - started
    };
    assert!(
        beyond(5_000) >= 200 * MS && beyond(5_007) >= 350 * MS,
        "pauses are kept"
    );
    assert!(beyond(5_000) < beyond(5_007) && reads.iter().any(|read| read.number(0) == 5_007));
}

#[test]
fn more_at_once_than_there_is_room_for_are_turned_away() {
    let Some(lab) = Lab::new("refused") else {
        return;
    };
    let flows = (0..4).map(|number| {
        arrival(
            number,
            u64::from(number) * 50 * MS,
            AppPlan::Chunks(vec![(0, 1), (400 * MS, 1)]),
        )
    });
    let plan = Plan {
        at_once: 3,
        ..plan(900 * MS, flows.collect())
    };
    let mut receiver = lab.receive(&plan);
    assert!(lab.send(&plan).status.success());
    let (_, sent) = lab.records("send");
    let refused: Vec<u16> = sent
        .iter()
        .filter(|it| it.kind == RecordKind::Refused)
        .map(|it| it.flow)
        .collect();
    assert_eq!(refused, [3]);
    let stop = ["-TERM", &receiver.id().to_string()];
    assert!(
        Command::new("kill")
            .args(stop)
            .status()
            .expect("kill runs")
            .success()
    );
    receiver.wait().expect("it ends");
}

#[test]
fn the_first_arrival_without_a_server_ends_the_run() {
    let Some(lab) = Lab::new("server") else {
        return;
    };
    let flows = (0..200).map(|number| {
        arrival(
            number,
            u64::from(number) * 100 * MS,
            writes(None, &[], Some(1_000)),
        )
    });
    let plan = plan(20_000 * MS, flows.collect());
    let mut receiver = lab.receive(&plan);
    let sender = lab
        .agent(&lab.near, "send", Some(&plan))
        .spawn()
        .expect("nsenter runs");
    std::thread::sleep(std::time::Duration::from_secs(3));
    receiver.kill().expect("it runs");
    let words = failure(&sender.wait_with_output().expect("it ends"));
    receiver.wait().expect("it was killed");
    // The flow that is under way is reset; later ones find no receiver.
    let why = [
        "no receiver listens there",
        "the connection broke",
        "the receiver closed the connection",
    ];
    assert!(
        words.contains("flow \"web#") && why.iter().any(|why| words.contains(why)),
        "{words}"
    );
    let (epoch, sent) = lab.records("send");
    assert!(
        sent.last().expect("it wrote").time < epoch + 10_000 * MS,
        "long before the last arrival"
    );
    assert!(
        sent.iter().any(|record| record.kind == RecordKind::End),
        "records of complete flows are kept"
    );
}
