//! Joins the samples of a connection into one record: its last sample, and a summary of all.

use std::hash::Hasher;

use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

use super::field::{COLUMNS, Field};
use super::info::Sample;

/// A connection that may continue.
#[derive(Clone, Debug)]
pub(super) struct Live {
    /// `local remote`, as `ss` prints them.
    pub(super) ends: Box<[u8]>,
    pub(super) connection: i64,
    pub(super) first_seen: i64,
    pub(super) last_seen: i64,
    pub(super) samples: u64,
    pub(super) values: [f64; COLUMNS.len()],
    /// Numbers of state, timer, congestion control and cgroup among the names.
    pub(super) words: [u32; 4],
    pub(super) unknown: String,
    pub(super) course: Course,
}

/// Summary of all samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    pub(super) busy_samples: f64,
    pub(super) app_limited_samples: f64,
    pub(super) delivery_samples: f64,
    /// Sums over samples with data in flight. The last sum only includes samples that the
    /// application does not limit.
    pub(super) sums: [f64; MEANS.len()],
    pub(super) most: [f64; MOSTS.len()],
    pub(super) firsts: [f64; FIRSTS.len()],
}

/// Fields with a mean.
pub(super) const MEANS: [(Field, &str); 4] = [
    (Field::Rtt, "rtt_s_mean"),
    (Field::Cwnd, "cwnd_packets_mean"),
    (Field::Unacked, "unacked_packets_mean"),
    (Field::DeliveryRate, "delivery_rate_bps_mean"),
];

/// Fields with a maximum.
pub(super) const MOSTS: [(Field, &str); 6] = [
    (Field::Rtt, "rtt_s_max"),
    (Field::DeliveryRate, "delivery_rate_bps_max"),
    (Field::Cwnd, "cwnd_packets_max"),
    (Field::Unacked, "unacked_packets_max"),
    (Field::Lost, "lost_packets_max"),
    (Field::NotSent, "notsent_bytes_max"),
];

/// Counters whose first value is kept.
pub(super) const FIRSTS: [(Field, &str); 6] = [
    (Field::BytesSent, "bytes_sent_first"),
    (Field::BytesRetrans, "bytes_retrans_first"),
    (Field::BytesAcked, "bytes_acked_first"),
    (Field::DataSegsOut, "data_segs_out_first"),
    (Field::RetransTotal, "retrans_total_packets_first"),
    (Field::Busy, "busy_s_first"),
];

/// Counters of 64 bits that never decrease during a connection.
const COUNTERS: [Field; 4] = [
    Field::BytesSent,
    Field::BytesRetrans,
    Field::BytesAcked,
    Field::BytesReceived,
];

impl Course {
    fn begin(sample: &[f64]) -> Course {
        let firsts = FIRSTS.map(|(field, _)| sample[field as usize]);
        Course {
            firsts,
            most: [f64::NAN; MOSTS.len()],
            ..Course::default()
        }
    }

    fn add(&mut self, sample: &[f64]) {
        let value = |field: Field| sample[field as usize];
        let app_limited = value(Field::AppLimited) > 0.0;
        self.app_limited_samples += f64::from(u8::from(app_limited));
        let busy = value(Field::Unacked) > 0.0;
        self.busy_samples += f64::from(u8::from(busy));
        let delivery = !app_limited && !value(Field::DeliveryRate).is_nan();
        self.delivery_samples += f64::from(u8::from(delivery && busy));
        for ((field, _), sum) in MEANS.iter().zip(&mut self.sums) {
            if busy && (*field != Field::DeliveryRate || delivery) {
                *sum += value(*field);
            }
        }
        for ((field, _), most) in MOSTS.iter().zip(&mut self.most) {
            // If one operand is NaN, `max` returns the other.
            if *field != Field::DeliveryRate || delivery {
                *most = most.max(value(*field));
            }
        }
    }

    /// Returns the mean of one of [`MEANS`].
    pub(super) fn mean(&self, at: usize) -> f64 {
        let samples = if MEANS[at].0 == Field::DeliveryRate {
            self.delivery_samples
        } else {
            self.busy_samples
        };
        if samples > 0.0 {
            self.sums[at] / samples
        } else {
            f64::NAN
        }
    }
}

/// Connections that may continue.
#[derive(Clone, Debug)]
pub(super) struct Joiner {
    pub(super) live: Vec<Live>,
    /// Number of the last listing with each connection; contiguous in memory, since each listing
    /// ends with a check of all.
    pub(super) seen_in: Vec<u64>,
    table: HashTable<u32>,
    pub(super) listing: u64,
    /// Whether the present listing has a socket.
    any: bool,
    time: i64,
    /// Makes the number of each connection unique.
    pub(super) serial: u64,
    host: String,
}

/// Number of listings in a row without a connection after which it has ended: a single one may have
/// missed it while the kernel's table changed.
const PATIENCE: u64 = 2;

impl Joiner {
    pub(super) fn new(host: &str) -> Joiner {
        Joiner {
            live: Vec::new(),
            seen_in: Vec::new(),
            table: HashTable::new(),
            listing: 0,
            any: false,
            time: i64::MIN,
            serial: 0,
            host: host.to_owned(),
        }
    }

