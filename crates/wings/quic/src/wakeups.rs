//! Measures the cost of a program's turns on this machine, and its wake-up latency, to fit the
//! simulator's host model.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bytes::BytesMut;
use fullpipe_scenario::Scenario;
use fullpipe_units::Time;
use nix::sys::prctl::set_timerslack;
use noq_proto::EcnCodepoint;
use serde::Serialize;

use crate::endpoint_metrics::Clock;
use crate::peer::{Burst, Peer};
use crate::real::{self, RunError};
use crate::udp::{BUFFER, BUFFERS, READS, UdpEndpoint, sleep};

/// A turn with activity; times are in nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Wakeup {
    /// Time at which the thread fell asleep before this turn; 0 if it did not sleep.
    pub slept: u64,
    /// Beginning of the turn: the time at which the thread woke.
    pub began: u64,
    /// End of the turn: the time at which its work was done.
    pub done: u64,
    /// Number of system calls that received datagrams.
    pub reads: u64,
    /// Number of datagrams received.
    pub received: u64,
    /// Number of system calls that sent datagrams.
    pub bursts: u64,
    /// Number of datagrams sent.
    pub sent: u64,
}

/// The activity of one end.
#[derive(Debug, Default, Serialize)]
pub struct Side {
    /// Its turns.
    pub turns: Vec<Wakeup>,
    /// Completion time of each send call in nanoseconds; each may wake the other end.
    pub handed_over: Vec<u64>,
}

/// Both ends of a flow.
#[derive(Debug, Serialize)]
pub struct Sides {
    /// The end that sends data.
    pub server: Side,
    /// The end that sends ACKs.
    pub client: Side,
}

/// Runs a scenario's first flow on the loopback, as [`real`] does, and records each turn.
///
/// # Errors
/// When this runner does not support the scenario, or the run fails.
pub fn measure(scenario: &Scenario) -> Result<Sides, RunError> {
    let (source, sink, clock) = real::pair(scenario)?;
    let (end, over) = (Time::ZERO + scenario.duration, &AtomicBool::new(false));
    let joined = thread::scope(|scope| {
        let server = scope.spawn(|| watch(source, clock, end, over));
        let client = watch(sink, clock, end, over);
        let server = server
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, RunError>(Sides {
            server: server?,
            client: client?,
        })
    })?;
    Ok(joined)
}

/// An end of a flow with counters.
#[derive(Debug)]
struct Counted<P> {
    peer: P,
    received: u64,
    bursts: u64,
    sent: u64,
    /// Whether the datagrams of a call are being passed to the kernel.
    sending: bool,
    handed_over: Vec<u64>,
}

impl<P: Peer> Peer for Counted<P> {
    fn receive(&mut self, now: Time, ecn: Option<EcnCodepoint>, data: BytesMut) {
        self.received += 1;
        self.peer.receive(now, ecn, data);
    }

    fn on_received(&mut self, now: Time) {
        self.peer.on_received(now);
    }

    fn on_time(&mut self, now: Time) {
        self.peer.on_time(now);
    }

    fn burst(&mut self, now: Time) -> Option<Burst<'_>> {
        let Counted {
            peer,
            bursts,
            sent,
            sending,
            handed_over,
            ..
        } = self;
        if std::mem::take(sending) {
            handed_over.push(now.as_nanos());
        }
        let burst = peer.burst(now)?;
        (*sending, *bursts, *sent) = (true, *bursts + 1, *sent + burst.datagrams().count() as u64);
        Some(burst)
    }

    fn wake_at(&self) -> Option<Time> {
        self.peer.wake_at()
    }

    fn ended(&self) -> Option<&Result<(), String>> {
        self.peer.ended()
    }
}

