//! The congestion control of TCP connections, from `sock_diag(7)`.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// SOCK_DIAG_BY_FAMILY.
const BY_FAMILY: u16 = 20;
/// NLMSG_DONE and NLMSG_ERROR.
const DONE: u16 = 3;
const ERROR: u16 = 2;
/// INET_DIAG_INFO and INET_DIAG_CONG: `struct tcp_info`, and the name of the congestion control.
const INFO: u16 = 2;
const CONG: u16 = 4;
/// All states but TIME_WAIT (6), in which a socket has no congestion control.
const STATES: u32 = 0xfff & !(1 << 6);
/// TCP_LISTEN.
const LISTEN: u8 = 10;
/// `struct nlmsghdr` and `struct inet_diag_msg`, bytes; the latter has the state at its second
/// byte and the port at its fifth.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
const STATE: usize = HEADER + 1;
const PORT: usize = HEADER + 4;
/// `tcpi_bytes_acked`.
const ACKED: usize = 120;

/// The connections of a network namespace.
#[derive(Debug)]
pub(crate) struct Connections(OwnedFd);

/// The data of a connection that were acknowledged, 0 of a socket that listens, and its congestion
/// control.
pub(crate) type Found = (u64, String);

impl Connections {
    /// Opens those of this thread's network namespace.
    pub(crate) fn open() -> nix::Result<Connections> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let protocol = SockProtocol::NetlinkSockDiag;
        socket(AddressFamily::Netlink, SockType::Raw, flags, protocol).map(Connections)
    }

    /// Returns the congestion control of the connection of a port that has sent most data; while none
    /// has, that of the socket that listens, which new connections inherit; `None` if there is
    /// neither, or the kernel can't tell.
    pub(crate) fn algorithm_at(&self, port: u16) -> Option<Found> {
        let mut found = None;
        // A server that listens for both families has IPv4's connections in that of IPv6.
        for family in [AddressFamily::Inet as u8, AddressFamily::Inet6 as u8] {
            send(self.0.as_raw_fd(), &request(family), MsgFlags::empty()).ok()?;
            let mut buffer = vec![0; 1 << 15];
            loop {
                let length = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()).ok()?;
                if !read(&buffer[..length], port, &mut found) {
                    break;
                }
            }
        }
        found
    }
}

/// Returns a request for all connections of a family: struct nlmsghdr and struct inet_diag_req_v2.
fn request(family: u8) -> Vec<u8> {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
    let mut bytes = Vec::with_capacity(72);
    bytes.extend(72u32.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend((flags as u16).to_ne_bytes());
    bytes.extend([0; 8]);
    let asked = 1 << (CONG - 1) | 1 << (INFO - 1);
    bytes.extend([family, libc::IPPROTO_TCP as u8, asked, 0]);
    bytes.extend(STATES.to_ne_bytes());
    bytes.extend([0; 48]);
    bytes
}

/// Reads the connections of the messages in a datagram; returns whether more follow.
fn read(mut datagram: &[u8], port: u16, found: &mut Option<Found>) -> bool {
    while let Some((length, kind)) = word(datagram, 0).zip(half(datagram, 4)) {
        let length = length as usize;
        if kind == DONE || kind == ERROR || length < HEADER {
            return false;
        }
        let message = &datagram[..length.min(datagram.len())];
        if half(message, PORT).map(u16::from_be) == Some(port)
            && let Some(one) = connection(message)
            && (one.0 > 0 || message[STATE] == LISTEN)
            && found.as_ref().is_none_or(|(acked, _)| *acked < one.0)
        {
            *found = Some(one);
        }
        let rest = datagram.get(length.next_multiple_of(4)..);
        datagram = rest.unwrap_or_default();
    }
    true
}

/// Returns what the attributes of a message say about its connection.
fn connection(message: &[u8]) -> Option<Found> {
    let (mut acked, mut name) = (0, None);
    let mut rest = message.get(HEADER + MESSAGE..)?;
    while let Some((length, kind)) = half(rest, 0).zip(half(rest, 2)) {
        let value = rest.get(4..usize::from(length))?;
        if kind == INFO {
            let eight = value.get(ACKED..ACKED + 8);
            acked = eight.map_or(0, |it| {
                u64::from_ne_bytes(it.try_into().unwrap_or_default())
            });
        } else if kind == CONG {
            let text = value.split(|byte| *byte == 0).next()?;
            name = String::from_utf8(text.to_vec()).ok();
        }
        let next = usize::from(length).next_multiple_of(4);
        rest = rest.get(next..).unwrap_or_default();
    }
    Some((acked, name?))
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
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_connection_that_sent_data_has_the_machines_default() {
        let default = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")
            .expect("Linux has a default");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let mut client = TcpStream::connect(address).expect("it listens");
        let (mut server, _) = listener.accept().expect("a client");
        let connections = Connections::open().expect("every user may ask");
        let inherited = Some((0, default.trim().to_owned()));
        assert_eq!(connections.algorithm_at(address.port()), inherited);
        drop(listener);
        let nothing_sent = connections.algorithm_at(address.port());
        assert_eq!(nothing_sent, None);
        server.write_all(&[0; 1000]).expect("connected");
        client.read_exact(&mut [0; 1000]).expect("sent");
        let (acked, name) = connections
            .algorithm_at(address.port())
            .expect("it has sent");
        assert!(acked >= 1000, "{acked}");
        assert_eq!(name, default.trim());
    }

    #[test]
    fn a_message_that_is_cut_off_is_no_connection() {
        let mut found = None;
        let whole = request(2);
        for length in 0..whole.len() {
            read(&whole[..length], 0, &mut found);
        }
        assert_eq!(found, None);
    }
}
