//! UDP sockets.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use fullpipe_testbed::SandboxError;
use nix::errno::Errno;
use noq_udp::UdpSocketState;

/// Buffer size requested for sockets; Linux may grant less (net.core.rmem_max, wmem_max).
const ROOM: usize = 4 << 20;

/// Minimum buffer size of a socket, doubled as Linux counts: a few milliseconds of data.
const LEAST_ROOM: usize = 2 << 20;

/// A socket, and noq's state of it.
pub(super) type Socket = (UdpSocket, UdpSocketState);

/// Returns a socket on the loopback, unreachable from other machines.
pub(crate) fn loopback(port: u16) -> Result<Socket, SandboxError> {
    bind((Ipv4Addr::LOCALHOST, port).into())
}

pub(super) fn bind(address: SocketAddr) -> Result<Socket, SandboxError> {
    let cant = |error: io::Error| {
        let fix = match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EADDRINUSE) => "use another port",
            Some(Errno::EMFILE | Errno::ENFILE) => {
                "run fewer flows at once, or allow more open files: ulimit -n"
            }
            _ => "try again",
        };
        SandboxError::new(format!("no UDP socket at {address}: {error}"), fix)
    };
    let socket = UdpSocket::bind(address).map_err(cant)?;
    let state = UdpSocketState::new((&socket).into()).map_err(cant)?;
    // If Linux grants less, `room_warning` reports it.
    let _ = state.set_recv_buffer_size((&socket).into(), ROOM);
    let _ = state.set_send_buffer_size((&socket).into(), ROOM);
    Ok((socket, state))
}

/// Returns a warning about a socket with a buffer below the minimum.
pub(super) fn room_warning((socket, state): &Socket) -> io::Result<Option<String>> {
    let room = state.recv_buffer_size(socket.into())?;
    Ok((room < LEAST_ROOM).then(|| {
        format!(
            "the receive buffers of sockets have only {} kB, so datagrams may be lost there; sysctl net.core.rmem_max={ROOM} permits more",
            room / 1000
        )
    }))
}