/// Runs the loop of a side as `udp` does, for one flow.
fn watch<P: Peer>(
    station: UdpEndpoint<P>,
    clock: Clock,
    end: Time,
    over: &AtomicBool,
) -> Result<Side, RunError> {
    let broken = |error: io::Error| RunError::Broken(format!("a socket failed: {error}"));
    let mut station = counted(station);
    set_timerslack(1).map_err(|errno| broken(errno.into()))?;
    let mut buffers = vec![BytesMut::zeroed(BUFFER); BUFFERS];
    let (mut turns, mut slept) = (Vec::new(), Time::ZERO);
    loop {
        let (turn, now) = turn(&mut station, clock, slept, &mut buffers).map_err(broken)?;
        let busy = turn.reads + turn.bursts > 0;
        if busy {
            turns.push(turn);
        }
        if let Some(Err(why)) = station.peer.ended() {
            over.store(true, Ordering::Relaxed);
            return Err(RunError::Broken(format!("the connection ended: {why}")));
        }
        if station.peer.ended().is_some() || now > end || over.load(Ordering::Relaxed) {
            over.store(true, Ordering::Relaxed);
            station.send(clock).map_err(broken)?;
            return Ok(Side {
                turns,
                handed_over: station.peer.handed_over,
            });
        }
        slept = Time::ZERO;
        if !busy {
            slept = Time::from_nanos(turn.done.max(1));
            sleep(std::slice::from_ref(&station), clock).map_err(broken)?;
        }
    }
}

/// Wraps an end with counters that start at zero.
fn counted<P: Peer>(station: UdpEndpoint<P>) -> UdpEndpoint<Counted<P>> {
    let UdpEndpoint {
        socket,
        state,
        peer,
        to,
        waiting,
        start,
    } = station;
    let peer = Counted {
        peer,
        received: 0,
        bursts: 0,
        sent: 0,
        sending: false,
        handed_over: Vec::new(),
    };
    UdpEndpoint {
        socket,
        state,
        peer,
        to,
        waiting,
        start,
    }
}

/// Executes one turn: reads the datagrams that have arrived, and sends those that may leave. Also
/// returns the time at which reading was done.
fn turn<P: Peer>(
    station: &mut UdpEndpoint<Counted<P>>,
    clock: Clock,
    slept: Time,
    buffers: &mut [BytesMut],
) -> io::Result<(Wakeup, Time)> {
    let (began, received, bursts, sent) = (
        clock.now(),
        station.peer.received,
        station.peer.bursts,
        station.peer.sent,
    );
    let mut reads = 0;
    while reads < READS as u64 && station.receive(clock, buffers)? {
        reads += 1;
    }
    let now = clock.now();
    if station.peer.wake_at().is_some_and(|at| now >= at) {
        station.peer.on_time(now);
    }
    station.send(clock)?;
    let done = clock.now();
    if std::mem::take(&mut station.peer.sending) {
        station.peer.handed_over.push(done.as_nanos());
    }
    let turn = Wakeup {
        slept: slept.as_nanos(),
        began: began.as_nanos(),
        done: done.as_nanos(),
        reads,
        received: station.peer.received - received,
        bursts: station.peer.bursts - bursts,
        sent: station.peer.sent - sent,
    };
    Ok((turn, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turns_calls_hold_a_batch_at_most_and_every_packet_is_counted() {
        let text = "duration = \"20s\"\n[path]\nkind = \"loopback\"\nrate = \"40gbit\"\nrtt = \"4us\"\nbuffer = \"16MB\"\n[host]\nbatch = 4\n[[flow]]\n\
                    name = \"download\"\ncc = \"cubic\"\nbytes = \"3MB\"\nreceive_window = \"1MB\"\n";
        let sides = measure(&Scenario::parse(text, "test.toml").expect("a valid scenario"))
            .expect("the loopback works");
        let sent: u64 = sides.server.turns.iter().map(|turn| turn.sent).sum();
        let received: u64 = sides.client.turns.iter().map(|turn| turn.received).sum();
        assert!(sent >= 3_000_000 / 1472, "{sent} packets");
        assert!(
            received <= sent && sent < received + 50,
            "{received} of {sent}"
        );
        let calls: u64 = sides.server.turns.iter().map(|turn| turn.bursts).sum();
        assert!(
            sent <= 4 * calls && calls as usize <= sides.server.handed_over.len(),
            "{sent} in {calls} calls"
        );
        assert!(
            sides
                .server
                .turns
                .iter()
                .all(|turn| turn.began <= turn.done && turn.slept <= turn.began)
        );
    }
}
