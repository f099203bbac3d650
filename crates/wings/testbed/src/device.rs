//! TUN devices, and settings of network interfaces.
#![expect(unsafe_code, reason = "ioctl has no safe form")]

use std::fs::OpenOptions;
use std::io::IoSlice;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::uio::writev;

use crate::offload::{self, Packets};
use crate::rtnetlink::{ask, attribute, request as netlink};

/// Largest IP packet of a device, bytes.
pub(crate) const MTU: usize = 1_500;
/// Packets, or super-packets, that may wait in a device for the forwarder; the queue should never be
/// full.
const QUEUE: i32 = 10_000;

/// Name of fullpipe's devices, each in a separate namespace.
pub(crate) const NAME: &str = "fullpipe0";

/// A TUN device. It lasts as long as this, and its reads do not block.
#[derive(Debug)]
pub(crate) struct Tun {
    descriptor: OwnedFd,
    has_offloads: bool,
}

impl Tun {
    /// Creates a device in this thread's network namespace.
    pub(crate) fn new(has_offloads: bool) -> nix::Result<Tun> {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")
            .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))?;
        let mut request = request(NAME);
        let header = if has_offloads { libc::IFF_VNET_HDR } else { 0 };
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | header) as i16;
        ioctl(&device, libc::TUNSETIFF, &mut request)?;
        if has_offloads {
            offload(&device)?;
        }
        Ok(Tun {
            descriptor: device.into(),
            has_offloads,
        })
    }

    /// A device with offloads on another descriptor.
    #[cfg(test)]
    pub(crate) fn on(descriptor: OwnedFd) -> Tun {
        Tun {
            descriptor,
            has_offloads: true,
        }
    }

    /// Reads what this end sent: a packet, or a super-packet. The inner value is `None` if it is
    /// malformed. `buffer` has the size [`Tun::BUFFER`].
    pub(crate) fn read<'a>(&self, buffer: &'a mut [u8]) -> nix::Result<Option<Packets<'a>>> {
        if self.has_offloads {
            let size = nix::unistd::read(&self.descriptor, buffer)?;
            return Ok(Packets::of(&mut buffer[..size]));
        }
        let size = nix::unistd::read(&self.descriptor, &mut buffer[..MTU])?;
        Ok(Some(Packets::single(&buffer[..size])))
    }

    pub(crate) const BUFFER: usize = offload::LARGEST;

    /// Delivers a packet to this end. With offloads, a `struct virtio_net_hdr` precedes it.
    pub(crate) fn write(&self, parts: &[IoSlice<'_>]) -> nix::Result<usize> {
        writev(&self.descriptor, parts)
    }

    /// Whether the device has offloads.
    pub(crate) fn has_offloads(&self) -> bool {
        self.has_offloads
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Lets the kernel leave checksums and segmentation to the reader, as to a NIC.
fn offload(device: &impl AsRawFd) -> nix::Result<()> {
    let set = |offloads: libc::c_uint| {
        // SAFETY: this code takes a number.
        Errno::result(unsafe {
            libc::ioctl(
                device.as_raw_fd(),
                libc::TUNSETOFFLOAD,
                libc::c_ulong::from(offloads),
            )
        })
    };
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO_ECN;
    // Linux 6.2 has those of UDP, and takes both together only.
    let udp = libc::TUN_F_USO4 | libc::TUN_F_USO6;
    set(tcp | udp).or_else(|_| set(tcp)).map(drop)
}

/// Gives the device an address with a prefix of `prefix` bits, and brings the device up.
pub(crate) fn configure(address: Ipv4Addr, prefix: u32) -> nix::Result<()> {
    no_ipv6()?;
    let socket = control()?;
    let mut request = request(NAME);
    request.ifr_ifru.ifru_addr = sockaddr(address);
    ioctl(&socket, libc::SIOCSIFADDR, &mut request)?;
    request.ifr_ifru.ifru_netmask = sockaddr(Ipv4Addr::from_bits(u32::MAX << (32 - prefix)));
    ioctl(&socket, libc::SIOCSIFNETMASK, &mut request)?;
    request.ifr_ifru.ifru_mtu = MTU as i32;
    ioctl(&socket, libc::SIOCSIFMTU, &mut request)?;
    request.ifr_ifru.ifru_metric = QUEUE;
    match ioctl(&socket, libc::SIOCSIFTXQLEN, &mut request) {
        // Only the machine's root may set the queue length; otherwise it stays at 500.
        Ok(()) | Err(nix::Error::EPERM) => up(&socket, NAME),
        Err(error) => Err(error),
    }
}

/// Keeps the kernel from giving the device an IPv6 address of its own. The path carries IPv4 only,
/// and the address would come when a program already runs: Chromium then abandons a page that it
/// loads (`ERR_NETWORK_CHANGED`).
fn no_ipv6() -> nix::Result<()> {
    let mode = attribute(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE]);
    let family = attribute(libc::AF_INET6 as u16, &mode);
    // struct ifinfomsg: family, padding, type, index, flags and their mask.
    let mut body = vec![0; 4];
    body.extend(if_nametoindex(NAME)?.to_ne_bytes());
    body.extend([0; 8]);
    body.extend(attribute(libc::IFLA_AF_SPEC, &family));
    match ask(&netlink(libc::RTM_SETLINK, 0, &body)) {
        Err(Errno::EAFNOSUPPORT) => Ok(()), // a kernel without IPv6
        result => result,
    }
}

/// Numbers of linux/if_link.h.
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;

/// Brings up the loopback device.
pub(crate) fn loopback() -> nix::Result<()> {
    up(&control()?, "lo")
}

fn up(socket: &OwnedFd, name: &str) -> nix::Result<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    ioctl(socket, libc::SIOCSIFFLAGS, &mut request)
}

fn control() -> nix::Result<OwnedFd> {
    socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
}

fn request(name: &str) -> libc::ifreq {
    let mut ifr_name = [0; libc::IFNAMSIZ];
    for (to, from) in ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    libc::ifreq {
        ifr_name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_metric: 0 },
    }
}

fn sockaddr(address: Ipv4Addr) -> libc::sockaddr {
    let mut sa_data = [0; 14];
    for (to, from) in sa_data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    libc::sockaddr {
        sa_family: libc::AF_INET as u16,
        sa_data,
    }
}

fn ioctl(
    on: &impl AsRawFd,
    code: impl TryInto<libc::Ioctl>,
    request: &mut libc::ifreq,
) -> nix::Result<()> {
    let code = code
        .try_into()
        .unwrap_or_else(|_| unreachable!("the codes of libc fit"));
    // SAFETY: every code above takes a pointer to an `ifreq`, which outlives the call.
    nix::errno::Errno::result(unsafe {
        libc::ioctl(on.as_raw_fd(), code, std::ptr::from_mut(request))
    })
    .map(drop)
}
