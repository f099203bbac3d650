//! Parses nginx's `log_format`, and log lines in that format.

/// Structure of a log's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Variables with text between them.
    Template(Template),
    /// One JSON object per line, whose keys are the names of variables.
    Json,
}

/// Text and variables, alternating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Text before the first variable.
    head: Vec<u8>,
    /// Each variable's name, and the text after it.
    parts: Vec<(String, Vec<u8>)>,
    escape: Escape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    /// `"` and unprintable bytes are written as `\x22`.
    Default,
    /// `"` is written as `\"`.
    Json,
    None,
}

/// Reason why a format can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// Problem with the format.
    pub problem: String,
    /// Action that resolves it.
    pub fix: String,
}

/// nginx's default format.
const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// Variables that contain the time of a request.
const TIMES: [&str; 3] = ["msec", "time_iso8601", "time_local"];

/// Variables with a value for each upstream server that was asked, such as `502, 200 : 200`.
const LISTS: [&str; 11] = [
    "upstream_addr",
    "upstream_bytes_received",
    "upstream_bytes_sent",
    "upstream_connect_time",
    "upstream_first_byte_time",
    "upstream_header_time",
    "upstream_queue_time",
    "upstream_response_length",
    "upstream_response_time",
    "upstream_session_time",
    "upstream_status",
];

/// Largest number of attempts to find the text after a variable: values may also contain that text.
const TRIES: u32 = 2000;

impl Format {
    /// Parses `combined`, `json`, the text of a format, or a whole directive `log_format NAME
    /// [escape=…] '…' '…';`, also from a configuration with only one.
    ///
    /// # Errors
    ///
    /// When the format has no time, two variables without text between them, or several directives.
    pub fn parse(text: &str) -> Result<Format, FormatError> {
        let mut text = text.trim();
        let mut directives = Vec::new();
        let mut rest = text;
        while let Some(line) = rest.lines().next() {
            if line.trim_start().starts_with("log_format") {
                directives.push(rest.trim_start());
            }
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        }
        match directives[..] {
            [one] => text = one,
            [_, _, ..] => {
                let problem = format!("it has {} log_format directives", directives.len());
                return Err(FormatError {
                    problem,
                    fix: "give the one that wrote the log".into(),
                });
            }
            [] => {}
        }
        match text {
            "combined" => return Format::template(COMBINED, Escape::Default),
            "json" => return Ok(Format::Json),
            _ => {}
        }
        let Some(directive) = text
            .strip_prefix("log_format")
            .filter(|rest| rest.starts_with(char::is_whitespace))
        else {
            // A line that is a JSON object can be read reliably only if escape=json wrote it.
            let escape = if text.starts_with('{') {
                Escape::Json
            } else {
                Escape::Default
            };
            return Format::template(text, escape);
        };
        let (escape, text) = unquoted(directive)?;
        Format::template(&text, escape)
    }

    fn template(text: &str, escape: Escape) -> Result<Format, FormatError> {
        let mut pieces = text.split('$');
        let head = pieces.next().unwrap_or_default().as_bytes().to_vec();
        let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
        for piece in pieces {
            let braced = piece
                .strip_prefix('{')
                .and_then(|piece| piece.split_once('}'));
            let (name, behind) = braced.unwrap_or_else(|| {
                let end =
                    piece.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
                piece.split_at(end.unwrap_or(piece.len()))
            });
            if name.is_empty() {
                let problem = format!("a `$` without a name, in front of `{behind}`");
                return Err(FormatError {
                    problem,
                    fix: "write a variable of nginx, like $request_time".into(),
                });
            }
            if let Some((before, _)) = parts.last().filter(|(_, text)| text.is_empty()) {
                let problem =
                    format!("no text separates ${before} from ${name}, so a line can't be split");
                return Err(FormatError {
                    problem,
                    fix: "put a space between them in nginx.conf".into(),
                });
            }
            parts.push((name.to_owned(), behind.as_bytes().to_vec()));
        }
        if !parts.iter().any(|(name, _)| TIMES.contains(&name.as_str())) {
            let problem = if parts.is_empty() {
                "it has no variables"
            } else {
                "it has none of $msec, $time_iso8601 and $time_local"
            };
            let fix = "give the format as it stands in nginx.conf, `combined`, or `json`; each request needs a time";
            return Err(FormatError {
                problem: problem.into(),
                fix: fix.into(),
            });
        }
        Ok(Format::Template(Template {
            head,
            parts,
            escape,
        }))
    }

    /// Returns the names of the variables; none for JSON, where each line has its own.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        match self {
            Format::Template(template) => template
                .parts
                .iter()
                .map(|(name, _)| name.as_str())
                .collect(),
            Format::Json => Vec::new(),
        }
    }
}

