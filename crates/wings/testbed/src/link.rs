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
use fullpipe_units::{Span, Time};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::Serialize;
use serde_json::{Value, json};

use self::seen::{Samples, Seen, Series, Taps, Way};
use crate::clock::{self, Clock};
use crate::confine::Confinement;
use crate::forward::{Forwarder, Side, Timeliness};
use crate::uplink::{self, Uplink};
use crate::{Bed, Capture, End, Inside, Sandbox, SandboxError, capacity, privileges};

/// A program to run behind a path, with its options.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Programs that run at the far end until the command ends.
    pub far: Vec<Vec<OsString>>,
    /// Congestion control of the command's connections, by the kernel's name or fullpipe's; by default
    /// the machine's.
    pub cc: Option<String>,
    /// Congestion control of connections at the far end.
    pub far_cc: Option<String>,
    /// Whether the command is the scenario's sender; otherwise it is the receiver.
    pub upload: bool,
    /// Whether the command can reach the outside, through a proxy at the far end.
    pub uplink: bool,
    /// Whether the command and the programs at the far end may use the machine's devices, shared
    /// memory, set-user-ID programs and all system calls.
    pub unconfined: bool,
    /// Whether to report progress once a second.
    pub live: bool,
    /// Directory for captures, `near.pcapng` and `far.pcapng`.
    pub captures: Option<PathBuf>,
}

impl Link {
    /// Returns the sides of the scenario's sender and receiver.
    fn sides(&self) -> (Side, Side) {
        if self.upload {
            (Side::Near, Side::Far)
        } else {
            (Side::Far, Side::Near)
        }
    }
}

/// Results of the run.
#[derive(Debug, Serialize)]
struct Report {
    elapsed_s: f64,
    /// Exit code of the command; 128 plus its number if a signal ended the command.
    exit_code: i32,
    /// Rate that this machine can pace, as estimated; faster paths are refused.
    most_bps: u64,
    /// Programs at the far end that did not listen when the command began.
    deaf: Vec<String>,
    down: Way,
    up: Way,
    links: Vec<LinkSummary>,
    timeliness: Timeliness,
    /// Samples of the links over time, if the run is captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<Series>,
}

/// Measures a whole run whose end is not known.
const OPEN: MeasuredTime = MeasuredTime::new(Time::ZERO, Time::MAX);
/// Time for servers at the far end to begin to listen.
const SERVERS: Duration = Duration::from_secs(3);
/// Time that processes have to end after a request.
const GRACE: Duration = Duration::from_secs(2);
const SECOND: Duration = Duration::from_secs(1);

/// Starts the command. All packets take the first flow's way.
///
/// # Errors
/// When this machine does not allow it.
pub fn start(scenario: &Scenario, link: Link) -> Result<Sandbox, SandboxError> {
    let scenario = scenario.clone();
    Sandbox::start(move |inside| run(&scenario, &link, inside))
}

fn run(scenario: &Scenario, link: &Link, inside: &Inside) -> Result<Value, SandboxError> {
    // Prepare this here, while the process can still reach the outside network.
    let uplink = link.uplink.then(Uplink::prepare);
    let mut bed = Bed::raise()?;
    let most = capacity::measure(&bed, scenario)?;
    if let Err(error) = capacity::check(scenario, most) {
        return Ok(json!({ "refused": error.to_string() }));
    }
    if let Some(name) = &link.far_cc {
        let same = link.cc.as_ref() == Some(name);
        bed.far
            .use_algorithm(name, if same { "--cc" } else { "--server-cc" })?;
    }
    if let Some(name) = &link.cc {
        bed.near.use_algorithm(name, "--cc")?;
    }
    // The files may be in a folder that the confinement replaces, such as /dev/shm.
    let zero = clock::date();
    let captures = link
        .captures
        .as_deref()
        .map(|directory| captures(directory, zero))
        .transpose()?;
    let confinement = match link.unconfined {
        true => None,
        false => Some(Arc::new(
            Confinement::prepare(inside.owns_the_machine()).map_err(or_unconfined)?,
        )),
    };
    let confinement = confinement.as_ref();
    let deaf = serve(&mut bed, &link.far, confinement)?;
    if let Some(uplink) = uplink {
        uplink.open(door(&bed)?);
    }
    let clock = Clock::start();
    let proxy = link
        .uplink
        .then(|| format!("socks5h://{}:{}", bed.far.address, uplink::PORT));
    let near = (&bed.near, confinement);
    let command = spawn(near, &link.command, proxy.as_deref(), Stdio::inherit)?;
    let seen = Arc::new(Mutex::new(Seen::new(scenario, link.upload)));
    let stop = AtomicBool::new(false);
    let tap = Taps {
        seen: Arc::clone(&seen),
        samples: captures.as_ref().map(|_| Samples::new(scenario)),
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
        // Capabilities belong to a thread. This thread must be able to end the command, even if the
        // command then runs as another user.
        let _ = privileges::keep_kill();
        follow(inside, live);
        let status = wait(&command);
        stop.store(true, Ordering::Relaxed);
        status
    });
    let elapsed = clock.now();
    let (path, taps, timeliness) = forwarder.finish(&mut bed);
    let Taps {
        captures, samples, ..
    } = taps;
    finish(captures)?;
    let seen = seen::locked(&seen).clone();
    let report = Report {
        elapsed_s: elapsed.as_secs_f64(),
        exit_code: exit_code(status),
        most_bps: most.as_bps(),
        deaf,
        // Packets that a link has accepted count as sent, even if the command ends before they
        // leave.
        links: path.summaries(elapsed.max(seen.last_end)),
        down: seen.down.with_rate(),
        up: seen.up.with_rate(),
        timeliness,
        series: samples.map(|samples| samples.series(scenario, zero)),
    };
    serde_json::to_value(report)
        .map_err(|error| SandboxError::new(format!("the report: {error}"), "report this as a bug"))
}

