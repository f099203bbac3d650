//! Reads lines of a log as rows of the table `requests`.

use super::format::Format;
use crate::fleet::address::{self, Privacy};
use crate::fleet::parse::{BadLines, LineReader, Lines, Parse};
use crate::fleet::{Columns, Values, number, time};

/// Options of reading a log.
#[derive(Clone, Debug)]
pub struct Options {
    /// Format of the log.
    pub format: Format,
    /// Variables to keep in addition to the known ones.
    pub keep: Vec<String>,
    /// Treatment of addresses.
    pub privacy: Privacy,
}

/// Reads the logs of one host.
#[derive(Debug)]
pub struct Reader {
    options: Options,
    lines: Lines,
    requests: u64,
    bad: BadLines,
    rows: Rows,
    /// Role of each variable of the format.
    roles: Vec<Role>,
}

/// Numeric columns: variable, column, and the power of ten of the variable's unit.
const NUMBERS: [(&str, &str, i32); 10] = [
    ("status", "status", 0),
    ("bytes_sent", "bytes_sent", 0),
    ("body_bytes_sent", "body_bytes_sent", 0),
    ("request_time", "request_time_s", 0),
    ("connection", "nginx_connection", 0),
    ("connection_requests", "connection_requests", 0),
    // These times are in microseconds.
    ("tcpinfo_rtt", "tcpinfo_rtt_s", -6),
    ("tcpinfo_rttvar", "tcpinfo_rttvar_s", -6),
    ("tcpinfo_snd_cwnd", "tcpinfo_snd_cwnd_packets", 0),
    ("tcpinfo_rcv_space", "tcpinfo_rcv_space_bytes", 0),
];

/// Role of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Number(usize),
    Upstream,
    Time(TimeSource),
    Client,
    Protocol,
    Request,
    Country,
    Host,
    Other,
}

impl Role {
    fn of(name: &str) -> Role {
        if let Some(at) = NUMBERS.iter().position(|(variable, ..)| *variable == name) {
            return Role::Number(at);
        }
        match name {
            "msec" => Role::Time(TimeSource::Seconds),
            "time_iso8601" => Role::Time(TimeSource::Iso),
            "time_local" => Role::Time(TimeSource::Local),
            "remote_addr" => Role::Client,
            "upstream_response_time" => Role::Upstream,
            "server_protocol" => Role::Protocol,
            "request" => Role::Request,
            "hostname" => Role::Host,
            // The GeoIP module's name, and likely names of GeoIP2's.
            "geoip_country_code"
            | "geoip2_country_code"
            | "geoip2_data_country_code"
            | "country"
            | "country_code" => Role::Country,
            _ => Role::Other,
        }
    }
}

/// A variable that contains the request's time; later ones are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TimeSource {
    Iso,
    Local,
    Seconds,
}

impl TimeSource {
    fn time(self, value: &[u8]) -> Option<i64> {
        match self {
            TimeSource::Iso => time::epoch_or_date(value).map(|found| found.time.micros),
            TimeSource::Local => time::of_date_command(&String::from_utf8_lossy(value)),
            TimeSource::Seconds => time::epoch_or_date(value)
                .filter(|found| found.rest.is_empty())
                .map(|found| found.time.micros),
        }
    }
}

/// Values of a request.
#[derive(Debug, Default)]
struct Request {
    /// The best of its times, with its source.
    time: Option<(TimeSource, i64)>,
    numbers: [f64; NUMBERS.len()],
    upstream: f64,
    client: String,
    protocol: String,
    country: String,
    host: String,
    kept: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Default)]
struct Rows {
    times: Vec<i64>,
    numbers: [Vec<f64>; NUMBERS.len()],
    upstream: Vec<f64>,
    /// Client, its network, protocol, country, host, kept.
    texts: [Vec<String>; 6],
}

impl Reader {
    /// Creates a reader.
    #[must_use]
    pub fn new(options: Options) -> Reader {
        Reader {
            roles: options
                .format
                .variables()
                .into_iter()
                .map(Role::of)
                .collect(),
            lines: Lines::default(),
            requests: 0,
            bad: BadLines::new(options.privacy.is_keyed()),
            rows: Rows::default(),
            options,
        }
    }

    fn request(&self, line: &[u8]) -> Result<Request, String> {
        let mut request = Request {
            numbers: [f64::NAN; NUMBERS.len()],
            upstream: f64::NAN,
            ..Request::default()
        };
        match &self.options.format {
            Format::Template(template) => {
                let values = template.values(line).ok_or("it does not fit the format")?;
                for ((name, role), value) in self
                    .options
                    .format
                    .variables()
                    .into_iter()
                    .zip(&self.roles)
                    .zip(values)
                {
                    self.set(&mut request, name, *role, value)?;
                }
            }
            Format::Json => {
                let object: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_slice(line)
                        .map_err(|error| format!("it is not a JSON object: {error}"))?;
                for (name, value) in &object {
                    let text = match value {
                        serde_json::Value::String(text) => text.clone(),
                        serde_json::Value::Null => continue,
                        other => other.to_string(),
                    };
                    self.set(&mut request, name, Role::of(name), text.as_bytes())?;
                }
            }
        }
        if request.time.is_none() {
            return Err("it has no time: msec, time_iso8601 or time_local".into());
        }
        Ok(request)
    }

