//! What is in a file: plain, gzip or zstd, as its content says, not its name; read and decompressed
//! on a thread of its own.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The pieces of a file's content, and perhaps the error that ends them.
#[derive(Debug)]
pub struct Input {
    /// An empty one is the end.
    pieces: Receiver<io::Result<Vec<u8>>>,
    ended: bool,
    read: Arc<AtomicU64>,
}

/// So small that memory is used again, where a larger piece would be got from the system page by
/// page.
const PIECE: usize = 64 << 10;
/// Pieces that wait: enough that neither side waits for each of the other's.
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

    /// Opens a file; `read` counts its bytes as they lie on the disk.
    ///
    /// # Errors
    ///
    /// When it can't be read.
    pub fn counting(path: &Path, read: Arc<AtomicU64>) -> io::Result<Input> {
        let mut content = decompressed(Counted {
            inner: File::open(path)?,
            read: Arc::clone(&read),
        })?;
        let (to, pieces) = sync_channel(AHEAD);
        std::thread::Builder::new()
            .name("file".into())
            .spawn(move || {
                loop {
                    let mut piece = vec![0; PIECE];
                    let (filled, end) = fill(&mut content, &mut piece);
                    piece.truncate(filled);
                    // Whoever receives may have stopped.
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
            pieces,
            ended: false,
            read,
        })
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    ///
    /// When it can't be read, or is cut off in the middle of what is compressed; what is before
    /// that has come.
    pub fn next_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.ended {
            return Ok(None);
        }
        // The thread that sends has no other end than those two, unless a decoder panics.
        let piece = self
            .pieces
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the decoder has failed")));
        self.ended = !piece.as_ref().is_ok_and(|piece| !piece.is_empty());
        piece.map(|piece| Some(piece).filter(|piece| !piece.is_empty()))
    }

    /// How many bytes of the file have been read, as they lie on the disk: some pieces more than
    /// have been taken.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// The first bytes of a file's content, at most so many: what kind of a file it is.
///
/// # Errors
///
/// When it can't be read, or nothing of it can be decompressed.
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

/// Fills a buffer as far as there is content; what came before an error is kept, and the end said.
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

fn decompressed(file: Counted) -> io::Result<Box<dyn Read + Send>> {
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
                "compressed with {name}, which is not read here\n  fix: {tool} -dk FILE, and name what comes out"
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
    }
    Ok(Box::new(file))
}

/// RFC 8878 §3.1.1, and the skippable frames of §3.1.2.
fn is_zstd(magic: &[u8]) -> bool {
    magic.starts_with(b"\x28\xb5\x2f\xfd")
        || (magic.len() >= 4 && magic[0] & 0xf0 == 0x50 && magic[1..4] == *b"\x2a\x4d\x18")
}

/// Frame after frame, as `zstd` writes them when files are put together, or when it works on
/// several threads.
struct Zstd<R> {
    decoder: FrameDecoder,
    rest: R,
    /// Said when all that was before it has been read.
    damage: Option<io::Error>,
}

/// A last block of nothing (RFC 8878 §3.1.1.2), and room for a checksum.
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
                    // The decoder keeps a window of up to some MB for what may refer to it, until
                    // the frame ends: so it ends.
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

/// Counts what is read of a file.
struct Counted {
    inner: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(to)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
