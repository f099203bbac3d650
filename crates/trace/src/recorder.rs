//! Rows over time, in memory, column by column.

use units::{Bytes, Rate, Span, Time};

use crate::{Column, Data, Table, Trace};

/// "None" in a label column.
const NO_LABEL: u8 = u8::MAX;

/// A flow at one time.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow {
    /// When.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Window in force.
    pub cwnd: Bytes,
    /// In flight.
    pub inflight: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] is none.
    pub ssthresh: Bytes,
    /// Pacing rate in force.
    pub pacing_rate: Option<Rate>,
    /// Latest delivery-rate sample.
    pub delivery_rate: Option<Rate>,
    /// Latest RTT sample.
    pub rtt: Option<Span>,
    /// Smoothed RTT.
    pub srtt: Span,
    /// Minimum RTT.
    pub min_rtt: Span,
    /// Acknowledged so far.
    pub delivered: Bytes,
    /// Declared lost so far.
    pub lost: Bytes,
    /// What limits it.
    pub limited_by: u8,
}

/// A link at one time.
#[derive(Clone, Copy, Debug)]
pub struct LinkRow {
    /// When.
    pub time: Time,
    /// Index of the link.
    pub link: u32,
    /// Packets that wait.
    pub queue_packets: u64,
    /// Bytes that wait.
    pub queue_bytes: Bytes,
    /// How long the latest accepted packet waits.
    pub sojourn: Span,
    /// Dropped so far.
    pub drops: u64,
    /// Marked so far.
    pub marks: u64,
}

/// A controller's state transition.
#[derive(Clone, Copy, Debug)]
pub struct TransitionRow {
    /// When.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// State left.
    pub from: &'static str,
    /// State entered.
    pub to: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// A column that one algorithm fills.
#[derive(Debug)]
enum Field {
    Number(Vec<f64>),
    Label(Vec<u8>, &'static [&'static str]),
}

/// An algorithm's columns.
#[derive(Debug)]
struct Group {
    fields: Vec<(String, &'static str, Field)>,
}

/// Collects the rows of a run.
#[derive(Debug, Default)]
pub struct Recorder {
    limits: Vec<&'static str>,
    time: Vec<u64>,
    flow: Vec<u32>,
    cwnd: Vec<u64>,
    inflight: Vec<u64>,
    ssthresh: Vec<f64>,
    pacing_rate: Vec<f64>,
    delivery_rate: Vec<f64>,
    rtt: Vec<f64>,
    srtt: Vec<f64>,
    min_rtt: Vec<f64>,
    delivered: Vec<u64>,
    lost: Vec<u64>,
    limited_by: Vec<u8>,
    groups: Vec<Group>,
    links: Vec<LinkRow>,
    transitions: Vec<TransitionRow>,
}

impl Recorder {
    /// An empty one; `limits` names the codes of [`FlowRow::limited_by`].
    pub fn new(limits: &[&'static str]) -> Recorder {
        Recorder { limits: limits.to_vec(), ..Recorder::default() }
    }

    /// Declares an algorithm's fields, (name, unit, labels) each; gives the number that [`flow`](Recorder::flow) wants.
    pub fn declare(
        &mut self,
        algorithm: &str,
        fields: impl Iterator<Item = (&'static str, &'static str, &'static [&'static str])>,
    ) -> usize {
        let fields = fields
            .map(|(name, unit, labels)| {
                let field = if labels.is_empty() { Field::Number(vec![]) } else { Field::Label(vec![], labels) };
                (format!("{algorithm}.{name}"), unit, field)
            })
            .collect();
        self.groups.push(Group { fields });
        self.groups.len() - 1
    }

