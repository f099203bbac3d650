//! A reader's own algorithm: a class in JavaScript, behind the `Controller` trait of `cc`.
//!
//! The page imports three functions into the module. Arguments and decisions are numbers in
//! [`SLOTS`]; [`crate::layout`] has their order. An exception of the class leaves the module with
//! all its frames, and the page makes a new one.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use fullpipe_cc::{
    Ack, AnyController, Config, Context, Controller, Decision, Descriptor, Domain, EcnCodepoint,
    Field, Frame, Lost, Marks, Param, ParamValue, PathChange, Recovery, RecoveryOwner, Shared,
    Signals, Snapshot, Transition,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};
use serde_json::Value;

use crate::layout::{ACK, CONN, LOST, Layout, PACKET, RECOVERY};

/// Room for the arguments of any call, or for parameters.
const ROOM: usize = 256;
/// Maximum number of states and reasons of an algorithm, as for Python's.
const MOST_WORDS: usize = 1 << 16;

thread_local! {
    static SLOTS: Box<[Cell<f64>; ROOM]> = Box::new([const { Cell::new(0.0) }; ROOM]);
    static RNG: RefCell<Option<Rng>> = const { RefCell::new(None) };
    static WORD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static WORDS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static TRANSITIONS: RefCell<Vec<[usize; 3]>> = const { RefCell::new(Vec::new()) };
}

#[expect(unsafe_code, reason = "functions of the page")]
mod page {
    #[link(wasm_import_module = "own")]
    unsafe extern "C" {
        /// Makes an instance from the slots: segment size, initial window, parameters. Returns its
        /// number, and leaves its decision in the slots.
        pub(super) safe fn make() -> u32;
        /// Calls the method of that number with the arguments in the slots, and leaves the decision
        /// there.
        pub(super) safe fn call(instance: u32, method: u32);
        /// Leaves the values of the fields in the slots.
        pub(super) safe fn observe(instance: u32);
    }
}

/// Returns the address of the slots.
pub(crate) fn slots() -> *const f64 {
    SLOTS.with(|slots| slots.as_ptr().cast())
}

/// Returns a random number from 0 to 1 for the call under way, from the flow's own stream.
pub(crate) fn random() -> f64 {
    RNG.with_borrow_mut(|rng| rng.as_mut().map_or(f64::NAN, Rng::unit))
}

/// Notes a change of state of the call under way, by the numbers of [`word`].
pub(crate) fn transition(from: usize, to: usize, reason: usize) {
    TRANSITIONS.with_borrow_mut(|all| all.push([from, to, reason]));
}

/// Returns room for the text of a state or a reason.
pub(crate) fn word_room(length: usize) -> *mut u8 {
    WORD.with_borrow_mut(|word| {
        *word = vec![0; length];
        word.as_mut_ptr()
    })
}

/// Returns the number of the word in that room; [`u32::MAX`] if there are too many.
pub(crate) fn word() -> u32 {
    WORDS.with_borrow_mut(|words| {
        if words.len() == MOST_WORDS {
            return u32::MAX;
        }
        words.push(leaked(
            &WORD.with_borrow(|word| String::from_utf8_lossy(word).into_owned()),
        ));
        (words.len() - 1) as u32
    })
}

/// The methods that a class may have, in the order of their numbers.
pub(crate) const METHODS: [&str; 10] = [
    "on_sent",
    "on_lost",
    "on_acked",
    "on_ack",
    "on_recovery",
    "on_unused",
    "on_path",
    "on_frame",
    "on_timer",
    "on_end",
];

thread_local! {
    /// The parameters of the class, in its order.
    static PARAMS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// The methods that the class has.
    static HAS: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) };
}

/// Returns the descriptor of a class, from what the page tells about it.
pub(crate) fn descriptor(about: &Value) -> &'static Descriptor {
    let text = |value: &Value| leaked(value.as_str().unwrap_or_default());
    let list = |name: &str| about[name].as_array().cloned().unwrap_or_default();
    let has: BTreeSet<usize> = list("methods")
        .iter()
        .filter_map(|name| {
            METHODS
                .iter()
                .position(|known| Some(*known) == name.as_str())
        })
        .collect();
    let acked = has.contains(&2);
    HAS.set(has);
    let number = |value: &Value, other: f64| value.as_f64().unwrap_or(other);
    let params: Vec<Param> = list("params")
        .iter()
        .map(|param| Param {
            name: text(&param["name"]),
            unit: text(&param["unit"]),
            domain: Domain::Number {
                default: number(&param["default"], 0.0),
                min: number(&param["least"], f64::MIN),
                max: number(&param["most"], f64::MAX),
            },
            purpose: text(&param["purpose"]),
            section: "",
        })
        .collect();
    PARAMS.set(params.iter().map(|param| param.name).collect());
    let fields: Vec<Field> = list("fields")
        .iter()
        .map(|field| Field {
            name: text(&field["name"]),
            unit: text(&field["unit"]),
            purpose: text(&field["purpose"]),
            labels: &[],
        })
        .collect();
    let descriptor: Descriptor = Descriptor {
        name: text(&about["name"]),
        purpose: text(&about["purpose"]),
        specifications: &[],
        params: params.leak(),
        profiles: &[],
        preset_of: None,
        fields: fields.leak(),
        recovery: if about["recovery"] == "own" {
            RecoveryOwner::Own
        } else {
            RecoveryOwner::Prr
        },
        needs: if acked {
            Signals::ACKED_EACH
        } else {
            Signals::NONE
        },
        marks: |_| Marks::Answered,
        random: about["random"] == true,
        build,
    };
    Box::leak(Box::new(descriptor))
}

