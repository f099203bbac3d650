//! Records the rows of a trace in memory, column by column.

use fullpipe_units::{Bytes, Rate, Span};

use crate::packed::{BLOCK, Packed};
use crate::tables::{self, owned};
use crate::{
    AckRow, ActiveRow, Codes, Column, Data, FlowRow, LinkRow, PacketRow, QueueRow, Response, Table,
    Trace, Transfer, TransitionRow, Values,
};

/// A column for a field of one algorithm.
#[derive(Clone, Debug)]
enum Field {
    Number(Packed),
    Label(Codes, &'static [&'static str]),
}

impl Field {
    /// Adds the values of at most [`BLOCK`] rows.
    fn extend(&mut self, values: impl Iterator<Item = f64>) {
        match self {
            Field::Number(column) => {
                let (mut block, mut rows) = ([0; BLOCK], 0);
                for (place, value) in block.iter_mut().zip(values) {
                    *place = bits(value as f32);
                    rows += 1;
                }
                column.push(&mut block, rows);
            }
            Field::Label(codes, _) => codes.extend_reported(values),
        }
    }
}

/// The columns of an algorithm, each with name, unit and values.
type Group = Vec<(String, &'static str, Field)>;

/// Number of rows that are buffered, so that each column grows by many values at a time: appending
/// rows is the main cost of a trace with a row per ACK.
const HELD: usize = BLOCK;

/// The columns of numbers that all flows have, in their order: what converts a number recorded into a value
/// comes with each in [`Recorder::flows`].
const COMMON: usize = 13;

/// Buffered rows, by column, with the groups of each row's algorithms (the sender's, and the receiver's if it
/// has one) and the positions at which their values begin.
#[derive(Clone, Debug)]
struct Held {
    rows: usize,
    numbers: [[u64; HELD]; COMMON],
    limited_by: [u8; HELD],
    groups: [[usize; 2]; HELD],
    begins: [[usize; 2]; HELD],
    /// Whether rows have different groups, or one has two.
    mixed: bool,
    values: Vec<f64>,
}

impl Default for Held {
    fn default() -> Held {
        Held {
            rows: 0,
            numbers: [[0; HELD]; COMMON],
            limited_by: [0; HELD],
            groups: [[NO_GROUP; 2]; HELD],
            begins: [[0; 2]; HELD],
            mixed: false,
            values: Vec::new(),
        }
    }
}

/// Marks a row without an algorithm, or without a second one.
pub const NO_GROUP: usize = usize::MAX;

/// Collects the rows of a run's trace.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    limits: Vec<&'static str>,
    numbers: [Packed; COMMON],
    limited_by: Vec<u8>,
    groups: Vec<Group>,
    held: Box<Held>,
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
                    Field::Number(Packed::default())
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
    #[inline(always)] // the row then needs no memory of its own
    pub fn flow(&mut self, row: FlowRow, group: usize, observe: impl FnOnce(&mut Vec<f64>)) {
        if self.held.rows == HELD {
            self.settle();
        }
        let rate = |rate: Option<Rate>| bits(rate.map_or(f32::NAN, |rate| rate.as_f64() as f32));
        let held = &mut *self.held;
        // The remainder changes nothing, and spares a check of each column.
        let place = held.rows % HELD;
        let numbers: [u64; COMMON] = [
            row.time.as_nanos(),
            row.flow.into(),
            row.cwnd.get(),
            row.inflight.get(),
            row.ssthresh.get(),
            rate(row.pacing_rate),
            rate(row.delivery_rate),
            row.rtt.unwrap_or(Span::MAX).as_nanos(),
            row.srtt.as_nanos(),
            row.min_rtt.as_nanos(),
            row.delivered.get(),
            row.acked.get(),
            row.lost.get(),
        ];
        for (column, number) in held.numbers.iter_mut().zip(numbers) {
            column[place] = number;
        }
        held.limited_by[place] = row.limited_by;
        held.groups[place] = [group, NO_GROUP];
        held.begins[place] = [held.values.len(); 2];
        held.rows += 1;
        held.mixed |= group != held.groups[0][0];
        observe(&mut held.values);
    }

    /// Adds the values of a second algorithm, the receiver's, to the latest row.
    pub fn more(&mut self, group: usize, observe: impl FnOnce(&mut Vec<f64>)) {
        let held = &mut *self.held;
        let Some(place) = held.rows.checked_sub(1) else {
            return;
        };
        (held.groups[place][1], held.begins[place][1]) = (group, held.values.len());
        held.mixed = true;
        observe(&mut held.values);
    }

    /// Moves the buffered rows into their columns.
    #[inline(never)]
    fn settle(&mut self) {
        let held = &mut *self.held;
        let rows = held.rows;
        if rows == 0 {
            return;
        }
        for (column, numbers) in self.numbers.iter_mut().zip(&mut held.numbers) {
            column.push(numbers, rows);
        }
        self.limited_by.extend_from_slice(&held.limited_by[..rows]);
        for (number, group) in self.groups.iter_mut().enumerate() {
            let fields = group.len();
            for (i, (_, _, field)) in group.iter_mut().enumerate() {
                if held.mixed {
                    field.extend((0..rows).map(|row| {
                        let place = held.groups[row].iter().position(|of| *of == number);
                        place.map_or(f64::NAN, |place| held.values[held.begins[row][place] + i])
                    }));
                } else if held.groups[0][0] == number {
                    field.extend(held.values.chunks_exact(fields).map(|values| values[i]));
                } else {
                    field.extend(std::iter::repeat_n(f64::NAN, rows));
                }
            }
        }
        (held.rows, held.mixed) = (0, false);
        held.values.clear();
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
        let [
            time,
            flow,
            cwnd,
            inflight,
            ssthresh,
            pacing_rate,
            delivery_rate,
            rtt,
            srtt,
            min_rtt,
            delivered,
            acked,
            lost,
        ] = self.numbers;
        let whole = |column| Data::U64(Values::packed(column, |number| number));
        let float = |column, of| Data::F32(Values::packed(column, of));
        let columns = [
            ("time", whole(time)),
            (
                "flow",
                Data::U32(Values::packed(flow, |number| number as u32)),
            ),
            ("cwnd", whole(cwnd)),
            ("inflight", whole(inflight)),
            ("ssthresh", float(ssthresh, finite)),
            ("pacing_rate", float(pacing_rate, from_bits)),
            ("delivery_rate", float(delivery_rate, from_bits)),
            ("rtt", float(rtt, seconds)),
            ("srtt", float(srtt, known_seconds)),
            ("min_rtt", float(min_rtt, known_seconds)),
            ("delivered", whole(delivered)),
            ("acked", whole(acked)),
            ("lost", whole(lost)),
            ("limited_by", limited_by),
        ];
        let own = self.groups.into_iter().flatten();
        let mut table = tables::table("flows", columns);
        table.columns.extend(own.map(|(name, unit, field)| Column {
            name,
            unit: unit.into(),
            data: match field {
                Field::Number(values) => Data::F32(Values::packed(values, from_bits)),
                Field::Label(codes, labels) => Data::Label {
                    codes,
                    labels: owned(labels),
                },
            },
        }));
        table
    }
}

/// A measured value as a number to pack.
#[inline]
fn bits(value: f32) -> u64 {
    value.to_bits().into()
}

fn from_bits(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Converts nanoseconds to seconds; NaN for "none".
fn seconds(nanos: u64) -> f32 {
    match Span::from_nanos(nanos) {
        Span::MAX => f32::NAN,
        span => span.as_secs_f64() as f32,
    }
}

/// Converts nanoseconds to seconds; NaN for "not known yet".
fn known_seconds(nanos: u64) -> f32 {
    if nanos == 0 { f32::NAN } else { seconds(nanos) }
}

/// Converts to bytes; NaN for "no limit".
fn finite(bytes: u64) -> f32 {
    match Bytes::new(bytes) {
        Bytes::MAX => f32::NAN,
        bytes => bytes.as_f64() as f32,
    }
}
