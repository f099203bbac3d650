//! Calls that a kernel made, as its ring buffer `calls` has them (`struct fp_call_row`).

#![allow(unsafe_code)]

use std::io::Read;
use std::{fs, path, ptr};

use flate2::read::GzDecoder;

use crate::Call;
use crate::call::Kind;

/// A call, and the decision after it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Row {
    /// Number of the connection.
    pub connection: u64,
    /// The call, with the decision before it.
    pub call: Call,
    /// B/s.
    pub pacing_rate: u64,
    /// In segments.
    pub cwnd: u32,
    /// In segments.
    pub ssthresh: u32,
}

/// Offset of `kind` in a row.
const KIND: usize = 8 + 24;

/// Reads a recording, compressed by gzip.
pub fn read(file: &path::Path) -> Vec<Row> {
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut rows = Vec::new();
    GzDecoder::new(bytes.as_slice())
        .read_to_end(&mut rows)
        .expect("a gzip file");
    let (whole, rest) = rows.as_chunks::<{ size_of::<Row>() }>();
    assert!(
        rest.is_empty() && !whole.is_empty(),
        "{}: whole rows",
        file.display()
    );
    whole
        .iter()
        .map(|row| {
            assert!(row[KIND] <= Kind::Rtt as u8, "a kind of call");
            // SAFETY: all bits are valid for the numbers, and `kind` was checked.
            unsafe { ptr::read_unaligned(row.as_ptr().cast()) }
        })
        .collect()
}
