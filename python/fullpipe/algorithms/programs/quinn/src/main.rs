//! A QUIC server that sends as many bytes as a client asks for, and its client. The server writes a qlog of all
//! connections to `server.sqlog`.
//!
//! fullpipe-quinn server PORT CERT KEY cubic|newreno|bbr
//! fullpipe-quinn client ADDRESS PORT CERT BYTES

#[path = "../../version.rs"]
mod version;

use std::error::Error;
use std::fs::File;
use std::io::LineWriter;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Endpoint, EndpointConfig, QlogConfig, ServerConfig, TokioRuntime,
    TransportConfig, VarInt,
};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use socket2::SockRef;
use tokio::signal::unix::{SignalKind, signal};

type Done = Result<(), Box<dyn Error + Send + Sync>>;

const LOCK: &str = include_str!("../Cargo.lock");
/// The files that `sources` of the recipe names, in its order.
const SOURCES: &[&[u8]] = &[
    include_bytes!("main.rs"),
    include_bytes!("../Cargo.toml"),
    include_bytes!("../Cargo.lock"),
];

const ALPN: &[u8] = b"hq-interop";
/// Windows that do not limit a transfer, bytes.
const WINDOW: u32 = 1 << 26;
const CHUNK: usize = 1 << 16;
/// Receive buffer of a socket, bytes; the kernel's limit is net.core.rmem_max.
const BUFFER: usize = 1 << 22;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "no provider of cryptography")?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => {
            version::print("fullpipe-quinn", &["quinn", "quinn-proto"], LOCK, SOURCES);
            Ok(())
        }
        ["server", port, cert, key, cc] => serve(port.parse()?, cert, key, cc).await,
        ["client", address, port, cert, size] => {
            take(SocketAddr::new(address.parse()?, port.parse()?), cert, size).await
        }
        _ => Err("arguments: server PORT CERT KEY CC, or client ADDRESS PORT CERT BYTES".into()),
    }
}

async fn serve(port: u16, cert: &str, key: &str, cc: &str) -> Done {
    let chain = vec![CertificateDer::from_pem_file(cert)?];
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let controller: Arc<dyn ControllerFactory + Send + Sync> = match cc {
        "cubic" => Arc::new(CubicConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        other => return Err(format!("no congestion control {other}").into()),
    };
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(controller);
    transport.send_window(u64::from(WINDOW));
    // Whole lines, so that a signal leaves a file that can be read.
    let mut qlog = QlogConfig::default();
    qlog.writer(Box::new(LineWriter::new(File::create("server.sqlog")?)));
    qlog.title(Some("fullpipe-quinn".into()));
    transport.qlog_stream(qlog.into_stream());
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let endpoint = endpoint(port, Some(config))?;
    let mut end = signal(SignalKind::terminate())?;
    loop {
        tokio::select! {
            _ = end.recv() => return Ok(()),
            Some(incoming) = endpoint.accept() => {
                tokio::spawn(async move {
                    if let Err(error) = answer(incoming).await {
                        eprintln!("{error}");
                    }
                });
            }
        }
    }
}

fn endpoint(port: u16, server: Option<ServerConfig>) -> std::io::Result<Endpoint> {
    let socket = UdpSocket::bind(("0.0.0.0", port))?;
    SockRef::from(&socket).set_recv_buffer_size(BUFFER)?;
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(TokioRuntime))
}

async fn answer(incoming: quinn::Incoming) -> Done {
    let connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let mut left: usize = String::from_utf8(receive.read_to_end(64).await?)?.parse()?;
    let zeros = vec![0; CHUNK];
    while left > 0 {
        let part = left.min(CHUNK);
        send.write_all(&zeros[..part]).await?;
        left -= part;
    }
    send.finish()?;
    connection.closed().await;
    Ok(())
}

async fn take(server: SocketAddr, cert: &str, size: &str) -> Done {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(cert)?)?;
    let mut tls = rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(WINDOW));
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let mut endpoint = endpoint(0, None)?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(server, "fullpipe.test")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(size.as_bytes()).await?;
    send.finish()?;
    let (mut taken, mut buffer) = (0, vec![0; CHUNK]);
    while let Some(count) = receive.read(&mut buffer).await? {
        taken += count;
    }
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    match taken >= size.parse::<usize>()? {
        true => Ok(()),
        false => Err(format!("{taken} bytes came, and not {size}").into()),
    }
}
