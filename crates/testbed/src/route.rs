//! The congestion control of a route, by which an end uses an algorithm that is not the machine's default.
//!
//! `tcp_congestion_control` of a namespace and TCP_CONGESTION of a socket accept only the algorithms of
//! `tcp_allowed_congestion_control`, which belongs to the whole machine. A route's `congctl` accepts
//! every algorithm that the kernel has, for connections in both directions.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

use crate::device;

/// `struct nlmsghdr` and `struct rtmsg`, bytes.
const HEADER: usize = 16;

/// Replaces the route to the device's network by one whose connections use an algorithm of the
/// kernel, in this thread's network namespace.
///
/// # Errors
/// EINVAL if the kernel does not have the algorithm, or could not load its module.
pub(crate) fn congestion_control(
    address: Ipv4Addr,
    prefix: u8,
    algorithm: &str,
) -> nix::Result<()> {
    ask(&of_device(address, prefix, algorithm, None)?)
}

/// Lets the connections of a port of this end use an algorithm of the kernel, in this thread's
/// network namespace, by a routing table for this port (rules by ports: Linux 4.17).
///
/// # Errors
/// As [`congestion_control`].
pub(crate) fn congestion_control_of_port(
    address: Ipv4Addr,
    prefix: u8,
    algorithm: &str,
    port: u16,
) -> nix::Result<()> {
    ask(&of_device(address, prefix, algorithm, Some(port))?)?;
    ask(&rule(port))
}

/// Returns the request for a route to the network of the end's device.
fn of_device(
    address: Ipv4Addr,
    prefix: u8,
    algorithm: &str,
    table: Option<u16>,
) -> nix::Result<Vec<u8>> {
    let index = if_nametoindex(device::NAME)?;
    let network = Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - u32::from(prefix))));
    Ok(replace(network, prefix, address, index, algorithm, table))
}

/// Sends a request to the kernel, and waits for its answer.
fn ask(message: &[u8]) -> nix::Result<()> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    send(socket.as_raw_fd(), message, MsgFlags::empty())?;
    let mut answer = [0; 4096];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    // The answer is a header, and then the error's number, negative; zero is success.
    match answer[..length].get(HEADER..HEADER + 4) {
        Some(&[a, b, c, d]) => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(()),
            error => Err(Errno::from_raw(-error)),
        },
        _ => Err(Errno::EPROTO),
    }
}

/// Returns the request `ip route replace NETWORK/PREFIX dev INDEX scope link src ADDRESS congctl ALGORITHM`
/// (rtnetlink(7)).
fn replace(
    network: Ipv4Addr,
    prefix: u8,
    address: Ipv4Addr,
    index: u32,
    algorithm: &str,
    table: Option<u16>,
) -> Vec<u8> {
    let metrics = attribute(libc::RTA_METRICS, &{
        let mut name = algorithm.as_bytes().to_vec();
        name.push(0);
        attribute(RTAX_CC_ALGO, &name)
    });
    let mut body = vec![
        libc::AF_INET as u8,
        prefix,
        0,
        0,
        match table {
            Some(_) => libc::RT_TABLE_UNSPEC,
            None => libc::RT_TABLE_MAIN,
        },
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
    ];
    body.extend(0_u32.to_ne_bytes());
    body.extend(attribute(libc::RTA_DST, &network.octets()));
    body.extend(attribute(libc::RTA_OIF, &index.to_ne_bytes()));
    body.extend(attribute(libc::RTA_PREFSRC, &address.octets()));
    body.extend(metrics);
    if let Some(table) = table {
        body.extend(attribute(libc::RTA_TABLE, &u32::from(table).to_ne_bytes()));
    }
    message(libc::RTM_NEWROUTE, libc::NLM_F_REPLACE, &body)
}

/// Returns the request `ip rule add ipproto tcp sport PORT table PORT`.
fn rule(port: u16) -> Vec<u8> {
    // struct fib_rule_hdr, linux/fib_rules.h.
    let mut body = vec![libc::AF_INET as u8, 0, 0, 0, libc::RT_TABLE_UNSPEC, 0, 0];
    body.push(FR_ACT_TO_TBL);
    body.extend(0_u32.to_ne_bytes());
    let ports = [port.to_ne_bytes(), port.to_ne_bytes()].concat();
    body.extend(attribute(FRA_TABLE, &u32::from(port).to_ne_bytes()));
    body.extend(attribute(FRA_IP_PROTO, &[libc::IPPROTO_TCP as u8]));
    body.extend(attribute(FRA_SPORT_RANGE, &ports));
    message(libc::RTM_NEWRULE, libc::NLM_F_EXCL, &body)
}

fn message(kind: u16, flags: libc::c_int, body: &[u8]) -> Vec<u8> {
    let flags = flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE;
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    message.extend([0; 8]); // sequence and port: one request per socket
    message.extend(body);
    message
}

/// Numbers of linux/fib_rules.h.
const FR_ACT_TO_TBL: u8 = 1;
const FRA_TABLE: u16 = 15;
const FRA_IP_PROTO: u16 = 22;
const FRA_SPORT_RANGE: u16 = 23;

/// Index of the congestion control in a route's metrics, linux/rtnetlink.h.
const RTAX_CC_ALGO: u16 = 16;

/// Returns an attribute, padded to a multiple of four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len().next_multiple_of(4));
    bytes.extend(((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
