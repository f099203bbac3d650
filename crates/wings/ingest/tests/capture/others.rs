//! Captures that pcap-parser's crate ships, read from cargo's directory: files from other tools,
//! including odd ones.

use std::path::PathBuf;
use std::process::Command;

use fullpipe_ingest::capture::Options;
use fullpipe_units::Span;

use super::build::{OPTIONS, extract};

fn assets() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs, since it runs this test");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().unwrap();
    let parser = packages
        .iter()
        .find(|package| package["name"] == "pcap-parser")
        .unwrap();
    PathBuf::from(parser["manifest_path"].as_str().unwrap()).with_file_name("assets")
}

#[test]
fn captures_of_other_tools() {
    // To agree with the sums of a scapy program, which ignores pauses.
    let options = Options {
        udp: true,
        idle: Span::from_secs(2_000_000_000),
        ..OPTIONS
    };
    // Packets, flows, and the bytes of the largest flow.
    for (name, packets, flows, most) in [
        ("ntp.pcap", 12, 6, 48),
        ("modified-format.pcap", 1, 0, 0),
        ("test001-le.pcapng", 4, 2, 600),
        ("test001-be.pcapng", 4, 2, 600),
        ("test010-le.pcapng", 4, 2, 600),
        ("test016-le.pcapng", 4, 2, 600),
        ("test016-be.pcapng", 4, 2, 600),
        ("test017-le.pcapng", 0, 0, 0),
        ("test017-be.pcapng", 0, 0, 0),
        ("err-buffertoosmall.pcapng", 27, 1, 5964),
        ("wireshark_samples-test.pcapng", 5898, 1149, 146_583),
    ] {
        let bytes = std::fs::read(assets().join(name)).unwrap();
        let (rows, report) = extract(&[&bytes], options);
        assert_eq!(
            (&report.files[0].damage, &report.files[0].refused),
            (&None, &None),
            "{name}"
        );
        let found = (
            report.packets,
            rows.len(),
            rows.bytes.iter().copied().max().unwrap_or(0),
        );
        assert_eq!(found, (packets, flows, most), "{name}");
    }
}
