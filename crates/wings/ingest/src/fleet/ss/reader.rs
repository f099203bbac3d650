//! Reads the lines of one host, in order of time, as rows.

use serde::{Deserialize, Serialize};

use super::info::Sample;
use super::join::{Joiner, Live};
use super::kept::{FORMAT, KeptLive};
use super::listing::{Counts, Listing, Take};
use super::names::{KINDS, Names};
use super::rows::{Connections, Samples};
use crate::fleet::Columns;
use crate::fleet::address::Privacy;
use crate::fleet::parse::{BadLines, LineReader, Lines, Parse};
use crate::fleet::time::Moment;

/// Options of reading lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Name of the machine in rows.
    pub host: String,
    /// Whether each sample also becomes a row.
    pub samples: bool,
    /// Treatment of addresses. With a key, unknown fields are only counted, and bad lines are not
    /// quoted.
    pub privacy: Privacy,
}

/// Reads the lines of one host.
#[derive(Clone, Debug)]
pub struct Reader {
    listing: Listing<Joined>,
}

/// Samples that become rows.
#[derive(Clone, Debug)]
struct Joined {
    options: Options,
    joiner: Joiner,
    names: Names,
    connections: Connections,
    samples: Samples,
    ended: Vec<Live>,
}

impl Reader {
    /// Creates a reader.
    #[must_use]
    pub fn new(options: Options) -> Reader {
        let silent = options.privacy.is_keyed();
        let joined = Joined {
            joiner: Joiner::new(&options.host),
            names: Names::default(),
            connections: Connections::default(),
            samples: Samples::default(),
            ended: Vec::new(),
            options,
        };
        Reader {
            listing: Listing::new(joined, silent),
        }
    }
}

impl Joined {
    fn emit(&mut self) {
        for live in self.ended.drain(..) {
            self.connections.add(&live, &self.options.privacy);
        }
    }
}

impl Take for Joined {
    fn at(&mut self, time: i64) {
        self.joiner.at(time, &mut self.ended);
        self.emit();
    }

    fn sample(
        &mut self,
        ends: &[u8],
        at: Moment,
        _began: Option<Moment>,
        sample: &mut Sample,
    ) -> Result<(), String> {
        sample.fill();
        sample.consistent()?;
        let sample = &*sample;
        let words = [&sample.state, &sample.timer, &sample.cc, &sample.cgroup];
        let names = &mut self.names;
        let mut numbers = [u32::MAX; KINDS];
        for (kind, word) in words
            .into_iter()
            .enumerate()
            .filter(|(_, word)| !word.is_empty())
        {
            numbers[kind] = names.number(kind, word);
        }
        let connection = self
            .joiner
            .add(ends, at.micros, sample, numbers, &mut self.ended);
        if self.options.samples {
            let privacy = &self.options.privacy;
            self.samples
                .add(connection, at.micros, sample, numbers, privacy);
        }
        Ok(())
    }

    fn finish_file(&mut self) {
        self.emit();
    }
}

/// State of a reader that is stored between two files.
#[derive(Serialize, Deserialize)]
struct Kept {
    format: u32,
    bytes: u64,
    counts: Counts,
    bad: u64,
    last_time: i64,
    listing: u64,
    serial: u64,
    names: Vec<String>,
    live: Vec<KeptLive>,
}

impl LineReader for Reader {
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

impl Parse for Reader {
    fn begin_file(&mut self, time: i64) {
        self.listing.begin_file(time);
    }

    fn rows(&self) -> usize {
        self.listing
            .to
            .connections
            .rows()
            .max(self.listing.to.samples.rows())
    }

    fn take(&mut self) -> Vec<(&'static str, Columns)> {
        let joined = &mut self.listing.to;
        joined.emit();
        let connections = std::mem::take(&mut joined.connections).columns(&joined.names);
        let samples = std::mem::take(&mut joined.samples).columns(&joined.names);
        vec![("connections", connections), ("samples", samples)]
    }

    fn open(&self) -> Vec<(&'static str, Columns)> {
        let joined = &self.listing.to;
        let mut rows = Connections::default();
        for live in &joined.joiner.live {
            rows.add(live, &joined.options.privacy);
        }
        vec![("connections", rows.columns(&joined.names))]
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Counts {
            lines,
            samples,
            listening,
            without_info,
            foreign,
            untimed,
            backwards,
        } = self.listing.counts;
        vec![
            ("bytes", self.listing.lines.bytes),
            ("lines", lines),
            ("samples", samples),
            ("connections", self.listing.to.joiner.serial),
            ("listening", listening),
            ("without_info", without_info),
            ("foreign", foreign),
            ("untimed", untimed),
            ("backwards", backwards),
            ("bad", self.listing.bad.count),
        ]
    }

    fn state(&self) -> String {
        let (listing, joined) = (&self.listing, &self.listing.to);
        let kept = Kept {
            format: FORMAT,
            bytes: listing.lines.bytes,
            counts: listing.counts,
            bad: listing.bad.count,
            last_time: listing.last_time,
            listing: joined.joiner.listing,
            serial: joined.joiner.serial,
            names: joined.names.words().to_vec(),
            live: joined
                .joiner
                .live
                .iter()
                .zip(&joined.joiner.seen_in)
                .map(|(live, at)| KeptLive::of(live, *at))
                .collect(),
        };
        serde_json::to_string(&kept).expect("numbers and texts can always be written")
    }

    fn resume(&mut self, state: &str) -> bool {
        let Ok(kept) = serde_json::from_str::<Kept>(state) else {
            return false;
        };
        if kept.format != FORMAT {
            return false;
        }
        self.listing.lines.bytes = kept.bytes;
        let listing = &mut self.listing;
        (listing.counts, listing.bad.count, listing.last_time) =
            (kept.counts, kept.bad, kept.last_time);
        let joined = &mut listing.to;
        joined.names = Names::default();
        for name in &kept.names {
            joined.names.number(0, name.as_bytes());
        }
        let (live, seen_in) = kept.live.into_iter().map(KeptLive::live).unzip();
        let host = &joined.options.host;
        joined.joiner = Joiner::with(host, live, seen_in, kept.listing, kept.serial);
        true
    }
}
