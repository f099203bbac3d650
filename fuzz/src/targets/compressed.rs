//! Layers of gzip and zstd: content comes out as it went in, or up to a cut; lines are numbered as in
//! the text.

use std::io::{Cursor, Write};

use arbitrary::Arbitrary;
use flate2::Compression;
use fullpipe_ingest::{Input, Text};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

#[derive(Arbitrary, Debug)]
pub(crate) struct Case<'a> {
    parts: Vec<(Layer, &'a [u8])>,
    separator: Option<u8>,
    damage: Option<Damage>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Layer {
    /// As it is; a decoder sees what the fuzzer wrote.
    None,
    Gzip,
    Zstd,
}

#[derive(Arbitrary, Debug)]
enum Damage {
    Cut(u16),
    Flip(u16, u8),
    Insert(u16, u8),
}

fn packed(layer: Layer, content: &[u8]) -> Vec<u8> {
    match layer {
        Layer::None => content.to_vec(),
        Layer::Gzip => {
            let mut to = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
            to.write_all(content).expect("memory takes all");
            to.finish().expect("memory takes all")
        }
        Layer::Zstd => compress_to_vec(content, CompressionLevel::Fastest),
    }
}

fn damaged(bytes: &mut Vec<u8>, damage: &Damage) {
    let place = |at: u16| usize::from(at) % bytes.len().max(1);
    match *damage {
        Damage::Cut(at) => bytes.truncate(place(at)),
        Damage::Flip(at, bit) if !bytes.is_empty() => {
            let at = place(at);
            bytes[at] ^= 1 << (bit % 8);
        }
        Damage::Flip(..) => {}
        Damage::Insert(at, byte) => bytes.insert(place(at), byte),
    }
}

/// The content, as far as it can be read, and whether that is all.
fn content(bytes: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut input = Input::of(Cursor::new(bytes.to_vec())).ok()?;
    let mut all = Vec::new();
    // Content may be a million times as long as the input; its beginning is enough.
    while all.len() < 1 << 22 {
        match input.next_piece() {
            Ok(Some(piece)) => all.extend(piece),
            Ok(None) => {
                assert!(input.next_piece().is_ok_and(|piece| piece.is_none()));
                return Some((all, true));
            }
            Err(_) => return Some((all, false)),
        }
    }
    Some((all, false))
}

/// Lines with an end, or without one at the end of the content, as `Text` counts them.
fn check_lines(bytes: &[u8], separator: Option<u8>, plain: Option<&[u8]>) {
    let Ok(input) = Input::of(Cursor::new(bytes.to_vec())) else {
        return;
    };
    let mut text = Text::of(input, separator);
    let (mut all, mut next) = (Vec::new(), 1);
    while all.len() < 1 << 22 {
        let Ok(Some(piece)) = text.next_piece() else {
            break;
        };
        assert!(piece.first >= next, "lines are counted on");
        assert!(piece.too_long.iter().all(|line| *line >= piece.first));
        next = piece.first + 1;
        all.extend(piece.text);
    }
    if let Some(plain) = plain.filter(|plain| plain.len() < 1 << 20) {
        assert_eq!(all, plain, "all lines come out");
    }
}

pub(crate) fn check(case: Case<'_>) {
    let kind = case.parts.first().map(|(layer, _)| *layer);
    let same = |layer: Layer| {
        std::mem::discriminant(&layer) == std::mem::discriminant(&kind.unwrap_or(layer))
    };
    // Members of one layer follow each other in a file.
    let parts: Vec<_> = case
        .parts
        .iter()
        .filter(|(layer, _)| same(*layer))
        .take(8)
        .collect();
    let mut bytes: Vec<u8> = parts
        .iter()
        .flat_map(|(layer, part)| packed(*layer, part))
        .collect();
    let plain: Vec<u8> = parts
        .iter()
        .flat_map(|(_, part)| part.iter().copied())
        .collect();
    let layered = !matches!(kind, None | Some(Layer::None));
    if let Some(damage) = &case.damage {
        damaged(&mut bytes, damage);
    }
    let found = content(&bytes);
    let whole = layered && case.damage.is_none();
    if whole {
        let (all, complete) = found.expect("it begins as it should");
        assert!(complete && all == plain, "it comes out as it went in");
    } else if let (true, Some(Damage::Cut(_)), Some((all, _)), 4..) =
        (layered, &case.damage, found, bytes.len())
    {
        // Shorter ones do not show that they are compressed.
        assert!(
            plain.starts_with(&all),
            "the content before a cut comes out"
        );
    }
    check_lines(&bytes, case.separator, whole.then_some(&plain[..]));
}
