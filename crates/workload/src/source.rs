//! Sources of arrivals: recorded flows, or a distribution.

use std::sync::Arc;

use fullpipe_units::{Bytes, Draw, Rate, Rng, Span, Time};

use crate::cdf::Cdf;
use crate::flows::{Chunk, Chunks, Flows};
use crate::law::Law;
use crate::model::{Model, Needs, Refusal};
use crate::preset::Preset;

/// A flow that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time since the workload's start.
    pub at: Time,
    /// Size of the flow.
    pub bytes: Bytes,
    /// Its pauses, if any, for [`Arrivals::chunks`].
    pub chunks: Chunks,
}

/// Input of a model.
#[derive(Clone, Debug)]
pub enum Input {
    /// Recorded flows.
    Flows(Arc<Flows>),
    /// A preset.
    Preset(&'static Preset),
    /// Flow sizes with shares.
    Cdf(Arc<Cdf>),
}

/// A workload, ready to generate arrivals; cloning it copies no flows.
#[derive(Clone, Debug)]
pub struct ArrivalSource {
    kind: SourceKind,
    /// Factor by which gaps between starts are longer than in the model. The mean gap of a
    /// distribution is one second before this factor.
    stretch: f64,
}

#[derive(Clone, Debug)]
enum SourceKind {
    Seen { trace: Trace, order: Order },
    Drawn(Law),
}

/// Recorded flows, or a synthetic preset.
#[derive(Clone, Debug)]
enum Trace {
    Flows(Arc<Flows>),
    Preset(&'static Preset),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Replay,
    Collapsed,
    Synthetic,
}

impl ArrivalSource {
    /// Creates a model with its input.
    ///
    /// # Errors If the input does not fit the model.
    pub fn new(model: &Model, input: Option<Input>) -> Result<ArrivalSource, Refusal> {
        let kind = match (model, input) {
            (Model::BoundedPareto(law), None) => SourceKind::Drawn(Law::BoundedPareto(*law)),
            (Model::Lognormal(parts), None) => SourceKind::Drawn(Law::Lognormal(parts.clone())),
            (Model::Cdf, Some(Input::Cdf(cdf))) => SourceKind::Drawn(Law::Cdf(cdf)),
            (Model::Replay, Some(input)) => SourceKind::seen(Order::Replay, input, model)?,
            (Model::Collapsed, Some(input)) => SourceKind::seen(Order::Collapsed, input, model)?,
            (Model::Synthetic, Some(input)) => SourceKind::seen(Order::Synthetic, input, model)?,
            (model, _) => return Err(mismatch(model)),
        };
        Ok(ArrivalSource { kind, stretch: 1.0 })
    }

    /// Returns whether a load must be given, since a distribution has no rate of its own.
    pub fn needs_load(&self) -> bool {
        matches!(self.kind, SourceKind::Drawn(_))
    }

    /// Returns the same flows, arriving faster or slower, so that their mean rate is `load` of
    /// `capacity`. Pauses within a flow stay. The rate counts payload, so `capacity` is the part of
    /// a link's rate available for payload.
    ///
    /// # Errors If all flows start at once.
    pub fn at_load(mut self, load: f64, capacity: Rate) -> Result<ArrivalSource, Refusal> {
        let offered = self.offered();
        if !offered.is_finite() {
            return Err(Refusal::new(
                "all flows of the source start at once",
                "omit load, or give flows with different start times",
            ));
        }
        self.stretch *= offered / (load * capacity.as_f64());
        Ok(self)
    }

    /// Returns the mean rate of the flows' data in bit/s; infinite if all flows start at once. For
    /// a preset, the mean of its distribution.
    pub fn offered(&self) -> f64 {
        let model = match &self.kind {
            SourceKind::Seen {
                trace: Trace::Flows(flows),
                ..
            } => flows.total() * 8.0 / flows.span().as_secs_f64(),
            SourceKind::Seen {
                trace: Trace::Preset(preset),
                ..
            } => preset.offered(),
            SourceKind::Drawn(law) => law.mean() * 8.0,
        };
        model / self.stretch
    }

    /// Returns the approximate number of flows that arrive up to `until`.
    pub fn count(&self, until: Span) -> u64 {
        let seconds = until.as_secs_f64() / self.stretch;
        match &self.kind {
            SourceKind::Seen {
                trace: Trace::Flows(flows),
                ..
            } => {
                let all = flows.len() as f64;
                (all * (seconds / flows.span().as_secs_f64()).min(1.0)).ceil() as u64
            }
            SourceKind::Seen {
                trace: Trace::Preset(preset),
                ..
            } => (preset.rate * seconds.min(preset.span.as_secs_f64())).ceil() as u64,
            SourceKind::Drawn(_) => seconds.ceil() as u64,
        }
    }