    /// Creates a joiner that continues from a stored state.
    pub(super) fn with(
        host: &str,
        live: Vec<Live>,
        seen_in: Vec<u64>,
        listing: u64,
        serial: u64,
    ) -> Joiner {
        let mut table = HashTable::with_capacity(live.len());
        for (at, one) in live.iter().enumerate() {
            let number =
                u32::try_from(at).expect("memory ends before four thousand million connections");
            table.insert_unique(hash(&one.ends), number, |at| hash(&live[*at as usize].ends));
        }
        Joiner {
            live,
            seen_in,
            table,
            listing,
            serial,
            ..Joiner::new(host)
        }
    }

    /// Sets the time of the following lines; appends connections that have ended to `ended`.
    pub(super) fn at(&mut self, time: i64, ended: &mut Vec<Live>) {
        if self.time != time && self.any {
            self.next_listing(ended);
        }
        self.time = time;
    }

    fn next_listing(&mut self, ended: &mut Vec<Live>) {
        self.any = false;
        self.listing += 1;
        let mut at = 0;
        while at < self.live.len() {
            if self.listing - self.seen_in[at] > PATIENCE {
                ended.push(self.remove(at));
            } else {
                at += 1;
            }
        }
    }

    /// Adds a sample of a connection; returns the connection's number.
    pub(super) fn add(
        &mut self,
        ends: &[u8],
        time: i64,
        sample: &Sample,
        words: [u32; 4],
        ended: &mut Vec<Live>,
    ) -> i64 {
        let hash_ = hash(ends);
        let mut found = self.find(ends, hash_);
        if let Some(at) = found
            && !goes_on(&self.live[at].values, &sample.values)
        {
            ended.push(self.remove(at));
            found = None;
        }
        if found.is_some_and(|at| self.seen_in[at] == self.listing) {
            // The same socket again: another listing, without a time in front of it. The removal of
            // ended connections has moved others.
            self.next_listing(ended);
            found = self.find(ends, hash_);
        }
        self.any = true;
        let at = found.unwrap_or_else(|| self.begin(ends, hash_, time, sample));
        self.seen_in[at] = self.listing;
        let live = &mut self.live[at];
        live.first_seen = live.first_seen.min(time);
        live.last_seen = live.last_seen.max(time);
        live.samples += 1;
        live.values = sample.values;
        live.words = words;
        live.unknown.clone_from(&sample.unknown);
        live.course.add(&sample.values);
        live.connection
    }

    fn find(&self, ends: &[u8], hash_: u64) -> Option<usize> {
        self.table
            .find(hash_, |at| *self.live[*at as usize].ends == *ends)
            .map(|at| *at as usize)
    }

    fn begin(&mut self, ends: &[u8], hash_: u64, time: i64, sample: &Sample) -> usize {
        let at = self.live.len();
        let number =
            u32::try_from(at).expect("memory ends before four thousand million connections");
        self.serial += 1;
        let mut hasher = SipHasher13::new();
        for part in [
            self.host.as_bytes(),
            ends,
            &time.to_le_bytes(),
            &self.serial.to_le_bytes(),
        ] {
            hasher.write(part);
        }
        let connection = i64::from_ne_bytes((hasher.finish() >> 1).to_ne_bytes());
        self.live.push(Live {
            ends: ends.into(),
            connection,
            first_seen: time,
            last_seen: time,
            samples: 0,
            values: sample.values,
            words: [0; 4],
            unknown: String::new(),
            course: Course::begin(&sample.values),
        });
        self.seen_in.push(self.listing);
        let live = &self.live;
        self.table
            .insert_unique(hash_, number, |at| hash(&live[*at as usize].ends));
        at
    }

    fn remove(&mut self, at: usize) -> Live {
        let number = |at: usize| u32::try_from(at).expect("it was one");
        let entry = self
            .table
            .find_entry(hash(&self.live[at].ends), |found| *found == number(at));
        entry.expect("each that is live is in the table").remove();
        let last = self.live.len() - 1;
        if at != last {
            let moved = self
                .table
                .find_mut(hash(&self.live[last].ends), |found| *found == number(last));
            *moved.expect("each that is live is in the table") = number(at);
        }
        self.seen_in.swap_remove(at);
        self.live.swap_remove(at)
    }
}

/// Returns whether a sample can belong to the same connection as the one before, rather than to a
/// later connection with the same addresses and ports.
fn goes_on(before: &[f64], now: &[f64]) -> bool {
    let pair = |field: Field| (before[field as usize], now[field as usize]);
    let (sk, sk_now) = pair(Field::Sk);
    if !sk.is_nan() && !sk_now.is_nan() {
        return sk == sk_now;
    }
    // Inode 0 belongs to sockets that no process holds any longer.
    let (ino, ino_now) = pair(Field::Ino);
    if ino > 0.0 && ino_now > 0.0 && ino != ino_now {
        return false;
    }
    // Not `>=`: a comparison with an absent counter (NaN) has to be false.
    !COUNTERS.iter().any(|counter| {
        let (before, now) = pair(*counter);
        now < before
    })
}

fn hash(ends: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(ends);
    hasher.finish()
}
