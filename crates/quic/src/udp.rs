//! QUIC on the real clock: a thread a side, each with its flows' sockets on this machine's loopback.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use bytes::BytesMut;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::unistd::Pid;
use noq_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use scenario::{Error, Scenario};
use sim::{Run, TraceLevel};
use units::{Span, Time};

use crate::build::{Plan, Runner, plans};
use crate::half::Clock;
use crate::outcome::{self, Finished, Rest};
use crate::peer::{Parts, Peer, Sink, Source};
use crate::tls::Identity;

/// How it is run, besides what the scenario says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The CPUs that server and client stay on, if they are told to.
    pub pin: Option<[usize; 2]>,
    /// Never sleep: one CPU a side is always busy, and no wake-up is late.
    pub busy: bool,
}

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// The scenario is not for this runner.
    Refused(Box<Error>),
    /// The run went wrong: what, and what helps.
    Broken(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(Box::new(error))
    }
}

/// Sockets ask for so much room; Linux may give less (net.core.rmem_max, wmem_max).
const ROOM: usize = 4 << 20;

/// What a socket should have at least, doubled as Linux counts: some milliseconds' worth.
const LEAST_ROOM: usize = 2 << 20;

/// Bursts of a turn at most, before it is looked what has come.
const BURSTS: usize = 8;

/// Receiving calls of a turn at most: what a turn reads is acknowledged by one ACK.
const READS: usize = 8;

/// Receive buffers of a call, each for as much as the kernel joins.
const BUFFERS: usize = 4;

/// No wait is longer: the flags are looked at.
const NAP: Span = Span::from_millis(20);

/// How long a side waits for the other one's goodbye, once the run is over.
const FAREWELL: Span = Span::from_millis(500);

/// An end of a flow, and its socket.
#[derive(Debug)]
struct Station<P> {
    socket: UdpSocket,
    state: UdpSocketState,
    peer: P,
    to: SocketAddr,
    /// What the kernel had no room for: data, segment size, codepoint.
    waiting: Option<(Vec<u8>, usize, Option<EcnCodepoint>)>,
    /// Not before.
    start: Time,
}

/// What both sides look at.
#[derive(Debug, Default)]
struct Shared {
    /// The client's side is done, or one side is broken.
    over: AtomicBool,
    /// Bytes that arrived.
    got: AtomicU64,
}

/// Runs a scenario on the loopback; `progress` is told of the time and the bytes that have arrived.
///
/// # Errors
/// When the scenario is not for this runner, or the run goes wrong.
pub fn run(
    scenario: &Scenario,
    level: TraceLevel,
    options: &Options,
    mut progress: impl FnMut(Time, u64),
) -> Result<Run, Failure> {
    let plans = plans(scenario, Runner::Loopback, level)?;
    let clock = Clock::start();
    let end = Time::ZERO + scenario.duration;
    let (mut sources, mut sinks, mut descriptors) = (Vec::new(), Vec::new(), Vec::new());
    let mut warnings = Vec::new();
    for plan in plans {
        descriptors.push(plan.descriptor);
        let (source, sink) = stations(scenario, plan, clock, &Identity::new(), &mut warnings)?;
        sources.push(source);
        sinks.push(sink);
    }
    let shared = Shared::default();
    let [server_cpu, client_cpu] = options.pin.map_or([None; 2], |pin| pin.map(Some));
    let turns = thread::scope(|scope| {
        let (shared, sources, sinks) = (&shared, &mut sources, &mut sinks);
        let server = scope.spawn(move || {
            side(server_cpu, sources, clock, options, |now, stations| serve(now, stations, end, shared))
        });
        let client = scope
            .spawn(move || side(client_cpu, sinks, clock, options, |now, stations| fetch(now, stations, end, shared)));
        while !(server.is_finished() && client.is_finished()) {
            thread::sleep(std::time::Duration::from_millis(50));
            progress(clock.now().min(end), shared.got.load(Ordering::Relaxed));
        }
        let joined = |side: thread::ScopedJoinHandle<'_, io::Result<u64>>| {
            side.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok::<u64, io::Error>(joined(server)? + joined(client)?)
    });
    let turns = turns.map_err(|error| Failure::Broken(format!("a socket failed: {error}")))?;
    let mut finished = Vec::new();
    for (((source, sink), spec), descriptor) in sources.into_iter().zip(sinks).zip(&scenario.flows).zip(descriptors) {
        let ends = [("the client", sink.peer.ended()), ("the server", source.peer.ended())];
        for (who, ended) in ends {
            if let Some(Err(why)) = ended {
                return Err(Failure::Broken(format!("{}: the connection ended at {who}: {why}", spec.name)));
            }
        }
        finished.push(Finished {
            source: source.peer,
            sink: sink.peer,
            descriptor,
            tallied: trace::Tallied::default(),
        });
    }
    let last = finished.iter().filter_map(|flow| flow.sink.meter().ended()).max();
    let all = finished.iter().all(|flow| flow.sink.meter().ended().is_some());
    let rest = Rest {
        runner: Runner::Loopback,
        end: last.filter(|_| all).unwrap_or(end),
        links: Vec::new(),
        link_rows: Vec::new(),
        events: turns,
        facts: facts(options),
        warnings,
    };
    Ok(outcome::run(scenario, level, finished, rest))
}

