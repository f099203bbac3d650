//! Two network namespaces with a TUN device each. A forwarder carries packets between the devices.
#![expect(
    unsafe_code,
    reason = "a child makes system calls before it executes a program"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{SigHandler, Signal, signal};

use crate::confine::Confinement;
use crate::device::Tun;
use crate::{Clock, SandboxError, algorithms, device, privileges, route, sandbox};

/// Two ends, without a connection between them.
#[derive(Debug)]
pub struct Bed {
    /// The end at which the command runs.
    pub near: End,
    /// The end that represents the rest of the world.
    pub far: End,
    /// Whether the kernel's clock is simulated, so that a thread wakes up exactly when it asked for.
    pub simulated: bool,
}

/// A network namespace with a TUN device.
#[derive(Debug)]
pub struct End {
    /// Address of the device.
    pub address: Ipv4Addr,
    netns: Arc<OwnedFd>,
    /// The device: reads return packets that this end sends, and writes deliver packets to it.
    pub(crate) tun: Arc<Tun>,
    /// Counters of the namespace's devices.
    devices: File,
    /// Tables of the namespace's sockets.
    tables: Vec<File>,
    /// Counters of the namespace's protocols.
    protocols: Option<File>,
}

const PREFIX: u32 = 30;
/// The shortest and the longest time between two looks for a socket that listens.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(250);
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);

impl Bed {
    /// Creates both ends; requires a [`Sandbox`](crate::Sandbox), or root.
    pub fn raise() -> Result<Bed, SandboxError> {
        Bed::create(false)
    }

    /// Creates both ends on a simulated clock. Their devices have no offloads: these only save CPU
    /// time, which costs nothing there.
    pub(crate) fn raise_simulated() -> Result<Bed, SandboxError> {
        Bed::create(true)
    }

    fn create(simulated: bool) -> Result<Bed, SandboxError> {
        let far = End::new(FAR, !simulated)?;
        Ok(Bed {
            far,
            near: End::new(NEAR, !simulated)?,
            simulated,
        })
    }
}