fn build(config: &Config, _: &mut Shared) -> AnyController {
    AnyController::User(Box::new(Own::new(config)))
}

fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// An instance of the class.
#[derive(Debug)]
struct Own {
    instance: u32,
    decision: Decision,
    fields: usize,
}

impl Own {
    fn new(config: &Config) -> Own {
        // `params` sorts them by name, and the class declares them in another order.
        let given: BTreeMap<_, _> = config.params().collect();
        put(0, [config.smss.as_f64(), config.initial_cwnd.as_f64()]);
        PARAMS.with_borrow(|names| {
            let number = |name: &&'static str| match given.get(name) {
                Some(ParamValue::Number(number)) => *number,
                _ => f64::NAN,
            };
            put(2, names.iter().map(number));
        });
        let instance = page::make();
        Own {
            instance,
            decision: decided(),
            fields: get(8) as usize,
        }
    }

    /// Makes one call whose arguments, behind the connection's, are in the slots.
    fn call(&mut self, cx: &mut Context<'_>, method: u32) {
        put(0, [cx.now.as_secs_f64()]);
        put_all(1, CONN, cx.conn);
        RNG.set(Some(cx.rng.clone()));
        page::call(self.instance, method);
        if let Some(rng) = RNG.take() {
            *cx.rng = rng;
        }
        for change in TRANSITIONS.take() {
            let [from, to, reason] =
                change.map(|number| WORDS.with_borrow(|words| words.get(number).copied()));
            if let (Some(from), Some(to), Some(reason)) = (from, to, reason) {
                cx.observer
                    .transition(cx.now, Transition { from, to, reason });
            }
        }
        self.decision = decided();
    }
}

/// The slot behind those of the connection.
const EVENT: usize = 1 + CONN.len();

fn get(slot: usize) -> f64 {
    SLOTS.with(|slots| slots[slot].get())
}

fn put(from: usize, values: impl IntoIterator<Item = f64>) {
    SLOTS.with(|slots| {
        for (slot, value) in slots[from..].iter().zip(values) {
            slot.set(value);
        }
    });
}

fn put_all<T>(from: usize, layout: Layout<T>, it: &T) {
    put(from, layout.iter().map(|(_, _, value)| value(it)));
}

fn has(method: usize) -> bool {
    HAS.with_borrow(|has| has.contains(&method))
}

/// Returns the decision in the slots, which the page has checked.
fn decided() -> Decision {
    let some = |slot| Some(get(slot)).filter(|value| !value.is_nan());
    Decision {
        cwnd: Bytes::new(get(0) as u64),
        ssthresh: some(1).map_or(Bytes::MAX, |bytes| Bytes::new(bytes as u64)),
        pacing_rate: some(2).map(Rate::from_bps_f64),
        send_quantum: Bytes::new(get(3) as u64),
        ecn: match get(4) {
            1.0 => EcnCodepoint::Ect0,
            2.0 => EcnCodepoint::Ect1,
            _ => EcnCodepoint::NotEct,
        },
        source_rate: some(5).map(Rate::from_bps_f64),
        mark_app_limited: get(6) == 1.0,
        wake_at: some(7).map(|time| Time::ZERO + Span::from_secs_f64(time)),
    }
}

impl Controller for Own {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        let before = self.decision;
        if has(0) {
            put_all(EVENT, PACKET, packet);
            self.call(cx, 0);
        }
        self.decision != before
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        if has(1) {
            put_all(EVENT, PACKET, &lost.packet);
            put_all(EVENT + PACKET.len(), LOST, lost);
            self.call(cx, 1);
        }
    }

    fn on_acked(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        put_all(EVENT, PACKET, packet);
        self.call(cx, 2);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        put_all(EVENT, PACKET, &ack.newest);
        put_all(EVENT + PACKET.len(), ACK, ack);
        self.call(cx, 3);
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        if has(4) {
            put_all(EVENT, RECOVERY, &change);
            self.call(cx, 4);
        }
    }

    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        if has(5) {
            put(EVENT, [cwnd.as_f64()]);
            self.call(cx, 5);
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if has(6) {
            let (kind, bytes) = match change {
                PathChange::Mtu => (0.0, f64::NAN),
                PathChange::EcnFailed => (1.0, f64::NAN),
                PathChange::Seed { bdp } => (2.0, bdp.as_f64()),
                PathChange::Threshold { ssthresh } => (3.0, ssthresh.as_f64()),
            };
            put(EVENT, [kind, bytes]);
            self.call(cx, 6);
        }
    }

    fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        if has(7) {
            put(EVENT, [frame.size.as_f64(), frame.waited.as_secs_f64()]);
            self.call(cx, 7);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.call(cx, 8);
    }

    fn on_end(&mut self, cx: &mut Context<'_>) {
        if has(9) {
            self.call(cx, 9);
        }
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    fn observe(&self, row: &mut Vec<f64>) {
        if self.fields > 0 {
            page::observe(self.instance);
            row.extend((0..self.fields).map(get));
        }
    }
}
