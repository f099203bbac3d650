//! A program behind a path: privileges of the program and of the processes that run it, and its end
//! in time. Where namespaces are not allowed, the tests report that and pass.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use fullpipe_scenario::Scenario;
use fullpipe_testbed::{Link, Sandbox};
use serde_json::Value;

const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;
/// The command may have changed its user by the time it has to end.
const KILL: u64 = 1 << 5;

fn begin(link: Link) -> Sandbox {
    let text = "duration = \"60s\"\n[path]\nrate = \"10mbit\"\nrtt = \"2ms\"\nbuffer = \"1bdp\"\n[[flow]]\ncc = \"cubic\"";
    let scenario = Scenario::parse(text, "test.toml").expect("a valid scenario");
    fullpipe_testbed::start(&scenario, link).expect("a process can be started")
}

/// Returns the report; `None` where a link is not allowed.
fn report(mut sandbox: Sandbox) -> Option<Value> {
    let mut last = Value::Null;
    while let Ok(Some(said)) = sandbox.hear() {
        last = said;
    }
    if let Some(trouble) = last.get("trouble") {
        let problem = trouble["problem"].as_str().unwrap_or_default();
        assert!(
            problem.contains("does not allow") || problem.contains("/dev/net/tun"),
            "{trouble}"
        );
        crate::skip(&trouble);
        return None;
    }
    Some(last["done"].clone())
}

fn words(command: &[&str]) -> Vec<OsString> {
    command.iter().map(OsString::from).collect()
}

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("link-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// Returns the capability sets in the text of `/proc/PID/status`, except the bounding set.
fn held(status: &str) -> Vec<u64> {
    let sets = ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"];
    let values = status
        .lines()
        .filter_map(|line| sets.iter().find_map(|set| line.strip_prefix(set)));
    values
        .map(|hex| u64::from_str_radix(hex.trim(), 16).expect("a hexadecimal number"))
        .collect()
}

const SETS: &str = "+net_admin,+sys_admin";

/// Runs the test again, with capabilities that outlive an exec; false where that is not possible.
fn again_with_lasting_capabilities(test: &str) -> bool {
    let me = std::env::current_exe().expect("it runs");
    let mut again = Command::new("setpriv");
    again
        .args(["--inh-caps", SETS, "--ambient-caps", SETS])
        .arg(me)
        .args(["--exact", test, "--nocapture"]);
    let output = again.env("FULLPIPE_LASTING", "1").output();
    let Ok(output) = output else { return false };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("setpriv: ") {
        return false;
    }
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}{said}"
    );
    true
}

/// The caller may be a service with `AmbientCapabilities=`, or run in an older container, whose
/// processes have inheritable capabilities.
#[test]
fn the_command_gets_no_capability_that_its_caller_hands_on() {
    if std::env::var_os("FULLPIPE_LASTING").is_none() {
        if !again_with_lasting_capabilities(
            "link::the_command_gets_no_capability_that_its_caller_hands_on",
        ) {
            crate::skip(&"capabilities can't be passed on here");
        }
        return;
    }
    let folder = folder("lasting");
    let command = words(&[
        "sh",
        "-c",
        "cat /proc/self/status > \"$0\"",
        &folder.join("status").to_string_lossy(),
    ]);
    let Some(report) = report(begin(Link {
        command,
        ..Link::default()
    })) else {
        return;
    };
    assert_eq!(report["exit_code"], 0);
    let status = fs::read_to_string(folder.join("status")).expect("it was written");
    let sets = held(&status);
    assert_eq!(sets.len(), 4);
    for set in sets {
        assert_eq!(set & (NET_ADMIN | SYS_ADMIN), 0, "{status}");
    }
}

#[test]
fn no_thread_that_runs_it_keeps_a_capability() {
    let folder = folder("threads");
    // After 0.5 s all threads have started. The first process can't be inspected unless /proc is
    // the sandbox's own.
    let script = "sleep 0.5; grep -qx 'PPid:.1' /proc/$$/status || exit 3; \
                  cat /proc/1/task/*/status > \"$0\"/status";
    let command = words(&["sh", "-c", script, &folder.to_string_lossy()]);
    let link = Link {
        command,
        uplink: true,
        live: true,
        captures: Some(folder.clone()),
        ..Link::default()
    };
    let Some(report) = report(begin(link)) else {
        return;
    };
    if report["exit_code"] == 3 {
        return crate::skip(&"/proc can't be mounted here");
    }
    let status = fs::read_to_string(folder.join("status")).expect("it was written");
    let sets = held(&status);
    assert!(
        sets.len() >= 4 * 6,
        "its first thread, the forwarder, the uplink, two captures, two that report: {}",
        sets.len()
    );
    assert!(sets.iter().all(|set| set & !KILL == 0), "{status}");
}

#[test]
fn a_command_that_has_become_somebody_else_is_ended_too() {
    let as_nobody = ["setpriv", "--reuid=65534", "--clear-groups"];
    if !Command::new(as_nobody[0])
        .args(&as_nobody[1..])
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
    {
        return crate::skip(&"only root can change its user");
    }
    let folder = folder("somebody");
    let begun = folder.join("begun");
    let script = format!(
        "touch '{}'; exec {} sleep 1000",
        begun.display(),
        as_nobody.join(" ")
    );
    let mut sandbox = begin(Link {
        command: words(&["sh", "-c", &script]),
        ..Link::default()
    });
    for _ in 0..2_000 {
        if begun.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    sandbox.stop();
    let (to, from) = channel();
    std::thread::spawn(move || to.send(report(sandbox)));
    let report = from
        .recv_timeout(Duration::from_secs(20))
        .expect("it ends within its time of grace");
    assert!(report.is_none_or(|report| report["exit_code"] == 128 + 15));
}
