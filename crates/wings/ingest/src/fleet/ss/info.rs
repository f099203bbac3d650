//! The fields of one socket.

use super::field::{
    self, COLUMNS, FLAGS, Field, Form, GROUPS, HEADS, KEYS, Key, MASKS, MEMORY, RATES, SOCKET_KEYS,
};
use crate::fleet::number;

/// One sample of a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub(super) values: [f64; COLUMNS.len()],
    pub(super) state: Vec<u8>,
    pub(super) timer: Vec<u8>,
    pub(super) cc: Vec<u8>,
    pub(super) cgroup: Vec<u8>,
    /// Unknown fields, as members of a JSON object.
    pub(super) unknown: String,
    /// Whether the sample has any information about the socket's TCP.
    pub(super) has_info: bool,
}

impl Default for Sample {
    fn default() -> Self {
        let none = Vec::new;
        Sample {
            values: [f64::NAN; COLUMNS.len()],
            state: none(),
            timer: none(),
            cc: none(),
            cgroup: none(),
            unknown: String::new(),
            has_info: false,
        }
    }
}

impl Sample {
    /// Returns a field's value, if present.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<f64> {
        Some(self.values[field as usize]).filter(|value| !value.is_nan())
    }

    /// Returns the congestion control; empty if unknown.
    #[must_use]
    pub fn cc(&self) -> String {
        String::from_utf8_lossy(&self.cc).into_owned()
    }

    /// Returns the state; empty if unknown.
    #[must_use]
    pub fn state(&self) -> String {
        String::from_utf8_lossy(&self.state).into_owned()
    }

    /// Returns the unknown fields as a JSON object.
    #[must_use]
    pub fn unknown(&self) -> Option<String> {
        if self.unknown.is_empty() {
            None
        } else {
            Some(format!("{{{}}}", self.unknown))
        }
    }

    pub(super) fn clear(&mut self) {
        self.values = [f64::NAN; COLUMNS.len()];
        for text in [
            &mut self.state,
            &mut self.timer,
            &mut self.cc,
            &mut self.cgroup,
        ] {
            text.clear();
        }
        self.unknown.clear();
        self.has_info = false;
    }

    pub(super) fn set(&mut self, field: Field, value: f64) {
        self.values[field as usize] = value;
    }

    /// Sets fields to zero that `ss` omitted because they are zero.
    pub(super) fn fill(&mut self) {
        if self.has_info {
            field::fill(&mut self.values);
        }
    }

    /// Refuses counters that no kernel reports together; the error describes them.
    #[inline]
    pub(super) fn consistent(&self) -> Result<(), String> {
        // A part of the busy time is rounded like the whole (tcp_get_info_chrono_stats).
        let pairs = [
            (Field::BytesRetrans, Field::BytesSent),
            (Field::RwndLimited, Field::Busy),
            (Field::SndbufLimited, Field::Busy),
        ];
        let value = |field: Field| self.values[field as usize];
        let wrong = pairs
            .into_iter()
            .find(|(part, whole)| value(*part) > value(*whole));
        let Some((part, whole)) = wrong else {
            return Ok(());
        };
        Err(format!(
            "{} = {} is more than {} = {}",
            COLUMNS[part as usize],
            value(part),
            COLUMNS[whole as usize],
            value(whole)
        ))
    }

    fn add_unknown(&mut self, key: &[u8], value: &[u8]) {
        let quoted =
            |text: &[u8]| serde_json::Value::from(String::from_utf8_lossy(text)).to_string();
        if !self.unknown.is_empty() {
            self.unknown.push(',');
        }
        self.unknown += &quoted(key);
        self.unknown.push(':');
        self.unknown += &quoted(value);
    }
}

/// Parses the fields of a line of `ss`, which follow the addresses.
///
/// # Errors
///
/// When a field can't be read; the error describes the field.
pub fn parse_info(line: &[u8]) -> Result<Sample, String> {
    let mut sample = Sample::default();
    read(line, &mut sample)?;
    sample.fill();
    Ok(sample)
}

/// Adds the fields of a line, or of a part of one, to a sample.
pub(super) fn read(line: &[u8], sample: &mut Sample) -> Result<(), String> {
    let mut words = Words { rest: line };
    // A word without a value before the first key is the congestion control, unless it is a flag.
    // If there are several, the last one counts.
    let mut bare: Option<&[u8]> = None;
    // The search begins at the key after the previous one.
    let mut next = 0;
    loop {
        if let Some((at, value)) = words.next_number(next) {
            begin_info(sample, &mut bare);
            next = at + 1;
            sample.set(KEYS[at].field, value);
            continue;
        }
        let Some(Word { text: word, colon }) = words.next()? else {
            break;
        };
        let Some(colon) = colon else {
            if let Some((_, field)) = FLAGS.iter().find(|(flag, _)| *flag == word) {
                sample.set(*field, 1.0);
                sample.has_info |= *field != Field::Ts;
            } else if let Some((_, field)) = RATES.iter().find(|(name, _)| *name == word) {
                let value = words.next()?.ok_or_else(|| wrong(word, b""))?.text;
                rate(*field, word, value, sample)?;
            } else if !matches!(word, b"<->" | b"-->" | b"<--")
                && let Some(before) = bare.replace(word)
            {
                sample.add_unknown(before, b"");
            }
            continue;
        };
        let (name, value) = (&word[..colon], &word[colon + 1..]);
        if let Some(at) = find(name, next) {
            begin_info(sample, &mut bare);
            next = at + 1;
            set(&KEYS[at], value, sample)?;
        } else {
            other(name, value, &mut words, sample)?;
        }
    }
    if let Some(bare) = bare {
        sample.add_unknown(bare, b"");
    }
    Ok(())
}

