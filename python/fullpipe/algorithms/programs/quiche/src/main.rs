//! A QUIC server that sends as many bytes as a client asks for, and its client. Packets leave at the time that quiche
//! gives them.
//!
//! fullpipe-quiche server PORT CERT KEY reno|cubic|bbr2
//! fullpipe-quiche client ADDRESS PORT BYTES

#[path = "../../version.rs"]
mod version;

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{ErrorKind, LineWriter};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use quiche::{Config, Connection, ConnectionId, RecvInfo};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_recv_buffer_size;

type Done<T = ()> = Result<T, Box<dyn Error>>;

const LOCK: &str = include_str!("../Cargo.lock");
/// The files that `sources` of the recipe names, in its order.
const SOURCES: &[&[u8]] = &[
    include_bytes!("main.rs"),
    include_bytes!("../Cargo.toml"),
    include_bytes!("../Cargo.lock"),
];

/// Windows that do not limit a transfer, bytes.
const WINDOW: u64 = 1 << 26;
const CHUNK: usize = 1 << 16;
/// Receive buffer of a socket, bytes; the kernel's limit is net.core.rmem_max.
const BUFFER: usize = 1 << 22;
/// UDP payload, bytes.
const DATAGRAM: usize = 1350;
const IDLE_MS: u64 = 30_000;
/// A packet leaves this much early if another has just left: the granularity of quiche's timers.
const EARLY: Duration = Duration::from_millis(1);

fn main() -> Done {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => {
            version::print("fullpipe-quiche", &["quiche"], LOCK, SOURCES);
            Ok(())
        }
        ["server", port, cert, key, cc] => serve(port.parse()?, cert, key, cc),
        ["client", address, port, size] => {
            take(SocketAddr::new(address.parse()?, port.parse()?), size)
        }
        _ => Err("arguments: server PORT CERT KEY CC, or client ADDRESS PORT BYTES".into()),
    }
}

fn socket(port: u16) -> Done<UdpSocket> {
    let socket = UdpSocket::bind(("0.0.0.0", port))?;
    set_socket_recv_buffer_size(&socket, BUFFER)?;
    Ok(socket)
}

fn config() -> Done<Config> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[b"hq-interop"])?;
    config.set_max_idle_timeout(IDLE_MS);
    config.set_max_recv_udp_payload_size(CHUNK);
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.set_initial_max_data(WINDOW);
    config.set_max_connection_window(WINDOW);
    config.set_initial_max_stream_data_bidi_local(WINDOW);
    config.set_max_stream_window(WINDOW);
    config.set_initial_max_stream_data_bidi_remote(WINDOW);
    config.set_initial_max_streams_bidi(1);
    Ok(config)
}

/// A connection with the packet whose time has not come.
struct Peer {
    connection: Connection,
    waiting: Option<(Vec<u8>, SocketAddr, Instant)>,
    asked: Vec<u8>,
    /// Bytes to send; None until the client has asked.
    left: Option<usize>,
}

impl Peer {
    fn new(connection: Connection) -> Self {
        Self { connection, waiting: None, asked: Vec::new(), left: None }
    }

