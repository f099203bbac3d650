//! Programs as flows. The servers start at the near end before the run and have to listen; the
//! clients start at the far end at their times. Both are confined as the programs of a link are,
//! and all end with the run.
//!
//! The thread that starts them keeps the capabilities that the other threads drop: entering an
//! end's namespace needs them.

mod child;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fullpipe_units::Span;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use self::child::{Child, Line, Role};
use crate::confine::Confinement;
use crate::diagnostics::{Connections, Found};
use crate::{Bed, Clock, End, SandboxError, sandbox};

/// The programs of one flow.
#[derive(Clone, Debug)]
pub struct Program {
    /// Index of the flow.
    pub flow: u32,
    /// Name of the flow.
    pub name: String,
    /// The server and its arguments.
    pub server: Vec<String>,
    /// The client and its arguments.
    pub client: Vec<String>,
    /// Congestion control of the server's TCP connections; `None` for the machine's default.
    pub cc: Option<String>,
    /// Directory in which both run, and where their outputs go.
    pub folder: PathBuf,
    /// Time at which the client starts.
    pub start: Span,
}

/// Results of the programs of a flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Index of the flow.
    pub(crate) flow: u32,
    /// Whether the client has ended with success.
    pub(crate) complete: bool,
    /// The kernel's congestion control of the server's connection that sent most; if each was too
    /// short to be seen, the one that they inherited. `None` if the kernel can't tell.
    pub(crate) algorithm: Option<String>,
}

/// Longest time that a server may take until it listens: an interpreter with many modules takes
/// seconds on a busy machine.
const LISTENS: Duration = Duration::from_secs(30);
/// Time that programs have to end after a request.
const GRACE: Duration = Duration::from_secs(2);
/// Time between two looks at the programs.
const STEP: Duration = Duration::from_millis(10);
/// Steps between two looks at a server's connections once they have sent data. A connection that
/// sends more than the first one may come later.
const LOOKS: u32 = 20;

/// Servers that listen, and clients ready to start.
pub(super) struct Ready {
    pairs: Vec<Pair>,
    /// Those of the servers; `None` if this kernel can't list them.
    connections: Option<Connections>,
}

struct Pair {
    flow: u32,
    port: u16,
    start: Span,
    server: Child,
    client: Line,
    running: Option<Child>,
    complete: bool,
    /// Whether a route chose the congestion control of the server's connections.
    routed: bool,
    /// That of the largest of them, or of the server's socket.
    found: Option<Found>,
}

/// Starts the servers, and waits until each listens at its flow's port.
pub(super) fn serve(
    bed: &mut Bed,
    programs: &[Program],
    first_port: u16,
    confinement: &Arc<Confinement>,
) -> Result<Ready, SandboxError> {
    let mut pairs = Vec::new();
    for program in programs {
        let port = first_port.saturating_add(program.flow as u16);
        if let Some(cc) = &program.cc {
            bed.near
                .use_algorithm_at(port, cc)
                .map_err(|error| no_algorithm(program, cc, error))?;
        }
        let line = |end: &End, role| Line::new(end, program, role, confinement);
        let mut server = line(&bed.near, Role::Server)?.start()?;
        let client = line(&bed.far, Role::Client)?;
        let mut ended = false;
        let listens = bed.near.wait_for_port(port, LISTENS, || {
            ended = server.has_ended().is_some();
            ended
        });
        if ended {
            return Err(server.trouble("ended before it listened"));
        }
        if !listens {
            let waited = LISTENS.as_secs();
            return Err(server.trouble(&format!("did not listen at port {port} within {waited} s")));
        }
        pairs.push(Pair {
            flow: program.flow,
            port,
            start: program.start,
            server,
            client,
            running: None,
            complete: false,
            routed: program.cc.is_some(),
            found: None,
        });
    }
    let connections = bed.near.enter().and_then(|()| Connections::open()).ok();
    Ok(Ready { pairs, connections })
}

fn no_algorithm(program: &Program, cc: &str, error: Errno) -> SandboxError {
    let name = &program.name;
    match error {
        // A route with an unknown algorithm is an invalid argument.
        Errno::EINVAL => SandboxError::new(
            format!("program {name:?}: this kernel has no algorithm {cc:?}"),
            crate::algorithms::fix_of_missing(cc),
        ),
        error => sandbox::refused("a route for the algorithm of a port (ip rule)", error),
    }
}

/// Programs that run with the rest of the run.
pub(super) struct Running {
    thread: JoinHandle<Result<Vec<Outcome>, SandboxError>>,
    /// Whether the other flows have ended.
    alone: Arc<AtomicBool>,
    begins: std::sync::mpsc::Sender<()>,
}

