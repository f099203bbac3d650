//! The agents of both sides, through the program, between two network namespaces joined by a veth.
//! Where namespaces are not allowed, the tests say so and pass.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use fullpipe_testbed::agent::{AppPlan, FlowPlan, Plan, Reader, Record, RecordKind, VERSION};

const MS: u64 = 1_000_000;

/// Two namespaces, 10.9.0.1 and 10.9.0.2. They are held by programs that end with this one,
/// whatever ends it.
struct Lab {
    near: Holder,
    far: Holder,
    folder: PathBuf,
}

struct Holder(
    Child,
    #[allow(dead_code, reason = "`cat` ends when it is closed")] ChildStdin,
);

impl Holder {
    fn new(mut command: Command) -> Option<Holder> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut stdin = child.stdin.take()?;
        // It answers once it is in its namespace.
        std::io::Write::write_all(&mut stdin, b"there\n").ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?)
            .read_line(&mut line)
            .ok()?;
        (line == "there\n").then_some(Holder(child, stdin))
    }

    /// A command in its namespace.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args([
                "--preserve-credentials",
                "-U",
                "-n",
                "-t",
                &self.0.id().to_string(),
                "--",
            ])
            .arg(program);
        command
    }

    fn ip(&self, words: &str) {
        let status = self
            .command("ip")
            .args(words.split(' '))
            .status()
            .expect("nsenter runs");
        assert!(status.success(), "ip {words}");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Lab {
    fn new(test: &str) -> Option<Lab> {
        let Some((near, far)) = Lab::namespaces() else {
            crate::skip(
                &"this machine gives no user and network namespaces (unshare -rn), or has no nsenter",
            );
            return None;
        };
        near.ip(&format!(
            "link add v0 type veth peer name v1 netns {}",
            far.0.id()
        ));
        for (side, name, address) in [(&near, "v0", "10.9.0.1/24"), (&far, "v1", "10.9.0.2/24")] {
            side.ip(&format!("addr add {address} dev {name}"));
            side.ip(&format!("link set {name} up"));
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("agent-{test}"));
        fs::create_dir_all(&folder).expect("the target folder can be written");
        Some(Lab { near, far, folder })
    }

    fn namespaces() -> Option<(Holder, Holder)> {
        let mut outer = Command::new("unshare");
        outer.args(["-r", "-n", "cat"]);
        let near = Holder::new(outer)?;
        let mut inner = near.command("unshare");
        inner.args(["-n", "cat"]);
        let far = Holder::new(inner)?;
        Some((near, far))
    }

    fn agent(&self, side: &Holder, action: &str, plan: Option<&Plan>) -> Command {
        let mut command = side.command(env!("CARGO_BIN_EXE_fullpipe-agent"));
        let plan = plan.map(|plan| {
            let path = self.folder.join("plan.json");
            fs::write(&path, plan.to_json()).expect("the folder can be written");
            path
        });
        command.arg(action).args(plan);
        command
            .arg(self.folder.join(action))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn receive(&self, plan: &Plan) -> Child {
        ready(self.agent(&self.far, "receive", Some(plan)))
    }

    fn send(&self, plan: &Plan) -> Output {
        self.agent(&self.near, "send", Some(plan))
            .output()
            .expect("nsenter runs")
    }

    fn records(&self, action: &str) -> (u64, Vec<Record>) {
        let reader = Reader::open(&self.folder.join(action)).expect("the agent has written");
        (reader.header.epoch, reader.collect())
    }
}

/// Started, once it says that it is ready.
fn ready(mut command: Command) -> Child {
    let mut child = command.spawn().expect("nsenter runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("its output is text");
    assert_eq!(line, "ready\n");
    child
}

fn flow(name: &str, port: u16, app: AppPlan) -> FlowPlan {
    FlowPlan {
        name: name.to_owned(),
        port,
        near_port: None,
        congestion: "cubic".to_owned(),
        receiver_congestion: None,
        start: 0,
        app,
        ecn: false,
        pacing_rate: None,
        send_buffer: 4_000_000,
        receive_buffer: Some(4_000_000),
        auto_tuning: None,
        window_clamp: None,
        written_ahead: None,
    }
}

fn writes(first: Option<u64>, changes: &[(u64, Option<u64>)], bytes: Option<u64>) -> AppPlan {
    AppPlan::Writes {
        first,
        changes: changes.to_vec(),
        from_opening: true,
        bytes,
    }
}

fn plan(duration: u64, flows: Vec<FlowPlan>) -> Plan {
    let receiver = "10.9.0.2".parse().expect("an address");
    // A veth that is not up yet loses the first SYN, and the next comes after a second.
    let (interval, patience) = (10 * MS, 5_000 * MS);
    Plan {
        version: VERSION,
        receiver,
        duration,
        measure_from: 0,
        interval,
        patience,
        at_once: 1_000,
        flows,
    }
}

fn of(records: &[Record], kind: RecordKind, flow: u16) -> Vec<&Record> {
    records
        .iter()
        .filter(|record| record.kind == kind && record.flow == flow)
        .collect()
}

fn failure(output: &Output) -> String {
    assert!(!output.status.success(), "it fails");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

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
    assert!(receiver.wait().expect("it ends by itself").success());

    let (epoch, sent) = lab.records("send");
    let (_, received) = lab.records("receive");
    assert_eq!(of(&received, RecordKind::End, 0)[0].number(0), 3_000_001);
    let started = of(&sent, RecordKind::Start, 0)[0].time;
    assert!(
        of(&received, RecordKind::End, 0)[0].time > started,
        "the clocks are one"
    );
    assert_eq!(
        sent.last().map(|record| record.kind),
        Some(RecordKind::Done)
    );

    // 8 Mbit/s for the second that was left is a megabyte, give or take what an interval of the
    // kernel's clock brings.
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
        "{samples} samples in a second, of 10 ms each"
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

/// Flow number so much of a workload, whose receiver is at port 5001.
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
    // Many in one millisecond, more than are sampled at a time.
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
            .expect("it ends by itself, since all are gone")
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
        "{} bytes behind the pause",
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
    // nsenter becomes the agent: the child is it.
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
    assert!(out[0].time.abs_diff(first) < 50 * MS, "both tell one clock");
}

#[test]
fn an_absent_server_and_an_absent_client_are_said_in_time() {
    let Some(lab) = Lab::new("absent") else {
        return;
    };
    let plan = plan(5_000 * MS, vec![flow("one", 5001, writes(None, &[], None))]);
    let words = failure(&lab.send(&plan));
    assert!(
        words.contains("flow \"one\" to 10.9.0.2:5001: nobody listens there"),
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
    assert!(words.contains("no sender came within 0.3 s"), "{words}");
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
    let output = receiver.wait_with_output().expect("it ends by itself");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
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
        "what was sampled is kept"
    );
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
    std::thread::sleep(std::time::Duration::from_millis(500));
    receiver.kill().expect("it runs");
    let words = failure(&sender.wait_with_output().expect("it ends"));
    receiver.wait().expect("it was killed");
    // One that is under way is reset; one that comes later finds nobody.
    let why = [
        "nobody listens there",
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
        "long before the last would have come"
    );
    assert!(
        sent.iter().any(|record| record.kind == RecordKind::End),
        "what was complete is kept"
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
        words.contains("flow \"one\": the kernel does not give it \"bbr9\""),
        "{words}"
    );
    assert!(
        words.contains("it offers ")
            && words.contains("reno")
            && words.contains("modprobe tcp_bbr9"),
        "{words}"
    );
    assert!(!lab.folder.join("send").exists(), "before anything begins");
}
