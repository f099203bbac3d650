//! A user's algorithm in Python, behind the `Controller` trait of `cc`.
//!
//! The arguments of the trait's methods are exposed as read-only views, and each call attaches to
//! the interpreter. The trait has no errors, so a Python exception unwinds the simulation as a
//! panic with the exception as its payload; [`guarded`], around each simulation, returns it as an
//! error. The descriptor of a class lives as long as the process.

mod declared;
mod hint;
mod limit;
mod told;
mod words;

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fullpipe_batch::Around;
use fullpipe_cc::check::panicked;
use fullpipe_cc::{
    Ack, AnyController, Config, Context, Controller, Fault, Frame, Lost, ParamValue, PathChange,
    Recovery, Shared, Snapshot, Transition,
};
use fullpipe_units::{Bytes, Time};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use declared::class_of;
pub(crate) use declared::{Given, registry};
use limit::Call;
pub(crate) use limit::limit_calls;
pub(crate) use told::{
    PyAck as Ack_, PyConfig as Config_, PyConn as Conn_, PyContext as Context_,
    PyDecision as Decision_, PyLost as Lost_, PyRecovery as Recovery_, PySnapshot as Snapshot_,
};
use told::{PyAck, PyConfig, PyConn, PyContext, PyDecision, PyLost, PyRecovery, PySnapshot};
use words::known;

use crate::error::refused_class;

fn build(config: &Config, shared: &mut Shared) -> AnyController {
    AnyController::User(Box::new(carried(|py| {
        let _call = Call::begin();
        PyController::new(py, config, shared)
            .map_err(|error| noted(py, error, config.algorithm, 0.0))
    })))
}

/// The dictionary that the classes of a group share in a run; `None` before the first of them.
#[derive(Debug, Default)]
struct GroupDict(Option<Py<PyDict>>);

/// A Python exception on its way out of a simulation, which can't continue after it.
struct Raised(PyErr);

/// Calls Python; an exception ends the run and unwinds up to [`guarded`].
pub(crate) fn carried<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    Python::attach(call).unwrap_or_else(|error| resume_unwind(Box::new(Raised(error))))
}

/// Needs of classes on a thread. It is one of the interpreter's for all its work, since else each call of a class would
/// make it one; and has the interpreter for some events, since each handover costs as much as a call.
pub(crate) const AROUND: Around = Around {
    thread: |work| Python::attach(|py| py.detach(work)),
    events: |work| Python::attach(|_| work()),
};

/// Runs code that may call Python. Returns an exception raised by a user's class as an error.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| passed_on(raised(payload)))
}

/// Returns the exception that Python gets for one of a user's class: a command takes none of them for its own end.
pub(crate) fn passed_on(error: PyErr) -> PyErr {
    Python::attach(|py| {
        let errors = py.import("fullpipe.errors");
        // With its traceback, unlike `value`.
        let raised = error.clone_ref(py).into_value(py);
        let told = errors.and_then(|it| it.call_method1("of_class", (raised,)));
        told.map_or(error, PyErr::from_value)
    })
}

/// Returns the exception that a user's class raised, or the failure of a library. Resumes any other
/// panic, which is a bug in fullpipe.
pub(crate) fn raised(payload: Box<dyn Any + Send>) -> PyErr {
    let payload = match payload.downcast::<Raised>() {
        Ok(raised) => return raised.0,
        Err(other) => other,
    };
    match payload.downcast::<Fault>() {
        Ok(fault) => {
            Python::attach(|py| refused_class(py, fault.algorithm, &fault.problem, fault.fix))
        }
        Err(other) => resume_unwind(other),
    }
}

/// Describes a caught panic: an exception of a user's class, the failure of a library, or another one.
pub(crate) fn described(payload: Box<dyn Any + Send>) -> String {
    if !is_raised(payload.as_ref()) {
        return "it panicked".to_owned();
    }
    let error = raised(payload);
    Python::attach(|py| {
        let problem = error
            .value(py)
            .getattr("problem")
            .and_then(|it| it.extract());
        let fix = error.value(py).getattr("fix").and_then(|it| it.extract());
        let fix: String = fix.map_or_else(|_| String::new(), |fix: String| format!("; {fix}"));
        problem.unwrap_or_else(|_| error.to_string()) + &fix + &hint::told(error.value(py))
    })
}

/// Describes a panic: an exception of a user's class with its line. Unwinds with the exception of a signal, which the
/// command raises in any call.
pub(crate) fn exception(payload: Box<dyn Any + Send>) -> String {
    let error = match payload.downcast::<Raised>() {
        Ok(raised) => raised.0,
        Err(other) => return panicked(other),
    };
    let signaled = Python::attach(|py| {
        let stopped = py.import("fullpipe.errors")?.getattr("Stopped")?;
        Ok::<_, PyErr>(error.is_instance(py, &stopped))
    });
    if signaled.unwrap_or(false) {
        resume_unwind(Box::new(Raised(error)));
    }
    Python::attach(|py| {
        let mut step = error.traceback(py).map(Bound::into_any);
        let error = error.value(py);
        let kind = error.get_type();
        let words = match (error.getattr("problem"), kind.name()) {
            (Ok(problem), _) => problem.to_string(),
            (_, Ok(kind)) => format!("{kind}: {error}"),
            (_, Err(_)) => error.to_string(),
        };
        let mut line = String::new();
        while let Some(at) = step.filter(|at| !at.is_none()) {
            if let Ok(number) = at.getattr("tb_lineno") {
                line = format!(" in line {number}");
            }
            step = at.getattr("tb_next").ok();
        }
        words + &line + &hint::told(error)
    })
}