/// Joins the quoted pieces of a directive; also returns its escaping.
fn unquoted(directive: &str) -> Result<(Escape, String), FormatError> {
    let wrong = |problem: &str| FormatError {
        problem: problem.into(),
        fix: "give it as in nginx.conf: log_format main '$remote_addr $msec …' '…';".into(),
    };
    let (mut escape, mut text) = (Escape::Default, String::new());
    let mut rest = behind_comments(directive);
    // The format's name.
    rest = rest
        .find(char::is_whitespace)
        .map_or("", |end| behind_comments(&rest[end..]));
    while !rest.is_empty() && !rest.starts_with(';') {
        let quote = rest.chars().next().unwrap_or(' ');
        if matches!(quote, '\'' | '"') {
            let mut end = None;
            let mut letters = rest.char_indices().skip(1);
            while let Some((at, letter)) = letters.next() {
                match letter {
                    '\\' => match letters.next() {
                        Some((_, escaped)) if escaped == quote || escaped == '\\' => {
                            text.push(escaped)
                        }
                        Some((_, other)) => text.extend(['\\', other]),
                        None => {}
                    },
                    _ if letter == quote => {
                        end = Some(at + 1);
                        break;
                    }
                    _ => text.push(letter),
                }
            }
            rest = behind_comments(&rest[end.ok_or_else(|| wrong("a quote is not closed"))?..]);
        } else {
            let end = rest
                .find(|letter: char| letter.is_whitespace() || letter == ';')
                .unwrap_or(rest.len());
            match &rest[..end] {
                "escape=json" => escape = Escape::Json,
                "escape=none" => escape = Escape::None,
                "escape=default" => escape = Escape::Default,
                word => text += word,
            }
            rest = behind_comments(&rest[end..]);
        }
    }
    Ok((escape, text))
}

/// Returns the text behind spaces and comments, which begin where a word could.
fn behind_comments(text: &str) -> &str {
    let mut text = text.trim_start();
    while text.starts_with('#') {
        text = text
            .split_once('\n')
            .map_or("", |(_, rest)| rest.trim_start());
    }
    text
}

impl Template {
    /// Returns the values of a line, in the order of the variables; `None` if the line was not
    /// written with this format.
    pub(super) fn values<'a>(&self, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        let rest = line.strip_prefix(self.head.as_slice())?;
        let mut values = vec![&rest[..0]; self.parts.len()];
        let mut tries = TRIES;
        self.take(rest, 0, None, &mut values, &mut tries)
            .then_some(values)
    }

    /// Takes the variables from `at` on; `servers` is the number of upstream servers of the lists
    /// before, which is the same for all lists of a line.
    fn take<'a>(
        &self,
        rest: &'a [u8],
        at: usize,
        servers: Option<usize>,
        values: &mut [&'a [u8]],
        tries: &mut u32,
    ) -> bool {
        let Some((name, behind)) = self.parts.get(at) else {
            return rest.is_empty();
        };
        let is_list = LISTS.contains(&name.as_str());
        let fits = |value: &[u8]| {
            may_be(name, value)
                && !(is_list && servers.is_some_and(|servers| servers != items(value)))
        };
        if behind.is_empty() {
            values[at] = rest;
            return at + 1 == self.parts.len() && fits(rest);
        }
        // The nearest place comes first: values that contain the text (`0.1, 0.2` of two upstream
        // servers) need a later one.
        for place in memchr::memmem::find_iter(rest, behind) {
            if *tries == 0 {
                return false;
            }
            *tries -= 1;
            let value = &rest[..place];
            let within = is_list && rest[place..].starts_with(b" : ");
            if self.is_escaped(rest, place) || within || !fits(value) {
                continue;
            }
            values[at] = value;
            let servers = if is_list { Some(items(value)) } else { servers };
            if self.take(
                &rest[place + behind.len()..],
                at + 1,
                servers,
                values,
                tries,
            ) {
                return true;
            }
        }
        false
    }

    /// Returns whether a quote belongs to a value.
    fn is_escaped(&self, text: &[u8], at: usize) -> bool {
        let slashes = text[..at]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        self.escape == Escape::Json && text[at] == b'"' && slashes % 2 == 1
    }
}

/// Returns the number of items of a list: `, ` separates servers, and ` : ` groups of them.
fn items(value: &[u8]) -> usize {
    1 + memchr::memmem::find_iter(value, b", ").count()
        + memchr::memmem::find_iter(value, b" : ").count()
}

/// Returns whether a variable can have this value, as far as is known.
fn may_be(name: &str, value: &[u8]) -> bool {
    let all = |allowed: &[u8]| {
        value
            .iter()
            .all(|byte| byte.is_ascii_digit() || allowed.contains(byte))
    };
    // A separator at an end has another item behind or in front of it.
    let whole = || {
        let ends = |byte: Option<&u8>| byte.is_some_and(|byte| b",: ".contains(byte));
        !ends(value.first()) && !ends(value.last())
    };
    match name {
        "msec" | "request_time" => {
            all(b".-") && value.iter().filter(|byte| **byte == b'.').count() < 2
        }
        "status" | "bytes_sent" | "body_bytes_sent" | "connection" | "connection_requests" => {
            all(b"-")
        }
        "upstream_addr" | "http_x_forwarded_for" | "proxy_add_x_forwarded_for" => whole(),
        _ if LISTS.contains(&name) => all(b".,-: ") && whole(),
        _ if name.starts_with("tcpinfo_") => all(b"-"),
        _ => true,
    }
}
