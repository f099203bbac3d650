//! Files of one host, into whoever parses them; and when each begins.

use std::io;
use std::path::Path;

use crate::Input;

use crate::fleet::parse::Parse;
use crate::fleet::time;

/// Reads on until there are so many rows or so many bytes have been read; gives false at the end of
/// the file.
///
/// # Errors
///
/// When it can't be read, or is cut off in the middle of what is compressed. What was read until
/// there counts.
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

/// When a file begins, in microseconds since 1970: by its first line with a time, else by its name,
/// else by when it was last written.
///
/// # Errors
///
/// When it can't be read.
pub fn begin_of(path: &Path) -> io::Result<i64> {
    let head = match crate::input::head(path, 1 << 14) {
        Ok(head) => head,
        Err(error)
            if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Unsupported =>
        {
            return Err(error);
        }
        // What is damaged says so when it is read.
        Err(_) => Vec::new(),
    };
    let lines = head.split(|byte| *byte == b'\n').take(200);
    let mut told = lines
        .filter_map(|line| time::line(line).or_else(|| time::prefix(line).map(|found| found.time)));
    told.next().map_or_else(|| fallback(path), Ok)
}

/// The time of a file that has none in it.
///
/// # Errors
///
/// When there is no such file.
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
