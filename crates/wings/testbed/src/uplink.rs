//! The optional way to the outside: a SOCKS5 proxy (RFC 1928) that listens at the far end and
//! connects from the caller's network namespace. It needs no privilege and leaves nothing behind,
//! since it changes nothing in the host's network.
//!
//! Names are resolved outside. The host's own loopback does not count as outside.

use std::io::{self, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs,
};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use crate::privileges;

/// Port at which the proxy listens.
pub(crate) const PORT: u16 = 1_080;
const PATIENCE: Duration = Duration::from_secs(30);

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Codes of a reply (RFC 1928 §6).
#[derive(Clone, Copy)]
enum Reply {
    Succeeded = 0,
    Failure = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    Refused = 5,
    CommandNotSupported = 7,
    AddressNotSupported = 8,
}

/// A proxy that waits for its listener.
pub(crate) struct Uplink(Sender<TcpListener>);

impl Uplink {
    /// Prepares a proxy that connects from this thread's network namespace; to be called before the
    /// thread enters another one.
    pub(crate) fn prepare() -> Uplink {
        let (to, from) = channel::<TcpListener>();
        thread::spawn(move || {
            // The thread is in the caller's network namespace, and follows the command's requests.
            let _ = privileges::drop_all();
            let Ok(listener) = from.recv() else { return };
            for client in listener.incoming().flatten() {
                // A failed connection is reported to its client, and affects no others.
                thread::spawn(move || serve(client));
            }
        });
        Uplink(to)
    }

    /// Serves the clients that `listener` accepts.
    pub(crate) fn open(self, listener: TcpListener) {
        let _ = self.0.send(listener);
    }
}

fn serve(mut client: TcpStream) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    let (server, reply) = match greet(&mut client).and_then(|()| wanted(&mut client))? {
        Ok(addresses) => connect(&addresses),
        Err(reply) => (None, reply),
    };
    client.write_all(&[VERSION, reply as u8, 0, IPV4, 0, 0, 0, 0, 0, 0])?;
    let Some(server) = server else { return Ok(()) };
    client.set_read_timeout(None)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    let down = thread::spawn(move || pass(&mut from_server, &mut to_client));
    let (mut client, mut server) = (client, server);
    pass(&mut client, &mut server);
    let _ = down.join();
    Ok(())
}

/// Copies the data of one side to the other, until its end.
fn pass(from: &mut TcpStream, to: &mut TcpStream) {
    if io::copy(from, to).is_err() {
        let _ = from.shutdown(Shutdown::Both);
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Handles the greeting, §3; no authentication is required.
fn greet(client: &mut TcpStream) -> io::Result<()> {
    let [version, methods] = read(client)?;
    let mut offered = vec![0; usize::from(methods)];
    client.read_exact(&mut offered)?;
    if version != VERSION || !offered.contains(&NO_AUTHENTICATION) {
        client.write_all(&[VERSION, 0xff])?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    client.write_all(&[VERSION, NO_AUTHENTICATION])
}

/// Reads the request, §4; returns the addresses to connect to, or the reason for a refusal.
fn wanted(client: &mut TcpStream) -> io::Result<Result<Vec<SocketAddr>, Reply>> {
    let [_, command, _, kind] = read(client)?;
    let host = match kind {
        IPV4 => Ok(IpAddr::V4(Ipv4Addr::from(read(client)?))),
        IPV6 => Ok(IpAddr::V6(Ipv6Addr::from(read::<16>(client)?))),
        NAME => {
            let [length] = read(client)?;
            let mut name = vec![0; usize::from(length)];
            client.read_exact(&mut name)?;
            Err(String::from_utf8_lossy(&name).into_owned())
        }
        _ => return Ok(Err(Reply::AddressNotSupported)),
    };
    let port = u16::from_be_bytes(read(client)?);
    if command != CONNECT {
        return Ok(Err(Reply::CommandNotSupported));
    }
    let addresses = match host {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(name) => match (name.as_str(), port).to_socket_addrs() {
            Ok(addresses) => addresses.collect(),
            Err(_) => return Ok(Err(Reply::HostUnreachable)),
        },
    };
    let outside: Vec<SocketAddr> = addresses
        .into_iter()
        .filter(|address| is_outside(address.ip()))
        .collect();
    Ok(if outside.is_empty() {
        Err(Reply::NotAllowed)
    } else {
        Ok(outside)
    })
}

fn is_outside(address: IpAddr) -> bool {
    let address = address.to_canonical();
    !address.is_loopback() && !address.is_unspecified()
}

fn connect(addresses: &[SocketAddr]) -> (Option<TcpStream>, Reply) {
    let mut reply = Reply::Failure;
    for address in addresses {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(server) => return (Some(server), Reply::Succeeded),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                reply = Reply::Refused
            }
            Err(_) => reply = Reply::HostUnreachable,
        }
    }
    (None, reply)
}

fn read<const N: usize>(from: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_loopback_is_not_outside() {
        for inside in [
            "127.0.0.1",
            "127.8.9.1",
            "0.0.0.0",
            "::1",
            "::",
            "::ffff:127.0.0.1",
        ] {
            assert!(!is_outside(inside.parse().unwrap()), "{inside}");
        }
        assert!(
            is_outside("192.0.2.1".parse().unwrap()) && is_outside("2001:db8::1".parse().unwrap())
        );
    }

    /// Sends `request` to a proxy, and returns the rest of its answers.
    fn ask(request: &[u8]) -> Vec<u8> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let served = thread::spawn(move || serve(listener.accept().unwrap().0));
        client.write_all(request).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // If the proxy refuses a request before it has read the whole request, the kernel resets
        // the connection.
        let _ = client.read_to_end(&mut answer);
        let _ = served.join().unwrap();
        answer
    }

    #[test]
    fn what_it_does_not_do_is_answered_so() {
        let greeting = [5, 1, 0];
        let to = |command, kind: u8, address: &[u8]| {
            let answer = ask(&[&greeting[..], &[5, command, 0, kind], address, &[0, 80]].concat());
            (answer.len() == 12).then(|| answer[3])
        };
        assert_eq!(to(1, 1, &[127, 0, 0, 1]), Some(2), "not allowed");
        assert_eq!(to(1, 3, b"\x09localhost"), Some(2), "nor by its name");
        assert_eq!(to(2, 1, &[192, 0, 2, 1]), Some(7), "BIND");
        assert_eq!(to(1, 9, &[]), Some(8));
        assert_eq!(ask(&[4, 1, 0]), [5, 0xff], "SOCKS4");
        assert_eq!(ask(&[5, 1, 2]), [5, 0xff], "a password");
        assert!(ask(&[5]).is_empty(), "cut");
    }
}
