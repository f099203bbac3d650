//! Records the rows of a trace in memory, column by column.

use fullpipe_units::{Bytes, Rate, Span};

use crate::tables::{self, owned};
use crate::{
    AckRow, ActiveRow, Codes, Column, Data, FlowRow, LinkRow, PacketRow, QueueRow, Response, Table,
    Trace, Transfer, TransitionRow,
};

/// A column for a field of one algorithm.
#[derive(Clone, Debug)]
enum Field {
    Number(Vec<f32>),
    Label(Codes, &'static [&'static str]),
}

/// The columns of an algorithm, each with name, unit and values.
type Group = Vec<(String, &'static str, Field)>;

/// Number of rows that are buffered, so that each column grows by many values at a time: appending
/// rows is the main cost of a trace with a row per ACK.
const HELD: usize = 64;

/// A buffered row, with the columns of its algorithms (the sender's, and the receiver's if it has
/// one) and the positions at which their values begin.
#[derive(Clone, Debug)]
struct Buffered {
    row: FlowRow,
    groups: [usize; 2],
    values: [usize; 2],
}

/// Marks a row without an algorithm, or without a second one.
pub const NO_GROUP: usize = usize::MAX;

/// Collects the rows of a run's trace.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    limits: Vec<&'static str>,
    time: Vec<u64>,
    flow: Vec<u32>,
    cwnd: Vec<u64>,
    inflight: Vec<u64>,
    ssthresh: Vec<f32>,
    pacing_rate: Vec<f32>,
    delivery_rate: Vec<f32>,
    rtt: Vec<f32>,
    srtt: Vec<f32>,
    min_rtt: Vec<f32>,
    delivered: Vec<u64>,
    acked: Vec<u64>,
    lost: Vec<u64>,
    limited_by: Vec<u8>,
    groups: Vec<Group>,
    held: Vec<Buffered>,
    held_values: Vec<f64>,
    links: Vec<LinkRow>,
    /// The rate of the link in each of `links`, if it is known.
    rates: Vec<f32>,
    queues: Vec<QueueRow>,
    transitions: Vec<TransitionRow>,
    /// `None` if no flow has an application that sends requests.
    responses: Option<Vec<(u32, Response)>>,
    /// Rows of workloads; empty if there is no workload.
    active: Vec<ActiveRow>,
    transfers: Option<Vec<Transfer>>,
    packets: Option<(Vec<PacketRow>, Vec<AckRow>)>,
}

impl Recorder {
    /// Creates an empty recorder; `limits` names the codes of [`FlowRow::limited_by`].
    pub fn new(limits: &[&'static str]) -> Recorder {
        Recorder {
            limits: limits.to_vec(),
            ..Recorder::default()
        }
    }

    /// Declares an algorithm's fields, each with name, unit and labels. Returns the group number to
    /// pass to [`flow`](Recorder::flow).
    pub fn declare(
        &mut self,
        algorithm: &str,
        fields: impl Iterator<Item = (&'static str, &'static str, &'static [&'static str])>,
    ) -> usize {
        let fields = fields
            .map(|(name, unit, labels)| {
                let field = if labels.is_empty() {
                    Field::Number(vec![])
                } else {
                    Field::Label(Codes::for_labels(labels.len()), labels)
                };
                (format!("{algorithm}.{name}"), unit, field)
            })
            .collect();
        self.groups.push(fields);
        self.groups.len() - 1
    }

    /// Adds a flow's row; `observe` pushes the values of the algorithm's fields.
    #[inline(always)] // the row is then made where it is kept
    pub fn flow(&mut self, row: FlowRow, group: usize, observe: impl FnOnce(&mut Vec<f64>)) {
        if self.held.len() == HELD {
            self.settle();
        }
        self.held.push(Buffered {
            row,
            groups: [group, NO_GROUP],
            values: [self.held_values.len(); 2],
        });
        observe(&mut self.held_values);
    }

    /// Adds the values of a second algorithm, the receiver's, to the latest row.
    pub fn more(&mut self, group: usize, observe: impl FnOnce(&mut Vec<f64>)) {
        let Some(held) = self.held.last_mut() else {
            return;
        };
        (held.groups[1], held.values[1]) = (group, self.held_values.len());
        observe(&mut self.held_values);
    }

