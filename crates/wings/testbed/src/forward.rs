//! The forwarder: reads packets at one end, passes them through the emulator, and writes them to
//! the other end when they are due.
//!
//! One thread serves both directions. It sleeps in `ppoll` until shortly before a packet is due,
//! and then watches clock and devices without sleeping. On a simulated clock it sleeps until a packet
//! is due. No packet is late then, except while a program reads the clock: a reading takes 1 us, and the
//! thread wakes up at its end.

use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use fullpipe_emulator::{
    Direction, DropCause, EmulatedPacket, Emulator, LinkTransit, Observer, PacketKind,
};
use fullpipe_path::EcnCodepoint;
use fullpipe_trace::Histogram;
use fullpipe_units::{Bytes, Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::{TimeSpec, TimeValLike};
use serde::Serialize;

use crate::burst::Outlet;
use crate::clock::Clock;
use crate::cpu::Cpu;
use crate::device::Tun;
use crate::packet::{Header, set_ecn};
use crate::{Bed, privileges, sandbox};

/// Time before a packet is due at which the thread no longer sleeps: waking up takes no longer in
/// most cases.
const SPIN: Span = Span::from_micros(40);
/// Packets that leave the path later than this may be written together with others.
const LATE: Span = Span::from_micros(10);
/// Reads from one end before the thread looks at the other.
const BATCH: usize = 16;
/// Time in each period for which the thread precedes all others. Other threads get the rest, in
/// pieces of 0.1 ms. With a fixed priority (SCHED_FIFO) the thread would have to give way for 50 ms
/// in one piece when the kernel finds that others starve.
const AWAKE: Span = Span::from_micros(900);
const PERIOD: Span = Span::from_millis(1);
/// Longest time without a break, and the part of it for which the thread then sleeps. Without breaks a
/// thread that spins is stopped for more than a millisecond at times, presumably since the kernel
/// enforces the share above at its ticks. If it sleeps for more than a tenth of the time, each waking
/// begins a new period (CBS: Documentation/scheduler/sched-deadline.rst §2.2).
const STINT: Span = Span::from_micros(400);
const SHARE: u64 = 7;
/// Longest break.
const BREAK: Span = Span::from_micros(120);
/// Longest sleep, after which the thread checks for the end of the run.
const NAP: Span = Span::from_millis(20);
/// Largest 99th percentile of lateness with which a run is trusted.
pub const TRUSTED: Span = Span::from_millis(1);

/// The bytes of a packet.
pub type Frame = Box<[u8]>;

/// An end of the bed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end of the command.
    Near,
    /// The end of the outside world.
    Far,
}

/// Maps a packet, by its header and its bytes, to its way through the scenario: the index of a
/// flow, the direction, and the kind of packet. `None` drops it.
pub trait Route: FnMut(Side, &Header, &[u8]) -> Option<(u32, Direction, PacketKind)> {}
impl<F: FnMut(Side, &Header, &[u8]) -> Option<(u32, Direction, PacketKind)>> Route for F {}

/// Observes every packet, in addition to the emulator's [`Observer`].
pub trait Tap: Send {
    /// A packet was read at one end.
    fn entered(&mut self, _at: Time, _side: Side, _packet: &EmulatedPacket<Frame>) {}

    /// A packet was dropped.
    fn dropped(
        &mut self,
        _at: Time,
        _link: Option<usize>,
        _cause: DropCause,
        _packet: &EmulatedPacket<Frame>,
    ) {
    }

    /// A packet passes a link.
    fn passed(&mut self, _transit: &LinkTransit, _packet: &EmulatedPacket<Frame>) {}

    /// A packet is about to be written at the other end, at `at`. It was due at `due`, after it waited in queues
    /// for `waited`.
    fn delivered(
        &mut self,
        _at: Time,
        _due: Time,
        _waited: Span,
        _side: Side,
        _packet: &EmulatedPacket<Frame>,
    ) {
    }

    /// Called about every tenth of a second.
    fn tick(&mut self, _now: Time, _path: &mut Emulator<Frame>) {}
}

/// Accuracy of the forwarder's timing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeliness {
    /// Median of the packets' lateness: from the time due to the time at which the packet's write, or that of its
    /// burst, is prepared.
    pub lateness_p50_s: f64,
    /// 99th percentile of the lateness.
    pub lateness_p99_s: f64,
    /// Largest lateness.
    pub lateness_max_s: f64,
    /// Packets that were never read, because a device was full. A super-packet, of up to 64 kB of a
    /// flow, counts once.
    pub overflown: u64,
    /// Packets that are not IPv4, belong to no flow, or are malformed.
    pub ignored: u64,
    /// Reasons not to trust the run; empty if it can be trusted.
    pub doubts: Vec<String>,
}

/// State of the forwarding thread.
pub struct Forwarder<R, T> {
    path: Emulator<Frame>,
    clock: Clock,
    route: R,
    out: Out<T>,
    ignored: u64,
    since: Cpu,
    simulated: bool,
    /// Whether the thread has to sleep at times, since it has a share of the CPU time.
    takes_breaks: bool,
}