    /// Sends the packets whose time has come.
    fn send(&mut self, socket: &UdpSocket) -> Done {
        loop {
            if self.waiting.is_none() {
                let mut packet = vec![0; DATAGRAM];
                match self.connection.send(&mut packet) {
                    Ok((size, info)) => {
                        packet.truncate(size);
                        self.waiting = Some((packet, info.to, info.at));
                    }
                    Err(quiche::Error::Done) => return Ok(()),
                    Err(error) => return Err(error.into()),
                }
            }
            let Some((packet, to, at)) = &self.waiting else { return Ok(()) };
            if *at > Instant::now() + EARLY {
                return Ok(());
            }
            match socket.send_to(packet, to) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                other => other?,
            };
            self.waiting = None;
        }
    }

    /// Answers a request on the first stream.
    fn answer(&mut self) -> Done {
        let mut part = [0; 64];
        while self.left.is_none() {
            match self.connection.stream_recv(0, &mut part) {
                Ok((size, fin)) => {
                    self.asked.extend_from_slice(&part[..size]);
                    if fin {
                        self.left = Some(std::str::from_utf8(&self.asked)?.parse()?);
                    }
                }
                Err(quiche::Error::Done | quiche::Error::InvalidStreamState(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        let zeros = [0; CHUNK];
        while let Some(left @ 1..) = self.left {
            let part = left.min(CHUNK);
            match self.connection.stream_send(0, &zeros[..part], part == left) {
                Ok(0) | Err(quiche::Error::Done) => break,
                Ok(sent) => self.left = Some(left - sent),
                Err(quiche::Error::StreamStopped(_)) => self.left = Some(0),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The time of the next thing to do.
    fn next(&self) -> Option<Instant> {
        let timeout = self.connection.timeout_instant();
        self.waiting.as_ref().map(|(_, _, at)| *at).into_iter().chain(timeout).min()
    }
}

/// Waits for a packet, or for `until`.
fn wait(socket: &UdpSocket, until: Option<Instant>) -> Done {
    let left = until
        .map_or(Duration::from_millis(IDLE_MS), |at| at.saturating_duration_since(Instant::now()));
    let timeout = Timespec::try_from(left)?;
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Takes a packet that has come, if one has.
fn packet<'a>(socket: &UdpSocket, buffer: &'a mut [u8]) -> Done<Option<(&'a mut [u8], SocketAddr)>> {
    match socket.recv_from(buffer) {
        Ok((size, from)) => Ok(Some((&mut buffer[..size], from))),
        // The port of a client that has ended.
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn serve(port: u16, cert: &str, key: &str, cc: &str) -> Done {
    let mut config = config()?;
    config.load_cert_chain_from_pem_file(cert)?;
    config.load_priv_key_from_pem_file(key)?;
    config.set_cc_algorithm_name(cc)?;
    let socket = socket(port)?;
    socket.set_nonblocking(true)?;
    let to = socket.local_addr()?;
    let mut buffer = vec![0; CHUNK];
    // A client has one connection from a port.
    let mut peers: HashMap<SocketAddr, Peer> = HashMap::new();
    loop {
        wait(&socket, peers.values().filter_map(Peer::next).min())?;
        while let Some((data, from)) = packet(&socket, &mut buffer)? {
            if !peers.contains_key(&from) {
                let id: [u8; quiche::MAX_CONN_ID_LEN] =
                    std::array::from_fn(|i| data.get(6 + i).map_or(0, |byte| byte ^ 0x5a));
                let id = ConnectionId::from_ref(&id);
                let mut connection = quiche::accept(&id, None, to, from, &mut config)?;
                let name = format!("{}.sqlog", from.port());
                let title = String::from("fullpipe-quiche");
                // Whole lines: a call of the system for each piece of an event would take longer than the event.
                let log = Box::new(LineWriter::new(File::create(name)?));
                connection.set_qlog(log, title.clone(), title);
                peers.insert(from, Peer::new(connection));
            }
            if let Some(peer) = peers.get_mut(&from) {
                let _ = peer.connection.recv(data, RecvInfo { from, to });
            }
        }
        for peer in peers.values_mut() {
            if peer.connection.timeout() == Some(Duration::ZERO) {
                peer.connection.on_timeout();
            }
            if peer.connection.is_established() {
                peer.answer()?;
            }
            peer.send(&socket)?;
        }
        peers.retain(|_, peer| !peer.connection.is_closed());
    }
}

fn take(server: SocketAddr, size: &str) -> Done {
    let mut config = config()?;
    config.verify_peer(false);
    let socket = socket(0)?;
    socket.set_nonblocking(true)?;
    let to = socket.local_addr()?;
    let mut id = [0; quiche::MAX_CONN_ID_LEN];
    id[..2].copy_from_slice(&to.port().to_be_bytes());
    let id = ConnectionId::from_ref(&id);
    let name = Some("fullpipe.test");
    let mut client = Peer::new(quiche::connect(name, &id, to, server, &mut config)?);
    let mut buffer = vec![0; CHUNK];
    let (mut asked, mut taken) = (false, 0);
    client.send(&socket)?;
    while !client.connection.is_closed() {
        wait(&socket, client.next())?;
        while let Some((data, from)) = packet(&socket, &mut buffer)? {
            let _ = client.connection.recv(data, RecvInfo { from, to });
        }
        if client.connection.timeout() == Some(Duration::ZERO) {
            client.connection.on_timeout();
        }
        if client.connection.is_established() && !asked {
            client.connection.stream_send(0, size.as_bytes(), true)?;
            asked = true;
        }
        while let Ok((size, fin)) = client.connection.stream_recv(0, &mut buffer) {
            taken += size;
            if fin {
                client.connection.close(true, 0, b"done")?;
            }
        }
        client.send(&socket)?;
        if client.connection.is_draining() || client.connection.local_error().is_some() {
            break;
        }
    }
    match taken >= size.parse::<usize>()? {
        true => Ok(()),
        false => Err(format!("{taken} bytes came, and not {size}").into()),
    }
}
