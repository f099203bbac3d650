//! Bytes that a flow's application may have written by now.

use crate::agent::app::{Allowed, Writes, written};
use crate::agent::plan::{AppPlan, FlowPlan};

#[derive(Debug)]
pub(super) enum App {
    Writes(Writes),
    /// (time, bytes) each.
    Chunks(Vec<(u64, u64)>),
    /// Offset of each answer's end in the stream; number of requests so far.
    Answers(Vec<u64>, usize),
}

impl App {
    pub(super) fn new(plan: &FlowPlan, epoch: u64, started: u64, opened: u64) -> App {
        match &plan.app {
            AppPlan::Chunks(chunks) => App::Chunks(
                chunks
                    .iter()
                    .map(|(offset, bytes)| (started + offset, *bytes))
                    .collect(),
            ),
            AppPlan::Writes {
                first,
                changes,
                from_opening,
                bytes,
            } => {
                let zero = if *from_opening { opened } else { epoch };
                let changes = changes.iter().map(|(at, rate)| (zero + at, *rate));
                App::Writes(Writes::new(*first, changes, *bytes, opened, plan.segment))
            }
            AppPlan::Answers { sizes, .. } => {
                let ends = sizes.iter().scan(0, |end, size| {
                    *end += size;
                    Some(*end)
                });
                App::Answers(ends.collect(), 1)
            }
        }
    }

    pub(super) fn allowed(&mut self, now: u64, sent: u64) -> Allowed {
        match self {
            App::Writes(writes) => writes.allowed(now, sent),
            App::Chunks(chunks) => written(chunks, now),
            App::Answers(ends, asked) => {
                let bytes = asked
                    .checked_sub(1)
                    .and_then(|last| ends.get(last))
                    .or(ends.last())
                    .copied()
                    .unwrap_or(0);
                Allowed {
                    bytes,
                    again: u64::MAX,
                }
            }
        }
    }
}
