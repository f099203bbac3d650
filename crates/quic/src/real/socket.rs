//! UDP sockets.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use fullpipe_testbed::SandboxError;
use nix::errno::Errno;
use noq_udp::UdpSocketState;

/// Sockets ask for so much room; Linux may give less (net.core.rmem_max, wmem_max).
const ROOM: usize = 4 << 20;

/// What a socket should have at least, doubled as Linux counts: some milliseconds' worth.
const LEAST_ROOM: usize = 2 << 20;

/// A socket, and what noq keeps of it.
pub(super) type Socket = (UdpSocket, UdpSocketState);

/// A socket on the loopback: never seen from outside.
pub(crate) fn loopback(port: u16) -> Result<Socket, SandboxError> {
    bind((Ipv4Addr::LOCALHOST, port).into())
}

pub(super) fn bind(address: SocketAddr) -> Result<Socket, SandboxError> {
    let cant = |error: io::Error| {
        let fix = match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EADDRINUSE) => "take another port",
            Some(Errno::EMFILE | Errno::ENFILE) => {
                "run fewer flows at once, or allow more open files: ulimit -n"
            }
            _ => "try again",
        };
        SandboxError::new(format!("no UDP socket at {address}: {error}"), fix)
    };
    let socket = UdpSocket::bind(address).map_err(cant)?;
    let state = UdpSocketState::new((&socket).into()).map_err(cant)?;
    // What is not given is seen later.
    let _ = state.set_recv_buffer_size((&socket).into(), ROOM);
    let _ = state.set_send_buffer_size((&socket).into(), ROOM);
    Ok((socket, state))
}

/// What is to be said of a socket with less room than it should have.
pub(super) fn room_warning((socket, state): &Socket) -> io::Result<Option<String>> {
    let room = state.recv_buffer_size(socket.into())?;
    Ok((room < LEAST_ROOM).then(|| {
        format!(
            "sockets have room for {} kB only, so datagrams may be lost there; sysctl net.core.rmem_max={ROOM} gives more",
            room / 1000
        )
    }))
}
