//! A user's algorithm in Python, behind the `Controller` trait of `cc`.
//!
//! The arguments of the trait's methods are exposed as read-only views, and each call attaches to
//! the interpreter. The trait has no errors, so a Python exception unwinds the simulation as a
//! panic with the exception as its payload; [`guarded`], around each simulation, returns it as an
//! error. The descriptor of a class lives as long as the process.

mod told;

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use fullpipe_cc::{
    Ack, AnyController, Config, Context, Controller, Descriptor, Domain, Field, Lost, Marks, Param,
    ParamValue, PathChange, Recovery, RecoveryOwner, Registry, Signals, Snapshot, Transition,
};
use fullpipe_units::{Bytes, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) use told::{
    PyAck as Ack_, PyConfig as Config_, PyConn as Conn_, PyContext as Context_,
    PyDecision as Decision_, PyLost as Lost_, PyRecovery as Recovery_, PySnapshot as Snapshot_,
};
use told::{PyAck, PyConfig, PyConn, PyContext, PyDecision, PyLost, PyRecovery, PySnapshot};

/// (name, class, description) of each class that a scenario uses as an algorithm.
pub(crate) type Given = Vec<(String, Py<PyAny>, About)>;

/// Purpose, parameters, fields, whether the algorithm sets the window during recovery itself, and
/// whether it uses random numbers.
type About = (String, Vec<ParamAbout>, Vec<FieldAbout>, bool, bool);
/// Name, unit, purpose, default (a number, a flag or a word), minimum, maximum, and the permitted
/// words.
type ParamAbout = (String, String, String, Value, f64, f64, Vec<String>);
/// Name, unit, purpose, labels.
type FieldAbout = (String, String, String, Vec<String>);

/// The value of a parameter.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum Value {
    /// Tried before a number, since a Python bool is also a number.
    #[pyo3(transparent)]
    Flag(bool),
    #[pyo3(transparent)]
    Number(f64),
    #[pyo3(transparent)]
    Word(String),
}

/// A class that was registered as an algorithm.
struct Known {
    class: Py<PyAny>,
    descriptor: &'static Descriptor,
}

/// The classes registered in this process; their descriptors live as long as the process.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Returns the built-in algorithms and the given ones, which replace built-in ones of the same
/// name.
pub(crate) fn registry(py: Python<'_>, given: Given) -> Registry {
    given
        .into_iter()
        .fold(Registry::default(), |registry, (name, class, about)| {
            registry.with(descriptor(py, &name, class, about))
        })
}

fn descriptor(py: Python<'_>, name: &str, class: Py<PyAny>, about: About) -> &'static Descriptor {
    let same =
        |known: &&Known| known.descriptor.name == name && known.class.bind(py).is(class.bind(py));
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(same) {
        return known.descriptor;
    }
    let (purpose, params, fields, own, random) = about;
    let param = |(name, unit, purpose, default, min, max, words): ParamAbout| Param {
        name: leaked(name),
        unit: leaked(unit),
        domain: match default {
            Value::Flag(default) => Domain::Flag { default },
            Value::Number(default) => Domain::Number { default, min, max },
            Value::Word(_) => Domain::Choice(labels(words)),
        },
        purpose: leaked(purpose),
        section: "",
    };
    let field = |(name, unit, purpose, words): FieldAbout| Field {
        name: leaked(name),
        unit: leaked(unit),
        purpose: leaked(purpose),
        labels: labels(words),
    };
    let needs = if class.bind(py).hasattr("on_acked").unwrap_or(false) {
        Signals::ACKED_EACH
    } else {
        Signals::NONE
    };
    let descriptor: Descriptor = Descriptor {
        name: leaked(name.to_owned()),
        purpose: leaked(purpose),
        specifications: &[],
        params: params.into_iter().map(param).collect::<Vec<_>>().leak(),
        profiles: &[],
        preset_of: None,
        fields: fields.into_iter().map(field).collect::<Vec<_>>().leak(),
        recovery: if own {
            RecoveryOwner::Own
        } else {
            RecoveryOwner::Prr
        },
        needs,
        marks: |_| Marks::Answered,
        random,
        build,
    };
    let descriptor: &'static Descriptor = Box::leak(Box::new(descriptor));
    all.push(Known { class, descriptor });
    descriptor
}

fn build(config: &Config) -> AnyController {
    AnyController::User(Box::new(carried(|py| PyController::new(py, config))))
}

fn leaked(text: String) -> &'static str {
    text.leak()
}