thread_local! {
    /// Whether the contract's check judges the decisions of classes, which have to make none of their own then.
    static JUDGED: Cell<bool> = const { Cell::new(false) };
}

/// Runs the contract's check, which judges the decisions of classes itself.
pub(crate) fn checking<T>(check: impl FnOnce() -> T) -> T {
    let before = JUDGED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(check));
    JUDGED.set(before);
    done.unwrap_or_else(|payload| resume_unwind(payload))
}

/// Returns whether the payload is an exception raised by a user's class, or the failure of a
/// library.
pub(crate) fn is_raised(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Raised>() || payload.is::<Fault>()
}

/// An instance of a user's class.
#[derive(Debug)]
struct PyController {
    algorithm: &'static str,
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
    has_frame: bool,
    has_timer: bool,
    has_end: bool,
    decision: fullpipe_cc::Decision,
    /// Whether the transport owns the window in recovery.
    prr: bool,
    /// Whether a window below one segment ends the run here.
    strict: bool,
    /// Number of values that `observe` returns.
    fields: usize,
    /// Number of states and reasons that this object was the first to use.
    new_words: usize,
}

impl PyController {
    fn new(py: Python<'_>, config: &Config, shared: &mut Shared) -> PyResult<PyController> {
        let (class, prr) = class_of(py, config);
        let params = PyDict::new(py);
        for (name, value) in config.params() {
            match value {
                ParamValue::Number(n) => params.set_item(name, n)?,
                ParamValue::Flag(b) => params.set_item(name, b)?,
                ParamValue::Word(word) => params.set_item(name, word)?,
            }
        }
        let group = shared.group::<GroupDict>(config);
        let group = &mut group.lock().0;
        let group = group.get_or_insert_with(|| PyDict::new(py).unbind());
        let told = PyConfig {
            smss: config.smss.get(),
            initial_cwnd: config.initial_cwnd.get(),
            source: config.source.map(|source| {
                (
                    source.min.as_f64(),
                    source.max.as_f64(),
                    source.frame_period.as_secs_f64(),
                )
            }),
            params: params.unbind(),
            group: group.clone_ref(py),
        };
        let fields = match class.bind(py).getattr_opt("fields")? {
            Some(fields) => fields.len()?,
            None => 0,
        };
        let object = class.call1(py, (told,))?;
        let has = |name: &str| object.bind(py).hasattr(name);
        let conn = Py::new(py, PyConn::default())?;
        let cx = Py::new(py, PyContext::new(conn.clone_ref(py)))?;
        let mut controller = PyController {
            algorithm: config.algorithm,
            cx,
            conn,
            has_sent: has("on_sent")?,
            has_lost: has("on_lost")?,
            has_recovery: has("on_recovery")?,
            has_unused: has("on_unused")?,
            has_path: has("on_path")?,
            has_frame: has("on_frame")?,
            has_timer: has("on_timer")?,
            has_end: has("on_end")?,
            decision: fullpipe_cc::Decision::window(config.initial_cwnd, config.initial_cwnd),
            prr,
            strict: !JUDGED.get(),
            fields,
            new_words: 0,
            object,
        };
        controller.decide(py)?;
        if controller.decision.cwnd < config.smss {
            controller.refuse_small(py, config.smss, "__init__", Time::ZERO)?;
        }
        Ok(controller)
    }

