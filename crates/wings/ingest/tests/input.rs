//! The content of a file is read, whatever compresses it, and however it is damaged.

use std::io::Write;
use std::path::{Path, PathBuf};

use fullpipe_ingest::input::{Input, head};

fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fullpipe-input-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

/// Returns all pieces, and the error that ends them.
fn content(path: &Path) -> (Vec<u8>, Option<std::io::Error>, u64) {
    let mut source = Input::open(path).unwrap();
    let mut all = Vec::new();
    loop {
        match source.next_piece() {
            Ok(Some(piece)) => all.extend(piece),
            Ok(None) => return (all, None, source.position()),
            Err(error) => return (all, Some(error), source.position()),
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Larger than a piece, than a single read, and than a block.
fn text() -> Vec<u8> {
    (0..60_000u32)
        .flat_map(|line| {
            format!("{line} {}\n", line.wrapping_mul(2_654_435_761) >> 20).into_bytes()
        })
        .collect()
}

#[test]
fn all_comes_out_whatever_compresses_it() {
    let (text, (front, back)) = (text(), (&text()[..300_000], &text()[300_000..]));
    for (name, packed) in [
        ("plain", text.clone()),
        ("gz", gzip(&text)),
        ("two-gz", [gzip(front), gzip(back)].concat()),
        ("zst", zstd(&text)),
        ("two-zst", [zstd(front), zstd(back)].concat()),
    ] {
        let path = file(name, &packed);
        let (all, error, position) = content(&path);
        assert!(all == text && error.is_none(), "{name}: {error:?}");
        assert_eq!(position, packed.len() as u64, "{name}");
        assert_eq!(head(&path, 10).unwrap(), text[..10], "{name}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_before_a_cut_comes_out_and_the_cut_is_said() {
    let text = text();
    for (name, packed) in [("cut-gz", gzip(&text)), ("cut-zst", zstd(&text))] {
        for keep in [6, packed.len() / 2, packed.len() - 1] {
            let path = file(name, &packed[..keep]);
            let (all, error, _) = content(&path);
            assert!(text.starts_with(&all) && error.is_some(), "{name} {keep}");
            assert!(
                keep < packed.len() / 2 || all.len() > text.len() / 4,
                "{name} {keep}: {}",
                all.len()
            );
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn what_is_not_read_is_refused_with_what_to_do() {
    let path = file("xz", b"\xfd7zXZ\0...");
    let said = Input::open(&path).unwrap_err().to_string();
    assert_eq!(
        said,
        "compressed with xz, which is not supported\n  fix: xz -dk FILE, and name the result"
    );
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        Input::open(&path).unwrap_err().kind(),
        std::io::ErrorKind::NotFound
    );
}

/// However a file is damaged, reading it ends: regularly, or with an error after which nothing
/// follows.
#[test]
fn damage_anywhere_is_an_end() {
    let text = text();
    for (name, packed) in [("bad-gz", gzip(&text)), ("bad-zst", zstd(&text))] {
        let mut failed = 0;
        for at in (4..packed.len()).step_by(packed.len() / 60) {
            let mut packed = packed.clone();
            packed[at] ^= 0x55;
            let path = file(name, &packed);
            // A header may be refused at once.
            if let Ok(mut source) = Input::open(&path) {
                while let Some(piece) = source.next_piece().transpose() {
                    failed += u32::from(piece.is_err());
                }
            }
            std::fs::remove_file(path).unwrap();
        }
        assert!(failed > 10, "{name}: {failed}");
    }
}

/// A caller may drop the input early, and the thread that reads ahead ends.
#[test]
fn nobody_has_to_read_to_the_end() {
    let path = file("long", &text().repeat(20));
    let mut source = Input::open(&path).unwrap();
    assert!(source.next_piece().unwrap().is_some());
    drop(source);
    std::fs::remove_file(path).unwrap();
}