    /// Moves the buffered rows into their columns.
    fn settle(&mut self) {
        let rows = || self.held.iter().map(|held| &held.row);
        let bps = |rate: Option<Rate>| rate.map_or(f32::NAN, |rate| rate.as_f64() as f32);
        self.time.extend(rows().map(|row| row.time.as_nanos()));
        self.flow.extend(rows().map(|row| row.flow));
        self.cwnd.extend(rows().map(|row| row.cwnd.get()));
        self.inflight.extend(rows().map(|row| row.inflight.get()));
        self.ssthresh.extend(rows().map(|row| finite(row.ssthresh)));
        self.pacing_rate
            .extend(rows().map(|row| bps(row.pacing_rate)));
        self.delivery_rate
            .extend(rows().map(|row| bps(row.delivery_rate)));
        self.rtt
            .extend(rows().map(|row| row.rtt.map_or(f32::NAN, |rtt| rtt.as_secs_f64() as f32)));
        self.srtt.extend(rows().map(|row| seconds(row.srtt)));
        self.min_rtt.extend(rows().map(|row| seconds(row.min_rtt)));
        self.delivered.extend(rows().map(|row| row.delivered.get()));
        self.acked.extend(rows().map(|row| row.acked.get()));
        self.lost.extend(rows().map(|row| row.lost.get()));
        self.limited_by.extend(rows().map(|row| row.limited_by));
        for (number, group) in self.groups.iter_mut().enumerate() {
            for (i, (_, _, field)) in group.iter_mut().enumerate() {
                let values = self.held.iter().map(|held| {
                    let place = held.groups.iter().position(|group| *group == number);
                    place.map_or(f64::NAN, |place| self.held_values[held.values[place] + i])
                });
                match field {
                    Field::Number(column) => column.extend(values.map(|value| value as f32)),
                    Field::Label(codes, _) => codes.extend_reported(values),
                }
            }
        }
        self.held.clear();
        self.held_values.clear();
    }

    /// Adds a link's row.
    pub fn link(&mut self, row: LinkRow) {
        self.links.push(row);
    }

    /// Returns the rows of links.
    pub fn link_rows(&self) -> &[LinkRow] {
        &self.links
    }

    /// Sets the rate of the link in each of its rows, in bit/s.
    pub fn link_rates(&mut self, rates: Vec<f32>) {
        self.rates = rates;
    }

    /// Adds the row of a flow's part in a queue.
    pub fn queue(&mut self, row: QueueRow) {
        self.queues.push(row);
    }

    /// Sets the rows of packets and of ACKs.
    pub fn packets(&mut self, packets: Vec<PacketRow>, acks: Vec<AckRow>) {
        self.packets = Some((packets, acks));
    }

    /// Adds a transition.
    pub fn transition(&mut self, row: TransitionRow) {
        self.transitions.push(row);
    }

    /// Sets the responses that flows received, in order of completion.
    pub fn responses(&mut self, responses: Vec<(u32, Response)>) {
        self.responses = Some(responses);
    }

    /// Adds a workload's row.
    pub fn active(&mut self, row: ActiveRow) {
        self.active.push(row);
    }

    /// Sets the flows that arrived, in order of arrival.
    pub fn transfers(&mut self, transfers: Vec<Transfer>) {
        self.transfers = Some(transfers);
    }

    /// Returns the trace, without copying the flows' columns.
    pub fn finish(mut self) -> Trace {
        self.settle();
        let packets = self.packets.take();
        let links = tables::links(&self.links, std::mem::take(&mut self.rates));
        let queues = (!self.queues.is_empty()).then(|| tables::queues(&self.queues));
        let transitions = tables::transitions(&self.transitions);
        let responses = self.responses.take().map(|rows| tables::responses(&rows));
        let workloads = self
            .transfers
            .take()
            .map(|rows| [tables::active(&self.active), tables::transfers(&rows)]);
        let mut tables = vec![self.flows(), links, transitions];
        tables.extend(queues);
        tables.extend(responses);
        tables.extend(workloads.into_iter().flatten());
        if let Some((packets, acks)) = &packets {
            tables.extend([tables::packets(packets), tables::acks(acks)]);
        }
        Trace { tables }
    }

    fn flows(self) -> Table {
        let limited_by = Data::Label {
            codes: Codes::U8(self.limited_by),
            labels: owned(&self.limits),
        };
        let columns = [
            ("time", Data::U64(self.time)),
            ("flow", Data::U32(self.flow)),
            ("cwnd", Data::U64(self.cwnd)),
            ("inflight", Data::U64(self.inflight)),
            ("ssthresh", Data::F32(self.ssthresh)),
            ("pacing_rate", Data::F32(self.pacing_rate)),
            ("delivery_rate", Data::F32(self.delivery_rate)),
            ("rtt", Data::F32(self.rtt)),
            ("srtt", Data::F32(self.srtt)),
            ("min_rtt", Data::F32(self.min_rtt)),
            ("delivered", Data::U64(self.delivered)),
            ("acked", Data::U64(self.acked)),
            ("lost", Data::U64(self.lost)),
            ("limited_by", limited_by),
        ];
        let own = self.groups.into_iter().flatten();
        let mut table = tables::table("flows", columns);
        table.columns.extend(own.map(|(name, unit, field)| Column {
            name,
            unit: unit.into(),
            data: match field {
                Field::Number(values) => Data::F32(values),
                Field::Label(codes, labels) => Data::Label {
                    codes,
                    labels: owned(labels),
                },
            },
        }));
        table
    }
}

/// Converts to seconds; NaN for "not known yet".
fn seconds(span: Span) -> f32 {
    if span == Span::MAX || span == Span::ZERO {
        f32::NAN
    } else {
        span.as_secs_f64() as f32
    }
}

/// Converts to bytes; NaN for "no limit".
fn finite(bytes: Bytes) -> f32 {
    if bytes == Bytes::MAX {
        f32::NAN
    } else {
        bytes.as_f64() as f32
    }
}
