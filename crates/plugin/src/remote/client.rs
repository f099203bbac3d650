//! The side of the simulator.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
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

/// A connection with the process of a run, for one call at a time.
#[derive(Debug)]
struct Channel {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
    sent: Words,
    received: Message,
}

/// Starts a process with an algorithm, and returns a socket to it.
pub type Start = dyn Fn() -> io::Result<UnixStream> + Send + Sync;

/// An algorithm in other processes.
#[derive(Clone)]
struct Known {
    descriptor: &'static Descriptor,
    declared: Arc<str>,
    start: Arc<Start>,
    patience: Duration,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.descriptor.name.fmt(f)
    }
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The processes of a run, by their algorithms.
#[derive(Debug, Default)]
struct OfRun(BTreeMap<&'static str, Arc<Mutex<Channel>>>);

/// Makes an algorithm in other processes one of this process, as `name`. `start` is called now, for the
/// declaration, and once for each run. A call fails if its answer takes longer than `patience`.
///
/// # Errors
/// The words of the other process, when it can't serve the algorithm; or a description of the problem.
pub fn connect(
    name: &str,
    start: Arc<Start>,
    patience: Duration,
) -> Result<&'static Descriptor, String> {
    let (_, declared) = Channel::open(&*start, patience).map_err(|it| trouble(&it, patience))?;
    let descriptor = declared::read(name, &declared, build)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.push(Known {
        descriptor,
        declared: declared.into(),
        start,
        patience,
    });
    Ok(descriptor)
}

/// Forgets the algorithms of this name. Their processes end with their runs.
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

fn build(config: &Config, shared: &mut Shared) -> AnyController {
    let found = {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        // Compared by address: the same name may have belonged to another one before.
        let same = |each: &&Known| std::ptr::eq(each.descriptor.name, config.algorithm);
        known.iter().find(same).cloned()
    };
    let Some(known) = found else {
        fault(config.algorithm, "create", None, "its process has ended");
    };
    let of_run = shared.run::<OfRun>();
    let mut processes = of_run.lock();
    let channel = processes
        .0
        .entry(known.descriptor.name)
        .or_insert_with(|| known.started());
    AnyController::User(Box::new(Remote::new(
        known.descriptor,
        config,
        Arc::clone(channel),
    )))
}

impl Known {
    /// Starts the process of a run, which must declare what the first one did.
    fn started(&self) -> Arc<Mutex<Channel>> {
        let said = match Channel::open(&*self.start, self.patience) {
            Ok((channel, declared)) if *declared == *self.declared => {
                return Arc::new(Mutex::new(channel));
            }
            Ok((_, declared)) => match declared::read(self.descriptor.name, &declared, build) {
                Ok(_) => "its declaration is another one at each import".to_owned(),
                Err(refused) => refused,
            },
            Err(error) => trouble(&error, self.patience),
        };
        fault(self.descriptor.name, "create", None, &said)
    }
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
    decision: Decision,
}

impl Channel {
    /// Starts a process; returns the connection with it, and its declaration.
    fn open(start: &Start, patience: Duration) -> io::Result<(Channel, String)> {
        let socket = start()?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
        let mut reader = BufReader::new(socket.try_clone()?);
        let declared = text(&mut reader, MOST_DECLARED)?;
        let channel = Channel {
            writer: socket,
            reader,
            sent: Words::default(),
            received: Message::default(),
        };
        Ok((channel, declared))
    }

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
        let (_, _, decision) = self.tell(name, Some(cx.now), |words| {
            let [first, second] = numbers;
            words.all(&[
                kind,
                self.id,
                cx.now.as_nanos(),
                cx.rng.key(),
                first,
                second,
            ]);
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
    fn wants_sent(&mut self, _: Time, _: bool) -> bool {
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
