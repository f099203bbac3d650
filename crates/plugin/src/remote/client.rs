//! The side of the simulator.

use std::cell::Cell;
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fullpipe_cc::{
    Ack, AnyController, Config, Context, Controller, Decision, Descriptor, Frame, Lost, PathChange,
    Recovery, Registry, Shared, Snapshot,
};
use fullpipe_units::{Bytes, Time};

use super::declared;
use super::wire::{ANSWER, MOST_DECLARED, MOST_TEXT, Message, Words, answer, call, text};
use crate::abi;
use crate::convert::{path_number, recovery_number};
use crate::host::{broken, checked, fault, numbers};

/// A connection with one process, for one call at a time.
#[derive(Debug)]
struct Channel {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
    sent: Words,
    received: Message,
}

/// An algorithm in other processes: each has its code.
#[derive(Clone, Debug)]
struct Known {
    descriptor: &'static Descriptor,
    channels: Vec<Arc<Mutex<Channel>>>,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of this thread, by which it chooses a process.
    static NUMBER: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed));
}

/// Makes the algorithm that processes serve one of this process, as `name`. A call fails if its
/// answer takes longer than `patience`.
///
/// # Errors
/// The words of the other process, when it can't serve the algorithm; or a description of the problem.
pub fn connect(
    name: &str,
    sockets: Vec<UnixStream>,
    patience: Duration,
) -> Result<&'static Descriptor, String> {
    let mut channels = Vec::new();
    let mut found = None;
    for socket in sockets {
        let failed = |error: io::Error| trouble(&error, patience);
        socket.set_read_timeout(Some(patience)).map_err(failed)?;
        socket.set_write_timeout(Some(patience)).map_err(failed)?;
        let mut reader = BufReader::new(socket.try_clone().map_err(failed)?);
        let declared = text(&mut reader, MOST_DECLARED).map_err(failed)?;
        found.get_or_insert(declared);
        channels.push(Arc::new(Mutex::new(Channel {
            writer: socket,
            reader,
            sent: Words::default(),
            received: Message::default(),
        })));
    }
    let declared = found.ok_or("no process serves it")?;
    let descriptor = declared::read(name, &declared, build)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.push(Known {
        descriptor,
        channels,
    });
    Ok(descriptor)
}

/// Forgets the algorithms of this name, and closes their sockets once no run uses them.
pub fn forget(name: &str) {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|each| each.descriptor.name != name);
}

/// Adds the algorithms of other processes.
pub(crate) fn connected(registry: Registry) -> Registry {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .iter()
        .fold(registry, |registry, each| registry.with(each.descriptor))
}

fn build(config: &Config, _: &mut Shared) -> AnyController {
    let found = {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        // Compared by address: the same name may have belonged to another one before.
        let same = |each: &&Known| std::ptr::eq(each.descriptor.name, config.algorithm);
        known.iter().find(same).cloned()
    };
    let Some(Known {
        descriptor,
        channels,
    }) = found
    else {
        fault(config.algorithm, "create", None, "its process has ended");
    };
    let channel = &channels[NUMBER.with(Cell::get) % channels.len()];
    AnyController::User(Box::new(Remote::new(
        descriptor,
        config,
        Arc::clone(channel),
    )))
}

fn trouble(error: &io::Error, patience: Duration) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("it did not answer within {} s", patience.as_secs())
        }
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => "its process has ended".to_owned(),
        _ => format!("its process can't be reached: {error}"),
    }
}

/// A controller in another process.
#[derive(Debug)]
struct Remote {
    algorithm: &'static str,
    channel: Arc<Mutex<Channel>>,
    id: u64,
    hears: bool,
    /// Whether it draws random numbers, and its stream has not begun.
    seeds: bool,
    decision: Decision,
}

impl Channel {
    /// Sends the words, and returns whether the decision changed, the connection's number, whether it
    /// listens to sent packets, and the decision.
    fn ask(&mut self) -> io::Result<Result<(bool, u64, bool, abi::Decision), String>> {
        self.sent.send(&mut self.writer)?;
        if !self.received.receive(&mut self.reader)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let it = &mut self.received;
        let kind = it.word();
        if kind == answer::FAILED {
            return Ok(Err(text(&mut self.reader, MOST_TEXT)?));
        }
        let (id, hears) = (it.word(), it.word() == 1);
        Ok(Ok((kind != answer::SAME, id, hears, it.decision())))
    }
}

