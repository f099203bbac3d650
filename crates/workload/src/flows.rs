//! Recorded flows, in columns.

use core::fmt;

use fullpipe_units::{Bytes, Span, Time};

/// A part of a flow that its application writes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Time since the flow's start.
    pub offset: Span,
    /// Size in bytes.
    pub bytes: Bytes,
}

/// Range of a flow's chunks within the column of all chunks; empty if the flow writes all its data
/// at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    first: u32,
    count: u32,
}

impl Chunks {
    /// Returns whether all data is written at the start.
    pub fn is_whole(self) -> bool {
        self.count == 0
    }
}

/// Flows in order of their starts, in columns: 16 bytes each; 4 more, and 16 per chunk, where there
/// are pauses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    starts: Vec<Time>,
    bytes: Vec<Bytes>,
    /// Chunks of flow i are `first_chunks[i]` up to `first_chunks[i + 1]`. Empty if no flow has
    /// pauses.
    first_chunks: Vec<u32>,
    chunks: Vec<Chunk>,
}

/// Size of the largest flow allowed, here and in a [`Cdf`](crate::Cdf).
pub(crate) const LARGEST: Bytes = Bytes::new(1_000_000_000_000_000);

/// The reason why columns are not flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowsError {
    /// There are no rows.
    Empty,
    /// There are more rows, or chunks, than 32 bits count.
    TooMany,
    /// The columns have different lengths.
    Lengths,
    /// This row starts before the previous one.
    Unsorted(usize),
    /// This row has no bytes.
    Nothing(usize),
    /// This row has more than a petabyte.
    TooLarge(usize),
    /// The chunks of this row do not begin at its start, are not in order, include an empty one, or
    /// do not add up to its bytes.
    Chunks(usize),
}

impl fmt::Display for FlowsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowsError::Empty => write!(out, "there are no flows"),
            FlowsError::TooMany => {
                write!(out, "there are more than 4,294,967,295 flows, or chunks")
            }
            FlowsError::Lengths => write!(out, "the columns have different lengths"),
            FlowsError::Unsorted(row) => write!(out, "row {row} starts before row {}", row - 1),
            FlowsError::Nothing(row) => write!(out, "row {row} has no bytes"),
            FlowsError::TooLarge(row) => write!(out, "row {row} has more than {LARGEST}"),
            FlowsError::Chunks(row) => {
                write!(
                    out,
                    "the chunks of row {row} must begin at 0, ascend, not be empty, and add up to the flow's bytes"
                )
            }
        }
    }
}

impl std::error::Error for FlowsError {}

impl Flows {
    /// Returns the flows without pauses.
    pub fn new(starts: Vec<Time>, bytes: Vec<Bytes>) -> Result<Flows, FlowsError> {
        Flows::with_chunks(starts, bytes, Vec::new(), Vec::new())
    }

    /// Returns the flows with their chunks: those of flow i are
    /// `first_chunks[i]..first_chunks[i + 1]`, as in Arrow's lists.
    pub fn with_chunks(
        starts: Vec<Time>,
        bytes: Vec<Bytes>,
        first_chunks: Vec<u32>,
        chunks: Vec<Chunk>,
    ) -> Result<Flows, FlowsError> {
        let flows = Flows {
            starts,
            bytes,
            first_chunks,
            chunks,
        };
        flows.check()?;
        Ok(flows)
    }

    fn check(&self) -> Result<(), FlowsError> {
        let count = self.starts.len();
        if count == 0 {
            return Err(FlowsError::Empty);
        }
        if u32::try_from(count).is_err() || u32::try_from(self.chunks.len()).is_err() {
            return Err(FlowsError::TooMany);
        }
        let listed = if self.first_chunks.is_empty() {
            self.chunks.is_empty()
        } else {
            self.first_chunks.len() == count + 1
        };
        if self.bytes.len() != count || !listed {
            return Err(FlowsError::Lengths);
        }
        if let Some(row) = (1..count).find(|row| self.starts[*row] < self.starts[row - 1]) {
            return Err(FlowsError::Unsorted(row));
        }
        if let Some(row) = (0..count).find(|row| self.bytes[*row] == Bytes::ZERO) {
            return Err(FlowsError::Nothing(row));
        }
        if let Some(row) = (0..count).find(|row| self.bytes[*row] > LARGEST) {
            return Err(FlowsError::TooLarge(row));
        }
        match self
            .first_chunks
            .windows(2)
            .enumerate()
            .find(|(row, ends)| !self.are_chunks(*row, ends[0], ends[1]))
        {
            Some((row, _)) => Err(FlowsError::Chunks(row)),
            None => Ok(()),
        }
    }

    fn are_chunks(&self, row: usize, first: u32, end: u32) -> bool {
        let Some(chunks) = self.chunks.get(first as usize..end as usize) else {
            return false;
        };
        let Some(begin) = chunks.first() else {
            return true;
        };
        begin.offset == Span::ZERO
            && chunks
                .windows(2)
                .all(|pair| pair[0].offset < pair[1].offset)
            && chunks.iter().all(|chunk| chunk.bytes > Bytes::ZERO)
            && chunks.iter().map(|chunk| chunk.bytes).sum::<Bytes>() == self.bytes[row]
    }

    /// Returns the number of flows.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the start time of flow `row`.
    pub fn start(&self, row: usize) -> Time {
        self.starts[row]
    }

    /// Returns the size of flow `row`.
    pub fn bytes(&self, row: usize) -> Bytes {
        self.bytes[row]
    }

    /// Returns the range of the chunks of flow `row`; empty for a single chunk.
    pub fn chunks_of(&self, row: usize) -> Chunks {
        let Some(ends) = self.first_chunks.get(row..row + 2) else {
            return Chunks::default();
        };
        let count = ends[1] - ends[0];
        if count < 2 {
            Chunks::default()
        } else {
            Chunks {
                first: ends[0],
                count,
            }
        }
    }

    /// Returns the chunks in a range.
    pub fn chunks(&self, of: Chunks) -> &[Chunk] {
        &self.chunks[of.first as usize..][..of.count as usize]
    }

    /// Returns the time from the first start to the last.
    pub fn span(&self) -> Span {
        self.starts[self.len() - 1].since(self.starts[0])
    }

    /// Returns a hash that distinguishes these flows from others: FNV-1a over the columns.
    pub fn fingerprint(&self) -> u64 {
        let hash = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        let mixed = |sum: u64, word: u64| {
            let sum = hash(sum, word);
            sum ^ sum >> 29
        };
        let flows = self
            .starts
            .iter()
            .zip(&self.bytes)
            .flat_map(|(start, bytes)| [start.as_nanos(), bytes.get()]);
        let chunks = self
            .chunks
            .iter()
            .flat_map(|chunk| [chunk.offset.as_nanos(), chunk.bytes.get()]);
        let firsts = self.first_chunks.iter().map(|first| u64::from(*first));
        flows
            .chain(firsts)
            .chain(chunks)
            .fold(0xcbf2_9ce4_8422_2325, mixed)
    }

    /// Returns the total size of all flows in bytes, as a float since there may be more than 64
    /// bits count.
    pub fn total(&self) -> f64 {
        self.bytes.iter().map(|bytes| bytes.as_f64()).sum()
    }
}
