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
    /// Packets in a drop-tail queue: the time at which each begins to leave, its account and size. Those that
    /// have left are removed before a row, and when there is no place for another.
    waiting: Ring<(Time, u32, u32)>,
    /// Packets that an AQM queue has dropped, with their accounts, if packets are logged.
    pub(crate) dropped: Option<Vec<(u32, PacketInTransit)>>,
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
    /// Creates the shares of an empty queue.
    pub(crate) fn new(accounts: usize) -> Shares {
        Shares {
            accounts: vec![Account::default(); accounts],
            waiting: Ring::default(),
            dropped: None,
        }
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

    /// Returns a row for each account that has sent a packet to the link.
    pub(crate) fn rows(&mut self, now: Time, link: u32) -> impl Iterator<Item = QueueRow> + '_ {
        self.release(now);
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