fn exit_code(status: ExitStatus) -> i32 {
    let signal = || 128 + status.signal().unwrap_or(0);
    status.code().unwrap_or_else(signal)
}

/// Starts the programs at the far end, and waits until each listens. Returns those that do not: not
/// every program there is a server.
fn serve(
    bed: &mut Bed,
    programs: &[Vec<OsString>],
    confinement: Option<&Arc<Confinement>>,
) -> Result<Vec<String>, SandboxError> {
    let (mut servers, mut deaf) = (Vec::new(), Vec::new());
    for program in programs {
        let before = bed.far.listeners();
        servers.push(spawn((&bed.far, confinement), program, None, Stdio::null)?);
        if !listens(&mut bed.far, before, &mut servers, programs)? {
            deaf.push(words(program));
        }
    }
    Ok(deaf)
}

fn words(program: &[OsString]) -> String {
    program.join(" ".as_ref()).display().to_string()
}

/// Creates captures of both ends in `directory`, with `zero` as the date of the run's beginning.
fn captures(directory: &Path, zero: Span) -> Result<[Capture; 2], SandboxError> {
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
                "free some space where --out is",
            )
        };
        capture.finish().map_err(cut)?;
    }
    Ok(())
}

/// Opens the proxy's listening socket.
fn door(bed: &Bed) -> Result<TcpListener, SandboxError> {
    let address = (bed.far.address, uplink::PORT);
    bed.far
        .enter()
        .map_err(io::Error::from)
        .and_then(|()| TcpListener::bind(address))
        .map_err(|error| {
            let problem = format!("--uplink: port {} of the far end: {error}", uplink::PORT);
            SandboxError::new(problem, "use another port for the server")
        })
}

fn spawn(
    (end, confinement): (&End, Option<&Arc<Confinement>>),
    program: &[OsString],
    proxy: Option<&str>,
    stdio: fn() -> Stdio,
) -> Result<Child, SandboxError> {
    let (name, arguments) = program.split_first().expect("a command has a name");
    let proxies = ["ALL_PROXY", "all_proxy"]
        .into_iter()
        .filter_map(|name| Some((name, proxy?)));
    end.confined(name, confinement)
        .args(arguments)
        .stdin(stdio())
        .stdout(stdio())
        .envs(proxies)
        .env("FULLPIPE_FAR", crate::bed::FAR.to_string())
        .env("FULLPIPE_NEAR", crate::bed::NEAR.to_string())
        .spawn()
        .map_err(|error| {
            let (problem, fix) = match error.kind() {
                io::ErrorKind::NotFound if !name.as_encoded_bytes().contains(&b'/') => (
                    "not found on PATH".to_owned(),
                    "check the spelling, or install the package that has it",
                ),
                io::ErrorKind::NotFound => ("no such file".to_owned(), "check the path"),
                _ => (error.to_string(), "name a program that can be executed"),
            };
            SandboxError::new(format!("{}: {problem}", name.display()), fix)
        })
}

/// Waits until the last server listens; returns whether it does.
fn listens(
    far: &mut End,
    before: usize,
    servers: &mut [Child],
    commands: &[Vec<OsString>],
) -> Result<bool, SandboxError> {
    let mut ended = None;
    let listens = far.wait_for_listener(before, SERVERS, || {
        ended = servers
            .iter_mut()
            .position(|server| matches!(server.try_wait(), Ok(Some(_))));
        ended.is_some()
    });
    ended.map_or(Ok(listens), |index| {
        let name = words(&commands[index]);
        let problem = format!("--server \"{name}\" ended before it listened");
        Err(SandboxError::new(problem, "run it alone to see why"))
    })
}

/// Starts two threads: one ends the command at the caller's request, one reports progress.
fn follow(inside: &Inside, live: Option<(Arc<Mutex<Seen>>, Clock)>) {
    let waiting = inside.clone();
    std::thread::spawn(move || {
        waiting.wait_for_stop();
        // All processes in this PID namespace but this one.
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

/// Waits for the command, and reaps all other processes that end meanwhile: the first process of a
/// namespace is the parent of every orphan.
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

/// Adds the option of a link that needs no confinement.
pub(crate) fn or_unconfined(SandboxError { problem, fix }: SandboxError) -> SandboxError {
    let fix = format!("{fix}; or do without the confinement: --unconfined");
    SandboxError { problem, fix }
}