impl End {
    /// Creates a network namespace and moves this thread into it.
    fn new(address: Ipv4Addr, has_offloads: bool) -> Result<End, SandboxError> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(sandbox::no_netns)?;
        let tun = Tun::new(has_offloads).map_err(no_tun)?;
        device::configure(address, PREFIX)
            .and_then(|()| device::loopback())
            .map_err(|error| {
                sandbox::refused("to set up a TUN device (SIOCSIFADDR and the like)", error)
            })?;
        allow_ping();
        let open = |file: &str| {
            File::open(format!("/proc/thread-self/{file}")).map_err(|error| {
                SandboxError::new(format!("/proc/thread-self/{file}: {error}"), "mount /proc")
            })
        };
        let tables = ["net/tcp", "net/tcp6", "net/udp", "net/udp6"]
            .iter()
            .filter_map(|file| open(file).ok())
            .collect();
        let (netns, devices) = (open("ns/net")?, open("net/dev")?);
        let protocols = open("net/snmp").ok();
        Ok(End {
            address,
            netns: Arc::new(netns.into()),
            tun: Arc::new(tun),
            devices,
            tables,
            protocols,
        })
    }

    /// Moves this thread into the namespace. That requires the capability that created it.
    pub fn enter(&self) -> nix::Result<()> {
        setns(self.netns.as_fd(), CloneFlags::CLONE_NEWNET)
    }

    /// Lets all TCP connections of this end use an algorithm, by the kernel's name or fullpipe's, and
    /// moves this thread into the namespace. `option` names it in an error.
    pub(crate) fn use_algorithm(&self, name: &str, option: &str) -> Result<(), SandboxError> {
        self.with_algorithm(name, |kernel| {
            route::congestion_control(self.address, PREFIX as u8, kernel)
        })
            .map_err(|error| match error {
                Errno::EINVAL => SandboxError::new(
                    format!("{option} {name}: this kernel has no such algorithm, or has not loaded its module"),
                    algorithms::fix_of_missing(name),
                ),
                error => sandbox::refused(
                    &format!("{option} {name} (a route's congctl)"),
                    error,
                ),
            })
    }

    /// Lets the TCP connections of a port use an algorithm, by the kernel's name or fullpipe's, and
    /// moves this thread into the namespace.
    pub(crate) fn use_algorithm_at(&self, port: u16, name: &str) -> nix::Result<()> {
        self.with_algorithm(name, |kernel| {
            route::congestion_control_of_port(self.address, PREFIX as u8, kernel, port)
        })
    }

    /// Calls a function in the namespace with the kernel's name of an algorithm, or with that of
    /// fullpipe's own version if the kernel has no other.
    fn with_algorithm(&self, name: &str, set: impl Fn(&str) -> nix::Result<()>) -> nix::Result<()> {
        self.enter()?;
        match set(algorithms::kernel_name(name)) {
            Err(Errno::EINVAL) => set(&algorithms::bpf_name(name)),
            done => done,
        }
    }

    /// Returns a program to be run in the namespace, without capabilities and with default signal
    /// handlers.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.confined(program, None)
    }

    /// Returns a program as [`command`](End::command) does, which is also confined.
    pub(crate) fn confined(
        &self,
        program: impl AsRef<OsStr>,
        confinement: Option<&Arc<Confinement>>,
    ) -> Command {
        let netns = Arc::clone(&self.netns);
        let confinement = confinement.cloned();
        let mut command = Command::new(program);
        let before = move || {
            setns(netns.as_fd(), CloneFlags::CLONE_NEWNET)?;
            if let Some(confinement) = &confinement {
                confinement.enter()?;
            }
            privileges::limit()?;
            for number in
                Signal::iterator().filter(|it| !matches!(it, Signal::SIGKILL | Signal::SIGSTOP))
            {
                // SAFETY: the default action installs no handler.
                unsafe { signal(number, SigHandler::SigDfl) }?;
            }
            confinement
                .as_ref()
                .map_or(Ok(()), |confinement| confinement.filter())
        };
        // SAFETY: between fork and exec the closure only makes system calls.
        unsafe { command.pre_exec(before) };
        command
    }

    /// Returns the number of packets that the device dropped because they were not read in time; a
    /// super-packet counts once.
    pub fn overflown(&mut self) -> u64 {
        let text = reread(&mut self.devices);
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(device::NAME)?.strip_prefix(':'));
        // Eight numbers about received packets precede eight about sent packets. The fourth number
        // of the second group is the number of dropped packets.
        let dropped = line.and_then(|line| line.split_whitespace().nth(11)?.parse().ok());
        dropped.unwrap_or(0)
    }

    /// Returns the number of UDP packets that arrived, and that the kernel dropped because the buffer of
    /// their socket was full.
    pub fn unread(&mut self) -> u64 {
        let text = self.protocols.as_mut().map_or(String::new(), reread);
        // A line of names precedes the line of values.
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
        let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        let mut pairs = names.split_whitespace().zip(values.split_whitespace());
        let errors = pairs.find(|(name, _)| *name == "RcvbufErrors");
        errors.map_or(0, |(_, value)| value.parse().unwrap_or(0))
    }

    /// Returns the number of sockets that listen or have a UDP port.
    pub fn listeners(&mut self) -> usize {
        self.listeners_at(None)
    }

    /// Waits, at most for `most`, until more than `before` sockets listen or have a UDP port; returns
    /// whether they do.
    pub fn wait_for_listener(
        &mut self,
        before: usize,
        most: Duration,
        is_over: impl FnMut() -> bool,
    ) -> bool {
        self.wait_for(None, before, most, is_over)
    }

    /// Waits as [`wait_for_listener`](End::wait_for_listener) does for a socket at a port.
    pub(crate) fn wait_for_port(
        &mut self,
        port: u16,
        most: Duration,
        is_over: impl FnMut() -> bool,
    ) -> bool {
        self.wait_for(Some(port), 0, most, is_over)
    }

    /// The tables cost the kernel milliseconds, so the time between two looks grows with the wait.
    fn wait_for(
        &mut self,
        port: Option<u16>,
        before: usize,
        most: Duration,
        mut is_over: impl FnMut() -> bool,
    ) -> bool {
        let clock = Clock::start();
        loop {
            if self.listeners_at(port) > before {
                return true;
            }
            let waited = Duration::from_nanos(clock.now().as_nanos());
            if is_over() || waited >= most {
                return false;
            }
            let pause = (waited / 10).clamp(SHORTEST, LONGEST);
            std::thread::sleep(pause.min(most - waited));
        }
    }

    fn listeners_at(&mut self, port: Option<u16>) -> usize {
        let each = self.tables.iter_mut().map(|table| listeners(table, port));
        each.sum()
    }
}

/// Lets ping run without a capability and without set-user-ID. If the setting can't be written, it
/// needs CAP_NET_RAW.
fn allow_ping() {
    let group = nix::unistd::getgid().as_raw();
    // A user namespace may have no other groups than the user's.
    let ranges = [(0, i32::MAX as u32), (group, group)];
    let allow = |(first, last)| {
        let range = format!("{first} {last}");
        std::fs::write("/proc/sys/net/ipv4/ping_group_range", range).is_ok()
    };
    let _ = ranges.into_iter().any(allow);
}

/// Returns the number of a table's sockets that listen (0A), or have UDP without a peer (07), at a port if
/// one is given.
fn listeners(table: &mut File, port: Option<u16>) -> usize {
    let wanted = |address: &str| {
        let at = address.rsplit(':').next();
        let at = at.and_then(|hex| u16::from_str_radix(hex, 16).ok());
        port.is_none() || port == at
    };
    let is_listener = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (address, state) = (words.next(), words.nth(1));
        matches!(state, Some("0A" | "07")) && address.is_some_and(wanted)
    };
    let text = reread(table);
    text.lines()
        .skip(1)
        .filter(|line| is_listener(line))
        .count()
}

/// Returns the present text of a file of /proc; empty if it can't be read.
fn reread(file: &mut File) -> String {
    let mut text = String::new();
    match file.rewind().and_then(|()| file.read_to_string(&mut text)) {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}

fn no_tun(error: Errno) -> SandboxError {
    let problem = format!("/dev/net/tun can't be used: {}", error.desc());
    match error {
        Errno::ENOENT | Errno::ENODEV => SandboxError::new(
            problem,
            "as root, load the module: modprobe tun; in a container: --device /dev/net/tun",
        ),
        Errno::EACCES => SandboxError::new(
            problem,
            "as root, allow access: chmod 666 /dev/net/tun; or run this as root",
        ),
        _ => sandbox::refused("a TUN device (TUNSETIFF)", error),
    }
}
