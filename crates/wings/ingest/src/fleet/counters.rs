//! Counters of a whole host, read repeatedly: `/proc/net/snmp`, `/proc/net/netstat`, `/proc/stat`,
//! `netstat -s`, `nstat -a`.

use crate::fleet::parse::{BadLines, LineReader, Lines, Parse};
use crate::fleet::{Columns, Values, number, time};

/// A column, and the names of its counter: in `/proc/net/snmp` or `netstat`, and in `netstat -s`.
struct Counter {
    column: &'static str,
    group: &'static str,
    name: &'static str,
    /// Wordings of `netstat -s`, by version.
    words: &'static [&'static str],
}

const fn counter(
    column: &'static str,
    group: &'static str,
    name: &'static str,
    words: &'static [&'static str],
) -> Counter {
    Counter {
        column,
        group,
        name,
        words,
    }
}

const COUNTERS: [Counter; 9] = [
    counter("in_segs", "Tcp", "InSegs", &["segments received"]),
    counter(
        "out_segs",
        "Tcp",
        "OutSegs",
        &["segments sent out", "segments send out"],
    ),
    counter(
        "retrans_segs",
        "Tcp",
        "RetransSegs",
        &["segments retransmitted", "segments retransmited"],
    ),
    counter(
        "fast_retrans",
        "TcpExt",
        "TCPFastRetrans",
        &["fast retransmits"],
    ),
    counter(
        "slow_start_retrans",
        "TcpExt",
        "TCPSlowStartRetrans",
        &["retransmits in slow start"],
    ),
    counter("lost_retransmit", "TcpExt", "TCPLostRetransmit", &[]),
    counter("timeouts", "TcpExt", "TCPTimeouts", &["other TCP timeouts"]),
    counter("loss_probes", "TcpExt", "TCPLossProbes", &[]),
    counter(
        "dsack_received",
        "TcpExt",
        "TCPDSACKRecv",
        &["DSACKs received"],
    ),
];

/// Columns from /proc/stat: time of all processors, and their time idle or waiting for I/O, in s.
const CPU: [&str; 2] = ["cpu_s", "cpu_idle_s"];
const COLUMNS: usize = COUNTERS.len() + CPU.len();

/// USER_HZ, the unit of /proc/stat: 100 per second on every current architecture of Linux.
const TICKS: f64 = 100.0;

/// Counters of one reading; `None` for those that it lacks.
#[derive(Clone, Debug)]
struct Reading {
    time: i64,
    values: [Option<f64>; COLUMNS],
}

/// A reading as it is stored: floats as their bits.
type KeptReading = (i64, [Option<u64>; COLUMNS]);

/// Reads the series of one host.
#[derive(Debug, Default)]
pub struct Reader {
    lines: Lines,
    readings: u64,
    resets: u64,
    bad: BadLines,
    time: i64,
    now: Option<Reading>,
    before: Option<Reading>,
    /// Names in the preceding line.
    names: Option<Vec<String>>,
    times: Vec<i64>,
    intervals: Vec<f64>,
    values: [Vec<f64>; COLUMNS],
}

impl Reader {
    /// Creates a reader; with `silent`, bad lines are not quoted.
    #[must_use]
    pub fn new(silent: bool) -> Reader {
        Reader {
            bad: BadLines::new(silent),
            ..Reader::default()
        }
    }