    /// Returns the arrivals of a run up to `until`, in order of time, for the workload `name`.
    pub fn arrivals(&self, seed: u64, name: &str, until: Span) -> Arrivals {
        let stream = |usage| Rng::stream(seed, name, usage);
        let state = match &self.kind {
            SourceKind::Seen { trace, order } => {
                let flows = match trace {
                    Trace::Flows(flows) => flows.clone(),
                    Trace::Preset(preset) => {
                        Arc::new(preset.flows(seed, name, until.mul_f64(1.0 / self.stretch)))
                    }
                };
                State::seen(flows, *order, stream)
            }
            SourceKind::Drawn(law) => {
                let gap = Draw::Exponential {
                    mean: Span::from_secs_f64(self.stretch),
                };
                State::Drawn {
                    law: law.clone(),
                    gap,
                    gaps: stream("gaps"),
                    volumes: stream("volumes"),
                    at: Time::ZERO,
                }
            }
        };
        Arrivals {
            state,
            stretch: self.stretch,
            until: Time::ZERO + until,
        }
    }
}

impl SourceKind {
    fn seen(order: Order, input: Input, model: &Model) -> Result<SourceKind, Refusal> {
        match input {
            Input::Flows(flows) => Ok(SourceKind::Seen {
                trace: Trace::Flows(flows),
                order,
            }),
            Input::Preset(preset) => Ok(SourceKind::Seen {
                trace: Trace::Preset(preset),
                order,
            }),
            Input::Cdf(_) => Err(mismatch(model)),
        }
    }
}

fn mismatch(model: &Model) -> Refusal {
    let described = model.described();
    let (needs, fix) = match described.source {
        Needs::Flows => (
            "flows",
            "give a flows.parquet from `fullpipe workload extract`, or a preset",
        ),
        Needs::Cdf => ("a distribution", "give a file of lines \"BYTES SHARE\""),
        Needs::Nothing => ("no source", "omit source"),
    };
    Refusal::new(format!("{} needs {needs}", described.name), fix)
}

/// An iterator over arrivals; needs 8 bytes per flow in addition to the flows if they are shuffled.
#[derive(Clone, Debug)]
pub struct Arrivals {
    state: State,
    stretch: f64,
    until: Time,
}

#[derive(Clone, Debug)]
enum State {
    /// Flows in recorded order.
    InOrder {
        flows: Arc<Flows>,
        replayed: bool,
        next: usize,
    },
    /// Each gap and each size once, each in an order of its own.
    Shuffled {
        flows: Arc<Flows>,
        gaps: Vec<u32>,
        volumes: Vec<u32>,
        next: usize,
        since: Span,
    },
    Drawn {
        law: Law,
        gap: Draw<Span>,
        gaps: Rng,
        volumes: Rng,
        at: Time,
    },
}

impl State {
    fn seen(flows: Arc<Flows>, order: Order, stream: impl Fn(&'static str) -> Rng) -> State {
        if order != Order::Synthetic {
            return State::InOrder {
                flows,
                replayed: order == Order::Replay,
                next: 0,
            };
        }
        let count = flows.len() as u32;
        let gaps = shuffled(1..count, &mut stream("shuffled gaps"));
        let volumes = shuffled(0..count, &mut stream("shuffled volumes"));
        State::Shuffled {
            flows,
            gaps,
            volumes,
            next: 0,
            since: Span::ZERO,
        }
    }
}

/// Fisher-Yates shuffle.
fn shuffled(rows: core::ops::Range<u32>, rng: &mut Rng) -> Vec<u32> {
    let mut rows: Vec<u32> = rows.collect();
    for last in (1..rows.len()).rev() {
        rows.swap(last, rng.below(last as u64 + 1) as usize);
    }
    rows
}

impl Arrivals {
    /// Returns the chunks of an arrival; empty if all its data is written at its start.
    pub fn chunks(&self, of: Chunks) -> &[Chunk] {
        match &self.state {
            State::InOrder { flows, .. } => flows.chunks(of),
            State::Shuffled { .. } | State::Drawn { .. } => &[],
        }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let arrival = match &mut self.state {
            State::InOrder {
                flows,
                replayed,
                next,
            } => {
                let row = *next;
                if row == flows.len() {
                    return None;
                }
                *next += 1;
                let since = flows.start(row).since(flows.start(0)).mul_f64(self.stretch);
                let chunks = if *replayed {
                    flows.chunks_of(row)
                } else {
                    Chunks::default()
                };
                Arrival {
                    at: Time::ZERO + since,
                    bytes: flows.bytes(row),
                    chunks,
                }
            }
            State::Shuffled {
                flows,
                gaps,
                volumes,
                next,
                since,
            } => {
                let bytes = flows.bytes(*volumes.get(*next)? as usize);
                if *next > 0 {
                    let row = gaps[*next - 1] as usize;
                    *since += flows.start(row).since(flows.start(row - 1));
                }
                *next += 1;
                Arrival {
                    at: Time::ZERO + since.mul_f64(self.stretch),
                    bytes,
                    chunks: Chunks::default(),
                }
            }
            State::Drawn {
                law,
                gap,
                gaps,
                volumes,
                at,
            } => {
                *at += gap.next(gaps);
                Arrival {
                    at: *at,
                    bytes: law.draw(volumes),
                    chunks: Chunks::default(),
                }
            }
        };
        (arrival.at <= self.until).then_some(arrival)
    }
}
