//! Histograms as bpftrace prints them: `hist()`, whose buckets are powers of two, and `lhist()`.

use crate::fleet::parse::{BadLines, LineReader, Lines, Parse};
use crate::fleet::{Columns, Values, number, time};

/// Reads the histograms of one host.
#[derive(Debug, Default)]
pub struct Reader {
    lines: Lines,
    buckets: u64,
    bad: BadLines,
    time: i64,
    /// Name of the histogram that the next bucket belongs to.
    name: String,
    times: Vec<i64>,
    names: Vec<String>,
    /// Columns low, high, count.
    values: [Vec<f64>; 3],
}

/// A bucket: its smallest value, the first value above it, and its count.
type Bucket = [f64; 3];

impl Reader {
    /// Creates a reader; with `silent`, bad lines are not quoted.
    #[must_use]
    pub fn new(silent: bool) -> Reader {
        Reader {
            bad: BadLines::new(silent),
            ..Reader::default()
        }
    }
}

/// Parses a bucket, such as `[2K, 4K)   123 |@@@   |`, `[0]`, `(..., 0)`, `[100, ...)`.
fn bucket(text: &[u8]) -> Option<Bucket> {
    let end = text.iter().position(|byte| matches!(byte, b']' | b')'))?;
    let range = &text[1..end];
    let count = text[end + 1..]
        .split(|byte| *byte == b'|')
        .next()?
        .trim_ascii();
    let count = number::count(count).filter(|_| !count.is_empty())?;
    let Some(comma) = memchr::memchr(b',', range) else {
        let low = bound(range)?;
        return Some([low, low + 1.0, count]);
    };
    let (low, high) = (range[..comma].trim_ascii(), range[comma + 1..].trim_ascii());
    let low = if low == b"..." {
        f64::NEG_INFINITY
    } else {
        bound(low)?
    };
    let high = if high == b"..." {
        f64::NAN
    } else {
        bound(high)?
    };
    Some([low, high, count])
}

/// Parses a bound; `64K` is 65536.
fn bound(text: &[u8]) -> Option<f64> {
    let (sign, text) = text
        .strip_prefix(b"-")
        .map_or((1.0, text), |text| (-1.0, text));
    let (last, digits) = text.split_last()?;
    let power = match last {
        b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        b'P' => 5,
        b'E' => 6,
        _ => return number::count(text).map(|value| sign * value),
    };
    Some(
        sign * number::count(digits).filter(|_| !digits.is_empty())?
            * (0..power).fold(1.0, |times, _| times * 1024.0),
    )
}

impl LineReader for Reader {
    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    fn bad_lines(&mut self) -> &mut BadLines {
        &mut self.bad
    }

    fn read(&mut self, number: u64, line: &[u8]) {
        let text = line.trim_ascii();
        match text.first() {
            None | Some(b'#') if time::line(text).is_none() => {}
            Some(b'@') if text.ends_with(b":") => {
                self.name = String::from_utf8_lossy(&text[..text.len() - 1]).into_owned()
            }
            Some(b'[' | b'(') if memchr::memchr(b'|', text).is_some() => match bucket(text) {
                Some(bucket) => {
                    self.buckets += 1;
                    self.times.push(self.time);
                    self.names.push(self.name.clone());
                    for (column, value) in self.values.iter_mut().zip(bucket) {
                        column.push(value);
                    }
                }
                None => self.bad.add(
                    number,
                    line,
                    "it is not a bucket like `[2, 4)  123 |@@@ |`".into(),
                ),
            },
            // Any other output of a program is ignored.
            _ => {
                if let Some(time) = time::line(text) {
                    self.time = time.micros;
                }
            }
        }
    }
}

impl Parse for Reader {
    fn begin_file(&mut self, time: i64) {
        self.lines.begin_file();
        self.time = time;
        self.name.clear();
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Vec<(&'static str, Columns)> {
        let mut columns = Columns::default();
        if self.times.is_empty() {
            return vec![("histograms", columns)];
        }
        columns.push("time", Values::Times(std::mem::take(&mut self.times)));
        columns.push("name", Values::Texts(std::mem::take(&mut self.names)));
        for (name, values) in ["low", "high", "count"]
            .into_iter()
            .zip(std::mem::take(&mut self.values))
        {
            columns.push(name, Values::Numbers(values));
        }
        vec![("histograms", columns)]
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("bytes", self.lines.bytes),
            ("buckets", self.buckets),
            ("bad", self.bad.count),
        ]
    }

    fn state(&self) -> String {
        serde_json::json!([self.lines.bytes, self.buckets, self.bad.count]).to_string()
    }

    fn resume(&mut self, state: &str) -> bool {
        let Ok([bytes, buckets, bad]) = serde_json::from_str::<[u64; 3]>(state) else {
            return false;
        };
        (self.lines.bytes, self.buckets, self.bad.count) = (bytes, buckets, bad);
        true
    }
}
