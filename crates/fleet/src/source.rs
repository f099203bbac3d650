//! Files as they lie there: plain, gzip or zstd.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::parse::Parse;
use crate::time;

/// Files that are read one after the other.
pub struct Source {
    text: Box<dyn Read + Send + Sync>,
    buffer: Vec<u8>,
    /// Bytes of the file as it lies there that have been read.
    read: Arc<AtomicU64>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("read", &self.read).finish_non_exhaustive()
    }
}

const PIECE: usize = 1 << 18;

impl Source {
    /// Opens a file. What it is, its first bytes say, not its name.
    ///
    /// # Errors
    ///
    /// When it can't be read.
    pub fn open(path: &Path) -> io::Result<Source> {
        let read = Arc::new(AtomicU64::new(0));
        let mut file = BufReader::with_capacity(PIECE, Counted { file: File::open(path)?, read: read.clone() });
        let text: Box<dyn Read + Send + Sync> = match file.fill_buf()? {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(Frames { frame: None, file: Some(file) }),
            _ => Box::new(file),
        };
        Ok(Source { text, buffer: vec![0; PIECE], read })
    }

    /// Reads on until there are so many rows or so many bytes have been read; gives false at the end of the file.
    ///
    /// # Errors
    ///
    /// When it can't be read, or is cut off in the middle of what is compressed. What was read until there counts.
    pub fn read(&mut self, into: &mut dyn Parse, rows: usize, bytes: usize) -> io::Result<bool> {
        let mut done = 0;
        while done < bytes && into.rows() < rows {
            match self.text.read(&mut self.buffer) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    into.feed(&self.buffer[..count]);
                    done += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Bytes of the file as it lies there that have been read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// When a file begins, in microseconds since 1970: by its first line with a time, else by its name, else by when it was
/// last written.
///
/// # Errors
///
/// When it can't be read.
pub fn begin_of(path: &Path) -> io::Result<i64> {
    let mut head = vec![0; 1 << 14];
    let mut text = Source::open(path)?.text;
    let mut length = 0;
    while length < head.len() {
        match text.read(&mut head[length..]) {
            // What is cut off says so when it is read.
            Ok(0) | Err(_) => break,
            Ok(count) => length += count,
        }
    }
    let lines = head[..length].split(|byte| *byte == b'\n').take(200);
    let mut told = lines.filter_map(|line| time::line(line).or_else(|| time::prefix(line).map(|found| found.time)));
    told.next().map_or_else(|| fallback(path), Ok)
}

/// The time of a file that has none in it.
///
/// # Errors
///
/// When there is no such file.
pub fn fallback(path: &Path) -> io::Result<i64> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(time) = time::in_name(&name) {
        return Ok(time);
    }
    let written = std::fs::metadata(path)?.modified()?;
    let since = written.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Ok(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A file that counts what is read of it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

type Frame = StreamingDecoder<BufReader<Counted>, ruzstd::decoding::FrameDecoder>;

/// Frames of zstd one after the other, as `zstd -T0` and appending make them.
struct Frames {
    frame: Option<Box<Frame>>,
    file: Option<BufReader<Counted>>,
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(buffer)?;
                if count > 0 {
                    return Ok(count);
                }
                self.file = self.frame.take().map(|frame| frame.into_inner());
            }
            let Some(mut file) = self.file.take() else { return Ok(0) };
            if file.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let frame =
                StreamingDecoder::new(file).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.frame = Some(Box::new(frame));
        }
    }
}