impl<R, T> std::fmt::Debug for Forwarder<R, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarder")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// Output of the emulator.
struct Out<T> {
    clock: Clock,
    /// Time at which the path's present packets were asked for.
    looked: Time,
    near: Outlet,
    far: Outlet,
    /// Side that sends in the forward direction.
    sender: Side,
    lateness: Histogram,
    tap: T,
}

impl<T> Out<T> {
    fn outlet(&mut self, side: Side) -> &mut Outlet {
        match side {
            Side::Near => &mut self.near,
            Side::Far => &mut self.far,
        }
    }

    fn flush(&mut self) {
        self.near.flush();
        self.far.flush();
    }
}

impl<T: Tap> Observer<Frame> for Out<T> {
    fn dropped(
        &mut self,
        at: Time,
        link: Option<usize>,
        cause: DropCause,
        packet: &EmulatedPacket<Frame>,
    ) {
        self.tap.dropped(at, link, cause, packet);
    }

    fn passed(&mut self, passage: &LinkTransit, packet: &EmulatedPacket<Frame>) {
        self.tap.passed(passage, packet);
    }

    fn delivered(&mut self, due: Time, waited: Span, mut packet: EmulatedPacket<Frame>) {
        let side = match (packet.direction, self.sender) {
            (Direction::Forward, Side::Far) | (Direction::Reverse, Side::Near) => Side::Near,
            (Direction::Forward, Side::Near) | (Direction::Reverse, Side::Far) => Side::Far,
        };
        set_ecn(&mut packet.payload, packet.ecn);
        let at = self.clock.now();
        self.lateness.add(at.since(due));
        self.tap.delivered(at, due, waited, side, &packet);
        let is_late = self.looked.since(due) > LATE;
        self.outlet(side).deliver(packet.payload, is_late);
    }
}

impl<R: Route, T: Tap> Forwarder<R, T> {
    /// Creates a forwarder between the ends of `bed`; `sender` sends in the forward direction.
    pub fn new(
        bed: &Bed,
        path: Emulator<Frame>,
        clock: Clock,
        sender: Side,
        route: R,
        tap: T,
    ) -> Forwarder<R, T> {
        let (near, far) = (Outlet::new(&bed.near.tun), Outlet::new(&bed.far.tun));
        let out = Out {
            clock,
            looked: Time::ZERO,
            near,
            far,
            sender,
            lateness: Histogram::default(),
            tap,
        };
        Forwarder {
            path,
            clock,
            route,
            out,
            ignored: 0,
            since: Cpu::now(),
            simulated: bed.simulated,
            takes_breaks: false,
        }
    }

    /// Runs as a separate thread in a [`Sandbox`](crate::Sandbox), ahead of all others and without
    /// capabilities. A panic ends the sandbox: its processes would wait for packets forever.
    pub(crate) fn run_in_front(&mut self, stop: &AtomicBool) {
        self.takes_breaks = hurry(self.simulated);
        let _ = privileges::drop_all();
        if catch_unwind(AssertUnwindSafe(|| self.run(stop))).is_err() {
            sandbox::quit(101);
        }
    }