fn labels(words: Vec<String>) -> &'static [&'static str] {
    words.into_iter().map(leaked).collect::<Vec<_>>().leak()
}

/// A Python exception on its way out of a simulation, which can't continue after it.
struct Raised(PyErr);

/// Calls Python; an exception ends the run and unwinds up to [`guarded`].
fn carried<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    Python::attach(call).unwrap_or_else(|error| resume_unwind(Box::new(Raised(error))))
}

/// Runs code that may call Python. Returns an exception raised by a user's class as an error.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(raised)
}

/// Returns the exception that a user's class raised. Resumes any other panic, which is a bug in
/// fullpipe.
pub(crate) fn raised(payload: Box<dyn Any + Send>) -> PyErr {
    match payload.downcast::<Raised>() {
        Ok(raised) => raised.0,
        Err(other) => resume_unwind(other),
    }
}

/// Returns whether the payload is an exception raised by a user's class.
pub(crate) fn is_raised(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Raised>()
}

/// An instance of a user's class.
#[derive(Debug)]
struct PyController {
    object: Py<PyAny>,
    /// Context of every call: the same objects each time.
    cx: Py<PyContext>,
    conn: Py<PyConn>,
    /// The optional methods that the object has.
    has_sent: bool,
    has_lost: bool,
    has_recovery: bool,
    has_unused: bool,
    has_path: bool,
    has_timer: bool,
    decision: fullpipe_cc::Decision,
    /// Number of states and reasons that this object was the first to use.
    new_words: usize,
}

impl PyController {
    fn new(py: Python<'_>, config: &Config) -> PyResult<PyController> {
        // Compared by address: the same name may have belonged to another class before.
        let class = {
            let all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            let known = all
                .iter()
                .find(|known| std::ptr::eq(known.descriptor.name, config.algorithm));
            known
                .expect("only a descriptor of this list builds one")
                .class
                .clone_ref(py)
        };
        let params = PyDict::new(py);
        for (name, value) in config.params() {
            match value {
                ParamValue::Number(n) => params.set_item(name, n)?,
                ParamValue::Flag(b) => params.set_item(name, b)?,
                ParamValue::Word(word) => params.set_item(name, word)?,
            }
        }
        let told = PyConfig {
            smss: config.smss.get(),
            initial_cwnd: config.initial_cwnd.get(),
            params: params.unbind(),
        };
        let object = class.call1(py, (told,))?;
        let has = |name: &str| object.bind(py).hasattr(name);
        let conn = Py::new(py, PyConn::default())?;
        let cx = Py::new(py, PyContext::new(conn.clone_ref(py)))?;
        let mut controller = PyController {
            cx,
            conn,
            has_sent: has("on_sent")?,
            has_lost: has("on_lost")?,
            has_recovery: has("on_recovery")?,
            has_unused: has("on_unused")?,
            has_path: has("on_path")?,
            has_timer: has("on_timer")?,
            decision: fullpipe_cc::Decision::window(config.initial_cwnd, config.initial_cwnd),
            new_words: 0,
            object,
        };
        controller.decide(py)?;
        Ok(controller)
    }

