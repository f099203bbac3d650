//! Many environments, stepped on threads.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use fullpipe_scenario::Error;

use crate::episode::{Episode, Outcome};
use crate::spec::Spec;

/// Environments with one declaration. Each is a task of a round; threads take tasks in turn, and
/// the caller's thread is one of them.
#[derive(Debug)]
pub struct Batch {
    spec: Arc<Spec>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Whether an environment whose episode is over begins the next one in the next step.
    restarts: bool,
}

/// An environment whose episode could not begin.
#[derive(Debug)]
pub struct Failed {
    /// Number of the environment.
    pub environment: usize,
    /// The reason.
    pub error: Error,
}

#[derive(Debug)]
struct Shared {
    slots: Vec<Mutex<Slot>>,
    next: AtomicUsize,
    finished: AtomicUsize,
    board: Mutex<Board>,
    begin: Condvar,
    end: Condvar,
}

#[derive(Debug, Default)]
struct Board {
    round: u64,
    stop: bool,
}

#[derive(Debug)]
struct Slot {
    episode: Episode,
    task: Option<Task>,
    actions: Vec<f32>,
    error: Option<Error>,
    panic: Option<Box<dyn Any + Send>>,
}

#[derive(Clone, Copy, Debug)]
enum Task {
    Reset(Option<u64>),
    Step,
}

impl Slot {
    fn run(&mut self) {
        let done = match self.task.take() {
            None => return,
            Some(Task::Reset(seed)) => self.episode.reset(seed),
            Some(Task::Step) => {
                self.episode.step(&self.actions);
                Ok(())
            }
        };
        self.error = done.err();
    }
}

impl Batch {
    /// Creates `count` environments, to be stepped by `threads` threads. With `restarts`, a step of
    /// an environment whose episode is over ignores its actions and begins the next episode.
    pub fn new(spec: Arc<Spec>, count: usize, threads: usize, restarts: bool) -> Batch {
        let slot = || {
            Mutex::new(Slot {
                episode: Episode::new(Arc::clone(&spec)),
                task: None,
                actions: vec![0.0; spec.agents().len()],
                error: None,
                panic: None,
            })
        };
        let shared = Arc::new(Shared {
            slots: (0..count).map(|_| slot()).collect(),
            next: AtomicUsize::new(count),
            finished: AtomicUsize::new(0),
            board: Mutex::default(),
            begin: Condvar::new(),
            end: Condvar::new(),
        });
        let helpers = threads.min(count).saturating_sub(1);
        let threads = (0..helpers)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.help())
            })
            .collect();
        Batch {
            spec,
            shared,
            threads,
            restarts,
        }
    }

    /// Returns the declaration.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the number of environments.
    pub fn count(&self) -> usize {
        self.shared.slots.len()
    }

    /// Begins an episode in the environments that `chosen` has, with a seed or with the next one of
    /// the environment.
    ///
    /// # Errors If the drawn settings of one do not fit each other.
    pub fn reset(&self, chosen: &[(usize, Option<u64>)]) -> Result<(), Failed> {
        for (place, seed) in chosen {
            self.shared.slot(*place).task = Some(Task::Reset(*seed));
        }
        self.round()
    }

    /// Makes a step in every environment. `actions` has those of the first environment's agents,
    /// then those of the second.
    ///
    /// # Errors If the next episode of one can't begin.
    ///
    /// # Panics If the number of actions is wrong, or an environment was never reset.
    pub fn step(&self, actions: &[f32]) -> Result<(), Failed> {
        let agents = self.spec.agents().len();
        assert_eq!(actions.len(), agents * self.count(), "one action per agent");
        for (place, actions) in actions.chunks_exact(agents).enumerate() {
            let mut slot = self.shared.slot(place);
            slot.actions.copy_from_slice(actions);
            slot.task = Some(if self.restarts && slot.episode.is_over() {
                Task::Reset(None)
            } else {
                Task::Step
            });
        }
        self.round()
    }

    /// Calls `each` with the number and the outcome of every environment.
    pub fn read(&self, mut each: impl FnMut(usize, &Outcome)) {
        for place in 0..self.count() {
            each(place, self.shared.slot(place).episode.outcome());
        }
    }

    /// Lets the threads do all tasks.
    fn round(&self) -> Result<(), Failed> {
        let Shared {
            next,
            finished,
            board,
            begin,
            end,
            slots,
        } = &*self.shared;
        finished.store(0, Ordering::SeqCst);
        next.store(0, Ordering::SeqCst);
        if !self.threads.is_empty() {
            locked(board).round += 1;
            begin.notify_all();
        }
        self.shared.work();
        let mut waiting = locked(board);
        while finished.load(Ordering::SeqCst) < slots.len() {
            waiting = end.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        drop(waiting);
        for place in 0..slots.len() {
            let mut slot = self.shared.slot(place);
            if let Some(panic) = slot.panic.take() {
                drop(slot);
                resume_unwind(panic);
            }
            if let Some(error) = slot.error.take() {
                return Err(Failed {
                    environment: place,
                    error,
                });
            }
        }
        Ok(())
    }
}

impl Shared {
    fn slot(&self, place: usize) -> MutexGuard<'_, Slot> {
        locked(&self.slots[place])
    }

    /// Takes tasks until none is left. A thread that is late from the round before finds either no
    /// task, or one of this round.
    fn work(&self) {
        loop {
            let place = self.next.fetch_add(1, Ordering::SeqCst);
            if place >= self.slots.len() {
                return;
            }
            let mut slot = self.slot(place);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| slot.run())) {
                slot.panic = Some(panic);
            }
            drop(slot);
            if self.finished.fetch_add(1, Ordering::SeqCst) + 1 == self.slots.len() {
                drop(locked(&self.board));
                self.end.notify_all();
            }
        }
    }

    /// The life of a helping thread.
    fn help(&self) {
        let mut seen = 0;
        loop {
            let mut board = locked(&self.board);
            while board.round == seen && !board.stop {
                board = self
                    .begin
                    .wait(board)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if board.stop {
                return;
            }
            seen = board.round;
            drop(board);
            self.work();
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        locked(&self.shared.board).stop = true;
        self.shared.begin.notify_all();
        for thread in self.threads.drain(..) {
            drop(thread.join()); // a panic was already reported
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
