//! Threads that run ranges of numbered runs and return rows in shards of about a second.
//!
//! All threads work on one shard, run by run, so that none is idle while another has a shard to
//! finish. A shard is cut when it has lasted long enough. The place of the cut depends on the
//! machine, the contents of the rows do not.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::rows::Column;

/// Time after which a thread is left to itself, and time between two looks at the threads until then. A run
/// looks at its flag every ten milliseconds, unless an algorithm does not return.
pub const PATIENCE: Duration = Duration::from_secs(1);
const LOOK_UP: Duration = Duration::from_millis(2);

/// Numbered runs that are independent of each other.
pub trait Work: Debug + Send + Sync + 'static {
    /// Result of a run, kept until its shard is cut.
    type Outcome: Debug + Send;

    /// Makes one run to its end; returns its result and the number of packets that it moved.
    /// Returns `None` if `stop` is set during the run. An implementation must check `stop` about
    /// every ten milliseconds. `around` has what the algorithms need for events.
    fn run(&self, run: u64, stop: &AtomicBool, around: Around) -> Option<(Self::Outcome, u64)>;

    /// Returns the rows of runs, in the order of their numbers.
    fn columns(&self, runs: impl Iterator<Item = (u64, Self::Outcome)>) -> Vec<Column>;

    /// Returns the point and seed of a run, by its number.
    fn place(&self, run: u64) -> (usize, u64);
}

/// A finished shard.
#[derive(Debug)]
pub struct Finished {
    /// Numbers of its runs.
    pub runs: Range<u64>,
    /// One row per flow and run, in the order of the runs' numbers.
    pub columns: Vec<Column>,
}

/// A run that panicked.
#[derive(Debug)]
pub struct Panicked {
    /// Point of the run.
    pub point: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Payload of the panic.
    pub payload: Box<dyn Any + Send>,
}

/// Threads at work. They stop when the pool is dropped.
#[derive(Debug)]
pub struct Running {
    progress: Arc<Progress>,
    finished: Mutex<Receiver<Result<Finished, Panicked>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether a stop has waited for the threads.
    waited: AtomicBool,
}

#[derive(Debug, Default)]
struct Progress {
    stop: AtomicBool,
    runs: AtomicU64,
    packets: AtomicU64,
}

#[derive(Debug)]
struct Shared<W: Work> {
    work: Arc<W>,
    queue: Mutex<Queue<W::Outcome>>,
    long_enough: Duration,
    progress: Arc<Progress>,
}

/// Runs still to be made, and shards in progress, by the number of their first run.
#[derive(Debug)]
struct Queue<T> {
    left: VecDeque<Range<u64>>,
    shards: BTreeMap<u64, Shard<T>>,
    open: Option<u64>,
}

#[derive(Debug)]
struct Shard<T> {
    begun: Instant,
    /// Result of each run that was given out; `None` while it runs.
    runs: Vec<Option<T>>,
    missing: usize,
    closed: bool,
}

/// Calls work, with what the algorithms need for it.
pub type Call = fn(&mut (dyn FnMut() + Send));

/// Needs of the algorithms on a thread.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Calls all work of a thread.
    pub thread: Call,
    /// Calls some events of a run.
    pub events: Call,
}

impl Around {
    /// Nothing is needed.
    pub const NOTHING: Around = Around {
        thread: |work| work(),
        events: |work| work(),
    };
}

/// Makes ranges of runs on `threads` threads, in shards that last about `shard`.
pub fn start<W: Work>(
    work: &Arc<W>,
    ranges: &[Range<u64>],
    threads: usize,
    shard: Duration,
    around: Around,
) -> Running {
    let left = ranges
        .iter()
        .filter(|range| !range.is_empty())
        .cloned()
        .collect();
    let progress = Arc::<Progress>::default();
    let shared = Arc::new(Shared {
        work: Arc::clone(work),
        queue: Mutex::new(Queue {
            left,
            shards: BTreeMap::new(),
            open: None,
        }),
        long_enough: shard,
        progress: Arc::clone(&progress),
    });
    let (tell, finished) = channel();
    let thread = |_| {
        let (shared, tell) = (Arc::clone(&shared), tell.clone());
        thread::spawn(move || (around.thread)(&mut || shared.toil(&tell, around)))
    };
    let threads = Mutex::new((0..threads.max(1)).map(thread).collect());
    Running {
        progress,
        finished: Mutex::new(finished),
        threads,
        waited: AtomicBool::new(false),
    }
}

impl Running {
    /// Waits for the next shard, for at most `patience`: returns `None` after that time or, with
    /// `true`, when all runs are done.
    ///
    /// # Errors If a run panicked: fullpipe or a user's algorithm broke an invariant.
    pub fn next(&self, patience: Duration) -> Result<(Option<Finished>, bool), Panicked> {
        let finished = locked(&self.finished).recv_timeout(patience);
        match finished {
            Ok(Ok(shard)) => Ok((Some(shard), false)),
            Ok(Err(panicked)) => Err(panicked),
            Err(RecvTimeoutError::Timeout) => Ok((None, false)),
            Err(RecvTimeoutError::Disconnected) => Ok((None, true)),
        }
    }

