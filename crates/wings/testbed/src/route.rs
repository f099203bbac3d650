//! The congestion control of a route, by which an end uses an algorithm that is not the machine's default.
//!
//! `tcp_congestion_control` of a namespace and TCP_CONGESTION of a socket accept only the algorithms of
//! `tcp_allowed_congestion_control`, which belongs to the whole machine. A route's `congctl` accepts
//! every algorithm that the kernel has, for connections in both directions.

use std::net::Ipv4Addr;

use nix::net::if_::if_nametoindex;

use crate::device;
use crate::rtnetlink::{ask, attribute, create};

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
    create(libc::RTM_NEWROUTE, libc::NLM_F_REPLACE, &body)
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
    create(libc::RTM_NEWRULE, libc::NLM_F_EXCL, &body)
}

/// Numbers of linux/fib_rules.h.
const FR_ACT_TO_TBL: u8 = 1;
const FRA_TABLE: u16 = 15;
const FRA_IP_PROTO: u16 = 22;
const FRA_SPORT_RANGE: u16 = 23;

/// Index of the congestion control in a route's metrics, linux/rtnetlink.h.
const RTAX_CC_ALGO: u16 = 16;
