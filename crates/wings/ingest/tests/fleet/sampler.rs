//! The sampler against `ss` of iproute2 on the same sockets.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use fullpipe_ingest::fleet::sampler::{Filter, Sampler};
use fullpipe_ingest::fleet::ss::{COLUMNS, Options, Reader};
use fullpipe_ingest::fleet::{Parse, Values};
use nix::sys::socket::{setsockopt, sockopt};

/// Opens connections and transfers data; returns both ends of each, and the server's port.
fn transfers(host: &str, algorithm: &str, count: usize) -> (Vec<TcpStream>, u16) {
    let listener = TcpListener::bind((host, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut ends = Vec::new();
    for at in 0..count {
        let mut client = TcpStream::connect((host, port)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        // The algorithm may be missing; then both ends have the default.
        let _ = setsockopt(&server, sockopt::TcpCongestion, &OsString::from(algorithm));
        client.write_all(&[1; 100]).unwrap();
        server.read_exact(&mut [0; 100]).unwrap();
        let data = vec![2; 20_000 * (at + 1)];
        server.write_all(&data).unwrap();
        client.read_exact(&mut vec![0; data.len()]).unwrap();
        ends.extend([client, server]);
    }
    (ends, port)
}

/// Returns rows by address and port of the other end, with all their numbers and words.
fn rows(text: &[u8]) -> Vec<(String, Vec<f64>, Vec<String>)> {
    let mut reader = Reader::new(Options::default());
    reader.begin_file(0);
    reader.feed(text);
    reader.end_file();
    assert_eq!(reader.take_bad(), []);
    let (_, columns) = reader.open().remove(0);
    let numbers = |name: &str| match columns.get(name) {
        Some(Values::Numbers(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    };
    let texts = |name: &str| match columns.get(name) {
        Some(Values::Texts(values)) => values.clone(),
        Some(Values::Labels(codes, labels)) => codes
            .iter()
            .map(|code| labels.get(*code as usize).cloned().unwrap_or_default())
            .collect(),
        other => panic!("{name}: {other:?}"),
    };
    let mut rows: Vec<_> = (0..columns.rows())
        .map(|row| {
            let values = COLUMNS.iter().map(|name| numbers(name)[row]).collect();
            let words = ["state", "cc", "client", "local_address", "unknown"]
                .map(|name| texts(name)[row].clone());
            (
                format!("{}:{}", words[2], numbers("remote_port")[row]),
                values,
                words.to_vec(),
            )
        })
        .collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows
}

fn listing(filter: &Filter) -> Vec<u8> {
    let mut text = Vec::new();
    Sampler::new(filter.clone())
        .unwrap()
        .list(&mut text)
        .unwrap();
    text
}

/// Columns that change while no data is sent.
const CLOCKS: [&str; 4] = ["timer_s", "lastsnd_s", "lastrcv_s", "lastack_s"];

/// Columns that iproute2 6.1 does not print yet.
const NEWER: [&str; 2] = ["rcv_wnd_bytes", "rehash"];

#[test]
fn it_says_what_ss_says() {
    if Command::new("ss").arg("-V").output().is_err() {
        let strict = std::env::var_os("FULLPIPE_NO_SKIP").is_some();
        assert!(!strict, "skipped: no ss here");
        return eprintln!("skipped: no ss here; it is of Debian's package iproute2");
    }
    for (host, algorithm) in [
        ("127.0.0.1", "cubic"),
        ("127.0.0.1", "bbr"),
        ("::1", "reno"),
        ("127.0.0.1", "dctcp"),
    ] {
        let Ok(_) = TcpListener::bind((host, 0)) else {
            continue;
        };
        let (ends, port) = transfers(host, algorithm, 4);
        let filter = Filter {
            sport: Some((port, port)),
            ..Filter::default()
        };
        let listed = || {
            let output = Command::new("ss")
                .args([
                    "-tineomOH",
                    "state",
                    "connected",
                    "sport",
                    "=",
                    &format!(":{port}"),
                ])
                .output()
                .unwrap();
            output.stdout
        };
        // A worker of the kernel or a late ACK may change values in between. Where our two listings
        // agree, `ss` has to agree, too.
        let (before, theirs, after) = (
            rows(&listing(&filter)),
            rows(&listed()),
            rows(&listing(&filter)),
        );
        drop(ends);
        assert_eq!((before.len(), theirs.len(), after.len()), (4, 4, 4));
        let mut compared = 0;
        for ((ours, theirs), later) in before.iter().zip(&theirs).zip(&after) {
            assert_eq!(ours.0, theirs.0);
            assert_eq!(
                ours.2,
                [&[ours.2[0].clone()], &theirs.2[1..]].concat(),
                "ss omits the state if it filters by state"
            );
            assert_eq!(ours.2[0], "ESTAB");
            for (at, name) in COLUMNS.iter().enumerate() {
                let (ours, theirs, later) = (ours.1[at], theirs.1[at], later.1[at]);
                if CLOCKS.contains(name) {
                    assert!(
                        theirs.is_nan() == ours.is_nan() || name == &"timer_s",
                        "{name}: {ours} {theirs}"
                    );
                    assert!(
                        ours.is_nan()
                            || (ours - 0.1..=later + 0.1).contains(&theirs)
                            || name == &"timer_s",
                        "{name}: {ours} {theirs} {later}"
                    );
                } else if NEWER.contains(name) && theirs.is_nan() {
                    // This version of `ss` does not know the column.
                } else if ours.to_bits() == later.to_bits() {
                    compared += 1;
                    // `ss` prints six digits of a fractional number.
                    let near = (ours - theirs).abs() <= 1e-5 * ours.abs()
                        || (ours.is_nan() && theirs.is_nan());
                    assert!(near, "{algorithm} {name}: ours {ours}, of ss {theirs}");
                }
            }
        }
        assert!(
            compared > 4 * (COLUMNS.len() - CLOCKS.len()) * 9 / 10,
            "only {compared} values did not change"
        );
    }
}

/// The kernel applies the filter.
#[test]
fn filters_are_the_kernels_to_apply() {
    let (ends, port) = transfers("127.0.0.1", "cubic", 3);
    let client_port = ends[0].local_addr().unwrap().port();
    let count = |filter: Filter| rows(&listing(&filter)).len();
    let of_server = Filter {
        sport: Some((port, port)),
        ..Filter::default()
    };
    let net = |text: &str, bits: u8| Some((text.parse().unwrap(), bits));
    assert_eq!(count(of_server.clone()), 3);
    assert_eq!(
        count(Filter {
            sport: None,
            dport: Some((port, port)),
            ..of_server.clone()
        }),
        3
    );
    assert_eq!(
        count(Filter {
            dport: Some((client_port, client_port)),
            ..of_server.clone()
        }),
        1
    );
    assert_eq!(
        count(Filter {
            dst: net("127.0.0.0", 8),
            ..of_server.clone()
        }),
        3
    );
    assert_eq!(
        count(Filter {
            src: net("127.0.0.0", 8),
            dst: net("192.0.2.0", 24),
            ..of_server.clone()
        }),
        0
    );
    assert_eq!(
        count(Filter {
            dst: net("::1", 128),
            ..of_server.clone()
        }),
        0
    );
    assert_eq!(
        count(Filter {
            states: Filter::states(&["close-wait"]).unwrap(),
            ..of_server.clone()
        }),
        0
    );
    // A range of local ports, and one of remote ports.
    assert_eq!(
        count(Filter {
            sport: Some((port, port.saturating_add(1))),
            dport: Some((1024, 65535)),
            ..of_server
        }),
        3
    );
    assert_eq!(Filter::states(&["estab", "nonsense"]), None);
}
