//! Writes down the headers of what passes an interface, each with its time.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, recvmsg, setsockopt,
    socket, sockopt,
};
use nix::sys::time::TimeSpec;

use super::record::{Header, Kind, Writer};
use super::sys::{self, Poll};
use super::{Failure, failed};

/// The longest headers: IP without options, TCP with all it may have.
const HEADERS: usize = 20 + 60;

/// Room for packets that wait to be written down.
const BUFFER: u32 = 64 << 20;

/// Between two looks, ns: the buffer has room for many times what comes.
const PAUSE: u64 = 10_000_000;

pub(super) fn tap(interface: &str, out: &Path) -> Result<(), Failure> {
    let socket = packet_socket(interface)?;
    let poll = Poll::new()?;
    let ahead = sys::real_time_ahead();
    let header = Header { agent: "tap".to_owned(), epoch: sys::now(), kernel: sys::kernel() };
    let mut writer = Writer::create(out, &header)?;
    println!("ready");
    loop {
        read(&socket, ahead, &mut writer)?;
        if poll.stopped() {
            let now = sys::now();
            writer.add_number(Kind::Missed, 0, now, sys::missed(&socket))?;
            return writer.finish(now);
        }
        // The kernel stamps the packets, so that there is no hurry.
        poll.wait(sys::now() + PAUSE)?;
    }
}

/// A socket that sees every packet of `interface`, both ways, from behind its link-layer header on.
fn packet_socket(interface: &str) -> Result<OwnedFd, Failure> {
    let index = if_nametoindex(interface).map_err(failed(&format!("interface {interface:?}")))?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    // Only who asks for all protocols is shown what goes out.
    let socket = socket(AddressFamily::Packet, SockType::Datagram, flags, SockProtocol::EthAll).map_err(|error| {
        Failure::new(format!("a packet socket: {error}\n  fix: run as root of the network namespace (CAP_NET_RAW)"))
    })?;
    sys::set_buffer(&socket, false, BUFFER)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(failed("SO_TIMESTAMPNS"))?;
    sys::bind_to_interface(&socket, index).map_err(failed(&format!("interface {interface:?}")))?;
    Ok(socket)
}

/// All that waits.
fn read(socket: &OwnedFd, ahead: i64, writer: &mut Writer) -> Result<(), Failure> {
    let mut headers = [0; HEADERS];
    let mut control = nix::cmsg_space!(TimeSpec);
    loop {
        let mut parts = [IoSliceMut::new(&mut headers)];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
        let message = match recvmsg::<LinkAddr>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(()),
            Err(error) => return Err(failed("reading packets")(error)),
        };
        let stamped = message.cmsgs().ok().into_iter().flatten().find_map(|part| match part {
            ControlMessageOwned::ScmTimestampns(time) => Some(sys::nanos(time)),
            _ => None,
        });
        let time = stamped.map_or_else(sys::now, |time| time.saturating_add_signed(-ahead));
        let out = message.address.is_some_and(|address| address.pkttype() == libc::PACKET_OUTGOING);
        let length = message.bytes;
        let kept = length.min(HEADERS);
        // IPv4 with TCP; the rest is of no run.
        if kept < 40 || headers[0] != 0x45 || headers[9] != libc::IPPROTO_TCP as u8 {
            continue;
        }
        let kept = kept.min(20 + usize::from(headers[32] >> 4) * 4);
        let mut data = [0; 5 + HEADERS];
        data[0] = u8::from(out);
        data[1..5].copy_from_slice(&(length as u32).to_le_bytes());
        data[5..5 + kept].copy_from_slice(&headers[..kept]);
        writer.add(Kind::Packet, 0, time, &data[..5 + kept])?;
    }
}