/// Notes that a line has information about the socket's TCP; the word before the first key is the
/// congestion control.
#[inline]
fn begin_info(sample: &mut Sample, bare: &mut Option<&[u8]>) {
    if !sample.has_info || sample.cc.is_empty() {
        if let Some(bare) = bare.take() {
            sample.cc.extend_from_slice(bare);
        }
        sample.has_info = true;
    }
}

/// Returns the index of a key in [`KEYS`].
fn find(name: &[u8], next: usize) -> Option<usize> {
    let head = name
        .first_chunk()
        .map_or_else(|| field::head(name), |first| u64::from_le_bytes(*first));
    let is_it = |at: &usize| {
        let text = KEYS[*at].text;
        HEADS[*at] == head
            && text.len() == name.len()
            && (name.len() <= 8 || text[8..] == name[8..])
    };
    (next..KEYS.len())
        .find(is_it)
        .or_else(|| (0..next.min(KEYS.len())).find(is_it))
}

fn set(key: &Key, value: &[u8], sample: &mut Sample) -> Result<(), String> {
    let wrong = || wrong(key.text, value);
    let pair = |by: u8| {
        memchr::memchr(by, value)
            .map(|at| (&value[..at], &value[at + 1..]))
            .ok_or_else(wrong)
    };
    let one = match key.form {
        Form::Count => number::count(value),
        Form::Plain => number::decimal(value, 0),
        Form::Millis => number::millis(value),
        Form::Rate => number::rate(value),
        Form::Hex => hexadecimal(value),
        Form::MillisUnit => {
            let end = memchr::memchr(b'(', value).unwrap_or(value.len());
            value[..end].strip_suffix(b"ms").and_then(number::millis)
        }
        Form::MillisPair => {
            let (first, second) = pair(b'/')?;
            sample.values[key.field as usize + 1] = number::millis(second).ok_or_else(wrong)?;
            number::millis(first)
        }
        Form::CountPair(by) => {
            let (first, second) = pair(by)?;
            sample.values[key.field as usize + 1] = number::count(second).ok_or_else(wrong)?;
            number::count(first)
        }
    };
    sample.set(key.field, one.ok_or_else(wrong)?);
    Ok(())
}

/// Handles a field whose key is not in [`KEYS`].
fn other(
    name: &[u8],
    value: &[u8],
    words: &mut Words<'_>,
    sample: &mut Sample,
) -> Result<(), String> {
    if let Some(members) = value
        .strip_prefix(b"(")
        .and_then(|value| value.strip_suffix(b")"))
    {
        return group(name, members, sample);
    }
    if let Some(key) = SOCKET_KEYS.iter().find(|key| key.text == name) {
        return set(key, value, sample);
    }
    if name == b"cgroup" {
        sample.cgroup.extend_from_slice(value);
        return Ok(());
    }
    // A value may follow after a space, as in `version: 1.3` of TLS.
    let value = if value.is_empty() && words.peek().is_some_and(|next| next.colon.is_none()) {
        words.next()?.map(|word| word.text).unwrap_or_default()
    } else {
        value
    };
    sample.add_unknown(name, value);
    Ok(())
}

fn group(name: &[u8], members: &[u8], sample: &mut Sample) -> Result<(), String> {
    let mut parts = members.split(|byte| *byte == b',');
    match name {
        b"timer" => {
            let mut part = || parts.next().ok_or_else(|| wrong(name, members));
            sample.timer.extend_from_slice(part()?);
            let (left, retrans) = (part()?, part()?);
            sample.set(
                Field::TimerLeft,
                number::timer(left).ok_or_else(|| wrong(name, members))?,
            );
            sample.set(
                Field::TimerRetrans,
                number::count(retrans).ok_or_else(|| wrong(name, members))?,
            );
        }
        b"skmem" => {
            for part in parts {
                let digits = part
                    .iter()
                    .position(u8::is_ascii_digit)
                    .unwrap_or(part.len());
                match MEMORY
                    .iter()
                    .find(|(letters, _)| *letters == &part[..digits])
                {
                    Some((_, field)) => {
                        sample.set(
                            *field,
                            number::count(&part[digits..]).ok_or_else(|| wrong(name, members))?,
                        );
                    }
                    None => {
                        sample.add_unknown(&[b"skmem.", &part[..digits]].concat(), &part[digits..])
                    }
                }
            }
        }
        _ => {
            // BBRv2 in some kernels has a group under its own name, with the fields of BBRv1 and
            // more.
            let known = GROUPS.iter().find(|(group, _)| {
                *group == name || (*group == b"bbr" && name.starts_with(b"bbr"))
            });
            let Some((_, keys)) = known else {
                sample.add_unknown(name, &[b"(", members, b")"].concat());
                return Ok(());
            };
            for part in parts {
                let colon = memchr::memchr(b':', part).unwrap_or(part.len());
                let (member, value) = (&part[..colon], part.get(colon + 1..).unwrap_or_default());
                match keys.iter().find(|key| key.text == member) {
                    Some(key) => set(key, value, sample)?,
                    None => sample.add_unknown(&[name, b".", member].concat(), value),
                }
            }
        }
    }
    Ok(())
}

