//! Capacity of this machine: the CPU time that a packet takes in the forwarder, measured before a
//! run.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::Duration;

use fullpipe_emulator::{Direction, Emulator, Observer};
use fullpipe_scenario::{Error, PACKET, Scenario};
use fullpipe_units::{Rate, Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::UdpGsoSegment;
use serde_json::json;

use crate::burst::Outlet;
use crate::clock::{Clock, thread_cpu};
use crate::device::Tun;
use crate::forward::{Frame, sample};
use crate::{Bed, Inside, Sandbox, SandboxError, device};

/// Measured batches and super-packets of each. The fastest batch counts, since others were disturbed.
const PARTS: usize = 8;
const BURSTS: u64 = 32;
/// Packets of a super-packet. A TCP sender makes larger ones at the rates in question
/// (`tcp_tso_autosize`); a program that sends datagrams one by one makes none, and then a run at the
/// limit may have to doubt itself.
const BURST: usize = 8;
/// IP and UDP header, bytes.
const UDP_HEADERS: usize = 28;
/// Passes through the forwarder per data packet: each has half an ACK with it, and the hosts at
/// both ends need as much CPU time again.
const PER_DATA_PACKET: f64 = 1.5 * 2.0;

/// Longest time for one of these packets.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes and counts the packets that leave the path.
struct Write(Outlet, u64);

impl Observer<Frame> for Write {
    fn delivered(&mut self, _: Time, _: Span, packet: fullpipe_emulator::EmulatedPacket<Frame>) {
        self.0.deliver(packet.payload, false);
        self.1 += 1;
    }
}

/// Measures the fastest rate of full packets that this machine can pace, if they come in
/// super-packets and are written one by one. No test packet is left in the bed.
pub(crate) fn measure(bed: &Bed, scenario: &Scenario) -> Result<Rate, SandboxError> {
    let cant = |error: io::Error| {
        SandboxError::new(
            format!("the machine's capacity can't be measured: {error}"),
            "try again",
        )
    };
    let scenario = &with_one_flow(scenario);
    bed.near.enter().map_err(|error| cant(error.into()))?;
    let sink = UdpSocket::bind((bed.near.address, 9))
        .or_else(|_| UdpSocket::bind((bed.near.address, 0)))
        .map_err(cant)?;
    bed.far.enter().map_err(|error| cant(error.into()))?;
    let source = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(cant)?;
    source
        .connect(sink.local_addr().map_err(cant)?)
        .map_err(cant)?;
    sink.set_read_timeout(Some(PATIENCE)).map_err(cant)?;
    let payload = vec![0; BURST * (device::MTU - UDP_HEADERS)];
    let size = (device::MTU - UDP_HEADERS) as i32;
    setsockopt(&source, UdpGsoSegment, &size).map_err(|error| cant(error.into()))?;
    let clock = Clock::start();
    let mut buffer = vec![0; Tun::BUFFER];
    let mut fastest = Span::MAX;
    for _ in 0..PARTS {
        let mut spent = Span::ZERO;
        for _ in 0..BURSTS {
            // Each packet gets a new path: a path's times must not decrease, and this loop does not
            // wait for packets to be due.
            let path = || Emulator::new(scenario, fullpipe_emulator::whole(scenario));
            let mut paths: Vec<_> = std::iter::repeat_with(path).take(BURST).collect();
            let mut out = Write(Outlet::new(&bed.near.tun), 0);
            source.send(&payload).map_err(cant)?;
            // On a busy machine another thread may deliver the packets later, and the kernel
            // occasionally sends packets of its own.
            let mut free = paths.iter_mut();
            while free.len() > 0 {
                wait_for(&bed.far.tun).map_err(cant)?;
                let before = thread_cpu();
                let packets = bed.far.tun.read(&mut buffer);
                let packets = packets.map_err(|error| cant(error.into()))?;
                let full = |packet: &Frame| packet.len() == device::MTU;
                let mut some = false;
                for packet in packets.into_iter().flatten().filter(full) {
                    let Some(path) = free.next() else { break };
                    let now = clock.now();
                    path.arrive(now, sample(packet, Direction::Forward), &mut out);
                    path.advance(now + Span::from_secs(3_600), &mut out);
                    some = true;
                }
                if some {
                    spent += thread_cpu() - before;
                }
            }
            // Fewer if the path loses some.
            for _ in 0..out.1 {
                sink.recv(&mut buffer).map_err(cant)?;
            }
        }
        fastest = fastest.min(spent / (BURSTS * BURST as u64));
    }
    let per_second = 1e9 / fastest.as_nanos().max(1) as f64 / PER_DATA_PACKET;
    Ok(Rate::from_bps_f64(per_second * PACKET.as_f64() * 8.0))
}

/// Waits until a packet can be read from `tun`.
fn wait_for(tun: &Tun) -> io::Result<()> {
    let mut fds = [PollFd::new(tun.as_fd(), PollFlags::POLLIN)];
    match poll(&mut fds, PATIENCE.as_millis() as u16)? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// Reduces the scenario to any one flow: each packet needs a path, a path sets up all its flows,
/// and thousands may arrive.
fn with_one_flow(scenario: &Scenario) -> Scenario {
    let mut one = scenario.clone();
    one.flows.truncate(1);
    if let ([], Some(workload)) = (&one.flows[..], scenario.workloads.first()) {
        one.flows.push(workload.flow.clone());
    }
    one
}

/// Refuses a path that is faster than this machine can pace, before a run. A command with many runs
/// checks all of them first, so this measures only once; a run measures again.
///
/// # Errors
/// When the path is too fast.
pub fn check_pace(scenario: &Scenario) -> Result<(), Error> {
    static MOST: OnceLock<Option<Rate>> = OnceLock::new();
    MOST.get_or_init(|| most(scenario))
        .map_or(Ok(()), |most| check(scenario, most))
}

/// Measures the rate that this machine can pace; `None` if it allows no bed, which the run reports.
fn most(scenario: &Scenario) -> Option<Rate> {
    let scenario = scenario.clone();
    let measure = move |_: &Inside| Ok(json!(measure(&Bed::raise()?, &scenario)?.as_bps()));
    let mut sandbox = Sandbox::start(measure).ok()?;
    loop {
        match sandbox.hear() {
            Ok(Some(said)) => return said["done"].as_u64().map(Rate::from_bps),
            Err(Errno::EINTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Refuses a path that is faster than `most`.
pub(crate) fn check(scenario: &Scenario, most: Rate) -> Result<(), Error> {
    let fastest = scenario.fastest();
    if fastest <= most {
        return Ok(());
    }
    let slower = Rate::from_mbps((most.as_f64() / 1e6) as u64);
    let arrive = match scenario.workloads.is_empty() {
        true => "",
        false => {
            " (if each workload has a load, flows arrive less often, in proportion to the rate)"
        }
    };
    Err(scenario.error(
        "path.rate",
        format_args!("\"{fastest}\""),
        format!("faster than this machine can pace packet by packet, about {slower}"),
        format!("ask for at most \"{slower}\"{arrive}, or run it in virtual time: fullpipe run"),
    ))
}
