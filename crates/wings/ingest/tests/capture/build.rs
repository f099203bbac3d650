//! Packets, captures of them, and a call of the extraction through the public interface.

use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use etherparse::{IpNumber, PacketBuilder};
use fullpipe_ingest::capture::{Columns, Heard, Options, Report, Running};
use fullpipe_units::Span;

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// A packet from its IP header on, and its capture time in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) at_us: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Two ends that exchange packets.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    pub(crate) client: (&'static str, u16),
    pub(crate) server: (&'static str, u16),
    /// Next sequence number of each end.
    pub(crate) numbers: [u32; 2],
    pub(crate) packets: Vec<Packet>,
}

impl Talk {
    pub(crate) fn new(client: (&'static str, u16), server: (&'static str, u16)) -> Talk {
        Talk {
            client,
            server,
            numbers: [1000, 4_294_967_000],
            packets: Vec::new(),
        }
    }

    pub(crate) fn v4() -> Talk {
        Talk::new(("10.0.0.1", 40_000), ("10.0.0.2", 80))
    }

    /// Adds a segment with a given sequence number; `from` is 0 for the client.
    pub(crate) fn raw(
        &mut self,
        at_us: u64,
        from: usize,
        flags: u8,
        number: u32,
        payload: usize,
    ) -> &mut Talk {
        let (source, to) = if from == 0 {
            (self.client, self.server)
        } else {
            (self.server, self.client)
        };
        let bytes = tcp(source, to, number, flags, payload);
        self.packets.push(Packet { at_us, bytes });
        self
    }

    pub(crate) fn send(&mut self, at_us: u64, from: usize, flags: u8, payload: usize) -> &mut Talk {
        self.raw(at_us, from, flags, self.numbers[from], payload);
        let more = payload as u32 + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        self.numbers[from] = self.numbers[from].wrapping_add(more);
        self
    }

    pub(crate) fn open(&mut self, at_us: u64) -> &mut Talk {
        self.send(at_us, 0, SYN, 0)
            .send(at_us + 10, 1, SYN | ACK, 0)
            .send(at_us + 20, 0, ACK, 0)
    }

    pub(crate) fn close(&mut self, at_us: u64) -> &mut Talk {
        self.send(at_us, 0, FIN | ACK, 0)
            .send(at_us + 10, 1, FIN | ACK, 0)
            .send(at_us + 20, 0, ACK, 0)
    }
}

fn tcp(source: (&str, u16), to: (&str, u16), number: u32, flags: u8, payload: usize) -> Vec<u8> {
    let builder = match (address(source.0), address(to.0)) {
        (IpAddr::V4(source), IpAddr::V4(to)) => {
            PacketBuilder::ipv4(source.octets(), to.octets(), 64)
        }
        (IpAddr::V6(source), IpAddr::V6(to)) => {
            PacketBuilder::ipv6(source.octets(), to.octets(), 64)
        }
        _ => unreachable!("both of one kind"),
    };
    let mut builder = builder.tcp(source.1, to.1, number, 500);
    for (flag, set) in [
        (FIN, etherparse::PacketBuilderStep::fin as fn(_) -> _),
        (SYN, etherparse::PacketBuilderStep::syn),
        (RST, etherparse::PacketBuilderStep::rst),
    ] {
        if flags & flag != 0 {
            builder = set(builder);
        }
    }
    if flags & ACK != 0 {
        builder = builder.ack(1);
    }
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![0x55; payload]).unwrap();
    bytes
}

pub(crate) fn udp(source: (&str, u16), to: (&str, u16), payload: usize) -> Vec<u8> {
    let (IpAddr::V4(from), IpAddr::V4(into)) = (address(source.0), address(to.0)) else {
        unreachable!("IPv4 here")
    };
    let mut bytes = Vec::new();
    PacketBuilder::ipv4(from.octets(), into.octets(), 64)
        .udp(source.1, to.1)
        .write(&mut bytes, &vec![0; payload])
        .unwrap();
    bytes
}

/// Splits an IPv4 packet into fragments of `each` bytes of content, a multiple of 8.
pub(crate) fn fragmented(packet: &Packet, each: usize) -> Vec<Packet> {
    let content = &packet.bytes[20..];
    let parts = content.chunks(each).enumerate().map(|(number, part)| {
        let mut bytes = packet.bytes[..20].to_vec();
        let more = (number + 1) * each < content.len();
        let field = ((number * each / 8) as u16) | if more { 0x2000 } else { 0 };
        bytes[2..4].copy_from_slice(&((20 + part.len()) as u16).to_be_bytes());
        bytes[4..6].copy_from_slice(&7_u16.to_be_bytes());
        bytes[6..8].copy_from_slice(&field.to_be_bytes());
        bytes.extend_from_slice(part);
        Packet {
            at_us: packet.at_us + number as u64,
            bytes,
        }
    });
    parts.collect()
}

