//! Threads that make ranges of numbered runs, and hand rows back in shards of about a second.
//!
//! All threads work on one shard, run by run, so that none is idle while another has a shard to
//! finish. A shard is cut when it has lasted long enough; where it is cut is a matter of the
//! machine, what is in its rows is not.

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

/// Numbered runs, each of which can be made by itself.
pub trait Work: Debug + Send + Sync + 'static {
    /// What is kept of a run until its shard is cut.
    type Outcome: Debug + Send;

    /// One run to its end, and how many packets it moved; none when `stop` was set meanwhile, which
    /// is to be looked at every ten milliseconds or so.
    fn run(&self, run: u64, stop: &AtomicBool) -> Option<(Self::Outcome, u64)>;

    /// The rows of runs, in the order of their numbers.
    fn columns(&self, runs: impl Iterator<Item = (u64, Self::Outcome)>) -> Vec<Column>;

    /// Point and seed of a run, by its number.
    fn place(&self, run: u64) -> (usize, u64);
}

/// A shard that is done.
#[derive(Debug)]
pub struct Finished {
    /// The numbers of its runs.
    pub runs: Range<u64>,
    /// A row a flow and run, in the order of the runs' numbers.
    pub columns: Vec<Column>,
}

/// A run that did not come to its end.
#[derive(Debug)]
pub struct Panicked {
    /// The point that it was a run of.
    pub point: usize,
    /// Its seed.
    pub seed: u64,
    /// What it panicked with.
    pub payload: Box<dyn Any + Send>,
}

/// Threads at work. Dropped, they stop.
#[derive(Debug)]
pub struct Running {
    progress: Arc<Progress>,
    finished: Mutex<Receiver<Result<Finished, Panicked>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
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

/// What is still to be run, and the shards that are being run, by the number of their first run.
#[derive(Debug)]
struct Queue<T> {
    left: VecDeque<Range<u64>>,
    shards: BTreeMap<u64, Shard<T>>,
    open: Option<u64>,
}

#[derive(Debug)]
struct Shard<T> {
    begun: Instant,
    /// One a run that was given out; none while it runs.
    runs: Vec<Option<T>>,
    missing: usize,
    closed: bool,
}

/// Makes ranges of runs on so many threads, in shards of about so long.
pub fn start<W: Work>(
    work: &Arc<W>,
    ranges: &[Range<u64>],
    threads: usize,
    shard: Duration,
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
        thread::spawn(move || shared.toil(&tell))
    };
    let threads = Mutex::new((0..threads.max(1)).map(thread).collect());
    Running {
        progress,
        finished: Mutex::new(finished),
        threads,
    }
}

impl Running {
    /// Waits for the next shard, for so long at most: none when that is over, or, with `true`, when
    /// all is done.
    ///
    /// # Errors
    /// When a run panicked, which is a broken invariant, ours or of a user's algorithm.
    pub fn next(&self, patience: Duration) -> Result<(Option<Finished>, bool), Panicked> {
        let finished = locked(&self.finished).recv_timeout(patience);
        match finished {
            Ok(Ok(shard)) => Ok((Some(shard), false)),
            Ok(Err(panicked)) => Err(panicked),
            Err(RecvTimeoutError::Timeout) => Ok((None, false)),
            Err(RecvTimeoutError::Disconnected) => Ok((None, true)),
        }
    }

    /// How many runs are done.
    pub fn runs(&self) -> u64 {
        self.progress.runs.load(Ordering::Relaxed)
    }

    /// How many data packets they have moved.
    pub fn packets(&self) -> u64 {
        self.progress.packets.load(Ordering::Relaxed)
    }

    /// Ends all runs, and waits for the threads.
    pub fn stop(&self) {
        self.progress.stop.store(true, Ordering::Relaxed);
        for thread in locked(&self.threads).drain(..) {
            drop(thread.join()); // what it panicked of was told
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<W: Work> Shared<W> {
    fn toil(&self, tell: &Sender<Result<Finished, Panicked>>) {
        while let Some((shard, run)) = self.take(tell) {
            let outcome =
                catch_unwind(AssertUnwindSafe(|| self.work.run(run, &self.progress.stop)));
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

    /// The next run and the shard that it belongs to. Where one ends, the next shard begins.
    #[expect(
        clippy::disallowed_methods,
        reason = "where shards are cut changes no row of them"
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
            let shard = shards.get_mut(&first).expect("an open shard is there");
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
            .map(|outcome| outcome.expect("none is missing"));
        let columns = self.work.columns(runs.clone().zip(outcomes));
        drop(tell.send(Ok(Finished { runs, columns }))); // nobody waits any more after a stop
    }
}

/// A panic in another thread has ended the sweep; what it held is in order.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
