//! Requests to the kernel about routes and devices (rtnetlink(7)).

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// `struct nlmsghdr`, bytes.
const HEADER: usize = 16;

/// Sends a request to the kernel, in this thread's network namespace, and waits for its answer.
pub(crate) fn ask(message: &[u8]) -> nix::Result<()> {
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

/// Returns a request that creates something, with `flags` besides.
pub(crate) fn create(kind: u16, flags: libc::c_int, body: &[u8]) -> Vec<u8> {
    request(kind, libc::NLM_F_CREATE | flags, body)
}

/// Returns a request whose answer tells its result.
pub(crate) fn request(kind: u16, flags: libc::c_int, body: &[u8]) -> Vec<u8> {
    let flags = flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK;
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    message.extend([0; 8]); // sequence and port: one request per socket
    message.extend(body);
    message
}

/// Returns an attribute, padded to a multiple of four bytes.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len().next_multiple_of(4));
    bytes.extend(((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
