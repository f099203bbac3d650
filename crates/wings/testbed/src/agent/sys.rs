//! The agent's calls of the kernel that nix does not offer as needed.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;

use super::{AgentError, failed};

/// Numeric socket options without a name in nix.
#[derive(Clone, Copy, Debug)]
pub(super) enum Setting {
    /// Largest window to advertise, bytes.
    WindowClamp(u32),
    /// Limit of written but unsent data, bytes.
    NotSentLowAt(u32),
    /// Payload of a full segment, bytes.
    Segment(u32),
    /// Bytes per second; any value makes TCP pace.
    MaxPacingRate(u64),
}

/// Size of the timestamp option, which TCP_MAXSEG includes.
const TIMESTAMPS: u32 = 12;

/// Sets an option.
#[allow(unsafe_code, reason = "nix has no names for these")]
pub(super) fn set(socket: &OwnedFd, setting: Setting) -> Result<(), AgentError> {
    let (level, name, value, what) = match setting {
        Setting::WindowClamp(value) => (
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            value.into(),
            "TCP_WINDOW_CLAMP",
        ),
        Setting::NotSentLowAt(value) => (
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            value.into(),
            "TCP_NOTSENT_LOWAT",
        ),
        Setting::Segment(value) => (
            libc::IPPROTO_TCP,
            libc::TCP_MAXSEG,
            (value + TIMESTAMPS).into(),
            "TCP_MAXSEG",
        ),
        Setting::MaxPacingRate(value) => (
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            value,
            "SO_MAX_PACING_RATE",
        ),
    };
    // Options of TCP are ints, in the first four of these bytes.
    let bytes = if level == libc::SOL_SOCKET {
        value.to_ne_bytes()
    } else {
        int(value as u32)
    };
    // SAFETY: the kernel reads at most these eight bytes.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, bytes.as_ptr().cast(), 8) };
    Errno::result(result).map(drop).map_err(failed(what))
}

/// Returns an int, followed by four bytes of padding.
fn int(value: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&value.to_ne_bytes());
    bytes
}

/// Returns CLOCK_MONOTONIC in ns.
pub(super) fn now() -> u64 {
    nanos(clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock"))
}

/// Converts a time to ns.
pub(super) fn nanos(time: TimeSpec) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Returns the offset of CLOCK_REALTIME from CLOCK_MONOTONIC in ns: the tightest of ten
/// measurements.
pub(super) fn real_time_ahead() -> i64 {
    let look = || {
        let before = now();
        let real = nanos(
            clock_gettime(nix::time::ClockId::CLOCK_REALTIME).expect("every Linux has this clock"),
        );
        let after = now();
        (
            after - before,
            real as i64 - (before + (after - before) / 2) as i64,
        )
    };
    (0..10).map(|_| look()).min().expect("ten looks").1
}

/// Returns the kernel's release.
pub(super) fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// Reads a TCP-level socket option of any length into `buffer`.
#[allow(
    unsafe_code,
    reason = "nix fixes the length of TCP_INFO, which depends on the kernel"
)]
fn option<'a>(
    socket: &OwnedFd,
    name: libc::c_int,
    buffer: &'a mut [u8],
) -> Result<&'a [u8], Errno> {
    let mut length = buffer.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `buffer`, which has this size, and the
    // length to `length`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            buffer.as_mut_ptr().cast(),
            &mut length,
        )
    };
    Errno::result(result)?;
    Ok(&buffer[..length as usize])
}

/// Buffer with room for TCP_INFO of future kernels.
pub(super) type InfoBuffer = [u8; 512];

/// Reads TCP_INFO.
pub(super) fn tcp_info<'a>(
    socket: &OwnedFd,
    buffer: &'a mut InfoBuffer,
) -> Result<&'a [u8], Errno> {
    option(socket, libc::TCP_INFO, buffer)
}

/// Reads TCP_CC_INFO; empty if the algorithm has none.
pub(super) fn tcp_cc_info<'a>(
    socket: &OwnedFd,
    buffer: &'a mut InfoBuffer,
) -> Result<&'a [u8], Errno> {
    option(socket, libc::TCP_CC_INFO, buffer)
}

/// Returns the number of packets that a packet socket had no room for since the last call.
#[allow(unsafe_code, reason = "nix has no PACKET_STATISTICS")]
pub(super) fn missed(socket: &OwnedFd) -> u64 {
    let mut statistics = [0_u32; 2];
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    let place = statistics.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `length` bytes to `statistics`, which has this size, and
    // the length to `length`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            place,
            &mut length,
        )
    };
    if result == 0 {
        u64::from(statistics[1])
    } else {
        0
    }
}

/// Opens a non-blocking TCP socket.
pub(super) fn stream() -> Result<OwnedFd, AgentError> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socket(AddressFamily::Inet, SockType::Stream, flags, None).map_err(failed("opening a socket"))
}

/// Sets TCP_CONGESTION.
///
/// # Errors
/// When the kernel does not offer `name`; the error lists the algorithms that it offers.
pub(super) fn set_congestion(socket: &OwnedFd, flow: &str, name: &str) -> Result<(), AgentError> {
    let refused = |error| {
        let offered = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .unwrap_or_default();
        let allowed = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
            .unwrap_or_default();
        let offered: Vec<&str> = offered.split_whitespace().collect();
        let problem = format!("flow {flow:?}: the kernel refuses algorithm {name:?} ({error})");
        AgentError::new(
            if offered.contains(&name) && !allowed.split_whitespace().any(|known| known == name) {
                format!(
                    "{problem}\n  fix: as root, add it to /proc/sys/net/ipv4/tcp_allowed_congestion_control"
                )
            } else {
                let list = offered.join(", ");
                format!("{problem}\n  fix: use one of {list}, or as root: modprobe tcp_{name}")
            },
        )
    };
    setsockopt(socket, sockopt::TcpCongestion, &OsString::from(name)).map_err(refused)
}

