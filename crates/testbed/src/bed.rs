//! Two network namespaces with a TUN device each: what is sent in one is read by who forwards it to
//! the other.
#![expect(unsafe_code, reason = "what a child does before it executes a program")]

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

use crate::{SandboxError, device, privileges, sandbox};

/// Both ends, without anything between them.
#[derive(Debug)]
pub struct Bed {
    /// Where the command is.
    pub near: End,
    /// The world as it sees it.
    pub far: End,
}

/// A network namespace.
#[derive(Debug)]
pub struct End {
    /// Its address.
    pub address: Ipv4Addr,
    netns: Arc<OwnedFd>,
    /// What is sent to the other end can be read here; what is written arrives.
    pub tun: Arc<OwnedFd>,
    /// Counters of its devices.
    devices: File,
    /// Its sockets.
    tables: Vec<File>,
}

const PREFIX: u32 = 30;
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);

impl Bed {
    /// Makes both, in a [`Sandbox`](crate::Sandbox), or as root.
    pub fn raise() -> Result<Bed, SandboxError> {
        let far = End::new(FAR)?;
        Ok(Bed {
            far,
            near: End::new(NEAR)?,
        })
    }
}

impl End {
    /// A new network namespace; this thread is in it then.
    fn new(address: Ipv4Addr) -> Result<End, SandboxError> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(sandbox::no_netns)?;
        let tun = device::tun().map_err(no_tun)?;
        device::configure(address, PREFIX)
            .and_then(|()| device::loopback())
            .map_err(|error| {
                sandbox::refused("to set up a TUN device (SIOCSIFADDR and the like)", error)
            })?;
        // So that ping needs no capability; where this can't be written, it does.
        let group = nix::unistd::getgid();
        let _ = std::fs::write(
            "/proc/sys/net/ipv4/ping_group_range",
            format!("{group} {group}"),
        );
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
        Ok(End {
            address,
            netns: Arc::new(netns.into()),
            tun: Arc::new(tun),
            devices,
            tables,
        })
    }

    /// Brings this thread into it. That needs the capability with which it was made.
    pub fn enter(&self) -> nix::Result<()> {
        setns(self.netns.as_fd(), CloneFlags::CLONE_NEWNET)
    }

    /// A program that is to run in it, without capabilities and with signals as they are by
    /// default.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let netns = Arc::clone(&self.netns);
        let mut command = Command::new(program);
        let before = move || {
            setns(netns.as_fd(), CloneFlags::CLONE_NEWNET)?;
            privileges::limit()?;
            for number in
                Signal::iterator().filter(|it| !matches!(it, Signal::SIGKILL | Signal::SIGSTOP))
            {
                // SAFETY: the default action is no handler.
                unsafe { signal(number, SigHandler::SigDfl) }?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec it makes system calls only.
        unsafe { command.pre_exec(before) };
        command
    }

    /// Packets that its device had no room for, since they were not read in time.
    pub fn overflown(&mut self) -> u64 {
        let mut text = String::new();
        let read = self
            .devices
            .rewind()
            .and_then(|()| self.devices.read_to_string(&mut text));
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(device::NAME)?.strip_prefix(':'));
        // Of what is sent, dropped is the fourth of eight numbers, behind as many of what is
        // received.
        let dropped = line.and_then(|line| line.split_whitespace().nth(11)?.parse().ok());
        if read.is_ok() {
            dropped.unwrap_or(0)
        } else {
            0
        }
    }

    /// Waits until a socket in it listens, or has a port of UDP, for so long; whether one does.
    pub fn wait_for_listener(&mut self, most: Duration, mut is_over: impl FnMut() -> bool) -> bool {
        let step = Duration::from_millis(5);
        for _ in 0..most.as_millis() / step.as_millis() {
            if self.tables.iter_mut().any(listens) {
                return true;
            }
            if is_over() {
                return false;
            }
            std::thread::sleep(step);
        }
        false
    }
}

/// Whether a table of the kernel's has a socket that listens (0A), or a UDP socket without a peer
/// (07).
fn listens(table: &mut File) -> bool {
    let mut text = String::new();
    let read = table
        .rewind()
        .and_then(|()| table.read_to_string(&mut text));
    read.is_ok()
        && text
            .lines()
            .skip(1)
            .any(|line| matches!(line.split_whitespace().nth(3), Some("0A" | "07")))
}

fn no_tun(error: Errno) -> SandboxError {
    let problem = format!("/dev/net/tun can't be used: {}", error.desc());
    match error {
        Errno::ENOENT | Errno::ENODEV => SandboxError::new(
            problem,
            "let root load the module: modprobe tun; in a container: --device /dev/net/tun",
        ),
        Errno::EACCES => SandboxError::new(
            problem,
            "let root allow it: chmod 666 /dev/net/tun, or run this as root",
        ),
        _ => sandbox::refused("a TUN device (TUNSETIFF)", error),
    }
}