impl Remote {
    fn new(descriptor: &Descriptor, config: &Config, channel: Arc<Mutex<Channel>>) -> Remote {
        let decision = Decision::window(config.initial_cwnd, Bytes::MAX);
        let mut made = Remote {
            algorithm: config.algorithm,
            channel,
            id: 0,
            hears: false,
            seeds: descriptor.random,
            decision,
        };
        let values = numbers(descriptor, config);
        let source = config.source;
        let (id, hears, first) = made.tell("create", None, |words| {
            words.all(&[
                call::CREATE,
                values.len() as u64,
                config.smss.get(),
                config.initial_cwnd.get(),
                source.map_or(abi::NONE, |source| source.min.as_bps()),
                source.map_or(abi::NONE, |source| source.max.as_bps()),
                source.map_or(0, |source| source.frame_period.as_nanos()),
            ]);
            values.iter().for_each(|value| words.push(value.to_bits()));
        });
        (made.id, made.hears) = (id, hears);
        made.take("create", None, first);
        made
    }

    /// Makes a call; returns the number of the connection, whether it listens, and a new decision.
    fn tell(
        &self,
        name: &'static str,
        now: Option<Time>,
        fill: impl FnOnce(&mut Words),
    ) -> (u64, bool, Option<abi::Decision>) {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.sent.begin();
        fill(&mut channel.sent);
        let patience = channel.writer.read_timeout().ok().flatten();
        match channel.ask() {
            Ok(Ok((changed, id, hears, decision))) => (id, hears, changed.then_some(decision)),
            Ok(Err(said)) => {
                drop(channel);
                fault(self.algorithm, name, now, &said)
            }
            Err(error) => {
                // An answer may still come, which would be that of another call.
                let _ = channel.writer.shutdown(std::net::Shutdown::Both);
                drop(channel);
                let said = trouble(&error, patience.unwrap_or_default());
                fault(self.algorithm, name, now, &said)
            }
        }
    }

    /// Makes a call of the contract. Returns whether the decision changed.
    fn call(
        &mut self,
        name: &'static str,
        kind: u64,
        cx: &mut Context<'_>,
        numbers: [u64; 2],
        fill: impl FnOnce(&mut Words),
    ) -> bool {
        let seed = if std::mem::take(&mut self.seeds) {
            cx.rng.next_u64()
        } else {
            0
        };
        let (_, _, decision) = self.tell(name, Some(cx.now), |words| {
            let [first, second] = numbers;
            words.all(&[kind, self.id, cx.now.as_nanos(), seed, first, second]);
            words.conn(cx.conn);
            fill(words);
        });
        let changed = decision.is_some();
        self.take(name, Some(cx.now), decision);
        changed
    }

    fn take(&mut self, name: &'static str, now: Option<Time>, told: Option<abi::Decision>) {
        if let Some(told) = told {
            self.decision = checked(self.algorithm, name, now, (&told).into());
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        let Channel { sent, writer, .. } = &mut *channel;
        sent.begin();
        sent.all(&[call::DESTROY, self.id]);
        // It fails only if the process has ended, and its controllers with it.
        let _ = sent.send(writer).and_then(|()| writer.flush());
    }
}

impl Controller for Remote {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        self.hears && self.call("on_sent", call::SENT, cx, [0, 0], |to| to.snapshot(packet))
    }
    fn hears_sent(&self) -> bool {
        self.hears
    }
    fn wants_sent(&self, _: bool) -> bool {
        self.hears
    }
    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        self.call("on_lost", call::LOST, cx, [0, 0], |to| to.lost(lost));
    }
    fn on_acked(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        self.call("on_acked", call::ACKED, cx, [0, 0], |to| {
            to.snapshot(packet)
        });
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let told = abi::Ack::from(ack);
        self.call("on_ack", call::ACK, cx, [0, 0], |to| to.ack(&told));
    }
    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        let number = u64::from(recovery_number(change));
        self.call("on_recovery", call::RECOVERY, cx, [number, 0], |_| {});
    }
    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        self.call("on_unused", call::UNUSED, cx, [cwnd.get(), 0], |_| {});
    }
    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        let (number, bytes) = path_number(change);
        self.call("on_path", call::PATH, cx, [number.into(), bytes], |_| {});
    }
    fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        let numbers = [frame.size.get(), frame.waited.as_nanos()];
        self.call("on_frame", call::FRAME, cx, numbers, |_| {});
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.call("on_timer", call::TIMER, cx, [0, 0], |_| {});
        if self.decision.wake_at.is_some_and(|at| at <= cx.now) {
            let problem = "wake_at is not later, so the timer would fire forever";
            let fix = "set a later time, or none";
            broken(self.algorithm, "on_timer", Some(cx.now), problem, fix);
        }
    }
    fn on_end(&mut self, cx: &mut Context<'_>) {
        self.call("on_end", call::END, cx, [0, 0], |_| {});
    }
    fn decision(&self) -> Decision {
        self.decision
    }
    fn observe(&self, _: &mut Vec<f64>) {}
}

const _: () = assert!(ANSWER == 3 + 7);
