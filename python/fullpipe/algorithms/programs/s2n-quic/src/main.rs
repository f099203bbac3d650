//! A QUIC server that sends as many bytes as a client asks for, and its client. The server writes a qlog of each
//! connection.
//!
//! fullpipe-s2n-quic server PORT CERT KEY cubic|bbr
//! fullpipe-s2n-quic client ADDRESS PORT CERT BYTES

mod qlog;
#[path = "../../version.rs"]
mod version;

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;

use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Endpoint};
use s2n_quic::provider::io;
use s2n_quic::provider::limits::Limits;
use s2n_quic::stream::BidirectionalStream;
use s2n_quic::{Client, Server};
use tokio::signal::unix::{SignalKind, signal};

type Done = Result<(), Box<dyn Error + Send + Sync>>;

const LOCK: &str = include_str!("../Cargo.lock");
/// The files that `sources` of the recipe names, in its order.
const SOURCES: &[&[u8]] = &[
    include_bytes!("main.rs"),
    include_bytes!("qlog.rs"),
    include_bytes!("../Cargo.toml"),
    include_bytes!("../Cargo.lock"),
];

/// Windows that do not limit a transfer, bytes.
const WINDOW: u32 = 1 << 26;
const CHUNK: usize = 1 << 16;
/// Receive buffer of a socket, bytes; the kernel's limit is net.core.rmem_max.
const BUFFER: usize = 1 << 22;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => {
            version::print("fullpipe-s2n-quic", &["s2n-quic", "s2n-quic-core"], LOCK, SOURCES);
            Ok(())
        }
        ["server", port, cert, key, "cubic"] => serve(port, cert, key, Cubic::default()).await,
        ["server", port, cert, key, "bbr"] => serve(port, cert, key, Bbr::default()).await,
        ["client", address, port, cert, size] => {
            take(SocketAddr::new(address.parse()?, port.parse()?), cert, size).await
        }
        _ => Err("arguments: server PORT CERT KEY CC, or client ADDRESS PORT CERT BYTES".into()),
    }
}

async fn serve(port: &str, cert: &str, key: &str, cc: impl Endpoint) -> Done {
    let limits = Limits::new().with_max_send_buffer_size(WINDOW)?;
    let mut server = Server::builder()
        .with_tls((Path::new(cert), Path::new(key)))?
        .with_io(socket(port.parse()?)?)?
        .with_limits(limits)?
        .with_event(qlog::Qlog)?
        .with_congestion_controller(cc)?
        .start()?;
    let mut end = signal(SignalKind::terminate())?;
    loop {
        tokio::select! {
            _ = end.recv() => return Ok(()),
            Some(mut connection) = server.accept() => {
                tokio::spawn(async move {
                    while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
                        if let Err(error) = answer(stream).await {
                            eprintln!("{error}");
                        }
                    }
                });
            }
        }
    }
}

fn socket(port: u16) -> std::io::Result<io::Default> {
    io::Default::builder()
        .with_receive_address(SocketAddr::from(([0, 0, 0, 0], port)))?
        .with_recv_buffer_size(BUFFER)?
        .build()
}

async fn answer(mut stream: BidirectionalStream) -> Done {
    let mut asked = Vec::new();
    while let Some(part) = stream.receive().await? {
        asked.extend_from_slice(&part);
    }
    let mut left: usize = String::from_utf8(asked)?.parse()?;
    let zeros = vec![0; CHUNK];
    while left > 0 {
        let part = left.min(CHUNK);
        stream.send(zeros[..part].to_vec().into()).await?;
        left -= part;
    }
    stream.finish()?;
    Ok(())
}

async fn take(server: SocketAddr, cert: &str, size: &str) -> Done {
    let limits = Limits::new()
        .with_data_window(WINDOW.into())?
        .with_bidirectional_local_data_window(WINDOW.into())?;
    let client = Client::builder()
        .with_tls(Path::new(cert))?
        .with_io(socket(0)?)?
        .with_limits(limits)?
        .start()?;
    let connect = Connect::new(server).with_server_name("fullpipe.test");
    let mut connection = client.connect(connect).await?;
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.send(size.as_bytes().to_vec().into()).await?;
    stream.finish()?;
    let mut taken = 0;
    while let Some(part) = stream.receive().await? {
        taken += part.len();
    }
    match taken >= size.parse::<usize>()? {
        true => Ok(()),
        false => Err(format!("{taken} bytes came, and not {size}").into()),
    }
}