    fn set(
        &self,
        request: &mut Request,
        name: &str,
        role: Role,
        value: &[u8],
    ) -> Result<(), String> {
        // nginx writes `-` if there is no value, and nothing with escape=json.
        if value.is_empty() || value == b"-" {
            return Ok(());
        }
        let text = || String::from_utf8_lossy(value).into_owned();
        let wrong = || format!("${name} can't be `{}`", text());
        match role {
            Role::Number(at) => {
                let (_, column, shift) = NUMBERS[at];
                let number = if column.ends_with("_s") {
                    number::decimal(value, shift)
                } else {
                    number::whole(value)
                };
                request.numbers[at] = number.ok_or_else(wrong)?;
            }
            // Several servers are `0.1, 0.2 : 0.3`; the last one answered.
            Role::Upstream => {
                let last = value
                    .split(|byte| b", :".contains(byte))
                    .rfind(|part| !part.is_empty() && *part != b"-");
                if let Some(last) = last {
                    request.upstream = number::decimal(last, 0).ok_or_else(wrong)?;
                }
            }
            Role::Time(source) => {
                let time = source.time(value).ok_or_else(wrong)?;
                if request.time.is_none_or(|(before, _)| source > before) {
                    request.time = Some((source, time));
                }
            }
            Role::Client => request.client = address::plain(&text()),
            Role::Protocol => request.protocol = text(),
            Role::Request => {
                let last = value
                    .rsplit(|byte| *byte == b' ')
                    .next()
                    .unwrap_or_default();
                if last.starts_with(b"HTTP/") && request.protocol.is_empty() {
                    request.protocol = String::from_utf8_lossy(last).into_owned();
                }
            }
            Role::Country => request.country = text(),
            Role::Host => request.host = text(),
            Role::Other => {}
        }
        if self.options.keep.iter().any(|keep| keep == name) {
            request.kept.insert(name.to_owned(), text().into());
        }
        Ok(())
    }
}

impl Rows {
    fn add(&mut self, request: Request, privacy: &Privacy) {
        self.times
            .push(request.time.map_or(i64::MIN, |(_, time)| time));
        for (column, value) in self.numbers.iter_mut().zip(request.numbers) {
            column.push(value);
        }
        self.upstream.push(request.upstream);
        let kept = if request.kept.is_empty() {
            String::new()
        } else {
            serde_json::Value::from(request.kept).to_string()
        };
        let (client, net) = (
            privacy.token(&request.client),
            privacy.token(&address::net(&request.client)),
        );
        let texts = [
            client,
            net,
            request.protocol,
            request.country,
            request.host,
            kept,
        ];
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.push(text);
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
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return;
        }
        match self.request(line) {
            Ok(request) => {
                self.requests += 1;
                self.rows.add(request, &self.options.privacy);
            }
            Err(why) => self.bad.add(number, line, why),
        }
    }
}

impl Parse for Reader {
    fn begin_file(&mut self, _time: i64) {
        self.lines.begin_file();
    }

    fn rows(&self) -> usize {
        self.rows.times.len()
    }

    fn take(&mut self) -> Vec<(&'static str, Columns)> {
        let rows = std::mem::take(&mut self.rows);
        let mut columns = Columns::default();
        if rows.times.is_empty() {
            return vec![("requests", columns)];
        }
        columns.push("time", Values::Times(rows.times));
        for ((_, name, _), values) in NUMBERS.iter().zip(rows.numbers) {
            columns.push(name, Values::Numbers(values));
        }
        columns.push("upstream_response_time_s", Values::Numbers(rows.upstream));
        let names = [
            "client",
            "client_net",
            "protocol",
            "country",
            "host",
            "kept",
        ];
        for (name, texts) in names.into_iter().zip(rows.texts) {
            columns.push(name, Values::Texts(texts));
        }
        vec![("requests", columns)]
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("bytes", self.lines.bytes),
            ("requests", self.requests),
            ("bad", self.bad.count),
        ]
    }

    fn state(&self) -> String {
        serde_json::json!([self.lines.bytes, self.requests, self.bad.count]).to_string()
    }

    fn resume(&mut self, state: &str) -> bool {
        let Ok([bytes, requests, bad]) = serde_json::from_str::<[u64; 3]>(state) else {
            return false;
        };
        (self.lines.bytes, self.requests, self.bad.count) = (bytes, requests, bad);
        true
    }
}