/// What the machine is, in words.
fn facts(options: &Options) -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let cpu = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let mode = match (options.busy, options.pin) {
        (false, None) => "a thread a side",
        (true, None) => "a thread a side, never asleep",
        (false, Some(_)) => "a thread a side, pinned",
        (true, Some(_)) => "a thread a side, pinned, never asleep",
    };
    let facts = [
        ("kernel", read("/proc/sys/kernel/osrelease").trim().to_owned()),
        ("cpu", cpu.unwrap_or("unknown").to_owned()),
        ("cpus", thread::available_parallelism().map_or(0, usize::from).to_string()),
        ("stack", "noq-proto 1.4.0, TLS 1.3 with AES-128-GCM by ring".to_owned()),
        ("threads", mode.to_owned()),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The two ends of a flow, each bound to a port of its own.
fn stations(
    scenario: &Scenario,
    plan: Plan,
    clock: Clock,
    identity: &Identity,
    warnings: &mut Vec<String>,
) -> Result<(Station<Source>, Station<Sink>), Failure> {
    let Plan { index, start, settings, control, meter, ecn, tape, .. } = plan;
    let spec = &scenario.flows[index as usize];
    let (server, client) = (bind(0, warnings)?, bind(0, warnings)?);
    let at = |socket: &UdpSocket| {
        socket.local_addr().map_err(|error| Failure::Broken(format!("a socket has no address: {error}")))
    };
    let (server_at, client_at) = (at(&server.0)?, at(&client.0)?);
    let sink = Sink::new(clock, identity, &settings, server_at, spec.bytes, meter.clone(), start);
    let source =
        Source::new(clock, identity, &settings, client_at, Parts { control, meter, rate: spec.app_rate, ecn, tape });
    let station = |(socket, state), to| (socket, state, to);
    let (socket, state, to) = station(server, client_at);
    let source = Station { socket, state, peer: source, to, waiting: None, start: Time::ZERO };
    let (socket, state, to) = station(client, server_at);
    Ok((source, Station { socket, state, peer: sink, to, waiting: None, start }))
}

/// A socket on the loopback: never seen from outside.
pub(crate) fn bind(port: u16, warnings: &mut Vec<String>) -> Result<(UdpSocket, UdpSocketState), Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let broken = |error: io::Error| {
        let hint = if error.kind() == ErrorKind::AddrInUse { "; take another port" } else { "" };
        Failure::Broken(format!("no UDP socket at {address}: {error}{hint}"))
    };
    let socket = UdpSocket::bind(address).map_err(broken)?;
    let state = UdpSocketState::new((&socket).into()).map_err(broken)?;
    // What is not given is seen below.
    let _ = state.set_recv_buffer_size((&socket).into(), ROOM);
    let _ = state.set_send_buffer_size((&socket).into(), ROOM);
    let room = state.recv_buffer_size((&socket).into()).map_err(broken)?;
    if room < LEAST_ROOM && warnings.is_empty() {
        warnings.push(format!(
            "sockets have room for {} kB only, so datagrams may be lost there; sysctl net.core.rmem_max={ROOM} gives more",
            room / 1000
        ));
    }
    Ok((socket, state))
}

/// A side's loop, until `done` says so. Gives the number of its turns.
fn side<P: Peer>(
    cpu: Option<usize>,
    stations: &mut [Station<P>],
    clock: Clock,
    options: &Options,
    mut done: impl FnMut(Time, &mut [Station<P>]) -> bool,
) -> io::Result<u64> {
    if let Some(cpu) = cpu {
        let mut set = CpuSet::new();
        set.set(cpu)?;
        sched_setaffinity(Pid::from_raw(0), &set)?;
    }
    // Linux wakes a sleeper up to 50 us late, to save power, unless told not to.
    set_timerslack(1)?;
    let mut buffers = vec![vec![0_u8; 65_536]; BUFFERS];
    let mut turns = 0;
    loop {
        turns += 1;
        let mut busy = false;
        for station in stations.iter_mut() {
            if clock.now() >= station.start {
                busy |= station.turn(clock, &mut buffers)?;
            }
        }
        let now = clock.now();
        if done(now, stations) {
            // The goodbyes leave.
            for station in stations.iter_mut() {
                station.send(clock)?;
            }
            return Ok(turns);
        }
        if !busy && !options.busy {
            sleep(stations, clock)?;
        }
    }
}

