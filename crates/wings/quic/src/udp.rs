//! QUIC on the real clock: one thread per side, which serves the sockets of all flows.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use bytes::BytesMut;
use fullpipe_scenario::Quic;
use fullpipe_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::unistd::Pid;
use noq_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};

use crate::data_source::DataSource;
use crate::endpoint_metrics::Clock;
use crate::peer::Peer;
use crate::sink::Sink;

/// Maximum bursts per turn, before the side reads again.
const BURSTS: usize = 8;

/// Maximum receive calls per turn: the packets read in a turn are acknowledged by one ACK.
pub(crate) const READS: usize = 8;

/// Receive buffers per call.
pub(crate) const BUFFERS: usize = 4;

/// Size of a buffer: the largest amount of data that the kernel coalesces.
pub(crate) const BUFFER: usize = 65_536;

/// Maximum wait, after which the shared flags are checked.
const NAP: Span = Span::from_millis(20);

/// Time that a side waits for the other one's close, after the run is over.
const FAREWELL: Span = Span::from_millis(500);

/// One end of a flow, with its socket.
#[derive(Debug)]
pub(crate) struct UdpEndpoint<P> {
    pub(crate) socket: UdpSocket,
    pub(crate) state: UdpSocketState,
    pub(crate) peer: P,
    pub(crate) to: SocketAddr,
    /// A burst that the kernel had no buffer space for: data, segment size, codepoint.
    pub(crate) waiting: Option<(Vec<u8>, usize, Option<EcnCodepoint>)>,
    /// Time before which the end is inactive.
    pub(crate) start: Time,
}

/// State shared by both sides.
#[derive(Debug, Default)]
struct Shared {
    /// Whether one side is done or has failed.
    over: AtomicBool,
    /// Bytes that have arrived.
    got: AtomicU64,
}

/// Notifies the other side that this one has ended, for whatever reason; behind a path, no other
/// signal would reach it.
struct Leaving<'a>(&'a Shared);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

/// Runs both sides to their end, with one thread each; `progress` is called with the time and the
/// bytes that have arrived. Returns the number of turns.
pub(crate) fn run(
    (sources, sinks): (&mut [UdpEndpoint<DataSource>], &mut [UdpEndpoint<Sink>]),
    clock: Clock,
    end: Time,
    quic: &Quic,
    mut progress: impl FnMut(Time, u64),
) -> io::Result<u64> {
    let shared = &Shared::default();
    thread::scope(|scope| {
        let mut over_since = None;
        let server = scope.spawn(move || {
            let _leaving = Leaving(shared);
            side(
                (quic.server_cpu, quic.busy_poll),
                sources,
                clock,
                |now, stations| serve(now, stations, &mut over_since, shared),
            )
        });
        let client = scope.spawn(move || {
            let _leaving = Leaving(shared);
            side(
                (quic.client_cpu, quic.busy_poll),
                sinks,
                clock,
                |now, stations| fetch(now, stations, end, shared),
            )
        });
        while !(server.is_finished() && client.is_finished()) {
            thread::sleep(std::time::Duration::from_millis(50));
            progress(clock.now().min(end), shared.got.load(Ordering::Relaxed));
        }
        let joined = |side: thread::ScopedJoinHandle<'_, io::Result<u64>>| {
            side.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok(joined(server)? + joined(client)?)
    })
}

/// Runs the loop of a side until `done` returns true. Returns the number of turns.
fn side<P: Peer>(
    (cpu, busy_poll): (Option<u32>, bool),
    stations: &mut [UdpEndpoint<P>],
    clock: Clock,
    mut done: impl FnMut(Time, &mut [UdpEndpoint<P>]) -> bool,
) -> io::Result<u64> {
    if let Some(cpu) = cpu {
        let mut set = CpuSet::new();
        set.set(cpu as usize)?;
        sched_setaffinity(Pid::from_raw(0), &set)?;
    }
    // By default, Linux wakes sleeping threads up to 50 us late to save power.
    set_timerslack(1)?;
    let mut buffers = vec![BytesMut::zeroed(BUFFER); BUFFERS];
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
            // Send the closes.
            for station in stations.iter_mut() {
                station.send(clock)?;
            }
            return Ok(turns);
        }
        if !busy && !busy_poll {
            sleep(stations, clock)?;
        }
    }
}

/// Returns whether the server's side is done: all clients have closed, or it has waited long enough
/// for their closes.
fn serve(
    now: Time,
    stations: &mut [UdpEndpoint<DataSource>],
    over_since: &mut Option<Time>,
    shared: &Shared,
) -> bool {
    let ended = stations
        .iter()
        .all(|station| station.peer.ended().is_some());
    let broken = stations
        .iter()
        .any(|station| matches!(station.peer.ended(), Some(Err(_))));
    if broken {
        shared.over.store(true, Ordering::Relaxed);
    }
    if shared.over.load(Ordering::Relaxed) {
        over_since.get_or_insert(now);
    }
    ended || broken || over_since.is_some_and(|since| now > since + FAREWELL)
}

