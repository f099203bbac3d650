//! Where arrivals come from: flows that were seen, or a law.

use std::sync::Arc;

use units::{Bytes, Rate, Time};

use crate::flows::{Chunk, Chunks, Flows};

/// A flow that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Since the workload's start.
    pub at: Time,
    /// What it carries.
    pub bytes: Bytes,
    /// Its pauses, if it has any: [`Source::chunks`].
    pub chunks: Chunks,
}

/// A workload, ready to be drawn from; cloning it copies no flows.
#[derive(Clone, Debug)]
pub struct Source {
    model: Model,
    /// Gaps between starts are so many times as long as in the model.
    stretch: f64,
}

#[derive(Clone, Debug)]
enum Model {
    Replay(Arc<Flows>),
    Collapsed(Arc<Flows>),
}

impl Source {
    /// Flows as they were seen: each chunk at its offset, pauses kept.
    pub fn replay(flows: Arc<Flows>) -> Source {
        Source { model: Model::Replay(flows), stretch: 1.0 }
    }

    /// Each flow as one transfer at its start.
    pub fn collapsed(flows: Arc<Flows>) -> Source {
        Source { model: Model::Collapsed(flows), stretch: 1.0 }
    }

    /// The same flows, arriving faster or slower, so that what they carry is `load` of `capacity`. Pauses within a flow stay.
    /// Load counts what applications send, without headers.
    pub fn at_load(mut self, load: f64, capacity: Rate) -> Source {
        self.stretch *= self.offered() / (load * capacity.as_f64());
        self
    }

    /// What the flows carry in the mean, bit/s; infinite where all start at once.
    pub fn offered(&self) -> f64 {
        match &self.model {
            Model::Replay(flows) | Model::Collapsed(flows) => {
                flows.total().as_f64() * 8.0 / (flows.span().as_secs_f64() * self.stretch)
            }
        }
    }

    /// The arrivals of a run, in order of time. `name` is the workload's.
    pub fn arrivals(&self, _seed: u64, _name: &str) -> Arrivals {
        Arrivals { source: self.clone(), next: 0 }
    }

    /// The chunks of an arrival; none where everything is written at its start.
    pub fn chunks(&self, of: Chunks) -> &[Chunk] {
        match &self.model {
            Model::Replay(flows) => flows.chunks(of),
            Model::Collapsed(_) => &[],
        }
    }
}

/// Arrivals, one after the other.
#[derive(Clone, Debug)]
pub struct Arrivals {
    source: Source,
    next: usize,
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let row = self.next;
        let (flows, replayed) = match &self.source.model {
            Model::Replay(flows) => (flows, true),
            Model::Collapsed(flows) => (flows, false),
        };
        if row == flows.len() {
            return None;
        }
        self.next += 1;
        let since = flows.start(row).since(flows.start(0)).mul_f64(self.source.stretch);
        let chunks = if replayed { flows.chunks_of(row) } else { Chunks::default() };
        Some(Arrival { at: Time::ZERO + since, bytes: flows.bytes(row), chunks })
    }
}