    /// Makes one call with its context, then reads the decision.
    fn call(
        &mut self,
        cx: &mut Context<'_>,
        call: impl FnOnce(Python<'_>, &Py<PyAny>, &Py<PyContext>) -> PyResult<()>,
    ) {
        carried(|py| {
            self.conn.borrow_mut(py).0 = cx.conn.clone();
            self.cx.borrow_mut(py).begin(cx.now, cx.rng.clone());
            call(py, &self.object, &self.cx)?;
            let (rng, transitions) = self.cx.borrow_mut(py).end();
            if let Some(rng) = rng {
                *cx.rng = rng;
            }
            for [from, to, reason] in transitions {
                cx.observer.transition(
                    cx.now,
                    Transition {
                        from: known(from, &mut self.new_words)?,
                        to: known(to, &mut self.new_words)?,
                        reason: known(reason, &mut self.new_words)?,
                    },
                );
            }
            self.decide(py)
        });
    }

    fn decide(&mut self, py: Python<'_>) -> PyResult<()> {
        let decision = self
            .object
            .call_method0(py, pyo3::intern!(py, "decision"))?;
        self.decision = decision.bind(py).cast::<PyDecision>()?.get().0;
        Ok(())
    }
}

/// The timer of an algorithm fired at `now`, and its decision still has that time or an earlier one.
fn not_later(at: Time, now: Time) -> PyErr {
    PyValueError::new_err(format!(
        "wake_at = {}: on_timer was called at {}, so the timer would fire forever; let on_timer set \
         a later time, or None",
        at.as_secs_f64(),
        now.as_secs_f64()
    ))
}

/// Maximum number of states and reasons that an algorithm may introduce: each is kept as long as
/// the process lives.
const MOST_WORDS: usize = 1 << 16;

/// States and reasons of all algorithms.
static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns the word with a static lifetime; `new` counts words that were not known.
fn known(word: String, new: &mut usize) -> PyResult<&'static str> {
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(word.as_str()) {
        return Ok(known);
    }
    if *new == MOST_WORDS {
        return Err(PyValueError::new_err(format!(
            "cx.transition: {word:?} exceeds the limit of {MOST_WORDS} states and reasons; \
             put values that change each time into a trace field"
        )));
    }
    *new += 1;
    let word = leaked(word);
    words.insert(word);
    Ok(word)
}

macro_rules! method {
    ($py:ident, $object:ident, $name:literal, ($($argument:expr),*)) => {
        $object.call_method1($py, pyo3::intern!($py, $name), ($($argument,)*)).map(drop)
    };
}

impl Controller for PyController {
    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        let before = self.decision;
        if self.has_sent {
            self.call(cx, |py, object, told| {
                method!(py, object, "on_sent", (told, PySnapshot(*packet)))
            });
        }
        self.decision != before
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        if self.has_lost {
            self.call(cx, |py, object, told| {
                method!(py, object, "on_lost", (told, PyLost(*lost)))
            });
        }
    }

    fn on_acked(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        self.call(cx, |py, object, told| {
            method!(py, object, "on_acked", (told, PySnapshot(*packet)))
        });
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.call(cx, |py, object, told| {
            method!(py, object, "on_ack", (told, PyAck(*ack)))
        });
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        if self.has_recovery {
            self.call(cx, |py, object, told| {
                method!(py, object, "on_recovery", (told, PyRecovery(change)))
            });
        }
    }

    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        if self.has_unused {
            self.call(cx, |py, object, told| {
                method!(py, object, "on_unused", (told, cwnd.get()))
            });
        }
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        if self.has_path {
            let (kind, bytes) = match change {
                PathChange::Mtu => ("mtu", None),
                PathChange::EcnFailed => ("ecn-failed", None),
                PathChange::Seed { bdp } => ("seed", Some(bdp.get())),
                PathChange::Threshold { ssthresh } => ("threshold", Some(ssthresh.get())),
            };
            self.call(cx, |py, object, told| {
                method!(py, object, "on_path", (told, kind, bytes))
            });
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        if self.has_timer {
            self.call(cx, |py, object, told| {
                method!(py, object, "on_timer", (told))
            });
        }
        if let Some(at) = self.decision.wake_at.filter(|at| *at <= cx.now) {
            carried(|_| Err(not_later(at, cx.now)))
        }
    }

    fn decision(&self) -> fullpipe_cc::Decision {
        self.decision
    }

    fn observe(&self, row: &mut Vec<f64>) {
        carried(|py| {
            let Ok(Some(observe)) = self
                .object
                .bind(py)
                .getattr_opt(pyo3::intern!(py, "observe"))
            else {
                return Ok(());
            };
            row.extend(observe.call0()?.extract::<Vec<f64>>()?);
            Ok(())
        });
    }
}
