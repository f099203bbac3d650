//! The side of the algorithm.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fullpipe_cc::{
    AnyController, Config, Context, Controller, Decision, Descriptor, Frame, NoObserver, Shared,
};
use fullpipe_units::{Bytes, Rng, Span, Time};
use serde_json::json;

use super::declared;
use super::wire::{MOST_TEXT, Message, Words, answer, call, send_text};
use crate::abi;
use crate::convert::{path_of, recovery_of};
use crate::guest::config_of;

/// A controller of a connection, its random stream, and the decision that the other side knows.
struct Served {
    cc: Box<dyn Controller>,
    rng: Option<Rng>,
    known: Option<Decision>,
}

/// Tells the other side that there is no algorithm to serve.
///
/// # Errors
/// When the other side can't be reached.
pub fn refuse(mut socket: impl Write, words: &str) -> io::Result<()> {
    send_text(&mut socket, &json!({ "refused": words }).to_string())
}

/// Serves an algorithm until the other side ends. `words` describes a caught panic.
///
/// # Errors
/// When the other side can't be reached.
pub fn serve(
    socket: impl Read + Write,
    descriptor: &Descriptor,
    words: impl Fn(Box<dyn Any + Send>) -> String,
) -> io::Result<()> {
    let mut socket = BufReader::new(socket);
    send_text(socket.get_mut(), &declared::written(descriptor))?;
    let (mut message, mut reply) = (Message::default(), Words::default());
    let mut all: BTreeMap<u64, Served> = BTreeMap::new();
    let mut next = 0;
    while message.receive(&mut socket)? {
        let kind = message.word();
        if kind == call::DESTROY {
            let gone = all.remove(&message.word());
            let _ = catch_unwind(AssertUnwindSafe(|| drop(gone)));
            continue;
        }
        let made = catch_unwind(AssertUnwindSafe(|| {
            if kind == call::CREATE {
                let made = created(descriptor, &mut message);
                let hears = made.cc.hears_sent();
                all.insert(next, made);
                next += 1;
                (next - 1, hears)
            } else {
                let id = message.word();
                let served = all
                    .get_mut(&id)
                    .expect("the other side names its controllers");
                told(kind, served, &mut message);
                (id, false)
            }
        }));
        match made {
            Ok((id, hears)) => {
                let served = all.get_mut(&id).expect("it was called just now");
                answered(served, id, hears, &mut reply);
                reply.send(socket.get_mut())?;
            }
            Err(payload) => {
                let mut text = words(payload);
                while text.len() > MOST_TEXT {
                    text.pop();
                }
                reply.begin();
                reply.push(answer::FAILED);
                reply.send(socket.get_mut())?;
                send_text(socket.get_mut(), &text)?;
            }
        }
    }
    Ok(())
}

fn answered(served: &mut Served, id: u64, hears: bool, reply: &mut Words) {
    let decision = served.cc.decision();
    let same = served.known == Some(decision);
    served.known = Some(decision);
    reply.begin();
    let kind = if same { answer::SAME } else { answer::DECIDED };
    reply.all(&[kind, id, hears.into()]);
    reply.decision(&(&decision).into());
}

fn created(descriptor: &Descriptor, message: &mut Message) -> Served {
    let count = message.word() as usize;
    let mut given = abi::Config {
        smss: message.word(),
        initial_cwnd: message.word(),
        source_min: message.word(),
        source_max: message.word(),
        source_frame_period: message.word(),
        params: abi::List::of(&[]),
    };
    let values: Vec<f64> = (0..count).map(|_| f64::from_bits(message.word())).collect();
    given.params = abi::List::of(&values);
    // SAFETY: the list is that of `values`, which outlives the call.
    let config: Config = unsafe { config_of(descriptor, &given) };
    let cc: Box<dyn Controller> = match (descriptor.build)(&config, &mut Shared::default()) {
        AnyController::User(cc) => cc,
        built_in => Box::new(built_in),
    };
    Served {
        cc,
        rng: None,
        known: None,
    }
}

/// Makes a call of the contract.
fn told(kind: u64, served: &mut Served, message: &mut Message) {
    let (now, stream) = (Time::from_nanos(message.word()), message.word());
    let (first, second) = (message.word(), message.word());
    let conn = message.conn();
    let rng = served.rng.get_or_insert_with(|| Rng::of(stream));
    let cx = &mut Context {
        now,
        conn: &conn,
        rng,
        observer: &mut NoObserver,
    };
    let cc = &mut served.cc;
    match kind {
        call::ACK => cc.on_ack(cx, &(&message.ack()).into()),
        call::SENT => drop(cc.on_sent(cx, &message.snapshot())),
        call::LOST => cc.on_lost(cx, &message.lost()),
        call::ACKED => cc.on_acked(cx, &message.snapshot()),
        call::RECOVERY => {
            if let Some(change) = recovery_of(first as u32) {
                cc.on_recovery(cx, change);
            }
        }
        call::UNUSED => cc.on_unused(cx, Bytes::new(first)),
        call::PATH => {
            if let Some(change) = path_of(first as u32, second) {
                cc.on_path(cx, change);
            }
        }
        call::FRAME => {
            let (size, waited) = (Bytes::new(first), Span::from_nanos(second));
            cc.on_frame(cx, &Frame { size, waited });
        }
        call::TIMER => cc.on_timer(cx),
        call::END => cc.on_end(cx),
        _ => {}
    }
}