/// Whether the server's side is done: all clients said goodbye, or it waited long enough for that.
fn serve(now: Time, stations: &mut [Station<Source>], end: Time, shared: &Shared) -> bool {
    let ended = stations.iter().all(|station| station.peer.ended().is_some());
    let broken = stations.iter().any(|station| matches!(station.peer.ended(), Some(Err(_))));
    let over = shared.over.load(Ordering::Relaxed);
    if broken {
        shared.over.store(true, Ordering::Relaxed);
    }
    ended || broken || (over && now > end + FAREWELL)
}

/// Whether the client's side is done: everything arrived, or the time is up.
fn fetch(now: Time, stations: &mut [Station<Sink>], end: Time, shared: &Shared) -> bool {
    shared.got.store(stations.iter().map(|station| station.peer.got()).sum(), Ordering::Relaxed);
    if now >= end || shared.over.load(Ordering::Relaxed) {
        stations.iter_mut().for_each(|station| station.peer.stop(now));
    }
    let ended = stations.iter().all(|station| station.peer.ended().is_some());
    let broken = stations.iter().any(|station| matches!(station.peer.ended(), Some(Err(_))));
    if ended || broken {
        shared.over.store(true, Ordering::Relaxed);
    }
    ended || broken
}

impl<P: Peer> Station<P> {
    /// Reads what has come, and sends what may leave; true if there was anything.
    fn turn(&mut self, clock: Clock, buffers: &mut [Vec<u8>]) -> io::Result<bool> {
        let mut received = false;
        for _ in 0..READS {
            if !self.receive(clock, buffers)? {
                break;
            }
            received = true;
        }
        let now = clock.now();
        let due = self.peer.wake_at().is_some_and(|at| now >= at);
        if due {
            self.peer.on_time(now);
        }
        let sent = self.send(clock)?;
        Ok(received || due || sent)
    }

    /// One call; false when nothing was there.
    fn receive(&mut self, clock: Clock, buffers: &mut [Vec<u8>]) -> io::Result<bool> {
        let mut meta = [RecvMeta::default(); BUFFERS];
        let mut slices: Vec<IoSliceMut<'_>> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let count = match self.state.recv((&self.socket).into(), &mut slices, &mut meta) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            // What an earlier datagram met: nobody at the other port. The timers see to it.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(true),
            Err(error) => return Err(error),
        };
        let now = clock.now();
        for (buffer, meta) in buffers.iter().zip(&meta[..count]) {
            let mut data = BytesMut::from(&buffer[..meta.len]);
            let ecn = meta.ecn.and_then(|ecn| noq_proto::EcnCodepoint::from_bits(ecn as u8));
            while !data.is_empty() {
                let datagram = data.split_to(meta.stride.min(data.len()));
                self.peer.receive(now, ecn, datagram);
            }
        }
        Ok(true)
    }

    /// Sends until nothing may leave, the kernel has no room, or it was enough for a turn; true if anything left.
    fn send(&mut self, clock: Clock) -> io::Result<bool> {
        let Station { socket, state, peer, to, waiting, .. } = self;
        if let Some((data, segment, ecn)) = waiting {
            if !offer(socket, state, *to, data, *segment, *ecn)? {
                return Ok(false);
            }
            *waiting = None;
        }
        for turn in 0..BURSTS {
            let Some(burst) = peer.burst(clock.now()) else { return Ok(turn > 0) };
            let ecn = burst.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
            if !offer(socket, state, *to, burst.data, burst.segment, ecn)? {
                *waiting = Some((burst.data.to_vec(), burst.segment, ecn));
                return Ok(true);
            }
        }
        Ok(true)
    }
}

/// Whether the kernel took it.
fn offer(
    socket: &UdpSocket,
    state: &UdpSocketState,
    destination: SocketAddr,
    contents: &[u8],
    segment: usize,
    ecn: Option<EcnCodepoint>,
) -> io::Result<bool> {
    let segment_size = (segment < contents.len()).then_some(segment);
    let transmit = Transmit { destination, ecn, contents, segment_size, src_ip: None };
    match state.try_send(socket.into(), &transmit) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        // As lost on the way: the other end is gone, which its silence will tell.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(true),
        Err(error) => Err(error),
    }
}

/// Sleeps until something arrives, or the next thing is due.
fn sleep<P: Peer>(stations: &[Station<P>], clock: Clock) -> io::Result<()> {
    let now = clock.now();
    let due = |station: &Station<P>| if now < station.start { Some(station.start) } else { station.peer.wake_at() };
    let wake = stations.iter().filter_map(due).min().map_or(NAP, |at| at.since(now).min(NAP));
    let mut fds: Vec<PollFd<'_>> = stations
        .iter()
        .map(|station| {
            let out = if station.waiting.is_some() { PollFlags::POLLOUT } else { PollFlags::empty() };
            PollFd::new(station.socket.as_fd(), PollFlags::POLLIN | out)
        })
        .collect();
    match ppoll(&mut fds, Some(TimeSpec::new(0, wake.as_nanos() as i64)), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
