//! The part of each flow in a link's queue, for the trace.

use fullpipe_network::{Departure, DropCause, PacketKind};
use fullpipe_trace::QueueRow;
use fullpipe_units::{Bytes, Ring, Time};

use crate::flow::PacketInTransit;
use crate::waiting::{Load, Waiting};

/// The waiting bytes, drops and marks of each account at one link.
#[derive(Debug)]
pub(crate) struct Shares {
    accounts: Vec<Account>,
    counted: Counted,
    /// Packets in a drop-tail queue: the time at which each begins to leave, its account and size. Those that
    /// have left are removed before a row, and when there is no place for another.
    waiting: Ring<(Time, u32, u32)>,
    /// Packets that an AQM queue has dropped, with their accounts, if packets are logged.
    pub(crate) dropped: Option<Vec<(u32, PacketInTransit)>>,
}

/// The source of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// No packet has arrived.
    Nothing,
    /// All packets at a drop-tail queue were of this account, so its part is the whole queue, and no packet
    /// needs to be counted.
    Whole(u32),
    /// Each packet is counted.
    Each,
}

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    waiting: Bytes,
    drops: u64,
    marks: u64,
    /// Whether a packet of it has arrived at the link.
    seen: bool,
}

impl Shares {
    /// Creates the shares of an empty queue; `each` if each packet must be counted from the start.
    pub(crate) fn new(accounts: usize, each: bool) -> Shares {
        Shares {
            accounts: vec![Account::default(); accounts],
            counted: if each {
                Counted::Each
            } else {
                Counted::Nothing
            },
            waiting: Ring::default(),
            dropped: None,
        }
    }

    /// Returns whether this account's part is the whole queue.
    #[inline]
    pub(crate) fn is_whole(&self, account: u32) -> bool {
        self.counted == Counted::Whole(account)
    }

    /// Returns whether this account's part is the whole queue, now that a packet of it has arrived.
    pub(crate) fn is_first(&mut self, account: u32) -> bool {
        if self.counted == Counted::Nothing {
            self.counted = Counted::Whole(account);
        }
        self.is_whole(account)
    }

    /// Returns whether each packet is counted.
    pub(crate) fn counts_each(&self) -> bool {
        self.counted == Counted::Each
    }

    /// Counts each packet from now on. The packets that wait, and the drops so far, are those of the account
    /// whose part was the whole queue.
    pub(crate) fn count_each(&mut self, waiting: Vec<(Time, Bytes)>, drops: u64) {
        if let Counted::Whole(account) = self.counted {
            self.accounts[account as usize].waiting = Bytes::ZERO;
            for (start, size) in waiting {
                self.enter(account, size);
                self.waiting.push((start, account, size.get() as u32));
            }
            let account = &mut self.accounts[account as usize];
            (account.drops, account.seen) = (drops, true);
        }
        self.counted = Counted::Each;
    }

    /// Counts the arrival of a packet at a drop-tail queue.
    #[inline(always)] // its caller is out of line
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        account: u32,
        size: Bytes,
        kind: PacketKind,
        outcome: Result<Departure, DropCause>,
    ) {
        match outcome {
            Err(_) => self.on_drop(account, kind),
            Ok(Departure { waited, .. }) => {
                self.enter(account, size);
                if self.waiting.is_full() {
                    self.release(now);
                }
                self.waiting
                    .push((now + waited, account, size.get() as u32));
            }
        }
    }

    /// Adds a packet to the queue.
    pub(crate) fn enter(&mut self, account: u32, size: Bytes) {
        let account = &mut self.accounts[account as usize];
        account.waiting += size;
        account.seen = true;
    }

    /// Removes a packet from the queue.
    pub(crate) fn leave(&mut self, account: u32, size: Bytes) {
        self.accounts[account as usize].waiting -= size;
    }

    /// Counts a drop by the queue or the policer; as in the link's counter, only data packets count.
    pub(crate) fn on_drop(&mut self, account: u32, kind: PacketKind) {
        let account = &mut self.accounts[account as usize];
        account.drops += u64::from(kind == PacketKind::Data);
        account.seen = true;
    }

    /// Counts the drop of an item by an AQM queue.
    pub(crate) fn on_dropped(&mut self, waiting: &Waiting) {
        self.leave(waiting.account, waiting.load.size());
        self.on_drop(waiting.account, waiting.load.kind());
        if let (Some(dropped), Load::Data(packet)) = (&mut self.dropped, waiting.load) {
            dropped.push((waiting.account, packet));
        }
    }

    /// Counts the departure of a packet from a queue that decides at dequeue.
    #[inline(never)] // few runs record a trace
    pub(crate) fn on_departure(&mut self, account: u32, size: Bytes, marked: bool) {
        self.leave(account, size);
        self.accounts[account as usize].marks += u64::from(marked);
    }

    /// Removes the packets that have begun to leave a drop-tail queue.
    #[inline(never)] // seldom for a packet
    fn release(&mut self, now: Time) {
        while let Some(&(start, account, size)) = self.waiting.first() {
            if start > now {
                break;
            }
            self.leave(account, Bytes::new(u64::from(size)));
            self.waiting.pop();
        }
    }

    /// Returns a row for each account that has sent a packet to the link, in whose queue are `bytes` now, and
    /// which has dropped `drops` data packets.
    pub(crate) fn rows(
        &mut self,
        now: Time,
        link: u32,
        bytes: Bytes,
        drops: u64,
    ) -> impl Iterator<Item = QueueRow> + '_ {
        self.release(now);
        if let Counted::Whole(account) = self.counted {
            let account = &mut self.accounts[account as usize];
            (account.waiting, account.drops, account.seen) = (bytes, drops, true);
        }
        (0..)
            .zip(&self.accounts)
            .filter(|(_, account)| account.seen)
            .map(move |(flow, account)| QueueRow {
                time: now,
                link,
                flow,
                queue_bytes: account.waiting,
                drops: account.drops,
                marks: account.marks,
            })
    }
}
