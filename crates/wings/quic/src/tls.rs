//! TLS 1.3 with generated certificates: each run has its own, which only its own client trusts.

use std::sync::Arc;

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};

/// The name in the certificate.
pub(crate) const SERVER_NAME: &str = "fullpipe.test";

const ALPN: &[u8] = b"fullpipe-perf";

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    /// Creates a certificate. Ed25519 signatures have a constant size, so all handshakes have the
    /// same size.
    ///
    /// # Panics
    /// Never: all inputs are constant.
    pub fn new() -> Identity {
        let key = KeyPair::generate_for(&PKCS_ED25519).expect("ring makes Ed25519 keys");
        let params =
            CertificateParams::new(vec![SERVER_NAME.to_owned()]).expect("a name that DNS allows");
        let certificate = params
            .self_signed(&key)
            .expect("a key signs its own certificate");
        Identity {
            certificate: certificate.der().clone(),
            key: key.serialize_der(),
        }
    }

    pub(crate) fn server(&self) -> Arc<QuicServerConfig> {
        let key = PrivateKeyDer::Pkcs8(self.key.clone().into());
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("ring has TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .expect("the key is the certificate's");
        config.alpn_protocols = vec![ALPN.to_vec()];
        // No client resumes a session.
        config.send_tls13_tickets = 0;
        Arc::new(QuicServerConfig::try_from(config).expect("the suite of Initial packets exists"))
    }

    pub(crate) fn client(&self) -> Arc<QuicClientConfig> {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.certificate.clone())
            .expect("the certificate is valid");
        let mut config = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("ring has TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        Arc::new(QuicClientConfig::try_from(config).expect("the suite of Initial packets exists"))
    }
}

impl Default for Identity {
    fn default() -> Identity {
        Identity::new()
    }
}

/// Returns a provider of AES-128 only: used by picoquic, and required by QUIC.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![cipher_suite::TLS13_AES_128_GCM_SHA256],
        ..default_provider()
    })
}
