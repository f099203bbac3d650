//! A run as seen by the conditions: the rows of the flow under test, its own trace fields by name,
//! and its changes of state.

use std::ops::Range;

use fullpipe_cc::Descriptor;
use fullpipe_scenario::Scenario;
use fullpipe_trace::{Data, Summary, Table, Trace};

/// A measured number, or the reason for which it could not be measured.
pub type Measured = Result<f64, Why>;

/// A reason for which a condition cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The algorithm does not declare the state or trace field: the condition is skipped.
    Lacks(String),
    /// The run did not reach the measured event: the condition is missed.
    Never(String),
}

/// A change of state.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Time, in seconds.
    pub at: f64,
    /// State before the change.
    pub from: &'a str,
    /// State after the change.
    pub to: &'a str,
    /// Reason.
    pub reason: &'a str,
}

/// A period in a state.
#[derive(Clone, Copy, Debug)]
pub struct Stay<'a> {
    /// Time of entry, in seconds.
    pub from: f64,
    /// Time of exit, or the end of the run, in seconds.
    pub to: f64,
    /// The change that ended the period, if it ended.
    pub exit: Option<Change<'a>>,
}

/// The flow under test, in one run.
#[derive(Debug)]
pub struct Flow<'a> {
    descriptor: &'static Descriptor,
    scenario: &'a Scenario,
    summary: &'a Summary,
    flows: &'a Table,
    /// Time of each step, in seconds.
    steps: &'a [f64],
    times: Vec<f64>,
    changes: Vec<Change<'a>>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(
        descriptor: &'static Descriptor,
        scenario: &'a Scenario,
        (summary, trace): (&'a Summary, &'a Trace),
        steps: &'a [f64],
    ) -> Flow<'a> {
        let table = |name: &str| {
            trace
                .tables
                .iter()
                .find(|table| table.name == name)
                .expect("every run has this table")
        };
        let flows = table("flows");
        let times = seconds(flows);
        Flow {
            descriptor,
            scenario,
            summary,
            flows,
            steps,
            times,
            changes: changes(table("transitions")),
        }
    }

    /// Returns the time of step `index`, in seconds.
    pub fn step(&self, index: usize) -> f64 {
        self.steps[index]
    }

    /// Returns the end of the run, in seconds.
    pub fn end(&self) -> f64 {
        self.scenario.duration.as_secs_f64()
    }

    /// Returns the metrics of the run.
    pub fn summary(&self) -> &Summary {
        self.summary
    }

    /// Returns a column that every flow has: `cwnd`, `inflight`.
    pub fn common(&self, name: &str) -> Vec<f64> {
        numbers(find(self.flows, name).expect("every flow has this column"))
    }

    /// Returns a trace field of the algorithm.
    pub fn own(&self, name: &str) -> Result<Vec<f64>, Why> {
        let column = find(self.flows, &format!("{}.{name}", self.descriptor.name));
        column.map(numbers).ok_or_else(|| {
            Why::Lacks(format!(
                "{} has no trace field {name}",
                self.descriptor.name
            ))
        })
    }

    /// Returns the rows from `from` to `to`, both in seconds and included; [`Why::Never`] if the
    /// range is empty.
    pub fn rows(&self, from: f64, to: f64) -> Result<Range<usize>, Why> {
        let begin = self.times.partition_point(|time| *time < from - 1e-12);
        let end = self.times.partition_point(|time| *time <= to + 1e-12);
        if begin < end {
            Ok(begin..end)
        } else {
            Err(Why::Never(format!(
                "nothing was acknowledged from {from:.3} to {to:.3} s"
            )))
        }
    }

    /// Returns the row at `time`, or the first one after it.
    pub fn row(&self, time: f64) -> Result<usize, Why> {
        Ok(self.rows(time, f64::INFINITY)?.start)
    }

    /// Returns the last row before `time`.
    pub fn row_before(&self, time: f64) -> Result<usize, Why> {
        let row = self.times.partition_point(|row| *row < time - 1e-12);
        row.checked_sub(1)
            .ok_or_else(|| Why::Never(format!("nothing was acknowledged before {time:.3} s")))
    }

    /// Returns the time of a row, in seconds.
    pub fn time(&self, row: usize) -> f64 {
        self.times[row]
    }

    /// Returns the value of a trace field after the ACK at `time`.
    pub fn own_at(&self, name: &str, time: f64) -> Measured {
        Ok(self.own(name)?[self.row(time)?])
    }

    /// Iterates over the changes to states whose names begin with `state`, from `since` on.
    pub fn entries(
        &self,
        state: &str,
        since: f64,
    ) -> Result<impl Iterator<Item = &Change<'a>>, Why> {
        has_state(self.descriptor, state)?;
        Ok(self
            .changes
            .iter()
            .filter(move |change| change.to.starts_with(state) && change.at >= since - 1e-12))
    }

    /// Counts the transitions, at `since` or later, from states whose names begin with `from` to
    /// states whose names begin with `to`.
    pub fn count(&self, from: &str, to: &str, since: f64) -> Measured {
        has_state(self.descriptor, from)?;
        Ok(self
            .entries(to, since)?
            .filter(|change| change.from.starts_with(from))
            .count() as f64)
    }

    /// Returns the first stay in a state of this name that begins at `since` or later; Startup
    /// begins with the run.
    pub fn stay(&self, state: &str, since: f64) -> Result<Stay<'a>, Why> {
        let first = self.entries(state, since)?.next().map(|change| change.at);
        let initial = self
            .descriptor
            .fields
            .iter()
            .find(|field| field.name == "state")
            .map_or("", |f| f.labels[0]);
        let from = match first {
            _ if since == 0.0 && initial.starts_with(state) => 0.0,
            Some(at) => at,
            None => return Err(Why::Never(format!("never in {state} from {since:.3} s on"))),
        };
        // One state may follow another at the same time.
        let entered = self
            .changes
            .iter()
            .position(|change| change.at == from && change.to.starts_with(state));
        let later = &self.changes[entered.map_or(0, |index| index + 1)..];
        let exit = later
            .iter()
            .find(|change| change.from.starts_with(state) && !change.to.starts_with(state))
            .copied();
        Ok(Stay {
            from,
            to: exit.map_or(self.end(), |change| change.at),
            exit,
        })
    }

    /// Returns the first stay like [`stay`](Flow::stay); [`Why::Never`] if it did not end.
    pub fn stay_to_end(&self, state: &str, since: f64) -> Result<(Stay<'a>, Change<'a>), Why> {
        let stay = self.stay(state, since)?;
        let exit = stay
            .exit
            .ok_or_else(|| Why::Never(format!("never left {state} after {:.3} s", stay.from)))?;
        Ok((stay, exit))
    }

    /// Returns the estimated BDP at a row, in bytes: bandwidth times minimum RTT.
    pub fn bdp(&self, row: usize) -> Measured {
        let short = self.own("bw_shortterm").map_or(0.0, |bw| bw[row]);
        let bw = self.own("max_bw")?[row];
        let bw = if short > 0.0 { bw.min(short) } else { bw };
        Ok(bw * self.own("min_rtt")?[row] / 8.0)
    }

    /// Returns the rate at which data was acknowledged from `from` to `to`, in bit/s.
    pub fn rate(&self, from: f64, to: f64) -> Measured {
        let rows = self.rows(from, to)?;
        let delivered = self.common("delivered");
        let (first, last) = (rows.start, rows.end - 1);
        Ok((delivered[last] - delivered[first]) * 8.0
            / (self.times[last] - self.times[first]).max(1e-9))
    }

    /// Returns the data lost from `from` to `to`, in bytes.
    pub fn lost(&self, from: f64, to: f64) -> Measured {
        let (first, last) = (self.row_before(from)?, self.rows(from, to)?.end - 1);
        let lost = self.common("lost");
        Ok(lost[last] - lost[first])
    }

    /// Returns the share of the rows from `from` to `to` at which `limit` kept the sender from
    /// sending.
    pub fn limited(&self, limit: &str, from: f64, to: f64) -> Measured {
        let Some(Data::Label { codes, labels }) = find(self.flows, "limited_by") else {
            unreachable!("labels")
        };
        let rows = self.rows(from, to)?;
        let all = rows.len() as f64;
        Ok(rows
            .filter(|row| codes.get(*row).is_some_and(|code| labels[code] == limit))
            .count() as f64
            / all)
    }
}

