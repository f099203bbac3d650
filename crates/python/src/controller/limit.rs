//! The time limit of a call of a user's class: a call that does not return would let the command run forever.
//!
//! A thread looks at the number of calls of each thread. A number that stays the same during a call for [`LOOKS`]
//! belongs to a call that does not return: an exception is raised in it, at its next line. A call that waits, like a
//! `sleep`, has no next line: a signal wakes it if it is on the main thread, and a command ends with an error if it is on
//! another one. A call that is still there after as long again, because it keeps the interpreter, like `10**10**9`, or
//! waits where no signal wakes it, ends the process of a command. Looks are counted, not time, so that a process that was
//! suspended is not to blame.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, RwLock, Weak};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;

/// Time between two looks.
const LOOK_UP: Duration = Duration::from_millis(250);
/// Number of looks after which a call counts as endless: ten seconds.
static LOOKS: AtomicU32 = AtomicU32::new(40);

/// The calls of a thread.
#[derive(Debug, Default)]
struct Calls {
    /// Number of begun and of ended calls: odd during a call.
    number: AtomicU64,
    /// The interpreter's name of the thread.
    thread: AtomicU64,
}

static ALL: Mutex<Vec<Weak<Calls>>> = Mutex::new(Vec::new());
/// Whether this process is a command's, which ends if a call keeps the interpreter; and the pipe for its exit code.
static ENDS: AtomicBool = AtomicBool::new(false);
static EXITS: AtomicI32 = AtomicI32::new(-1);
/// Whether the interpreter ends. A thread that is in Python then aborts the process: Python before 3.14 unwinds it.
static OVER: RwLock<bool> = RwLock::new(false);

thread_local! {
    static OWN: Arc<Calls> = registered();
}

/// Lets a call that keeps the interpreter end this process, after the exit code was written to `exits`; changes the time
/// limit.
#[pyfunction]
#[pyo3(signature = (exits=None, seconds=10.0))]
pub(crate) fn limit_calls(exits: Option<i32>, seconds: f64) {
    let looks = (seconds / LOOK_UP.as_secs_f64()).ceil() as u32;
    LOOKS.store(looks.max(1), Ordering::Relaxed);
    EXITS.store(exits.unwrap_or(-1), Ordering::Relaxed);
    ENDS.store(true, Ordering::Relaxed);
}

/// A call under way in this thread.
pub(super) struct Call(());

impl Call {
    pub(super) fn begin() -> Call {
        OWN.with(|calls| calls.count());
        Call(())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        OWN.with(|calls| calls.count());
    }
}

impl Calls {
    fn count(&self) {
        // Only its thread writes the number.
        let number = self.number.load(Ordering::Relaxed);
        self.number.store(number + 1, Ordering::Relaxed);
    }
}

fn registered() -> Arc<Calls> {
    static WATCH: Once = Once::new();
    let calls = Arc::<Calls>::default();
    let name = Python::attach(|py| {
        let threading = py.import("threading")?;
        threading.call_method0("get_ident")?.extract::<u64>()
    });
    calls.thread.store(name.unwrap_or(0), Ordering::Relaxed);
    locked().push(Arc::downgrade(&calls));
    WATCH.call_once(|| {
        if Python::attach(before_the_end).is_ok() {
            // A contained process may have no second thread: its parent limits its time.
            drop(thread::Builder::new().spawn(watch));
        }
    });
    calls
}

/// Lets the interpreter wait at its end for the threads of the watch that use it, a second at most.
fn before_the_end(py: Python<'_>) -> PyResult<()> {
    let wait = PyCFunction::new_closure(py, None, None, |arguments, _| {
        let py = arguments.py();
        py.detach(|| {
            for _ in 0..1000 {
                if let Ok(mut over) = OVER.try_write() {
                    *over = true;
                    return;
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
    })?;
    py.import("atexit")?.call_method1("register", (wait,))?;
    Ok(())
}

fn locked() -> std::sync::MutexGuard<'static, Vec<Weak<Calls>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch() {
    // The number of each thread's call, and for how many looks it has been the same.
    let mut seen: Vec<(Weak<Calls>, u64, u32)> = Vec::new();
    loop {
        thread::sleep(LOOK_UP);
        let limit = LOOKS.load(Ordering::Relaxed);
        locked().retain(|it| it.strong_count() > 0);
        seen.retain(|(it, ..)| it.strong_count() > 0);
        for each in locked().iter() {
            if !seen.iter().any(|(it, ..)| it.ptr_eq(each)) {
                seen.push((Weak::clone(each), 0, 0));
            }
        }
        for (calls, last, looks) in &mut seen {
            let Some(calls) = calls.upgrade() else {
                continue;
            };
            let number = calls.number.load(Ordering::Relaxed);
            let same = number % 2 == 1 && number == *last;
            (*last, *looks) = (number, if same { *looks + 1 } else { 0 });
            // In threads of their own, since the call may keep the interpreter.
            let thread = calls.thread.load(Ordering::Relaxed);
            if *looks == limit {
                thread::spawn(move || tell("end_call", thread));
            } else if *looks == limit + (limit / 10).max(1) && ENDS.load(Ordering::Relaxed) {
                thread::spawn(move || tell("end_wait", thread));
            } else if *looks >= 2 * limit {
                *looks = 0;
                end_if_kept(thread, move || {
                    calls.number.load(Ordering::Relaxed) == number
                });
            }
        }
    }
}

/// Ends the process of a command if a call keeps the interpreter, or waits still.
#[cfg(target_os = "linux")]
fn end_if_kept(thread: u64, still: impl FnOnce() -> bool + Send + 'static) {
    if !ENDS.load(Ordering::Relaxed) {
        return;
    }
    let exits = EXITS.load(Ordering::Relaxed);
    let end = move |line: &str| crate::signals::end(line, 2, (exits >= 0).then_some(exits));
    let (begun, free) = std::sync::mpsc::channel();
    thread::spawn(move || {
        attached(|py| {
            let _ = begun.send(());
            // With the interpreter, which the call can't have got back: so it is still the same.
            if let (true, Ok(Some(text))) = (still(), asked(py, "waiting", thread)) {
                end(&format!("error: {text}\n"));
            }
        });
    });
    if free.recv_timeout(Duration::from_secs(1)).is_err() {
        end(
            "error: a call of an algorithm did not return, and keeps the interpreter\n  \
             fix: let each method of the class return\n",
        );
    }
}

#[cfg(not(target_os = "linux"))]
fn end_if_kept(_: u64, _: impl FnOnce() -> bool) {}

/// Tells Python's side of a call that does not return. If even that fails, Ctrl-C remains.
fn tell(function: &str, thread: u64) {
    attached(|py| drop(asked(py, function, thread)));
}

/// Calls a function of Python's side with the thread of a call; returns the text that it returns.
fn asked(py: Python<'_>, function: &str, thread: u64) -> PyResult<Option<String>> {
    let errors = py.import("fullpipe.errors")?;
    errors.call_method1(function, (thread,))?.extract()
}

/// Uses the interpreter, which does not end meanwhile; not if it ends already.
fn attached(work: impl FnOnce(Python<'_>)) {
    let over = OVER.read().unwrap_or_else(PoisonError::into_inner);
    if !*over {
        Python::attach(work);
    }
}