    /// Makes one call with its context, then reads the decision.
    fn call(
        &mut self,
        cx: &mut Context<'_>,
        method: &str,
        call: impl FnOnce(Python<'_>, &Py<PyAny>, &Py<PyContext>) -> PyResult<()>,
    ) {
        let (algorithm, now) = (self.algorithm, cx.now.as_secs_f64());
        carried(|py| {
            let _call = Call::begin();
            let made = || {
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
                self.decide(py)?;
                // Between enter and exit the transport owns the window of a class with PRR.
                if self.decision.cwnd < cx.conn.smss && !(self.prr && cx.conn.in_recovery()) {
                    self.refuse_small(py, cx.conn.smss, method, cx.now)?;
                }
                Ok(())
            };
            made().map_err(|error| noted(py, error, algorithm, now))
        });
    }

    /// Refuses a window in which no segment fits, as one in segments is.
    fn refuse_small(&self, py: Python<'_>, smss: Bytes, method: &str, now: Time) -> PyResult<()> {
        if !self.strict {
            return Ok(());
        }
        let (cwnd, smss, at) = (self.decision.cwnd.get(), smss.get(), now.as_secs_f64());
        let problem = format!(
            "the window is below one segment ({cwnd} of {smss} bytes) after {method} at {at:.3} s"
        );
        let fix = if cwnd < 1_000 {
            format!("windows are in bytes: write {cwnd} * config.smss for {cwnd} segments")
        } else {
            "windows are in bytes: keep it at config.smss or above".to_owned()
        };
        Err(self.broken(py, &problem, &fix))
    }

    fn decide(&mut self, py: Python<'_>) -> PyResult<()> {
        let decision = self
            .object
            .call_method0(py, pyo3::intern!(py, "decision"))?;
        let Ok(decision) = decision.bind(py).cast::<PyDecision>() else {
            let problem = format!("decision() returned {decision}");
            return Err(self.broken(py, &problem, "return a fullpipe.Decision"));
        };
        self.decision = decision.get().0;
        Ok(())
    }

    /// Returns the values of the trace fields.
    fn values(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        let observe = pyo3::intern!(py, "observe");
        if self.fields == 0 && self.object.bind(py).getattr_opt(observe)?.is_none() {
            return Ok(Vec::new());
        }
        let found = self.object.call_method0(py, observe)?;
        let values = found.extract::<Vec<f64>>(py).unwrap_or_default();
        if values.len() == self.fields && (self.fields > 0 || found.bind(py).is_empty()?) {
            return Ok(values);
        }
        let fix = format!(
            "return a list of {} numbers, one for each of `fields`",
            self.fields
        );
        Err(self.broken(py, &format!("observe() returned {found}"), &fix))
    }

    /// The timer fired at `now`, and the decision still has the time `at`, which is not later.
    fn not_later(&self, py: Python<'_>, at: Time, now: Time) -> PyErr {
        let (at, now) = (at.as_secs_f64(), now.as_secs_f64());
        let problem = format!(
            "wake_at = {at}: on_timer was called at {now}, so the timer would fire forever"
        );
        self.broken(py, &problem, "let on_timer set a later time, or None")
    }

    /// The class breaks the contract of controllers.
    fn broken(&self, py: Python<'_>, problem: &str, fix: &str) -> PyErr {
        refused_class(py, self.algorithm, problem, fix)
    }
}

/// Adds to an exception of the class which controller raised it, and when.
fn noted(py: Python<'_>, error: PyErr, algorithm: &str, at: f64) -> PyErr {
    let note = format!("controller {algorithm} failed at {at:.3} s");
    // An exception that takes no note is reported without one.
    let _ = error.value(py).call_method1("add_note", (note,));
    hint::add(py, &error);
    error
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
            self.call(cx, "on_sent", |py, object, told| {
                method!(py, object, "on_sent", (told, PySnapshot(*packet)))
            });
        }
        self.decision != before
    }

    fn hears_sent(&self) -> bool {
        self.has_sent
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        if self.has_lost {
            self.call(cx, "on_lost", |py, object, told| {
                method!(py, object, "on_lost", (told, PyLost(*lost)))
            });
        }
    }

    fn on_acked(&mut self, cx: &mut Context<'_>, packet: &Snapshot) {
        self.call(cx, "on_acked", |py, object, told| {
            method!(py, object, "on_acked", (told, PySnapshot(*packet)))
        });
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.call(cx, "on_ack", |py, object, told| {
            method!(py, object, "on_ack", (told, PyAck(*ack)))
        });
    }

    fn on_recovery(&mut self, cx: &mut Context<'_>, change: Recovery) {
        if self.has_recovery {
            self.call(cx, "on_recovery", |py, object, told| {
                method!(py, object, "on_recovery", (told, PyRecovery(change)))
            });
        }
    }

    fn on_unused(&mut self, cx: &mut Context<'_>, cwnd: Bytes) {
        if self.has_unused {
            self.call(cx, "on_unused", |py, object, told| {
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
            self.call(cx, "on_path", |py, object, told| {
                method!(py, object, "on_path", (told, kind, bytes))
            });
        }
    }

    fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        if self.has_frame {
            let (size, waited) = (frame.size.get(), frame.waited.as_secs_f64());
            self.call(cx, "on_frame", |py, object, told| {
                method!(py, object, "on_frame", (told, size, waited))
            });
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        if self.has_timer {
            self.call(cx, "on_timer", |py, object, told| {
                method!(py, object, "on_timer", (told))
            });
        }
        if let Some(at) = self.decision.wake_at.filter(|at| *at <= cx.now) {
            carried(|py| Err(self.not_later(py, at, cx.now)))
        }
    }

    fn on_end(&mut self, cx: &mut Context<'_>) {
        if self.has_end {
            self.call(cx, "on_end", |py, object, told| {
                method!(py, object, "on_end", (told))
            });
        }
    }

    fn decision(&self) -> fullpipe_cc::Decision {
        self.decision
    }

    fn observe(&self, row: &mut Vec<f64>) {
        row.extend(carried(|py| {
            let _call = Call::begin();
            self.values(py).map_err(|error| {
                let now = self.cx.borrow(py).now();
                noted(py, error, self.algorithm, now)
            })
        }));
    }
}
