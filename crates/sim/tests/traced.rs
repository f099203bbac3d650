//! Columns of a traced run.

use fullpipe_trace::{Codes, Data, Run};

/// Returns the values of a column of the flows' table, one for each row; labels as their index.
pub(crate) fn column(run: &Run, name: &str) -> Vec<f64> {
    let trace = run.trace.as_ref().expect("traced");
    let flows = trace.tables.iter().find(|table| table.name == "flows");
    let mut columns = flows.expect("the flows' table").columns.iter();
    let column = columns.find(|column| column.name == name);
    match &column.expect("a column").data {
        Data::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Data::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Data::Label {
            codes: Codes::U8(codes),
            ..
        } => codes.iter().map(|code| f64::from(*code)).collect(),
        Data::Label { .. } => panic!("{name}: more than 256 labels"),
    }
}