fn rate(field: Field, name: &[u8], value: &[u8], sample: &mut Sample) -> Result<(), String> {
    let wrong = || wrong(name, value);
    // A limit may follow pacing_rate.
    let (now, most) = match memchr::memchr(b'/', value) {
        Some(at) if field == Field::PacingRate => (&value[..at], Some(&value[at + 1..])),
        _ => (value, None),
    };
    sample.set(field, number::rate(now).ok_or_else(wrong)?);
    if let Some(most) = most {
        sample.set(Field::MaxPacingRate, number::rate(most).ok_or_else(wrong)?);
    }
    Ok(())
}

fn hexadecimal(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text)
        .ok()
        .filter(|text| text.starts_with(|first: char| first.is_ascii_hexdigit()))?;
    #[expect(clippy::cast_precision_loss, reason = "a cookie counts up from 1")]
    u64::from_str_radix(text, 16)
        .ok()
        .map(|cookie| cookie as f64)
        .filter(|cookie| *cookie < number::BEYOND)
}

#[cold]
fn wrong(name: &[u8], value: &[u8]) -> String {
    format!(
        "`{}` can't be `{}`",
        String::from_utf8_lossy(name),
        String::from_utf8_lossy(value)
    )
}

/// Words separated by spaces; spaces within parentheses belong to a word.
struct Words<'a> {
    rest: &'a [u8],
}

struct Word<'a> {
    text: &'a [u8],
    /// Offset of its first colon.
    colon: Option<usize>,
}

/// Number of keys that [`Words::next_number`] looks at: `ss` omits few in a row.
const NEAR: usize = 4;

impl<'a> Words<'a> {
    /// Takes the next word if it is one of the next keys in the order of `ss`, with a plain number; returns the key's
    /// index and the value. This is most of a line, and is read in one pass.
    #[inline]
    fn next_number(&mut self, next: usize) -> Option<(usize, f64)> {
        let text = match self.rest {
            [b' ', rest @ ..] => rest,
            rest => rest,
        };
        let head = u64::from_le_bytes(*text.first_chunk()?);
        let near = next..KEYS.len().min(next + NEAR);
        let at = near
            .into_iter()
            .find(|at| head & MASKS[*at] == HEADS[*at])?;
        let (key, value) = (&KEYS[at], text.get(KEYS[at].text.len() + 1..)?);
        let name = &text[..key.text.len()];
        if text[name.len()] != b':' || name.len() > 8 && name[8..] != key.text[8..] {
            return None;
        }
        let (number, end) = match key.form {
            Form::Count => number::leading_count(value)?,
            Form::Millis => {
                let plain = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
                let end = value.iter().position(|byte| !plain(byte));
                let end = end.unwrap_or(value.len());
                (number::millis(&value[..end])?, end)
            }
            _ => return None,
        };
        if value.get(end).is_some_and(|byte| *byte != b' ') {
            return None;
        }
        self.rest = &value[end..];
        Some((at, number))
    }

    fn next(&mut self) -> Result<Option<Word<'a>>, String> {
        let Some(start) = self.rest.iter().position(|byte| !is_space(*byte)) else {
            self.rest = &[];
            return Ok(None);
        };
        let text = &self.rest[start..];
        // Byte by byte, since words are too short for a faster search to pay off.
        let (mut colon, mut depth, mut end) = (None, 0usize, text.len());
        for (at, &byte) in text.iter().enumerate() {
            if !MARKS[usize::from(byte)] {
                continue;
            }
            match byte {
                b':' => colon = colon.or(Some(at)),
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ if depth == 0 => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        if depth > 0 {
            return Err("it ends within parentheses".into());
        }
        self.rest = &text[end..];
        Ok(Some(Word {
            text: &text[..end],
            colon,
        }))
    }

    fn peek(&self) -> Option<Word<'a>> {
        Words { rest: self.rest }.next().ok().flatten()
    }
}

/// Bytes that [`Words`] examines.
const MARKS: [bool; 256] = {
    let mut marks = [false; 256];
    let mut at = 0;
    while at < 256 {
        marks[at] = matches!(at as u8, b' ' | b'\t' | b'\r' | b':' | b'(' | b')');
        at += 1;
    }
    marks
};

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}