/// Returns whether the client's side is done: everything has arrived, or the time is up.
fn fetch(now: Time, stations: &mut [UdpEndpoint<Sink>], end: Time, shared: &Shared) -> bool {
    shared.got.store(
        stations.iter().map(|station| station.peer.got()).sum(),
        Ordering::Relaxed,
    );
    if now >= end || shared.over.load(Ordering::Relaxed) {
        stations
            .iter_mut()
            .for_each(|station| station.peer.stop(now));
    }
    let ended = stations
        .iter()
        .all(|station| station.peer.ended().is_some());
    let broken = stations
        .iter()
        .any(|station| matches!(station.peer.ended(), Some(Err(_))));
    if ended || broken {
        shared.over.store(true, Ordering::Relaxed);
    }
    ended || broken
}

impl<P: Peer> UdpEndpoint<P> {
    pub(crate) fn new(
        (socket, state): (UdpSocket, UdpSocketState),
        peer: P,
        to: SocketAddr,
        start: Time,
    ) -> UdpEndpoint<P> {
        UdpEndpoint {
            socket,
            state,
            peer,
            to,
            waiting: None,
            start,
        }
    }

    /// Reads the datagrams that have arrived, and sends those that may leave. Returns whether there
    /// were any.
    fn turn(&mut self, clock: Clock, buffers: &mut [BytesMut]) -> io::Result<bool> {
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

    /// Makes one receive call. Returns false if no datagram was there.
    pub(crate) fn receive(&mut self, clock: Clock, buffers: &mut [BytesMut]) -> io::Result<bool> {
        let mut meta = [RecvMeta::default(); BUFFERS];
        let mut slices: Vec<IoSliceMut<'_>> = buffers
            .iter_mut()
            .map(|buffer| IoSliceMut::new(buffer))
            .collect();
        let count = match self
            .state
            .recv((&self.socket).into(), &mut slices, &mut meta)
        {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            // An earlier datagram met a closed port; timers handle that.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(true),
            Err(error) => return Err(error),
        };
        let now = clock.now();
        for (buffer, meta) in buffers.iter_mut().zip(&meta[..count]) {
            let mut data = take(buffer, meta.len);
            let ecn = meta
                .ecn
                .and_then(|ecn| noq_proto::EcnCodepoint::from_bits(ecn as u8));
            while !data.is_empty() {
                let datagram = data.split_to(meta.stride.min(data.len()));
                self.peer.receive(now, ecn, datagram);
            }
        }
        self.peer.on_received(now);
        Ok(true)
    }

    /// Sends until nothing may leave, the kernel's buffer is full, or the turn's maximum is
    /// reached. Returns whether anything left.
    pub(crate) fn send(&mut self, clock: Clock) -> io::Result<bool> {
        let UdpEndpoint {
            socket,
            state,
            peer,
            to,
            waiting,
            ..
        } = self;
        if let Some((data, segment, ecn)) = waiting {
            if !offer(socket, state, *to, data, *segment, *ecn)? {
                return Ok(false);
            }
            *waiting = None;
        }
        for turn in 0..BURSTS {
            let Some(burst) = peer.burst(clock.now()) else {
                return Ok(turn > 0);
            };
            let ecn = burst.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
            if !offer(socket, state, *to, burst.data, burst.segment, ecn)? {
                *waiting = Some((burst.data.to_vec(), burst.segment, ecn));
                return Ok(true);
            }
        }
        Ok(true)
    }
}

/// Takes the data read into a buffer: as a copy if it is short, otherwise the buffer itself, since
/// clearing a new one is cheaper.
fn take(buffer: &mut BytesMut, length: usize) -> BytesMut {
    if length < BUFFER / 4 {
        return BytesMut::from(&buffer[..length]);
    }
    let mut data = std::mem::replace(buffer, BytesMut::zeroed(BUFFER));
    data.truncate(length);
    data
}

/// Passes datagrams to the kernel. Returns whether it accepted them.
fn offer(
    socket: &UdpSocket,
    state: &UdpSocketState,
    destination: SocketAddr,
    contents: &[u8],
    segment: usize,
    ecn: Option<EcnCodepoint>,
) -> io::Result<bool> {
    let segment_size = (segment < contents.len()).then_some(segment);
    let transmit = Transmit {
        destination,
        ecn,
        contents,
        segment_size,
        src_ip: None,
    };
    match state.try_send(socket.into(), &transmit) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        // Treat the datagram as lost: the other end has closed its socket, and timers handle that.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(true),
        Err(error) => Err(error),
    }
}

/// Sleeps until a datagram arrives or the next timer is due.
pub(crate) fn sleep<P: Peer>(stations: &[UdpEndpoint<P>], clock: Clock) -> io::Result<()> {
    let now = clock.now();
    let due = |station: &UdpEndpoint<P>| {
        if now < station.start {
            Some(station.start)
        } else {
            station.peer.wake_at()
        }
    };
    let wake = stations
        .iter()
        .filter_map(due)
        .min()
        .map_or(NAP, |at| at.since(now).min(NAP));
    let mut fds: Vec<PollFd<'_>> = stations
        .iter()
        .map(|station| {
            let out = if station.waiting.is_some() {
                PollFlags::POLLOUT
            } else {
                PollFlags::empty()
            };
            PollFd::new(station.socket.as_fd(), PollFlags::POLLIN | out)
        })
        .collect();
    match ppoll(
        &mut fds,
        Some(TimeSpec::new(0, wake.as_nanos() as i64)),
        None,
    ) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