impl Ready {
    /// Starts the thread that runs the clients; their times count from `clock`'s zero, once
    /// [`begin`](Running::begin) is called.
    pub(super) fn run(self, clock: Clock, duration: Span) -> Running {
        let (begins, begun) = std::sync::mpsc::channel();
        let alone = Arc::new(AtomicBool::new(false));
        let others_ended = Arc::clone(&alone);
        let thread = std::thread::spawn(move || {
            let Ready {
                mut pairs,
                connections,
            } = self;
            if begun.recv().is_err() {
                return Ok(Vec::new());
            }
            let result = follow(
                &mut pairs,
                connections.as_ref(),
                clock,
                duration,
                &others_ended,
            );
            end(&mut pairs);
            if result.is_err() {
                // Ends the run: all processes in this PID namespace but this one.
                let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            }
            result
        });
        Running {
            thread,
            alone,
            begins,
        }
    }
}

impl Running {
    /// Begins the run.
    pub(super) fn begin(&self) {
        // The thread waits for this message.
        let _ = self.begins.send(());
    }

    /// Waits for the programs, which end at the end of the run or when all clients have ended;
    /// calls `meanwhile` at every `step`.
    pub(super) fn wait(
        self,
        step: Duration,
        mut meanwhile: impl FnMut(),
    ) -> Result<Vec<Outcome>, SandboxError> {
        self.alone.store(true, Ordering::Relaxed);
        while !self.thread.is_finished() {
            std::thread::sleep(step);
            meanwhile();
        }
        self.thread.join().unwrap_or_else(|_| {
            Err(SandboxError::new(
                "the thread of the programs panicked",
                "report this as a bug",
            ))
        })
    }
}

/// Runs the clients until the end of the run; returns their results.
fn follow(
    pairs: &mut [Pair],
    connections: Option<&Connections>,
    clock: Clock,
    duration: Span,
    others_ended: &AtomicBool,
) -> Result<Vec<Outcome>, SandboxError> {
    for step in 0.. {
        let now = Span::from_nanos(clock.now().as_nanos());
        let over = now >= duration;
        for pair in pairs.iter_mut() {
            if let Some(connections) = connections {
                pair.look(connections, now, step);
            }
            pair.step(now, over)?;
        }
        let all = pairs.iter().all(|pair| pair.complete);
        if over || (all && others_ended.load(Ordering::Relaxed)) {
            break;
        }
        std::thread::sleep(STEP);
    }
    Ok(pairs.iter().map(Pair::outcome).collect())
}

impl Pair {
    fn outcome(&self) -> Outcome {
        Outcome {
            flow: self.flow,
            complete: self.complete,
            algorithm: self.found.as_ref().map(|(_, name)| name.clone()),
        }
    }

    /// Looks at the server's socket and connections from the client's start on, while it runs.
    fn look(&mut self, connections: &Connections, now: Span, step: u32) {
        let most = self.found.as_ref().map_or(0, |(acked, _)| *acked);
        let is_due = most == 0 || step.is_multiple_of(LOOKS);
        if now < self.start || self.complete || !is_due {
            return;
        }
        // Connections inherit from a route rather than from the socket that listens.
        let found = connections.algorithm_at(self.port);
        let found = found.filter(|(acked, _)| *acked > 0 || !self.routed);
        if let Some(found) = found.filter(|(acked, _)| most <= *acked) {
            self.found = Some(found);
        }
    }

    fn step(&mut self, now: Span, over: bool) -> Result<(), SandboxError> {
        if self.complete || over {
            return Ok(());
        }
        // The client first: a server may end as soon as it has served.
        if let Some(client) = &mut self.running {
            match client.has_ended() {
                Some(0) => {
                    self.complete = true;
                    return Ok(());
                }
                Some(_) => return Err(client.trouble("failed")),
                None => {}
            }
        } else if now >= self.start {
            self.running = Some(self.client.start()?);
        }
        match self.server.has_ended() {
            Some(0) | None => Ok(()),
            Some(_) => Err(self.server.trouble("ended during the run")),
        }
    }
}

/// Ends the clients, then the servers: a server that sees its connection close can complete its
/// files.
fn end(pairs: &mut [Pair]) {
    let clients = pairs.iter_mut().filter_map(|pair| pair.running.as_mut());
    child::end(clients.collect(), GRACE);
    let servers = pairs.iter_mut().map(|pair| &mut pair.server);
    child::end(servers.collect(), GRACE);
}
