//! The runs of segments that arrived out of order, as a receiver reports them (RFC 2018 §4).

use crate::wire::Block;

/// Number of blocks that the receiver remembers (Linux: TCP_NUM_SACKS).
const REMEMBERED: usize = 4;

/// The runs above the next expected segment, the most recently changed first.
#[derive(Debug, Default)]
pub(super) struct SackBlocks {
    blocks: [Block; REMEMBERED],
    known: usize,
}

impl SackBlocks {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// Returns the blocks, the most recently changed first.
    #[inline]
    pub(super) fn get(&self) -> &[Block] {
        &self.blocks[..self.known]
    }

    /// Returns the place of the first block that `seq` touches; without one, the number of blocks.
    pub(super) fn place(&self, seq: u64) -> usize {
        self.get()
            .iter()
            .position(|block| block.end >= seq && block.start <= seq + 1)
            .unwrap_or(self.known)
    }

    /// Records that `seq` arrived early: its run becomes the first block, merged with the runs that
    /// it touches.
    pub(super) fn note(&mut self, seq: u64) {
        let mut run = Block {
            start: seq,
            end: seq + 1,
        };
        let mut kept = [Block::default(); REMEMBERED];
        let mut count = 0;
        for block in &self.blocks[..self.known] {
            if block.end >= run.start && block.start <= run.end {
                run = Block {
                    start: block.start.min(run.start),
                    end: block.end.max(run.end),
                };
            } else if count < REMEMBERED - 1 {
                kept[count] = *block;
                count += 1;
            }
        }
        self.blocks[0] = run;
        self.blocks[1..=count].copy_from_slice(&kept[..count]);
        self.known = count + 1;
    }

    /// Removes the blocks below `next`, which are in order now.
    pub(super) fn remove_below(&mut self, next: u64) {
        let mut kept = 0;
        for i in 0..self.known {
            if self.blocks[i].end > next {
                self.blocks[kept] = self.blocks[i];
                kept += 1;
            }
        }
        self.known = kept;
    }
}