/// Returns [`Why::Lacks`] if the algorithm declares no state whose name begins with `state`.
pub(crate) fn has_state(descriptor: &Descriptor, state: &str) -> Result<(), Why> {
    let states = descriptor
        .fields
        .iter()
        .find(|field| field.name == "state")
        .map_or(&[][..], |field| field.labels);
    if states.iter().any(|label| label.starts_with(state)) {
        return Ok(());
    }
    Err(Why::Lacks(format!(
        "{} has no state {state}",
        descriptor.name
    )))
}

/// Returns the changes of state in a trace.
pub(crate) fn changes(table: &Table) -> Vec<Change<'_>> {
    let words = |name: &str| match find(table, name) {
        Some(Data::Label { codes, labels }) => codes
            .iter()
            .flatten()
            .map(|code| labels[code].as_str())
            .collect(),
        _ => Vec::new(),
    };
    let (from, to, reason) = (words("from"), words("to"), words("reason"));
    let rows = seconds(table).into_iter().zip(from).zip(to).zip(reason);
    rows.map(|(((at, from), to), reason)| Change {
        at,
        from,
        to,
        reason,
    })
    .collect()
}

fn find<'a>(table: &'a Table, name: &str) -> Option<&'a Data> {
    table
        .columns
        .iter()
        .find(|column| column.name == name)
        .map(|column| &column.data)
}

fn seconds(table: &Table) -> Vec<f64> {
    numbers(find(table, "time").expect("every table has a time"))
        .iter()
        .map(|nanos| nanos * 1e-9)
        .collect()
}

fn numbers(data: &Data) -> Vec<f64> {
    match data {
        Data::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Data::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::Label { codes, .. } => codes
            .iter()
            .map(|code| code.map_or(f64::NAN, |code| code as f64))
            .collect(),
    }
}
