//! Stores connections that may continue between two files, with all bits of their numbers.

use serde::{Deserialize, Serialize};

use super::field::COLUMNS;
use super::join::{Course, Live};

/// Version of the stored state; in another version the fields may have moved.
pub(super) const FORMAT: u32 = 2;

/// A connection. Floats are stored as their bits, and only if present.
#[derive(Serialize, Deserialize)]
pub(super) struct KeptLive {
    ends: Vec<u8>,
    connection: i64,
    seen: [i64; 2],
    samples: u64,
    listing: u64,
    values: Vec<(u8, u64)>,
    words: [u32; 4],
    unknown: String,
    course: Vec<u64>,
}

impl KeptLive {
    pub(super) fn of(live: &Live, listing: u64) -> KeptLive {
        let values = live
            .values
            .iter()
            .enumerate()
            .filter(|(_, value)| !value.is_nan());
        let Course {
            busy_samples,
            app_limited_samples,
            delivery_samples,
            sums,
            most,
            firsts,
        } = &live.course;
        let counts = [busy_samples, app_limited_samples, delivery_samples];
        KeptLive {
            ends: live.ends.to_vec(),
            connection: live.connection,
            seen: [live.first_seen, live.last_seen],
            samples: live.samples,
            listing,
            values: values
                .map(|(at, value)| {
                    (
                        u8::try_from(at).expect("there are not 256"),
                        value.to_bits(),
                    )
                })
                .collect(),
            words: live.words,
            unknown: live.unknown.clone(),
            course: counts
                .into_iter()
                .chain(sums)
                .chain(most)
                .chain(firsts)
                .map(|value| value.to_bits())
                .collect(),
        }
    }

    /// Returns the connection, and the number of the last listing that it was in.
    pub(super) fn live(self) -> (Live, u64) {
        let mut values = [f64::NAN; COLUMNS.len()];
        for (at, bits) in self.values {
            if let Some(value) = values.get_mut(usize::from(at)) {
                *value = f64::from_bits(bits);
            }
        }
        let mut course = Course::default();
        let counts = [
            &mut course.busy_samples,
            &mut course.app_limited_samples,
            &mut course.delivery_samples,
        ];
        let places = counts
            .into_iter()
            .chain(&mut course.sums)
            .chain(&mut course.most)
            .chain(&mut course.firsts);
        for (place, bits) in places.zip(self.course) {
            *place = f64::from_bits(bits);
        }
        let live = Live {
            ends: self.ends.into(),
            connection: self.connection,
            first_seen: self.seen[0],
            last_seen: self.seen[1],
            samples: self.samples,
            values,
            words: self.words,
            unknown: self.unknown,
            course,
        };
        (live, self.listing)
    }
}
