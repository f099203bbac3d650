//! Passes files of one host to a parser, and finds out when each begins.

use std::io;
use std::path::Path;

use crate::Input;

use crate::fleet::parse::Parse;
use crate::fleet::time;

/// Reads until `rows` rows or `bytes` bytes have been read; returns false at the end of the file.
///
/// # Errors
///
/// When the file can't be read, or ends within compressed data. The rows before the error remain
/// valid.
pub fn read(
    source: &mut Input,
    into: &mut dyn Parse,
    rows: usize,
    bytes: usize,
) -> io::Result<bool> {
    let mut done = 0;
    while done < bytes && into.rows() < rows {
        let Some(piece) = source.next_piece()? else {
            return Ok(false);
        };
        into.feed(&piece);
        done += piece.len();
    }
    Ok(true)
}

/// Returns when a file begins, in microseconds since 1970: by its first line with a time, else by
/// its name, else by its time of modification.
///
/// # Errors
///
/// When the file can't be read.
pub fn begin_of(path: &Path) -> io::Result<i64> {
    let head = match crate::input::head(path, 1 << 14) {
        Ok(head) => head,
        Err(error)
            if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Unsupported =>
        {
            return Err(error);
        }
        // If the file is damaged, the reader reports the error.
        Err(_) => Vec::new(),
    };
    let lines = head.split(|byte| *byte == b'\n').take(200);
    let mut told = lines
        .filter_map(|line| time::line(line).or_else(|| time::prefix(line).map(|found| found.time)));
    told.next()
        .map_or_else(|| fallback(path), |time| Ok(time.micros))
}

/// Returns the time of a file that contains none.
///
/// # Errors
///
/// When the file does not exist.
pub fn fallback(path: &Path) -> io::Result<i64> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    if let Some(time) = time::in_name(&name) {
        return Ok(time);
    }
    let written = std::fs::metadata(path)?.modified()?;
    let since = written
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Ok(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