    /// Forwards until `stop` is set.
    pub fn run(&mut self, stop: &AtomicBool) {
        // Makes the thread's timers exact.
        let _ = prctl::set_timerslack(1);
        let mut buffer = vec![0; Tun::BUFFER];
        let mut tick = Time::ZERO;
        let mut awake_since = self.clock.now();
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            self.out.looked = now;
            self.path.advance(now, &mut self.out);
            self.out.flush();
            if now >= tick {
                self.out.tap.tick(now, &mut self.path);
                tick = now + Span::from_millis(100);
            }
            let read = self.read(Side::Near, &mut buffer) + self.read(Side::Far, &mut buffer);
            let mut slept = if read == 0 { self.wait() } else { Span::ZERO };
            let awake = now.since(awake_since);
            // A stall counts as awake, but needs no longer break.
            let share = (awake / SHARE).min(BREAK);
            if self.takes_breaks && awake > STINT && slept == Span::ZERO {
                slept = self.sleep(share, &mut []);
            }
            if slept >= share {
                awake_since = self.clock.now();
            }
        }
    }

    /// Reads the packets that wait at one end, up to a batch; returns the number of reads.
    fn read(&mut self, side: Side, buffer: &mut [u8]) -> usize {
        for count in 0..BATCH {
            let Ok(packets) = self.out.outlet(side).tun.read(buffer) else {
                return count;
            };
            let now = self.clock.now();
            match packets {
                Some(packets) => packets.for_each(|packet| self.enter(now, side, packet)),
                None => self.ignored += 1,
            }
        }
        BATCH
    }

    /// Passes a packet from one end to the path.
    fn enter(&mut self, now: Time, side: Side, packet: Frame) {
        let header = Header::read(&packet);
        let way = header.and_then(|header| Some((header, (self.route)(side, &header, &packet)?)));
        let Some((Header { ecn, key, .. }, (flow, direction, kind))) = way else {
            self.ignored += 1;
            return;
        };
        let packet = EmulatedPacket {
            flow,
            direction,
            kind,
            key,
            size: Bytes::new(packet.len() as u64),
            ecn,
            payload: packet,
        };
        self.out.tap.entered(now, side, &packet);
        self.out.looked = now;
        self.path.arrive(now, packet, &mut self.out);
        self.out.flush();
    }

    /// Sleeps until a packet arrives, or is nearly due; returns the time asleep.
    fn wait(&self) -> Span {
        let due = self.path.next_at().unwrap_or(Time::MAX);
        let spin = if self.simulated { Span::ZERO } else { SPIN };
        let sleep = due.since(self.clock.now()).saturating_sub(spin).min(NAP);
        if sleep == Span::ZERO {
            return Span::ZERO;
        }
        let mut fds = [&self.out.near, &self.out.far]
            .map(|end| PollFd::new(end.tun.as_fd(), PollFlags::POLLIN));
        self.sleep(sleep, &mut fds)
    }

    /// Sleeps for some time, or until a device can be read; returns the time asleep.
    fn sleep(&self, most: Span, until: &mut [PollFd<'_>]) -> Span {
        let before = self.clock.now();
        let most = TimeSpec::nanoseconds(most.as_nanos() as i64);
        match ppoll(until, Some(most), None) {
            Ok(_) | Err(Errno::EINTR) => self.clock.now().since(before),
            Err(error) => unreachable!("devices can be polled, or none: {error}"),
        }
    }

    /// Returns the path, the tap, and the accuracy of the timing.
    pub fn finish(self, bed: &mut Bed) -> (Emulator<Frame>, T, Timeliness) {
        let seconds = |q: Option<Span>| q.map_or(0.0, Span::as_secs_f64);
        let lateness = &self.out.lateness;
        let overflown = bed.near.overflown() + bed.far.overflown();
        let mut doubts = Vec::new();
        let p99 = lateness.quantile(0.99).unwrap_or(Span::ZERO);
        if p99 > TRUSTED {
            let late = Span::from_micros(p99.as_nanos() / 1_000);
            let why = match self.since.stolen_since() {
                Span::ZERO => "the machine was too busy".to_owned(),
                stolen => format!(
                    "the machine was too busy, or its host, which withheld {stolen} of CPU time"
                ),
            };
            doubts.push(format!(
                "1 % of packets were {late} late or more, beyond {TRUSTED}: {why}"
            ));
        }
        if overflown > 0 {
            doubts.push(format!(
                "{overflown} packets, or super-packets of a flow (up to 64 kB), came faster than they \
                 could be read, and were dropped unseen"
            ));
        }
        let timeliness = Timeliness {
            lateness_p50_s: seconds(lateness.quantile(0.5)),
            lateness_p99_s: seconds(Some(p99)),
            lateness_max_s: seconds(lateness.max()),
            overflown,
            ignored: self.ignored,
            doubts,
        };
        (self.path, self.out.tap, timeliness)
    }
}

/// Puts this thread ahead of others, where permitted (Linux' SCHED_DEADLINE, which needs
/// CAP_SYS_NICE). On a simulated clock its priority is fixed (SCHED_FIFO): then `ppoll` waits to the
/// nanosecond, and user-mode Linux charges no time for the thread's readings of the clock. Returns
/// whether the thread has a share of the time, so that it needs breaks.
fn hurry(simulated: bool) -> bool {
    if simulated {
        let first = libc::sched_param { sched_priority: 1 };
        #[expect(unsafe_code, reason = "sched_setscheduler has no safe form")]
        // SAFETY: the parameter outlives the call, which reads it and affects this thread alone.
        let set = unsafe {
            libc::sched_setscheduler(
                0,
                libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
                &raw const first,
            )
        };
        assert!(set == 0, "root of user-mode Linux may set priorities");
        return false;
    }
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_DEADLINE as u32,
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: AWAKE.as_nanos(),
        sched_deadline: PERIOD.as_nanos(),
        sched_period: PERIOD.as_nanos(),
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    #[expect(
        unsafe_code,
        reason = "sched_setattr and setpriority have no safe form"
    )]
    // SAFETY: the attributes outlive the call, which reads them; the other call takes only numbers.
    // Both affect this thread alone.
    unsafe {
        if cores >= 2 && libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 {
            return true;
        }
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
    }
    false
}

/// Creates a packet as the forwarder does, for measurements.
pub(crate) fn sample(packet: impl Into<Frame>, direction: Direction) -> EmulatedPacket<Frame> {
    let packet = packet.into();
    EmulatedPacket {
        flow: 0,
        direction,
        kind: PacketKind::Data,
        key: 0,
        size: Bytes::new(packet.len() as u64),
        ecn: EcnCodepoint::NotEct,
        payload: packet,
    }
}
