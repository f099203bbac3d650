//! `fullpipe link`: a program behind a scenario's path.

mod seen;

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fullpipe_emulator::{Direction, Emulator};
use fullpipe_scenario::Scenario;
use fullpipe_trace::{LinkSummary, MeasuredTime};
use fullpipe_units::Time;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::Serialize;
use serde_json::{Value, json};

use self::seen::{Seen, Taps, Way};
use crate::clock::{self, Clock};
use crate::forward::{Forwarder, Side, Timeliness};
use crate::uplink::{self, Uplink};
use crate::{Bed, Capture, End, Inside, Sandbox, SandboxError, capacity, privileges};

/// What is to run, and how.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Programs that run at the far end until the command ends.
    pub far: Vec<Vec<OsString>>,
    /// The scenario's data are what the command sends, not what it gets.
    pub upload: bool,
    /// The outside can be reached, through a proxy at the far end.
    pub uplink: bool,
    /// Tell once a second how it is going.
    pub live: bool,
    /// Where captures go, `near.pcapng` and `far.pcapng`.
    pub captures: Option<PathBuf>,
}

impl Link {
    /// Where the scenario's data come from, and where they go.
    fn sides(&self) -> (Side, Side) {
        if self.upload {
            (Side::Near, Side::Far)
        } else {
            (Side::Far, Side::Near)
        }
    }
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Report {
    elapsed_s: f64,
    /// The command's exit code; 128 and the number of a signal that ended it.
    exit_code: i32,
    /// The estimate by which faster paths are refused.
    most_bps: u64,
    down: Way,
    up: Way,
    links: Vec<LinkSummary>,
    timeliness: Timeliness,
}

/// All of a run whose end is not known.
const OPEN: MeasuredTime = MeasuredTime {
    from: Time::ZERO,
    to: Time::MAX,
};
/// How long servers at the far end may take until they listen.
const SERVERS: Duration = Duration::from_secs(3);
/// How long those who are asked to end have for it.
const GRACE: Duration = Duration::from_secs(2);
const SECOND: Duration = Duration::from_secs(1);

/// Begins. The first flow's way is that of all packets.
///
/// # Errors
/// When this machine does not allow it.
pub fn start(scenario: &Scenario, link: Link) -> Result<Sandbox, SandboxError> {
    let scenario = scenario.clone();
    Sandbox::start(move |inside| run(&scenario, &link, inside))
}

fn run(scenario: &Scenario, link: &Link, inside: &Inside) -> Result<Value, SandboxError> {
    // From here, where the outside is.
    let uplink = link.uplink.then(Uplink::prepare);
    let mut bed = Bed::raise()?;
    let most = capacity::measure(&bed, scenario)?;
    if let Err(error) = capacity::check(scenario, most) {
        return Ok(json!({ "refused": error.to_string() }));
    }
    serve(&mut bed, &link.far)?;
    if let Some(uplink) = uplink {
        uplink.open(door(&bed)?);
    }
    let clock = Clock::start();
    let captures = link.captures.as_deref().map(captures).transpose()?;
    let proxy = link
        .uplink
        .then(|| format!("socks5h://{}:{}", bed.far.address, uplink::PORT));
    let command = spawn(&bed.near, &link.command, proxy.as_deref(), Stdio::inherit)?;
    let seen = Arc::new(Mutex::new(Seen::new(scenario, link.upload)));
    let stop = AtomicBool::new(false);
    let tap = Taps {
        seen: Arc::clone(&seen),
        captures,
        upload: link.upload,
    };
    let (sender, back) = link.sides();
    let route = move |side: Side, header: &crate::Header, _: &[u8]| {
        let direction = [Direction::Forward, Direction::Reverse][usize::from(side == back)];
        Some((0, direction, header.kind))
    };
    let emulator = Emulator::new(scenario, OPEN);
    let mut forwarder = Forwarder::new(&bed, emulator, clock, sender, route, tap);
    let live = link.live.then(|| (Arc::clone(&seen), clock));
    let status = std::thread::scope(|scope| {
        scope.spawn(|| forwarder.run_in_front(&stop));
        // Threads have capabilities of their own. The command may be somebody else's by the time
        // that it is to end.
        let _ = privileges::keep_kill();
        follow(inside, live);
        let status = wait(&command);
        stop.store(true, Ordering::Relaxed);
        status
    });
    let elapsed = clock.now();
    let (path, Taps { captures, .. }, timeliness) = forwarder.finish(&mut bed);
    finish(captures)?;
    let seen = seen::locked(&seen).clone();
    let report = Report {
        elapsed_s: elapsed.as_secs_f64(),
        exit_code: exit_code(status),
        most_bps: most.as_bps(),
        // What has been accepted is sent, if nobody waits for it.
        links: path.summaries(elapsed.max(seen.last_end)),
        down: seen.down.with_rate(),
        up: seen.up.with_rate(),
        timeliness,
    };
    serde_json::to_value(report)
        .map_err(|error| SandboxError::new(format!("the report: {error}"), "tell us"))
}

fn exit_code(status: ExitStatus) -> i32 {
    let signal = || 128 + status.signal().unwrap_or(0);
    status.code().unwrap_or_else(signal)
}

/// Starts the programs at the far end, and waits until they listen.
fn serve(bed: &mut Bed, programs: &[Vec<OsString>]) -> Result<(), SandboxError> {
    let mut servers = Vec::new();
    for program in programs {
        servers.push(spawn(&bed.far, program, None, Stdio::null)?);
    }
    if !servers.is_empty() {
        wait_for(&mut bed.far, &mut servers, programs)?;
    }
    Ok(())
}

/// Captures of both ends, in that directory.
fn captures(directory: &Path) -> Result<[Capture; 2], SandboxError> {
    let zero = clock::date();
    let create = |name: &str| {
        let file = directory.join(format!("{name}.pcapng"));
        Capture::create(&file, name, zero).map_err(|error| {
            let problem = format!("{}: {error}", file.display());
            SandboxError::new(problem, "name another directory")
        })
    };
    Ok([create("near")?, create("far")?])
}

fn finish(captures: Option<[Capture; 2]>) -> Result<(), SandboxError> {
    for (name, capture) in ["near", "far"]
        .into_iter()
        .zip(captures.into_iter().flatten())
    {
        let cut = |error| {
            SandboxError::new(
                format!("{name}.pcapng: {error}"),
                "look for room where --out is",
            )
        };
        capture.finish().map_err(cut)?;
    }
    Ok(())
}

/// Where the proxy listens.
fn door(bed: &Bed) -> Result<TcpListener, SandboxError> {
    let address = (bed.far.address, uplink::PORT);
    bed.far
        .enter()
        .map_err(io::Error::from)
        .and_then(|()| TcpListener::bind(address))
        .map_err(|error| {
            let problem = format!("--uplink: port {} of the far end: {error}", uplink::PORT);
            SandboxError::new(problem, "leave that port to the uplink")
        })
}

fn spawn(
    end: &End,
    program: &[OsString],
    proxy: Option<&str>,
    stdio: fn() -> Stdio,
) -> Result<Child, SandboxError> {
    let (name, arguments) = program.split_first().expect("a command has a name");
    let proxies = ["ALL_PROXY", "all_proxy"]
        .into_iter()
        .filter_map(|name| Some((name, proxy?)));
    end.command(name)
        .args(arguments)
        .stdin(stdio())
        .stdout(stdio())
        .envs(proxies)
        .env("FULLPIPE_FAR", crate::bed::FAR.to_string())
        .env("FULLPIPE_NEAR", crate::bed::NEAR.to_string())
        .spawn()
        .map_err(|error| {
            let fix = match error.kind() {
                io::ErrorKind::NotFound => "look for a slip of the pen, or install it",
                _ => "give a program that can be run",
            };
            SandboxError::new(format!("{}: {error}", name.display()), fix)
        })
}

/// Waits until the servers do, too.
fn wait_for(
    far: &mut End,
    servers: &mut [Child],
    commands: &[Vec<OsString>],
) -> Result<(), SandboxError> {
    let mut ended = None;
    // Not every program at the far end is a server: one that never listens is not waited for any
    // longer.
    let _ = far.wait_for_listener(SERVERS, || {
        ended = servers
            .iter_mut()
            .position(|server| matches!(server.try_wait(), Ok(Some(_))));
        ended.is_some()
    });
    ended.map_or(Ok(()), |index| {
        let name = commands[index].join(" ".as_ref());
        let problem = format!(
            "--server \"{}\" has ended before it listened",
            name.display()
        );
        Err(SandboxError::new(problem, "run it by itself to see why"))
    })
}

/// Threads beside the command: one ends it when the caller wants that, one tells how it is going.
fn follow(inside: &Inside, live: Option<(Arc<Mutex<Seen>>, Clock)>) {
    let waiting = inside.clone();
    std::thread::spawn(move || {
        waiting.wait_for_stop();
        // Everything in this PID namespace but us.
        let _ = kill(Pid::from_raw(-1), Signal::SIGTERM);
        std::thread::sleep(GRACE);
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    });
    let Some((seen, clock)) = live else { return };
    let inside = inside.clone();
    std::thread::spawn(move || {
        let mut before = (Time::ZERO, Seen::default());
        loop {
            std::thread::sleep(SECOND);
            let now = clock.now();
            let seen = seen
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .clone();
            let way = |new: &Way, old: &Way| {
                let span = (now - before.0).as_secs_f64();
                json!({
                    "rate_bps": (new.bytes - old.bytes) as f64 * 8.0 / span,
                    "queue_packets": new.queue.0,
                    "queue_s": new.queue.1.as_secs_f64(),
                    "dropped": new.dropped - old.dropped,
                    "marked": new.marked - old.marked,
                })
            };
            let (down, up) = (way(&seen.down, &before.1.down), way(&seen.up, &before.1.up));
            inside.say(&json!({ "live": { "at_s": now.as_secs_f64(), "down": down, "up": up } }));
            before = (now, seen);
        }
    });
}

/// Waits for the command, and for whatever else ends meanwhile: the first process of a namespace is
/// everybody's parent.
fn wait(command: &Child) -> ExitStatus {
    let command = Pid::from_raw(command.id() as i32);
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == command => {
                return ExitStatus::from_raw(code << 8);
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == command => {
                return ExitStatus::from_raw(signal as i32);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => unreachable!("the command is a child of ours: {error}"),
        }
    }
}
