//! Text in pieces of whole lines, in bounded memory.

use std::io::Write;
use std::path::PathBuf;

use fullpipe_ingest::{Piece, Text};
use proptest::prelude::*;

fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fullpipe-text-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for part in parts {
        to.write_all(part).unwrap();
    }
    to.finish().unwrap()
}

/// Returns the pieces, and the error that ends them.
fn pieces(name: &str, content: &[u8], separator: Option<u8>) -> (Vec<Piece>, Option<String>) {
    let path = file(name, content);
    let mut text = Text::open(&path, separator).unwrap();
    let mut all = Vec::new();
    let error = loop {
        match text.next_piece() {
            Ok(Some(piece)) => all.push(piece),
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    std::fs::remove_file(path).unwrap();
    (all, error)
}

#[test]
fn a_line_beyond_a_megabyte_is_left_out_whatever_it_decompresses_to() {
    let part = vec![b'Z'; 1 << 20];
    let long: Vec<&[u8]> = std::iter::repeat_n(&part[..], 256).collect();
    let bomb = gzip(&[&[&b"first\n"[..]], &long[..], &[b"\nlast\n"]].concat());
    assert!(bomb.len() < 4 << 20, "{}", bomb.len());
    let (all, error) = pieces("bomb", &bomb, None);
    let expected = Piece {
        text: b"first\nlast\n".to_vec(),
        first: 1,
        too_long: vec![2],
    };
    assert_eq!((all, error), (vec![expected], None));
}

#[test]
fn a_file_is_many_pieces_with_the_numbers_of_their_lines() {
    let lines: Vec<String> = (0..2_000_000u32)
        .map(|line| format!("line {line}\n"))
        .collect();
    let (all, error) = pieces("many", lines.concat().as_bytes(), None);
    assert!(all.len() > 2 && error.is_none());
    assert!(all.iter().all(|piece| piece.text.len() < 9 << 20));
    for piece in &all {
        let first = piece.text.split(|byte| *byte == b'\n').next().unwrap();
        assert_eq!(first, format!("line {}", piece.first - 1).as_bytes());
    }
    let text: Vec<u8> = all.into_iter().flat_map(|piece| piece.text).collect();
    assert_eq!(text, lines.concat().as_bytes());
}

#[test]
fn the_part_of_a_line_before_a_cut_is_not_a_line() {
    let lines: Vec<String> = (0..200_000u32).map(|line| format!("{line}\n")).collect();
    let whole = lines.concat();
    let packed = gzip(&[whole.as_bytes()]);
    let (all, error) = pieces("cut", &packed[..packed.len() / 2], None);
    let text: Vec<u8> = all.into_iter().flat_map(|piece| piece.text).collect();
    assert!(error.is_some() && text.len() > 1000);
    assert!(whole.as_bytes().starts_with(&text) && text.ends_with(b"\n"));
}

#[test]
fn a_line_break_between_quotes_belongs_to_its_line() {
    let long = "Z".repeat(2 << 20);
    for (text, lines) in [
        ("a,b\n1,\"x\ny\"\n2,z\n", 3),
        ("\"a \"\"\n\"\" b\",c\nd,e\n", 2),
        ("5\" disk,a\n6\",b\n", 2),
        ("\"\",a\n\"\"\nb\n", 3),
        ("", 0),
    ] {
        let (all, _) = pieces("quotes", format!("{text}{long}").as_bytes(), Some(b','));
        let expected = Piece {
            text: text.as_bytes().to_vec(),
            first: 1,
            too_long: vec![lines + 1],
        };
        assert_eq!(all, [expected], "{text:?}");
    }
    let open = format!("a,\"never closed\nb\n{long}");
    let (all, _) = pieces("open", open.as_bytes(), Some(b','));
    assert_eq!(all[0].too_long, [1]);
}

proptest! {
    #[test]
    fn no_byte_is_lost(text in "[a\"\n,]{0,300}", quoted in any::<bool>()) {
        let (all, error) = pieces("any", text.as_bytes(), quoted.then_some(b','));
        let joined: Vec<u8> = all.into_iter().flat_map(|piece| piece.text).collect();
        prop_assert_eq!((joined, error), (text.into_bytes(), None));
    }
}
