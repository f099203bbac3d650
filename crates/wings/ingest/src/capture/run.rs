//! An extraction, on a separate thread.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::Input;
use fullpipe_units::Time;

use crate::capture::columns::Columns;
use crate::capture::fragments::{Found, Fragments};
use crate::capture::frames::Frames;
use crate::capture::reader::Frame;
use crate::capture::report::{FileReport, Report};
use crate::capture::segment::{Dissected, Segment, dissect};
use crate::capture::tracker::{Options, Tracker};

/// A running extraction.
#[derive(Debug)]
pub struct Running {
    heard: Receiver<Columns>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Report>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// Bytes read from disk, before decompression.
    read: Arc<AtomicU64>,
    packets: AtomicU64,
    flows: AtomicU64,
    open: AtomicU64,
}

/// Progress of an extraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read from the files, before decompression.
    pub bytes: u64,
    /// Packets read.
    pub packets: u64,
    /// Flows that have ended.
    pub flows: u64,
    /// Flows that are open.
    pub open: u64,
}

/// Message from an extraction.
#[derive(Debug)]
pub enum Heard {
    /// Flows that have ended.
    Flows(Box<Columns>),
    /// No news yet.
    Nothing,
    /// All files have been read.
    Done(Box<Report>),
}

/// Rows handed over at a time.
const BATCH: usize = 1 << 16;
/// Packets between two checks for a stop.
const BREATH: u64 = 1 << 12;
/// Packets whose flows are looked up together.
const STRETCH: usize = 64;

impl Running {
    /// Starts to read files, one after the other.
    pub fn start(files: Vec<PathBuf>, options: Options) -> Running {
        let shared = Arc::new(Shared::default());
        let (to, heard) = sync_channel(2);
        let mut work = Work::new(Arc::clone(&shared), options, move |flows| {
            to.send(flows).is_ok()
        });
        let thread = std::thread::Builder::new().name("capture".into());
        let thread = thread
            .spawn(move || work.all(&files))
            .expect("a thread can be made");
        Running {
            heard,
            shared,
            thread: Some(thread),
        }
    }

    /// Waits for a message, at most for `patience`.
    ///
    /// # Panics
    ///
    /// When reading panicked, or after [`Heard::Done`].
    pub fn next(&mut self, patience: Duration) -> Heard {
        match self.heard.recv_timeout(patience) {
            Ok(columns) => Heard::Flows(Box::new(columns)),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                let thread = self.thread.take().expect("it is not called after the end");
                Heard::Done(Box::new(
                    thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                ))
            }
        }
    }

    /// Returns the progress.
    pub fn progress(&self) -> Progress {
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let Shared {
            read,
            packets,
            flows,
            open,
            ..
        } = &*self.shared;
        Progress {
            bytes: get(read),
            packets: get(packets),
            flows: get(flows),
            open: get(open),
        }
    }

    /// Asks the extraction to end soon.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads one capture to its end, on the caller's thread; `name` is its name in the report.
#[must_use]
pub fn read(name: &str, content: Input, options: Options) -> (Vec<Columns>, Report) {
    let mut flows = Vec::new();
    let report = Work::new(Arc::default(), options, |columns| {
        flows.push(columns);
        true
    })
    .one(name, content);
    (flows, report)
}

struct Work<G> {
    shared: Arc<Shared>,
    /// Takes ended flows; returns whether to continue.
    give: G,
    udp: bool,
    tracker: Tracker,
    fragments: Fragments,
    stretch: Vec<(Option<Segment>, Time)>,
    report: Report,
}

impl<G: FnMut(Columns) -> bool> Work<G> {
    fn new(shared: Arc<Shared>, options: Options, give: G) -> Work<G> {
        Work {
            shared,
            give,
            udp: options.udp,
            tracker: Tracker::new(options),
            fragments: Fragments::default(),
            stretch: Vec::with_capacity(STRETCH),
            report: Report::default(),
        }
    }

    fn all(&mut self, files: &[PathBuf]) -> Report {
        for path in files {
            if !self.goes_on() {
                break;
            }
            let input = Input::counting(path, Arc::clone(&self.shared.read));
            self.file(&path.display().to_string(), input);
        }
        self.finish()
    }

    fn one(mut self, name: &str, content: Input) -> Report {
        self.file(name, Ok(content));
        self.finish()
    }

    fn file(&mut self, name: &str, input: io::Result<Input>) {
        let file = self.content(name, input);
        self.report.packets += file.packets;
        self.report.files.push(file);
    }

    fn finish(&mut self) -> Report {
        self.track();
        self.tracker.end();
        self.hand_over(1);
        self.report.strays = self.tracker.strays;
        std::mem::take(&mut self.report)
    }

    fn content(&mut self, name: &str, input: io::Result<Input>) -> FileReport {
        let opened = input
            .map_err(|error| error.to_string())
            .and_then(|input| Frames::open(name, input));
        let mut frames = match opened {
            Ok(frames) => frames,
            Err(problem) => {
                return FileReport {
                    path: name.to_owned(),
                    refused: Some(problem),
                    ..FileReport::default()
                };
            }
        };
        while let Some((frame, bytes)) = frames.next() {
            self.frame(&frame, bytes);
            if frames.count().is_multiple_of(BREATH) && !self.goes_on() {
                break;
            }
        }
        frames.finish()
    }

    #[inline]
    fn frame(&mut self, frame: &Frame, bytes: &[u8]) {
        let Some(link) = frame.link else {
            return;
        };
        let dissected = frame
            .ip(link, bytes)
            .map_or(Dissected::Other, |(packet, wire)| {
                dissect(packet, wire, self.udp)
            });
        let report = &mut self.report;
        let (segment, count) = match self.fragments.segment(dissected, frame.at) {
            Found::Segment(segment, _) => (Some(segment), &mut report.used),
            Found::Orphan => (None, &mut report.orphans),
            Found::Other => (None, &mut report.other),
            Found::Unreadable => (None, &mut report.unreadable),
        };
        *count += 1;
        self.stretch.push((segment, frame.at));
        if self.stretch.len() == STRETCH {
            self.track();
        }
    }

    /// Passes the packets read so far to their flows.
    fn track(&mut self) {
        self.tracker.see(&self.stretch);
        self.stretch.clear();
    }

    /// Publishes the progress and hands over ended flows; returns whether to continue.
    fn goes_on(&mut self) -> bool {
        let Report {
            used,
            other,
            unreadable,
            orphans,
            ..
        } = self.report;
        self.shared
            .packets
            .store(used + other + unreadable + orphans, Ordering::Relaxed);
        self.shared
            .open
            .store(self.tracker.open() as u64, Ordering::Relaxed);
        self.report.most_open = self.report.most_open.max(self.tracker.open() as u64);
        self.hand_over(BATCH) && !self.shared.stop.load(Ordering::Relaxed)
    }

    fn hand_over(&mut self, least: usize) -> bool {
        let done = self.tracker.done();
        let addresses = done.addresses.is_some();
        if done.len() < least {
            return true;
        }
        self.report.flows += done.len() as u64;
        self.shared
            .flows
            .store(self.report.flows, Ordering::Relaxed);
        let columns = std::mem::replace(done, Columns::new(addresses));
        (self.give)(columns)
    }
}
