//! Checks of the readers of a host's text: `ss`, logs and counters.

use fullpipe_ingest::fleet::{Bad, Columns, Parse, Values};

/// Results of a reader of a host's text.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) tables: Vec<(&'static str, Columns)>,
    pub(crate) open: Vec<(&'static str, Columns)>,
    pub(crate) counts: Vec<(&'static str, u64)>,
    pub(crate) bad: Vec<Bad>,
    pub(crate) state: String,
}

impl Found {
    fn by(reader: &mut dyn Parse) -> Found {
        let tables = reader.take();
        Found {
            tables,
            open: reader.open(),
            counts: reader.counts(),
            bad: reader.take_bad(),
            state: reader.state(),
        }
    }
}

/// Reads a text as one file, whole and in two pieces, then goes on from the state: the results are
/// the same. Returns them.
pub(crate) fn read<P: Parse>(text: &[u8], cut: usize, new: impl Fn() -> P) -> Found {
    let once = |pieces: &[&[u8]]| {
        let mut reader = new();
        reader.begin_file(1_576_576_800_000_000);
        pieces.iter().for_each(|piece| reader.feed(piece));
        reader.end_file();
        Found::by(&mut reader)
    };
    let whole = once(&[text]);
    let (front, back) = text.split_at(cut % (text.len() + 1));
    let pieces = once(&[front, back]);
    assert_eq!(
        format!("{whole:?}"),
        format!("{pieces:?}"),
        "the pieces matter"
    );
    whole
        .tables
        .iter()
        .chain(&whole.open)
        .for_each(|(_, columns)| sound(columns));
    let mut reader = new();
    assert!(reader.resume(&whole.state), "{}", whole.state);
    assert_eq!(
        reader.state(),
        whole.state,
        "the state comes back as it was"
    );
    assert_eq!(format!("{:?}", reader.open()), format!("{:?}", whole.open));
    whole
}

/// Asserts that the columns have one length, and that their labels exist.
fn sound(columns: &Columns) {
    for column in &columns.columns {
        let length = match &column.values {
            Values::Numbers(values) => values.len(),
            Values::Times(values) | Values::Keys(values) => values.len(),
            Values::Texts(values) => values.len(),
            Values::Labels(codes, labels) => {
                let known =
                    |code: &u32| *code == Values::NO_LABEL || (*code as usize) < labels.len();
                assert!(codes.iter().all(known), "{}", column.name);
                codes.len()
            }
        };
        assert_eq!(length, columns.rows(), "{}", column.name);
    }
}

/// Asserts that the numbers of all tables are finite or absent, and above the least of their column.
pub(crate) fn finite(found: &Found, but: &[&str]) {
    for column in found
        .tables
        .iter()
        .chain(&found.open)
        .flat_map(|(_, table)| &table.columns)
    {
        if let (Values::Numbers(values), false) = (&column.values, but.contains(&column.name)) {
            assert!(
                values.iter().all(|value| !value.is_infinite()),
                "{}",
                column.name
            );
        }
    }
}
