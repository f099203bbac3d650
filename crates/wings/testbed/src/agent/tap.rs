//! Records the headers of packets that pass an interface, each with its time.

use std::os::fd::OwnedFd;
use std::path::Path;

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};

use super::record::{Header, RecordKind, Writer};
use super::ring::{Frame, Ring};
use super::sys::{self, Poll};
use super::{AgentError, failed};

/// Longest recorded headers: IP without options, TCP with all that it may have.
const HEADERS: usize = 20 + 60;

/// Time between two reads of the ring, ns; the ring has room for many times the packets of that
/// time.
const PAUSE: u64 = 20_000_000;

pub(super) fn tap(interface: &str, out: &Path) -> Result<(), AgentError> {
    let (socket, mut ring) = packet_socket(interface)?;
    let poll = Poll::new()?;
    let ahead = sys::real_time_ahead();
    let header = Header {
        agent: "tap".to_owned(),
        epoch: sys::now(),
        kernel: sys::kernel(),
    };
    let mut writer = Writer::create(out, &header)?;
    super::say_ready();
    loop {
        while let Some(written) = ring.take(|frame| write_down(&mut writer, ahead, &frame)) {
            written?;
        }
        if poll.stopped() {
            let now = sys::now();
            writer.add_number(RecordKind::Missed, 0, now, sys::missed(&socket))?;
            return writer.finish(now);
        }
        // The kernel stamps the packets, so reading them late does no harm.
        poll.wait(sys::now() + PAUSE)?;
    }
}

/// Opens a socket that sees every packet of `interface`, in both directions and without its
/// link-layer header, and the socket's ring.
fn packet_socket(interface: &str) -> Result<(OwnedFd, Ring), AgentError> {
    let index = if_nametoindex(interface).map_err(failed(&format!("interface {interface:?}")))?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    // A packet socket receives outgoing packets only if it is bound to all protocols.
    let socket = socket(
        AddressFamily::Packet,
        SockType::Datagram,
        flags,
        SockProtocol::EthAll,
    )
    .map_err(|error| {
        AgentError::new(format!(
            "a packet socket: {error}\n  fix: run as root of the network namespace (CAP_NET_RAW)"
        ))
    })?;
    let ring = Ring::new(&socket).map_err(failed("setting up a ring of packets"))?;
    sys::bind_to_interface(&socket, index).map_err(failed(&format!("interface {interface:?}")))?;
    Ok((socket, ring))
}

fn write_down(writer: &mut Writer, ahead: i64, frame: &Frame) -> Result<(), AgentError> {
    let head = frame.head;
    // IPv4 without options, with TCP; no other packet belongs to a run.
    if head.len() < 40 || head[0] != 0x45 || head[9] != libc::IPPROTO_TCP as u8 {
        return Ok(());
    }
    let kept = head
        .len()
        .min(HEADERS)
        .min(20 + usize::from(head[32] >> 4) * 4);
    let mut data = [0; 5 + HEADERS];
    data[0] = u8::from(frame.out);
    data[1..5].copy_from_slice(&frame.length.to_le_bytes());
    data[5..5 + kept].copy_from_slice(&head[..kept]);
    writer.add(
        RecordKind::Packet,
        0,
        frame.time.saturating_add_signed(-ahead),
        &data[..5 + kept],
    )
}