    /// Returns the number of finished runs.
    pub fn runs(&self) -> u64 {
        self.progress.runs.load(Ordering::Relaxed)
    }

    /// Returns the number of data packets moved so far.
    pub fn packets(&self) -> u64 {
        self.progress.packets.load(Ordering::Relaxed)
    }

    /// Stops all runs, and waits for the threads for at most `patience`. Returns whether all have ended; a
    /// later call waits again. A thread in which an algorithm does not return is left to itself in the end.
    #[expect(
        clippy::disallowed_methods,
        reason = "the time of the end changes no row"
    )]
    pub fn stop(&self, patience: Duration) -> bool {
        self.progress.stop.store(true, Ordering::Relaxed);
        let end = Instant::now() + patience;
        let threads = std::mem::take(&mut *locked(&self.threads));
        while !threads.iter().all(JoinHandle::is_finished) && Instant::now() < end {
            thread::sleep(LOOK_UP);
        }
        let (ended, left): (Vec<_>, Vec<_>) =
            threads.into_iter().partition(JoinHandle::is_finished);
        for thread in ended {
            drop(thread.join()); // a panic was already reported
        }
        let all = left.is_empty();
        self.waited.store(true, Ordering::Relaxed);
        *locked(&self.threads) = left;
        all
    }

    /// Stops all runs like [`Running::stop`], unless that was called.
    pub fn end(&self) {
        if !self.waited.load(Ordering::Relaxed) {
            self.stop(PATIENCE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl<W: Work> Shared<W> {
    fn toil(&self, tell: &Sender<Result<Finished, Panicked>>, around: Around) {
        while let Some((shard, run)) = self.take(tell) {
            let made = || self.work.run(run, &self.progress.stop, around);
            let outcome = catch_unwind(AssertUnwindSafe(made));
            match outcome {
                Ok(Some((outcome, packets))) => self.put(shard, run, outcome, packets, tell),
                Ok(None) => return,
                Err(payload) => {
                    self.progress.stop.store(true, Ordering::Relaxed);
                    let (point, seed) = self.work.place(run);
                    drop(tell.send(Err(Panicked {
                        point,
                        seed,
                        payload,
                    })));
                    return;
                }
            }
        }
    }

    /// Returns the next run and its shard. The next shard begins where this one ends.
    #[expect(
        clippy::disallowed_methods,
        reason = "the place of a cut changes no row"
    )]
    fn take(&self, tell: &Sender<Result<Finished, Panicked>>) -> Option<(u64, u64)> {
        if self.progress.stop.load(Ordering::Relaxed) {
            return None;
        }
        let now = Instant::now();
        let mut queue = locked(&self.queue);
        let Queue { left, shards, open } = &mut *queue;
        let mut full = None;
        if let Some(first) = *open {
            let shard = shards.get_mut(&first).expect("an open shard is in the map");
            let next = first + shard.runs.len() as u64;
            if left.front().is_none_or(|range| range.start != next)
                || now - shard.begun >= self.long_enough
            {
                shard.closed = true;
                *open = None;
                full = if shard.missing == 0 {
                    shards.remove_entry(&first)
                } else {
                    None
                };
            }
        }
        let run = left.front_mut().and_then(Iterator::next);
        if left.front().is_some_and(Range::is_empty) {
            left.pop_front();
        }
        let taken = run.map(|run| {
            let first = *open.get_or_insert(run);
            let shard = shards.entry(first).or_insert_with(|| Shard {
                begun: now,
                runs: Vec::new(),
                missing: 0,
                closed: false,
            });
            shard.runs.push(None);
            shard.missing += 1;
            (first, run)
        });
        drop(queue);
        if let Some((first, shard)) = full {
            self.hand_over(first, shard, tell);
        }
        taken
    }

    fn put(
        &self,
        first: u64,
        run: u64,
        outcome: W::Outcome,
        packets: u64,
        tell: &Sender<Result<Finished, Panicked>>,
    ) {
        self.progress.runs.fetch_add(1, Ordering::Relaxed);
        self.progress.packets.fetch_add(packets, Ordering::Relaxed);
        let mut queue = locked(&self.queue);
        let shard = queue
            .shards
            .get_mut(&first)
            .expect("a shard stays until all of its runs are done");
        shard.runs[(run - first) as usize] = Some(outcome);
        shard.missing -= 1;
        let done = shard.closed && shard.missing == 0;
        let full = if done {
            queue.shards.remove(&first)
        } else {
            None
        };
        drop(queue);
        if let Some(shard) = full {
            self.hand_over(first, shard, tell);
        }
    }

    fn hand_over(
        &self,
        first: u64,
        shard: Shard<W::Outcome>,
        tell: &Sender<Result<Finished, Panicked>>,
    ) {
        let runs = first..first + shard.runs.len() as u64;
        let outcomes = shard
            .runs
            .into_iter()
            .map(|outcome| outcome.expect("no result is missing"));
        let columns = self.work.columns(runs.clone().zip(outcomes));
        drop(tell.send(Ok(Finished { runs, columns }))); // after a stop, there is no receiver
    }
}

/// A panic in another thread has ended the sweep; the guarded data is still consistent.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
