//! Samples of listings as they are, for series over time: nothing is joined or computed.

use super::field::{COLUMNS, Field};
use super::info::Sample;
use super::listing::{Listing, Take};
use super::names::Names;
use crate::fleet::parse::{BadLines, LineReader, Lines, Parse};
use crate::fleet::time::Moment;
use crate::fleet::{Columns, Values};

/// Reads listings as the table `series`: a row for each sample, with the fields that `ss` printed.
#[derive(Clone, Debug)]
pub struct Series {
    listing: Listing<Rows>,
}

/// Fields of a series.
const FIELDS: [Field; 10] = [
    Field::Cwnd,
    Field::Ssthresh,
    Field::Mss,
    Field::Unacked,
    Field::BytesAcked,
    Field::DataSegsOut,
    Field::RetransTotal,
    Field::Rtt,
    Field::MinRtt,
    Field::PacingRate,
];
/// Kinds of words, by their places among the names.
const ENDS: usize = 0;
const CC: usize = 1;

#[derive(Clone, Debug, Default)]
struct Rows {
    times: Vec<i64>,
    words: [Vec<u32>; 2],
    values: [Vec<f64>; FIELDS.len()],
    names: Names,
}

impl Default for Series {
    fn default() -> Series {
        Series {
            listing: Listing::new(Rows::default(), false),
        }
    }
}

impl Take for Rows {
    fn sample(
        &mut self,
        ends: &[u8],
        at: Moment,
        began: Option<Moment>,
        sample: &mut Sample,
    ) -> Result<(), String> {
        let values = FIELDS.map(|field| sample.values[field as usize]);
        // Zeros that `ss` leaves out are no measurements, but show contradictions.
        sample.fill();
        sample.consistent()?;
        let time = began.and_then(|began| at.nanos()?.checked_sub(began.nanos()?));
        self.times.push(time.unwrap_or(i64::MIN));
        self.words[ENDS].push(self.names.number(ENDS, ends));
        let cc = (!sample.cc.is_empty()).then(|| self.names.number(CC, &sample.cc));
        self.words[CC].push(cc.unwrap_or(Values::NO_LABEL));
        for (column, value) in self.values.iter_mut().zip(values) {
            column.push(value);
        }
        Ok(())
    }
}

impl LineReader for Series {
    fn lines(&mut self) -> &mut Lines {
        self.listing.lines()
    }

    fn bad_lines(&mut self) -> &mut BadLines {
        self.listing.bad_lines()
    }

    fn read(&mut self, number: u64, line: &[u8]) {
        self.listing.read(number, line);
    }

    fn finish_file(&mut self) {
        self.listing.finish_file();
    }
}

impl Parse for Series {
    fn begin_file(&mut self, time: i64) {
        self.listing.begin_file(time);
    }

    fn rows(&self) -> usize {
        self.listing.to.times.len()
    }

    fn take(&mut self) -> Vec<(&'static str, Columns)> {
        let rows = &mut self.listing.to;
        let mut columns = Columns::default();
        columns.push("time_ns", Values::Keys(std::mem::take(&mut rows.times)));
        for (name, words) in ["ends", "cc"].into_iter().zip(&mut rows.words) {
            let words = std::mem::take(words);
            columns.push(name, Values::Labels(words, rows.names.words().to_vec()));
        }
        for (field, values) in FIELDS.iter().zip(&mut rows.values) {
            let values = std::mem::take(values);
            columns.push(COLUMNS[*field as usize], Values::Numbers(values));
        }
        vec![("series", columns)]
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let listing = &self.listing;
        vec![("bytes", listing.lines.bytes), ("bad", listing.bad.count)]
    }

    fn state(&self) -> String {
        String::new()
    }

    fn resume(&mut self, _state: &str) -> bool {
        false
    }
}
