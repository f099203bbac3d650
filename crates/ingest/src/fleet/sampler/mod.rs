//! A live host's connections by inet_diag, in the words of `ss -tineom`.
//!
//! One listing is one dump of the kernel's table for each family; what a filter excludes the kernel
//! leaves out itself.

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

/// Dumps one listing after the other.
#[derive(Debug)]
pub struct Sampler {
    socket: OwnedFd,
    filter: Filter,
    buffer: Vec<u8>,
    sequence: u32,
}

/// The kernel fills up to 32 KiB a call.
const PIECE: usize = 1 << 16;

/// What a listing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Sockets.
    pub sockets: u64,
    /// Whether the kernel's table changed so that it may lack some or have some twice.
    pub interrupted: bool,
}

impl Sampler {
    /// Opens a socket of sock_diag(7).
    ///
    /// # Errors
    ///
    /// When the kernel has none.
    pub fn new(filter: Filter) -> io::Result<Sampler> {
        let protocol = SockProtocol::NetlinkSockDiag;
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            protocol,
        )?;
        // So that a dump of many sockets needs few calls; less is no error.
        setsockopt(&socket, sockopt::RcvBuf, &(1 << 20))?;
        Ok(Sampler {
            socket,
            filter,
            buffer: vec![0; PIECE],
            sequence: 0,
        })
    }

    /// Writes the lines of all connections that there are now.
    ///
    /// # Errors
    ///
    /// When the kernel refuses, as where inet_diag is not there.
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
                    // No sockets of this family: the kernel has no IPv6.
                    Part::Error(libc::ENOENT) if family == libc::AF_INET6 => return Ok(()),
                    Part::Error(code) => return Err(io::Error::from_raw_os_error(code)),
                }
            }
        }
    }
}