    /// Adds a flow's row, with the values of its algorithm's fields.
    pub fn flow(&mut self, row: &FlowRow, group: usize, values: &[f64]) {
        let seconds = |span: Span| if span == Span::MAX || span == Span::ZERO { f64::NAN } else { span.as_secs_f64() };
        let bps = |rate: Option<Rate>| rate.map_or(f64::NAN, Rate::as_f64);
        self.time.push(row.time.as_nanos());
        self.flow.push(row.flow);
        self.cwnd.push(row.cwnd.get());
        self.inflight.push(row.inflight.get());
        self.ssthresh.push(if row.ssthresh == Bytes::MAX { f64::NAN } else { row.ssthresh.as_f64() });
        self.pacing_rate.push(bps(row.pacing_rate));
        self.delivery_rate.push(bps(row.delivery_rate));
        self.rtt.push(row.rtt.map_or(f64::NAN, Span::as_secs_f64));
        self.srtt.push(seconds(row.srtt));
        self.min_rtt.push(seconds(row.min_rtt));
        self.delivered.push(row.delivered.get());
        self.lost.push(row.lost.get());
        self.limited_by.push(row.limited_by);
        for (number, other) in self.groups.iter_mut().enumerate() {
            for (i, (_, _, field)) in other.fields.iter_mut().enumerate() {
                let value = if number == group { values[i] } else { f64::NAN };
                match field {
                    Field::Number(column) => column.push(value),
                    Field::Label(column, _) => column.push(if value.is_nan() { NO_LABEL } else { value as u8 }),
                }
            }
        }
    }

    /// Adds a link's row.
    pub fn link(&mut self, row: LinkRow) {
        self.links.push(row);
    }

    /// Adds a transition.
    pub fn transition(&mut self, row: TransitionRow) {
        self.transitions.push(row);
    }

    /// Hands everything on, with no copy of a flow's columns.
    pub fn finish(self) -> Trace {
        let column = |name: &str, unit: &'static str, data: Data| Column { name: name.to_owned(), unit, data };
        let mut flows = vec![
            column("time", "ns", Data::U64(self.time)),
            column("flow", "", Data::U32(self.flow)),
            column("cwnd", "B", Data::U64(self.cwnd)),
            column("inflight", "B", Data::U64(self.inflight)),
            column("ssthresh", "B", Data::F64(self.ssthresh)),
            column("pacing_rate", "bit/s", Data::F64(self.pacing_rate)),
            column("delivery_rate", "bit/s", Data::F64(self.delivery_rate)),
            column("rtt", "s", Data::F64(self.rtt)),
            column("srtt", "s", Data::F64(self.srtt)),
            column("min_rtt", "s", Data::F64(self.min_rtt)),
            column("delivered", "B", Data::U64(self.delivered)),
            column("lost", "B", Data::U64(self.lost)),
            column("limited_by", "", Data::Label { codes: self.limited_by, labels: owned(&self.limits) }),
        ];
        for (name, unit, field) in self.groups.into_iter().flat_map(|group| group.fields) {
            let data = match field {
                Field::Number(values) => Data::F64(values),
                Field::Label(codes, labels) => Data::Label { codes, labels: owned(labels) },
            };
            flows.push(Column { name, unit, data });
        }

        let each = |f: fn(&LinkRow) -> u64| Data::U64(self.links.iter().map(f).collect());
        let links = vec![
            column("time", "ns", each(|row| row.time.as_nanos())),
            column("link", "", Data::U32(self.links.iter().map(|row| row.link).collect())),
            column("queue_packets", "", each(|row| row.queue_packets)),
            column("queue_bytes", "B", each(|row| row.queue_bytes.get())),
            column("sojourn", "s", Data::F64(self.links.iter().map(|row| row.sojourn.as_secs_f64()).collect())),
            column("drops", "", each(|row| row.drops)),
            column("marks", "", each(|row| row.marks)),
        ];

        let rows = &self.transitions;
        let words = |f: fn(&TransitionRow) -> &'static str| {
            let mut labels: Vec<&str> = Vec::new();
            let codes = rows.iter().map(|row| {
                let word = f(row);
                labels.iter().position(|known| *known == word).unwrap_or_else(|| {
                    labels.push(word);
                    labels.len() - 1
                }) as u8
            });
            let codes = codes.collect();
            Data::Label { codes, labels: owned(&labels) }
        };
        let transitions = vec![
            column("time", "ns", Data::U64(rows.iter().map(|row| row.time.as_nanos()).collect())),
            column("flow", "", Data::U32(rows.iter().map(|row| row.flow).collect())),
            column("from", "", words(|row| row.from)),
            column("to", "", words(|row| row.to)),
            column("reason", "", words(|row| row.reason)),
        ];
        Trace {
            tables: vec![
                Table { name: "flows", columns: flows },
                Table { name: "links", columns: links },
                Table { name: "transitions", columns: transitions },
            ],
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
