//! Connections and samples as columns.

use super::field::COLUMNS;
use super::info::Sample;
use super::join::{FIRSTS, Live, MEANS, MOSTS};
use super::names::Names;
use crate::fleet::address::{self, Privacy};
use crate::fleet::{Columns, Values};

/// Names of a sample's words, in the order of their numbers.
const WORDS: [&str; 4] = ["state", "timer", "cc", "cgroup"];
const CGROUP: usize = 3;

/// Fields of a sample, which both tables have.
#[derive(Clone, Debug, Default)]
struct Fields {
    values: Vec<Vec<f64>>,
    words: [Vec<u32>; 4],
    unknown: Vec<String>,
}

impl Fields {
    fn add(&mut self, values: &[f64], mut words: [u32; 4], unknown: &str, privacy: &Privacy) {
        self.values.resize_with(COLUMNS.len(), Vec::new);
        for (column, value) in self.values.iter_mut().zip(values) {
            column.push(*value);
        }
        // The name of a cgroup may reveal who runs a service, and unknown fields may reveal
        // anything.
        if privacy.is_keyed() {
            words[CGROUP] = Values::NO_LABEL;
        }
        for (column, word) in self.words.iter_mut().zip(words) {
            column.push(word);
        }
        let unknown = if unknown.is_empty() || privacy.is_keyed() {
            String::new()
        } else {
            format!("{{{unknown}}}")
        };
        self.unknown.push(unknown);
    }

    fn columns(self, columns: &mut Columns, names: &Names) {
        for (name, values) in COLUMNS.iter().zip(self.values) {
            columns.push(name, Values::Numbers(values));
        }
        for (name, words) in WORDS.iter().zip(self.words) {
            columns.push(name, Values::Labels(words, names.words().to_vec()));
        }
        columns.push("unknown", Values::Texts(self.unknown));
    }
}

/// Rows of the table `connections`.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections {
    fields: Fields,
    keys: Vec<i64>,
    times: [Vec<i64>; 2],
    texts: [Vec<String>; 3],
    ports: [Vec<f64>; 2],
    course: Vec<(&'static str, Vec<f64>)>,
}

impl Connections {
    pub(super) fn rows(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn add(&mut self, live: &Live, privacy: &Privacy) {
        self.fields
            .add(&live.values, live.words, &live.unknown, privacy);
        self.keys.push(live.connection);
        self.times[0].push(live.first_seen);
        self.times[1].push(live.last_seen);
        let ends = String::from_utf8_lossy(&live.ends);
        let (local, remote) = ends.split_once(' ').unwrap_or((&ends, ""));
        let ((local, local_port), (client, remote_port)) =
            (address::split(local), address::split(remote));
        self.texts[0].push(privacy.token(&client));
        self.texts[1].push(privacy.token(&address::net(&client)));
        self.texts[2].push(privacy.token(&local));
        // A remote port and a time can together identify a user behind a shared address (RFC 6302).
        let remote_port = remote_port.filter(|_| !privacy.is_keyed());
        for (column, port) in self.ports.iter_mut().zip([local_port, remote_port]) {
            column.push(port.map_or(f64::NAN, f64::from));
        }
        let course = &live.course;
        #[expect(
            clippy::cast_precision_loss,
            reason = "there are fewer than 2^53 samples"
        )]
        let counts = [
            ("samples", live.samples as f64),
            ("busy_samples", course.busy_samples),
            ("app_limited_samples", course.app_limited_samples),
        ];
        let means = MEANS
            .iter()
            .enumerate()
            .map(|(at, (_, name))| (*name, course.mean(at)));
        let mosts = MOSTS
            .iter()
            .zip(course.most)
            .map(|((_, name), value)| (*name, value));
        let firsts = FIRSTS
            .iter()
            .zip(course.firsts)
            .map(|((_, name), value)| (*name, value));
        for (at, (name, value)) in counts
            .into_iter()
            .chain(means)
            .chain(mosts)
            .chain(firsts)
            .enumerate()
        {
            if self.course.len() == at {
                self.course.push((name, Vec::new()));
            }
            self.course[at].1.push(value);
        }
    }

    pub(super) fn columns(self, names: &Names) -> Columns {
        let mut columns = Columns::default();
        if self.keys.is_empty() {
            return columns;
        }
        columns.push("connection", Values::Keys(self.keys));
        for (name, times) in ["first_seen", "last_seen"].into_iter().zip(self.times) {
            columns.push(name, Values::Times(times));
        }
        for (name, texts) in ["client", "client_net", "local_address"]
            .into_iter()
            .zip(self.texts)
        {
            columns.push(name, Values::Texts(texts));
        }
        for (name, ports) in ["local_port", "remote_port"].into_iter().zip(self.ports) {
            columns.push(name, Values::Numbers(ports));
        }
        for (name, values) in self.course {
            columns.push(name, Values::Numbers(values));
        }
        self.fields.columns(&mut columns, names);
        columns
    }
}

/// Rows of the table `samples`.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    fields: Fields,
    keys: Vec<i64>,
    times: Vec<i64>,
}

impl Samples {
    pub(super) fn rows(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn add(
        &mut self,
        connection: i64,
        time: i64,
        sample: &Sample,
        words: [u32; 4],
        privacy: &Privacy,
    ) {
        self.fields
            .add(&sample.values, words, &sample.unknown, privacy);
        self.keys.push(connection);
        self.times.push(time);
    }

    pub(super) fn columns(self, names: &Names) -> Columns {
        let mut columns = Columns::default();
        if self.keys.is_empty() {
            return columns;
        }
        columns.push("connection", Values::Keys(self.keys));
        columns.push("time", Values::Times(self.times));
        self.fields.columns(&mut columns, names);
        columns
    }
}
