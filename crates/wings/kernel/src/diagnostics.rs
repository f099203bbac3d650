//! Sockets of this thread's network namespace by congestion control, from `sock_diag(7)`.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// SOCK_DIAG_BY_FAMILY.
const BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST | NLM_F_DUMP.
const DUMP: u16 = 0x301;
/// NLMSG_DONE and NLMSG_ERROR.
const DONE: u16 = 3;
const ERROR: u16 = 2;
const TCP: u8 = 6;
/// INET_DIAG_CONG: the attribute with the name of the congestion control.
const CONG: u16 = 4;
/// All states but TIME_WAIT (6), in which a socket has no congestion control.
const STATES: u32 = 0xfff & !(1 << 6);
const HEADER: usize = 16;
/// Length of struct inet_diag_msg.
const MESSAGE: usize = 72;

/// Returns the number of TCP sockets of each congestion control.
///
/// # Errors
/// When the kernel refuses the question.
pub(crate) fn congestion_controls() -> io::Result<BTreeMap<String, usize>> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    let mut found = BTreeMap::new();
    for family in [AddressFamily::Inet as u8, AddressFamily::Inet6 as u8] {
        send(socket.as_raw_fd(), &request(family), MsgFlags::empty())?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            if !read(&buffer[..length], &mut found)? {
                break;
            }
        }
    }
    Ok(found)
}

/// Returns a request for all sockets of a family: struct nlmsghdr and struct inet_diag_req_v2.
fn request(family: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(72);
    bytes.extend(72u32.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([family, TCP, 1 << (CONG - 1), 0]);
    bytes.extend(STATES.to_ne_bytes());
    bytes.extend([0; 48]);
    bytes
}

/// Counts the sockets of the messages in a datagram; returns whether more follow.
fn read(mut datagram: &[u8], found: &mut BTreeMap<String, usize>) -> io::Result<bool> {
    while let Some((length, kind)) = word(datagram, 0).zip(half(datagram, 4)) {
        let length = length as usize;
        if kind == DONE || length < HEADER {
            return Ok(false);
        }
        if kind == ERROR {
            return Err(io::Error::other("the kernel refused to list its sockets"));
        }
        let message = &datagram[..length.min(datagram.len())];
        if let Some(name) = congestion_control(message) {
            *found.entry(name).or_default() += 1;
        }
        datagram = datagram
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Ok(true)
}

/// Returns the congestion control in the attributes of a message about a socket.
fn congestion_control(message: &[u8]) -> Option<String> {
    let mut rest = message.get(HEADER + MESSAGE..)?;
    loop {
        let (length, kind) = (usize::from(half(rest, 0)?), half(rest, 2)?);
        if length < 4 {
            return None;
        }
        if kind == CONG {
            let text = rest.get(4..length)?.split(|byte| *byte == 0).next()?;
            return String::from_utf8(text.to_vec()).ok();
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes(two.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_sockets_of_a_connection_are_counted() {
        let default = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")
            .expect("Linux has a default");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let _both = (TcpStream::connect(address), listener.accept());
        let found = congestion_controls().expect("the kernel lists its sockets");
        assert!(found.get(default.trim()).is_some_and(|count| *count >= 3));
    }

    #[test]
    fn a_message_that_is_cut_off_is_no_socket() {
        let mut found = BTreeMap::new();
        let whole = request(2);
        for length in 0..whole.len() {
            let _ = read(&whole[..length], &mut found);
        }
        assert_eq!(found, BTreeMap::new());
    }
}
