//! Content of a file: plain, gzip or zstd, as detected by content, not by name. A separate thread
//! reads and decompresses it.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Pieces of a file's content, and perhaps an error that ends them.
#[derive(Debug)]
pub struct Input {
    pieces: Pieces,
    ended: bool,
    read: Arc<AtomicU64>,
}

enum Pieces {
    /// Made by a thread; an empty piece is the end.
    Received(Receiver<io::Result<Vec<u8>>>),
    /// Made by the caller's thread. The second value is the end after the piece before.
    Read(Box<dyn Read + Send>, Option<io::Result<()>>),
}

/// Small enough that memory is reused; larger pieces would be requested from the system page by
/// page.
const PIECE: usize = 64 << 10;
/// Pieces that may wait, so that neither thread waits for each single piece of the other.
const AHEAD: usize = 32;

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// When it can't be read.
    pub fn open(path: &Path) -> io::Result<Input> {
        Input::counting(path, Arc::default())
    }

    /// Opens a file; `read` counts its bytes before decompression.
    ///
    /// # Errors
    ///
    /// When it can't be read.
    pub fn counting(path: &Path, read: Arc<AtomicU64>) -> io::Result<Input> {
        let mut content = decompressed(Counted {
            inner: File::open(path)?,
            read: Arc::clone(&read),
        })?;
        let (to, received) = sync_channel(AHEAD);
        std::thread::Builder::new()
            .name("file".into())
            .spawn(move || {
                loop {
                    let mut piece = vec![0; PIECE];
                    let (filled, end) = fill(&mut content, &mut piece);
                    piece.truncate(filled);
                    // The receiver may have stopped.
                    let gone = filled > 0 && to.send(Ok(piece)).is_err();
                    if gone {
                        return;
                    }
                    if let Some(end) = end {
                        let _ = to.send(end.map(|()| Vec::new()));
                        return;
                    }
                }
            })?;
        Ok(Input {
            pieces: Pieces::Received(received),
            ended: false,
            read,
        })
    }

    /// Takes content that is not a file, such as bytes in memory. The caller's thread reads and
    /// decompresses it.
    ///
    /// # Errors
    ///
    /// When its beginning can't be read.
    pub fn of(content: impl Read + Send + 'static) -> io::Result<Input> {
        let read = Arc::default();
        let content = decompressed(Counted {
            inner: content,
            read: Arc::clone(&read),
        })?;
        Ok(Input {
            pieces: Pieces::Read(content, None),
            ended: false,
            read,
        })
    }

    /// Returns the next piece; `None` at the end.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or ends within compressed data. The pieces before have been
    /// returned.
    pub fn next_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.ended {
            return Ok(None);
        }
        let piece = self.pieces.next();
        self.ended = !piece.as_ref().is_ok_and(|piece| !piece.is_empty());
        piece.map(|piece| Some(piece).filter(|piece| !piece.is_empty()))
    }

    /// Returns the number of bytes read from the file, before decompression. The reader is several
    /// pieces ahead of the consumer.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl Pieces {
    /// Returns the next piece; an empty one is the end.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        match self {
            // The sending thread always sends one of the two ends, unless a decoder panics.
            Pieces::Received(pieces) => pieces
                .recv()
                .unwrap_or_else(|_| Err(io::Error::other("the decoder has failed"))),
            Pieces::Read(_, Some(end)) => std::mem::replace(end, Ok(())).map(|()| Vec::new()),
            Pieces::Read(content, end) => {
                let mut piece = vec![0; PIECE];
                let (filled, ended) = fill(content, &mut piece);
                piece.truncate(filled);
                match ended {
                    Some(Err(error)) if filled == 0 => return Err(error),
                    ended => *end = ended,
                }
                Ok(piece)
            }
        }
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Pieces::Received(_) => "Received",
            Pieces::Read(..) => "Read",
        })
    }
}

/// Returns the first bytes of a file's content, at most `bytes`, to detect the kind of file.
///
/// # Errors
///
/// When the file can't be read, or its beginning can't be decompressed.
pub fn head(path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; bytes];
    let mut content = decompressed(Counted {
        inner: File::open(path)?,
        read: Arc::default(),
    })?;
    match fill(&mut content, &mut piece) {
        (0, Some(Err(error))) => Err(error),
        (filled, _) => {
            piece.truncate(filled);
            Ok(piece)
        }
    }
}

/// Fills a buffer from the content; returns the number of bytes, and the end or error after them.
fn fill(content: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<io::Result<()>>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match content.read(&mut buffer[filled..]) {
            Ok(0) => return (filled, Some(Ok(()))),
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(Err(error))),
        }
    }
    (filled, None)
}

fn decompressed(file: Counted<impl Read + Send + 'static>) -> io::Result<Box<dyn Read + Send>> {
    let mut file = BufReader::with_capacity(PIECE, file);
    let magic = file.fill_buf()?;
    if magic.starts_with(b"\x1f\x8b") {
        return Ok(Box::new(MultiGzDecoder::new(file)));
    }
    if is_zstd(magic) {
        return Ok(Box::new(Zstd {
            decoder: FrameDecoder::new(),
            rest: file,
            damage: None,
        }));
    }
    for (start, name, tool) in [
        (&b"\xfd7zXZ\0"[..], "xz", "xz"),
        (b"BZh", "bzip2", "bzip2"),
        (b"\x04\x22\x4d\x18", "LZ4", "lz4"),
    ] {
        if magic.starts_with(start) {
            let text = format!(
                "compressed with {name}, which is not supported\n  fix: {tool} -dk FILE, and name the result"
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
    }
    Ok(Box::new(file))
}

/// Recognizes frames (RFC 8878 §3.1.1) and skippable frames (§3.1.2).
fn is_zstd(magic: &[u8]) -> bool {
    magic.starts_with(b"\x28\xb5\x2f\xfd")
        || (magic.len() >= 4 && magic[0] & 0xf0 == 0x50 && magic[1..4] == *b"\x2a\x4d\x18")
}

/// Decodes frame after frame; `zstd` writes several when files are joined, or when it runs several
/// threads.
struct Zstd<R> {
    decoder: FrameDecoder,
    rest: R,
    /// Reported after all content before it has been read.
    damage: Option<io::Error>,
}

/// An empty last block (RFC 8878 §3.1.1.2), and room for a checksum.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(to);
            }
            if let Some(damage) = self.damage.take() {
                return Err(damage);
            }
            if !self.decoder.is_finished() {
                let some = BlockDecodingStrategy::UptoBytes(PIECE);
                if let Err(error) = self.decoder.decode_blocks(&mut self.rest, some) {
                    self.damage = Some(damaged(error));
                    // The decoder retains a window of several MB, to which later blocks may refer,
                    // until the frame ends. So end the frame.
                    self.decoder
                        .decode_blocks(&END[..], BlockDecodingStrategy::All)
                        .map_err(damaged)?;
                }
            } else if self.rest.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.begin()?;
            }
        }
    }
}

impl<R: BufRead> Zstd<R> {
    fn begin(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.rest) {
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => io::copy(&mut (&mut self.rest).take(length.into()), &mut io::sink()).map(drop),
            other => other.map_err(damaged),
        }
    }
}

fn damaged(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Counts the bytes read before decompression.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(to)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
