//! The trace during a run: rows in memory that is allocated before the run begins, written without
//! locks or system calls. When the buffer is full, new rows overwrite the oldest, and their number
//! is counted.

use std::collections::TryReserveError;

use fullpipe_cc::{Controller, Observer, Transition};
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{FlowRow, TransitionRow};
use fullpipe_units::{Bytes, Span, Time};

use crate::congestion_driver::CongestionDriver;

/// Maximum memory of one flow's rows.
const MOST: usize = 512 << 20;

/// Maximum number of state transitions.
const TRANSITIONS: usize = 1 << 20;

/// Copies of the rows at the end: they become columns, which double as they grow, while the buffer
/// still exists.
const PASSES: usize = 3;

/// The trace rows of a flow.
#[derive(Debug)]
pub struct TraceBuffer {
    flow: u32,
    /// Minimum time between two rows; `None` for no rows.
    every: Option<Span>,
    due: Time,
    /// Number of the algorithm's fields in each row.
    fields: usize,
    rows: Vec<FlowRow>,
    values: Vec<f64>,
    /// Total number of rows written.
    written: usize,
    scratch: Vec<f64>,
    transitions: Vec<TransitionRow>,
    transitions_written: usize,
}

/// Allocates a buffer for `rows` rows, if `available` bytes suffice.
///
/// # Errors
/// When they do not suffice.
pub(crate) fn reserve(
    flow: u32,
    level: TraceLevel,
    fields: usize,
    rows: u64,
    available: u64,
) -> Result<TraceBuffer, String> {
    let every = match level {
        TraceLevel::Off => None,
        TraceLevel::Every(span) => Some(span),
        TraceLevel::Acks => Some(Span::ZERO),
    };
    let row = size_of::<FlowRow>() + fields * size_of::<f64>();
    let count = if every.is_some() {
        usize::try_from(rows)
            .unwrap_or(usize::MAX)
            .clamp(1024, MOST / row)
    } else {
        0
    };
    let transitions = if every.is_some() {
        TRANSITIONS.min(count)
    } else {
        0
    };
    let needed = (PASSES * count * row) as u64;
    if needed > available {
        return Err(format!(
            "its trace needs {} MB of memory, and {} MB are available",
            needed / 1_000_000,
            available / 1_000_000
        ));
    }
    let refused = |_| format!("can't allocate memory for {count} rows of {row} bytes");
    let mut buffer = TraceBuffer {
        flow,
        every,
        due: Time::ZERO,
        fields,
        rows: reserved(count).map_err(refused)?,
        values: reserved(count * fields).map_err(refused)?,
        written: 0,
        scratch: Vec::with_capacity(fields),
        transitions: reserved(transitions).map_err(refused)?,
        transitions_written: 0,
    };
    // Write every page once, so that the kernel maps it before the run.
    buffer.rows.resize(count, blank());
    buffer.values.resize(count * fields, 0.0);
    buffer.transitions.resize(transitions, blank_transition());
    Ok(buffer)
}

/// Allocates memory for exactly `length` values.
fn reserved<T>(length: usize) -> Result<Vec<T>, TryReserveError> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(length)?;
    Ok(memory)
}

fn blank_transition() -> TransitionRow {
    TransitionRow {
        time: Time::ZERO,
        flow: 0,
        from: "",
        to: "",
        reason: "",
    }
}

fn blank() -> FlowRow {
    FlowRow {
        time: Time::ZERO,
        flow: 0,
        cwnd: Bytes::ZERO,
        inflight: Bytes::ZERO,
        ssthresh: Bytes::ZERO,
        pacing_rate: None,
        delivery_rate: None,
        rtt: None,
        srtt: Span::ZERO,
        min_rtt: Span::ZERO,
        delivered: Bytes::ZERO,
        acked: Bytes::ZERO,
        lost: Bytes::ZERO,
        limited_by: 0,
    }
}

impl TraceBuffer {
    /// Records a row after an ACK, if one is due.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Time, driver: &CongestionDriver) {
        let Some(every) = self.every else { return };
        if now < self.due {
            return;
        }
        self.due = now + every;
        let place = self.written % self.rows.len();
        self.rows[place] = driver.row(now, self.flow);
        self.scratch.clear();
        driver.controller().observe(&mut self.scratch);
        let values = &mut self.values[place * self.fields..][..self.fields];
        values.copy_from_slice(&self.scratch);
        self.written += 1;
    }

    /// Returns the number of overwritten rows.
    pub(crate) fn overwritten(&self) -> usize {
        self.written.saturating_sub(self.rows.len())
    }

    /// Returns the remaining rows in order of time, each with its algorithm's values.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (FlowRow, &[f64])> {
        (self.overwritten()..self.written).map(|row| {
            let place = row % self.rows.len();
            (
                self.rows[place],
                &self.values[place * self.fields..][..self.fields],
            )
        })
    }

    /// Returns the remaining transitions.
    pub(crate) fn transitions(&self) -> impl Iterator<Item = TransitionRow> {
        let written = self.transitions_written;
        (written.saturating_sub(self.transitions.len())..written)
            .map(|row| self.transitions[row % self.transitions.len()])
    }
}

impl Observer for TraceBuffer {
    fn transition(&mut self, time: Time, Transition { from, to, reason }: Transition) {
        if self.transitions.is_empty() {
            return;
        }
        let place = self.transitions_written % self.transitions.len();
        self.transitions[place] = TransitionRow {
            time,
            flow: self.flow,
            from,
            to,
            reason,
        };
        self.transitions_written += 1;
    }
}
