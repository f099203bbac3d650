//! Rows of tables, as columns.

/// A column and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name in a fleet directory's tables.
    pub name: &'static str,
    /// Values, one per row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN if absent. Counts are exact up to 2^53.
    Numbers(Vec<f64>),
    /// Microseconds since 1970, UTC; `i64::MIN` if absent.
    Times(Vec<i64>),
    /// Indexes of labels, and the labels; [`Values::NO_LABEL`] if absent.
    Labels(Vec<u32>, Vec<String>),
    /// Texts; empty if absent.
    Texts(Vec<String>),
    /// Numbers of 63 bits.
    Keys(Vec<i64>),
}

impl Values {
    /// Index of an absent label.
    pub const NO_LABEL: u32 = u32::MAX;
}

/// Rows of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// Columns of the same length.
    pub columns: Vec<Column>,
}

impl Columns {
    /// Returns the number of rows.
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

    /// Returns the column with a name.
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