/// Sets a buffer's size, above the system's limit if permitted.
pub(super) fn set_buffer(socket: &OwnedFd, send: bool, bytes: u32) -> nix::Result<()> {
    let bytes = bytes as usize;
    match send {
        true => setsockopt(socket, sockopt::SndBufForce, &bytes),
        false => setsockopt(socket, sockopt::RcvBufForce, &bytes),
    }
}

/// Makes sure that a TCP socket's buffer can have this size. In a user namespace, where that can't
/// be set by socket, it sets the default of all sockets in this network namespace.
pub(super) fn make_room(socket: &OwnedFd, send: bool, bytes: u32) -> Result<(), AgentError> {
    match set_buffer(socket, send, bytes) {
        Ok(()) => Ok(()),
        // Doubled, as the kernel doubles the size that a socket requests.
        Err(_) => set_sysctl(
            if send { "tcp_wmem" } else { "tcp_rmem" },
            &format!("4096 {0} {0}", u64::from(bytes) * 2),
        ),
    }
}

/// Writes a setting of this network namespace, unless it has this value already.
pub(super) fn set_sysctl(name: &str, value: &str) -> Result<(), AgentError> {
    let path = format!("/proc/sys/net/ipv4/{name}");
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if fs::read_to_string(&path).is_ok_and(|now| words(&now) == words(value)) {
        return Ok(());
    }
    fs::write(&path, value).map_err(|error| {
        AgentError::new(format!(
            "{path} = {value}: {error}\n  fix: run as root in a separate network namespace"
        ))
    })
}

/// Raises the limit of this process's open files as far as permitted.
pub(super) fn open_many_files() -> Result<(), AgentError> {
    let files = || {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
    };
    files().map_err(failed("raising the limit of open files"))
}

/// Binds a packet socket to an interface, for all protocols.
#[allow(unsafe_code, reason = "nix can't make the address of an interface")]
pub(super) fn bind_to_interface(socket: &OwnedFd, index: u32) -> Result<(), Errno> {
    // SAFETY: all bytes zero is a valid address, of no interface.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as i32;
    let (place, length) = (
        (&raw const address).cast(),
        size_of_val(&address) as libc::socklen_t,
    );
    // SAFETY: `place` is an address of `length` bytes, and lives until the call returns.
    Errno::result(unsafe { libc::bind(socket.as_raw_fd(), place, length) }).map(drop)
}

/// Waits for sockets, for a deadline, and for a signal to stop.
#[derive(Debug)]
pub(super) struct Poll {
    epoll: Epoll,
    timer: TimerFd,
    signals: SignalFd,
    stopped: Cell<bool>,
}

/// Reserved tokens.
const TIMER: u64 = u64::MAX;
const SIGNAL: u64 = u64::MAX - 1;

impl Poll {
    pub(super) fn new() -> Result<Poll, AgentError> {
        let poll = || {
            let epoll = Epoll::new(nix::sys::epoll::EpollCreateFlags::EPOLL_CLOEXEC)?;
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
            let mut stop = SigSet::empty();
            stop.add(Signal::SIGTERM);
            stop.add(Signal::SIGINT);
            stop.thread_block()?;
            let signals =
                SignalFd::with_flags(&stop, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
            epoll.add(&signals, EpollEvent::new(EpollFlags::EPOLLIN, SIGNAL))?;
            Ok(Poll {
                epoll,
                timer,
                signals,
                stopped: Cell::new(false),
            })
        };
        poll().map_err(failed("epoll and a timer"))
    }

    /// Returns whether SIGTERM or SIGINT was received, after which the agent completes the
    /// recording.
    pub(super) fn stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Watches `fd` from now on, edge-triggered.
    pub(super) fn add(
        &self,
        fd: impl AsFd,
        flags: EpollFlags,
        token: u64,
    ) -> Result<(), AgentError> {
        self.epoll
            .add(fd, EpollEvent::new(flags | EpollFlags::EPOLLET, token))
            .map_err(failed("epoll"))
    }

    /// Waits for events, at most until `deadline`; returns (token, flags) of each.
    pub(super) fn wait(&self, deadline: u64) -> Result<Vec<(u64, EpollFlags)>, AgentError> {
        // Zero would disarm the timer.
        let at = TimeSpec::from_duration(std::time::Duration::from_nanos(deadline.max(1)));
        self.timer
            .set(
                Expiration::OneShot(at),
                TimerSetTimeFlags::TFD_TIMER_ABSTIME,
            )
            .map_err(failed("setting a timer"))?;
        let mut events = [EpollEvent::empty(); 64];
        let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(failed("epoll")(error)),
        };
        if events[..count].iter().any(|event| event.data() == SIGNAL)
            && self.signals.read_signal().is_ok()
        {
            self.stopped.set(true);
        }
        let happened = events[..count].iter().filter(|event| event.data() < SIGNAL);
        Ok(happened
            .map(|event| (event.data(), event.events()))
            .collect())
    }
}
