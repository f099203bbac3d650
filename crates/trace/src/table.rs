//! Columns, as they are handed on.

use std::borrow::Cow;

use crate::Codes;

/// The trace of a run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// `flows`, `links`, `transitions`; where flows ask for answers, `responses`; where flows
    /// arrive, `workloads` and `transfers`.
    pub tables: Vec<Table>,
}

impl Trace {
    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

/// Columns of one length.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

impl Table {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name; an algorithm's own is `<algorithm>.<field>`.
    pub name: String,
    /// Unit of its numbers, or empty.
    pub unit: Cow<'static, str>,
    /// Its values.
    pub data: Data,
}

impl Column {
    /// The word of a row; none where the row has no word, or the column none at all.
    pub fn label(&self, row: usize) -> Option<&str> {
        match &self.data {
            Data::Label { codes, labels } => {
                let code = codes.get(row)?;
                labels.get(code).map(String::as_str)
            }
            _ => None,
        }
    }

    /// The words of all rows that have one, in order.
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
    U64(Vec<u64>),
    /// Indices.
    U32(Vec<u32>),
    /// Measures, to seven digits; NaN is "none".
    F32(Vec<f32>),
    /// Words, each by its index in `labels`.
    Label {
        /// One a row.
        codes: Codes,
        /// The words.
        labels: Vec<String>,
    },
}

impl Trace {
    /// A fingerprint of every value: two runs of one seed have the same.
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        for table in &self.tables {
            for column in &table.columns {
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

/// FNV-1a over words: no protection against malice, enough to tell two runs apart.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }
}