/// Adds hop-by-hop and destination options to an IPv6 packet, in front of TCP.
pub(crate) fn with_extensions(packet: &Packet) -> Packet {
    let mut bytes = packet.bytes[..40].to_vec();
    let length = u16::from_be_bytes([bytes[4], bytes[5]]) + 16 + 8;
    bytes[4..6].copy_from_slice(&length.to_be_bytes());
    bytes[6] = IpNumber::IPV6_HEADER_HOP_BY_HOP.0;
    bytes.extend_from_slice(&[
        IpNumber::IPV6_DESTINATION_OPTIONS.0,
        1,
        1,
        12,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ]);
    bytes.extend_from_slice(&[IpNumber::TCP.0, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend_from_slice(&packet.bytes[40..]);
    Packet {
        at_us: packet.at_us,
        bytes,
    }
}

/// Format of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) big_endian: bool,
    pub(crate) nano: bool,
    pub(crate) link: u16,
    /// Bytes in front of IP.
    pub(crate) before: &'static [u8],
    pub(crate) snap: usize,
    /// Length of each packet on the wire, if it differs from that of its bytes.
    pub(crate) wire: Option<u32>,
}

impl Style {
    pub(crate) const RAW: Style = Style {
        big_endian: false,
        nano: false,
        link: 101,
        before: &[],
        snap: 262_144,
        wire: None,
    };

    fn u16(self, value: u16) -> [u8; 2] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub(crate) fn pcap(self, packets: &[Packet]) -> Vec<u8> {
        let magic = if self.nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        let mut bytes = [&self.u32(magic)[..], &self.u16(2), &self.u16(4), &[0; 8]].concat();
        bytes.extend([self.u32(self.snap as u32), self.u32(self.link.into())].concat());
        for packet in packets {
            bytes.extend(self.record(packet));
        }
        bytes
    }

    pub(crate) fn record(self, packet: &Packet) -> Vec<u8> {
        let data = [self.before, &packet.bytes].concat();
        let fraction = (packet.at_us % 1_000_000) as u32 * if self.nano { 1000 } else { 1 };
        let kept = &data[..data.len().min(self.snap)];
        let numbers = [
            (packet.at_us / 1_000_000) as u32,
            fraction,
            kept.len() as u32,
            self.wire.unwrap_or(data.len() as u32),
        ];
        [
            numbers.map(|number| self.u32(number)).concat(),
            kept.to_vec(),
        ]
        .concat()
    }

    fn block(self, kind: u32, content: &[u8]) -> Vec<u8> {
        let padding = (4 - content.len() % 4) % 4;
        let length = self.u32((12 + content.len() + padding) as u32);
        [
            &self.u32(kind)[..],
            &length,
            content,
            &[0; 3][..padding],
            &length,
        ]
        .concat()
    }

    /// Writes pcapng; `resolution` is if_tsresol of the interface.
    pub(crate) fn pcapng(self, packets: &[Packet], resolution: u8) -> Vec<u8> {
        self.pcapng_of(6, packets, resolution)
    }

    /// Writes pcapng with packets in blocks of `kind`. It is one of two kinds whose fields agree if
    /// the interface's number is zero.
    pub(crate) fn pcapng_of(self, kind: u32, packets: &[Packet], resolution: u8) -> Vec<u8> {
        let section = [
            &self.u32(0x1a2b_3c4d)[..],
            &self.u16(1),
            &self.u16(0),
            &[0xff; 8],
        ]
        .concat();
        let resolved = [
            &self.u16(9)[..],
            &self.u16(1),
            &[resolution, 0, 0, 0],
            &self.u16(0),
            &self.u16(0),
        ]
        .concat();
        let interface = [
            &self.u16(self.link)[..],
            &[0; 2],
            &self.u32(self.snap as u32),
            &resolved,
        ]
        .concat();
        let mut bytes = [self.block(0x0a0d_0d0a, &section), self.block(1, &interface)].concat();
        let second: u128 = if resolution & 0x80 == 0 {
            10_u128.pow(resolution.into())
        } else {
            1 << (resolution & 0x7f)
        };
        for packet in packets {
            let data = [self.before, &packet.bytes].concat();
            let kept = &data[..data.len().min(self.snap)];
            let units = (u128::from(packet.at_us) * second).div_ceil(1_000_000) as u64;
            let head = [
                0,
                (units >> 32) as u32,
                units as u32,
                kept.len() as u32,
                data.len() as u32,
            ];
            bytes.extend(self.block(
                kind,
                &[&head.map(|number| self.u32(number)).concat(), kept].concat(),
            ));
        }
        bytes
    }
}

pub(crate) const OPTIONS: Options = Options {
    idle: Span::from_secs(60),
    pause: Span::from_millis(100),
    udp: false,
    addresses: true,
};

/// A file that is deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct Kept(PathBuf);

impl Kept {
    pub(crate) fn new(bytes: &[u8]) -> Kept {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "fullpipe-capture-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::File::create_new(&path)
            .unwrap()
            .write_all(bytes)
            .unwrap();
        Kept(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Extracts the flows of files with these contents.
pub(crate) fn extract(contents: &[&[u8]], options: Options) -> (Columns, Report) {
    let kept: Vec<Kept> = contents.iter().map(|bytes| Kept::new(bytes)).collect();
    let mut running = Running::start(
        kept.iter().map(|file| file.path().to_owned()).collect(),
        options,
    );
    let mut flows = None;
    loop {
        match running.next(Duration::from_secs(10)) {
            Heard::Flows(columns) => assert!(
                flows.replace(*columns).is_none(),
                "so few fit into one batch"
            ),
            Heard::Nothing => panic!("it takes too long"),
            Heard::Done(report) => return (flows.unwrap_or_default(), *report),
        }
    }
}

pub(crate) fn of(packets: &[Packet]) -> Columns {
    let (columns, report) = extract(&[&Style::RAW.pcap(packets)], OPTIONS);
    assert_eq!(report.files[0].damage, None);
    assert_eq!(report.files[0].refused, None);
    columns
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}
