//! Two namespaces joined by a veth, and plans for the agents in them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use fullpipe_testbed::agent::{AppPlan, FlowPlan, Plan, Reader, Record, RecordKind, VERSION};

pub(super) const MS: u64 = 1_000_000;

/// Two namespaces, 10.9.0.1 and 10.9.0.2. Programs that end with this one hold them, so that they
/// never outlive it.
pub(super) struct Lab {
    pub(super) near: Holder,
    pub(super) far: Holder,
    pub(super) folder: PathBuf,
}

pub(super) struct Holder(
    Child,
    #[allow(dead_code, reason = "`cat` ends when it is closed")] ChildStdin,
);

impl Holder {
    pub(super) fn new(mut command: Command) -> Option<Holder> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut stdin = child.stdin.take()?;
        // The program answers once it is in its namespace.
        std::io::Write::write_all(&mut stdin, b"there\n").ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?)
            .read_line(&mut line)
            .ok()?;
        (line == "there\n").then_some(Holder(child, stdin))
    }

    /// Returns a command that runs in the holder's namespace.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
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

    pub(super) fn ip(&self, words: &str) {
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
    pub(super) fn new(test: &str) -> Option<Lab> {
        let Some((near, far)) = Lab::namespaces() else {
            crate::skip(
                &"this machine allows no user and network namespaces (unshare -rn), or lacks nsenter",
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

    pub(super) fn namespaces() -> Option<(Holder, Holder)> {
        let mut outer = Command::new("unshare");
        outer.args(["-r", "-n", "cat"]);
        let near = Holder::new(outer)?;
        let mut inner = near.command("unshare");
        inner.args(["-n", "cat"]);
        let far = Holder::new(inner)?;
        Some((near, far))
    }

    pub(super) fn agent(&self, side: &Holder, action: &str, plan: Option<&Plan>) -> Command {
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

    pub(super) fn receive(&self, plan: &Plan) -> Child {
        ready(self.agent(&self.far, "receive", Some(plan)))
    }

    pub(super) fn send(&self, plan: &Plan) -> Output {
        self.agent(&self.near, "send", Some(plan))
            .output()
            .expect("nsenter runs")
    }

    pub(super) fn records(&self, action: &str) -> (u64, Vec<Record>) {
        let reader = Reader::open(&self.folder.join(action)).expect("the agent has written");
        (reader.header.epoch, reader.collect())
    }
}

/// Starts a command, and waits until it reports that it is ready.
pub(super) fn ready(mut command: Command) -> Child {
    let mut child = command.spawn().expect("nsenter runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("its output is text");
    assert_eq!(line, "ready\n");
    child
}

pub(super) fn flow(name: &str, port: u16, app: AppPlan) -> FlowPlan {
    FlowPlan {
        name: name.to_owned(),
        port,
        near_port: None,
        congestion: "cubic".to_owned(),
        receiver_congestion: None,
        start: 0,
        app,
        ecn: false,
        segment: 1448,
        pacing_rate: None,
        send_buffer: Some(4_000_000),
        send_tuning: None,
        receive_buffer: Some(4_000_000),
        auto_tuning: None,
        window_clamp: None,
        written_ahead: None,
    }
}

pub(super) fn writes(
    first: Option<u64>,
    changes: &[(u64, Option<u64>)],
    bytes: Option<u64>,
) -> AppPlan {
    AppPlan::Writes {
        first,
        changes: changes.to_vec(),
        from_opening: true,
        bytes,
    }
}

pub(super) fn plan(duration: u64, flows: Vec<FlowPlan>) -> Plan {
    let receiver = "10.9.0.2".parse().expect("an address");
    // A veth that is not up yet loses the first SYN, and the next one follows after a second.
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

pub(super) fn of(records: &[Record], kind: RecordKind, flow: u16) -> Vec<&Record> {
    records
        .iter()
        .filter(|record| record.kind == kind && record.flow == flow)
        .collect()
}

pub(super) fn failure(output: &Output) -> String {
    assert!(!output.status.success(), "it fails");
    String::from_utf8_lossy(&output.stderr).into_owned()
}
