//! The columns of a trace, in the form in which they are exported.

use std::borrow::Cow;

use crate::columns::in_fingerprint;
use crate::{Codes, Values};

/// The trace of a run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// `flows`, `links` and `transitions`; also `queues` if the runner knows whose packets wait,
    /// `responses` if flows have applications that send requests, and `workloads` and `transfers`
    /// if the scenario has workloads.
    pub tables: Vec<Table>,
}

impl Trace {
    /// Returns the table named `name`.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

/// A table: columns of equal length.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

impl Table {
    /// Returns the column named `name`.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name; for an algorithm's own field `<algorithm>.<field>`.
    pub name: String,
    /// Unit of the numbers; empty if they have none.
    pub unit: Cow<'static, str>,
    /// Its values.
    pub data: Data,
}

impl Column {
    /// Returns the label of a row, or `None` if the row has no label or the column holds numbers.
    pub fn label(&self, row: usize) -> Option<&str> {
        match &self.data {
            Data::Label { codes, labels } => {
                let code = codes.get(row)?;
                labels.get(code).map(String::as_str)
            }
            _ => None,
        }
    }

    /// Iterates over the labels of all rows that have one, in order.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        let rows = match &self.data {
            Data::Label { codes, .. } => codes.len(),
            _ => 0,
        };
        (0..rows).filter_map(|row| self.label(row))
    }
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Data {
    /// Counts, sizes, times in ns.
    U64(Values<u64>),
    /// Indices.
    U32(Values<u32>),
    /// Measured values, with seven significant digits; NaN for "no value".
    F32(Values<f32>),
    /// Words, each stored as an index into `labels`.
    Label {
        /// The label index of each row.
        codes: Codes,
        /// The words.
        labels: Vec<String>,
    },
}

impl Trace {
    /// Returns a fingerprint of every value, except those of `queues` and of `links.rate`: runs with
    /// the same scenario, seed and version have the same fingerprint.
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        for table in &self.tables {
            let columns = table.columns.iter();
            for column in columns.filter(|column| in_fingerprint(table.name, &column.name)) {
                column
                    .name
                    .bytes()
                    .for_each(|byte| hash.add(u64::from(byte)));
                match &column.data {
                    Data::U64(values) => values.iter().for_each(|value| hash.add(*value)),
                    Data::U32(values) => {
                        values.iter().for_each(|value| hash.add(u64::from(*value)))
                    }
                    Data::F32(values) => values
                        .iter()
                        .for_each(|value| hash.add(u64::from(value.to_bits()))),
                    Data::Label {
                        codes: Codes::U8(codes),
                        ..
                    } => codes.iter().for_each(|code| hash.add(u64::from(*code))),
                    Data::Label {
                        codes: Codes::U32(codes),
                        ..
                    } => codes.iter().for_each(|code| hash.add(u64::from(*code))),
                }
            }
        }
        hash.0
    }
}

/// FNV-1a over words: sufficient to tell two runs apart, but not secure against deliberate
/// collisions.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }
}