    fn counters(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if first == "cpu" {
            return self.cpu(words);
        }
        if let Some(group) = first.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            return self.group(group, words.collect());
        }
        // `nstat -a`: TcpRetransSegs 12 0.0.
        if let Some(value) = words.next().filter(|_| first.starts_with("Tcp")) {
            let (group, name) = first
                .strip_prefix("TcpExt")
                .map_or(("Tcp", &first[3..]), |name| ("TcpExt", name));
            return self.named(group, name, value);
        }
        if first.starts_with(|digit: char| digit.is_ascii_digit()) {
            return self.worded(first, line);
        }
        // Everything else, which is most of the text, is skipped.
        Ok(())
    }

    /// `/proc/stat`: the times of all processors.
    fn cpu<'a>(&mut self, times: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let times: Vec<f64> = times
            .filter_map(|word| number::count(word.as_bytes()))
            .collect();
        let [user, nice, system, idle, wait, ..] = times[..] else {
            return Err("too few CPU times".into());
        };
        // Guest times are included in user already (proc(5)).
        let others: f64 = times.iter().skip(5).take(3).sum();
        self.set(
            COUNTERS.len(),
            (user + nice + system + idle + wait + others) / TICKS,
        );
        self.set(COUNTERS.len() + 1, (idle + wait) / TICKS);
        Ok(())
    }

    /// `/proc/net/snmp`: a line of names, followed by a line of values.
    fn group(&mut self, group: &str, rest: Vec<&str>) -> Result<(), String> {
        let names = self.names.take();
        if let Some(names) = names.filter(|names| names.first().is_some_and(|name| name == group)) {
            if names.len() != rest.len() + 1 {
                return Err(format!(
                    "{} names of {group}, but {} values",
                    names.len() - 1,
                    rest.len()
                ));
            }
            for (name, value) in names[1..].iter().zip(rest) {
                self.named(group, name, value)?;
            }
        } else if rest
            .first()
            .is_some_and(|name| name.starts_with(|letter: char| letter.is_ascii_alphabetic()))
        {
            self.names = Some(
                std::iter::once(group)
                    .chain(rest)
                    .map(str::to_owned)
                    .collect(),
            );
        }
        Ok(())
    }

    /// `netstat -s`: 12 segments retransmitted.
    fn worded(&mut self, count: &str, line: &str) -> Result<(), String> {
        let said = line
            .trim_start()
            .split_once(' ')
            .map_or("", |(_, said)| said.trim());
        if let Some(at) = COUNTERS
            .iter()
            .position(|counter| counter.words.contains(&said))
        {
            let value = number::count(count.as_bytes())
                .ok_or_else(|| format!("`{count}` is not a count: {said}"))?;
            self.set(at, value);
        }
        Ok(())
    }

    fn named(&mut self, group: &str, name: &str, value: &str) -> Result<(), String> {
        if let Some(at) = COUNTERS
            .iter()
            .position(|counter| counter.group == group && counter.name == name)
        {
            let value = number::count(value.as_bytes())
                .ok_or_else(|| format!("{group} {name} can't be `{value}`"))?;
            self.set(at, value);
        }
        Ok(())
    }

    fn set(&mut self, at: usize, value: f64) {
        // A repeated counter begins a new reading.
        if self
            .now
            .as_ref()
            .is_some_and(|now| now.values[at].is_some())
        {
            self.finish();
        }
        let time = self.time;
        self.now
            .get_or_insert(Reading {
                time,
                values: [None; COLUMNS],
            })
            .values[at] = Some(value);
    }

    /// Completes a reading: adds a row of the increases since the one before.
    fn finish(&mut self) {
        let Some(now) = self.now.take() else { return };
        self.readings += 1;
        let Some(before) = self.before.replace(now.clone()) else {
            return;
        };
        let increases: Vec<Option<f64>> = now
            .values
            .iter()
            .zip(before.values)
            .map(|(now, before)| Some((*now)? - before?))
            .collect();
        // After a restart, a host counts from zero. A clock that was set back measures no interval.
        if now.time < before.time || increases.iter().flatten().any(|increase| *increase < 0.0) {
            self.resets += 1;
            return;
        }
        self.times.push(now.time);
        #[expect(
            clippy::cast_precision_loss,
            reason = "microseconds between two readings"
        )]
        self.intervals.push((now.time - before.time) as f64 / 1e6);
        for (column, increase) in self.values.iter_mut().zip(increases) {
            column.push(increase.unwrap_or(f64::NAN));
        }
    }
}

impl LineReader for Reader {
    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    fn bad_lines(&mut self) -> &mut BadLines {
        &mut self.bad
    }

    fn read(&mut self, number: u64, line: &[u8]) {
        if let Some(time) = time::line(line) {
            if time.micros != self.time {
                self.finish();
            }
            self.time = time.micros;
            return;
        }
        let Ok(text) = std::str::from_utf8(line) else {
            return self.bad.add(number, line, "it is not text".into());
        };
        let text = text.trim_end();
        if text.is_empty() || text.starts_with('#') {
            return;
        }
        if let Err(why) = self.counters(text) {
            self.bad.add(number, line, why);
        }
    }

    fn finish_file(&mut self) {
        self.finish();
    }
}

impl Parse for Reader {
    fn begin_file(&mut self, time: i64) {
        self.lines.begin_file();
        self.names = None;
        if time != self.time {
            self.finish();
        }
        self.time = time;
    }

    fn rows(&self) -> usize {
        self.times.len()
    }

    fn take(&mut self) -> Vec<(&'static str, Columns)> {
        let mut columns = Columns::default();
        if self.times.is_empty() {
            return vec![("counters", columns)];
        }
        columns.push("time", Values::Times(std::mem::take(&mut self.times)));
        columns.push(
            "interval_s",
            Values::Numbers(std::mem::take(&mut self.intervals)),
        );
        let names = COUNTERS.iter().map(|counter| counter.column).chain(CPU);
        for (name, values) in names.zip(std::mem::take(&mut self.values)) {
            columns.push(name, Values::Numbers(values));
        }
        vec![("counters", columns)]
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("bytes", self.lines.bytes),
            ("readings", self.readings),
            ("resets", self.resets),
            ("bad", self.bad.count),
        ]
    }

    fn state(&self) -> String {
        let counts = [self.lines.bytes, self.readings, self.resets, self.bad.count];
        let bits = |value: Option<f64>| value.map(f64::to_bits);
        let before: Option<KeptReading> = self
            .before
            .as_ref()
            .map(|reading| (reading.time, reading.values.map(bits)));
        serde_json::to_string(&(counts, before)).expect("numbers can always be written")
    }

    fn resume(&mut self, state: &str) -> bool {
        let Ok((counts, before)) = serde_json::from_str::<(_, Option<KeptReading>)>(state) else {
            return false;
        };
        [self.lines.bytes, self.readings, self.resets, self.bad.count] = counts;
        self.before = before.map(|(time, bits)| Reading {
            time,
            values: bits.map(|value| value.map(f64::from_bits)),
        });
        true
    }
}
