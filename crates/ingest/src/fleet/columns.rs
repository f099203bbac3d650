//! Rows as columns, to be handed over.

/// A column and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// As in a fleet directory's tables.
    pub name: &'static str,
    /// A value a row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// NaN where there is none. Counts are exact up to 2^53.
    Numbers(Vec<f64>),
    /// Microseconds since 1970, UTC; `i64::MIN` where there is none.
    Times(Vec<i64>),
    /// Numbers of labels; [`Values::NO_LABEL`] where there is none.
    Labels(Vec<u32>, Vec<String>),
    /// A text a row; empty where there is none.
    Texts(Vec<String>),
    /// Numbers of 63 bits.
    Keys(Vec<i64>),
}

impl Values {
    /// In the place of a label's number.
    pub const NO_LABEL: u32 = u32::MAX;
}

/// A table's rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// All of one length.
    pub columns: Vec<Column>,
}

impl Columns {
    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns
            .first()
            .map_or(0, |column| match &column.values {
                Values::Numbers(values) => values.len(),
                Values::Times(values) | Values::Keys(values) => values.len(),
                Values::Labels(codes, _) => codes.len(),
                Values::Texts(texts) => texts.len(),
            })
    }

    /// The column of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Values> {
        self.columns
            .iter()
            .find(|column| column.name == name)
            .map(|column| &column.values)
    }

    pub(crate) fn push(&mut self, name: &'static str, values: Values) {
        self.columns.push(Column { name, values });
    }
}
