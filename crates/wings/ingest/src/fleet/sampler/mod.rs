//! Connections of a live host from inet_diag, in the format of `ss -tineom`.
//!
//! A listing is one dump of the kernel's table per address family; the kernel applies the filter.

mod filter;
mod message;
mod write;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
    sockopt,
};

pub use filter::{Filter, STATES};
use message::Part;

/// Takes one listing after another.
#[derive(Debug)]
pub struct Sampler {
    socket: OwnedFd,
    filter: Filter,
    buffer: Vec<u8>,
    sequence: u32,
}

/// Bytes read at a time; the kernel fills up to 32 KiB per call.
const PIECE: usize = 1 << 16;

/// Result of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Number of sockets.
    pub sockets: u64,
    /// Whether the kernel's table changed during the dump, so that sockets may be missing or listed
    /// twice.
    pub interrupted: bool,
}

impl Sampler {
    /// Opens a socket of sock_diag(7).
    ///
    /// # Errors
    ///
    /// When the kernel does not support it.
    pub fn new(filter: Filter) -> io::Result<Sampler> {
        let protocol = SockProtocol::NetlinkSockDiag;
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            protocol,
        )?;
        // With a large buffer, a dump of many sockets needs few calls; a smaller buffer is not an
        // error.
        setsockopt(&socket, sockopt::RcvBuf, &(1 << 20))?;
        Ok(Sampler {
            socket,
            filter,
            buffer: vec![0; PIECE],
            sequence: 0,
        })
    }

    /// Writes the lines of all present connections.
    ///
    /// # Errors
    ///
    /// When the kernel refuses, for example without inet_diag.
    pub fn list(&mut self, into: &mut Vec<u8>) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.dump(family, into, &mut listing)?;
        }
        Ok(listing)
    }

    fn dump(&mut self, family: i32, into: &mut Vec<u8>, listing: &mut Listing) -> io::Result<()> {
        self.sequence += 1;
        let request = message::request(family, &self.filter, self.sequence);
        send(self.socket.as_raw_fd(), &request, MsgFlags::empty())?;
        loop {
            let length = match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Err(nix::errno::Errno::EINTR) => continue,
                length => length?,
            };
            for part in message::parts(&self.buffer[..length], self.sequence) {
                match part {
                    Part::Socket {
                        message,
                        interrupted,
                    } => {
                        listing.sockets += 1;
                        listing.interrupted |= interrupted;
                        write::line(message, into);
                    }
                    Part::Done => return Ok(()),
                    // The kernel has no IPv6, and no sockets of this family.
                    Part::Error(libc::ENOENT) if family == libc::AF_INET6 => return Ok(()),
                    Part::Error(code) => return Err(io::Error::from_raw_os_error(code)),
                }
            }
        }
    }
}
