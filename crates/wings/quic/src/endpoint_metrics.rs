//! One end of one connection: noq's endpoint and connection, driven by an explicit clock.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fullpipe_units::{Bytes, Rng, Span, Time};
use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent,
    EcnCodepoint, Endpoint, EndpointConfig, Event, FourTuple, PathId, ServerConfig, Transmit,
    TransportConfig, VarInt,
};

use crate::event_buffer::{Deliver, EventBuffer};
use crate::tls::{Identity, SERVER_NAME};

/// The largest UDP payload in an IP packet of 1500 bytes: headers take 20 and 8 bytes.
pub const MTU: u16 = 1472;

/// Size of the IP and UDP headers of a datagram.
pub const HEADERS: Bytes = Bytes::new(28);

/// Length of the streams over which data is spread, one after the other. noq's reassembly fails at
/// 1024 gaps in a stream; a stream of about 700 packets can't have as many gaps.
pub(crate) const STREAM: u64 = 1_000_000;

/// Conversion between a run's times and noq's.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// Creates a clock whose time zero is now.
    #[expect(
        clippy::disallowed_methods,
        reason = "noq counts from any instant; the choice has no effect"
    )]
    pub fn start() -> Clock {
        Clock {
            origin: Instant::now(),
        }
    }

    /// Returns the current time of the machine's clock.
    #[expect(
        clippy::disallowed_methods,
        reason = "the real clock is read only here"
    )]
    pub fn now(&self) -> Time {
        self.time(Instant::now())
    }

    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.origin + Duration::from_nanos(time.as_nanos())
    }

    pub(crate) fn time(&self, instant: Instant) -> Time {
        Time::from_nanos(instant.saturating_duration_since(self.origin).as_nanos() as u64)
    }
}

/// Settings of both ends.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Data that the receiver accepts before the application reads it.
    pub(crate) receive_window: Bytes,
    /// Packets per ACK and the longest delay of an ACK; `None` for QUIC's defaults.
    pub(crate) delayed_ack: Option<(u32, Span)>,
    /// Silence after which an end gives up; `None` for never.
    pub(crate) patience: Option<Span>,
    /// Seed of noq's random numbers.
    pub(crate) seed: u64,
}

/// One end of a connection.
pub(crate) struct EndpointMetrics {
    pub(crate) clock: Clock,
    endpoint: Endpoint,
    conn: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    buf: Vec<u8>,
    ended: Option<Result<(), String>>,
}

impl std::fmt::Debug for EndpointMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointMetrics")
            .field("peer", &self.peer)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl EndpointMetrics {
    /// Creates the server's end, which waits for a connection.
    pub(crate) fn server(
        clock: Clock,
        identity: &Identity,
        settings: &Settings,
        event_buffer: Arc<EventBuffer>,
        peer: SocketAddr,
    ) -> EndpointMetrics {
        let mut config = ServerConfig::with_crypto(identity.server());
        config.transport_config(Arc::new(transport(settings, event_buffer)));
        let endpoint = Endpoint::new(
            endpoint_config(settings, "server"),
            Some(Arc::new(config)),
            false,
        );
        EndpointMetrics {
            clock,
            endpoint,
            conn: None,
            peer,
            buf: Vec::new(),
            ended: None,
        }
    }

    /// Creates the client's end, which connects at once.
    pub(crate) fn client(
        clock: Clock,
        identity: &Identity,
        settings: &Settings,
        event_buffer: Arc<EventBuffer>,
        peer: SocketAddr,
        now: Time,
    ) -> EndpointMetrics {
        let mut config = ClientConfig::new(identity.client());
        config.transport_config(Arc::new(transport(settings, event_buffer)));
        let mut endpoint = Endpoint::new(endpoint_config(settings, "client"), None, false);
        let conn = endpoint.connect(clock.instant(now), config, peer, SERVER_NAME);
        let conn = conn.expect("an address with a port, and a name that DNS allows");
        EndpointMetrics {
            clock,
            endpoint,
            conn: Some(conn),
            peer,
            buf: Vec::new(),
            ended: None,
        }
    }

    /// Processes a datagram that arrives.
    pub(crate) fn receive(&mut self, now: Time, ecn: Option<EcnCodepoint>, data: BytesMut) {
        let at = self.clock.instant(now);
        let path = FourTuple::new(self.peer, None);
        self.buf.clear();
        match self.endpoint.handle(at, path, ecn, data, &mut self.buf) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, conn)) = &mut self.conn {
                    conn.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => match self.conn {
                None => match self.endpoint.accept(incoming, at, &mut self.buf, None) {
                    Ok(conn) => self.conn = Some(conn),
                    Err(error) => self.ended = Some(Err(error.cause.to_string())),
                },
                Some(_) => self.endpoint.ignore(incoming),
            },
            // A response to an unknown peer; there are no such peers here.
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.exchange();
    }

    /// Processes the timer if it is due.
    pub(crate) fn on_time(&mut self, now: Time) {
        if self.timer_at().is_some_and(|at| now >= at) {
            let at = self.clock.instant(now);
            if let Some((_, conn)) = &mut self.conn {
                conn.handle_timeout(at);
            }
            self.exchange();
        }
    }

    /// Returns the time at which the next timer is due.
    pub(crate) fn timer_at(&self) -> Option<Time> {
        // Rounding to whole nanoseconds is exact, since noq's times have no fractions.
        self.conn
            .as_ref()?
            .1
            .poll_timeout()
            .map(|at| self.clock.time(at))
    }

    /// Writes the next datagrams to send, at most `most`.
    pub(crate) fn transmit(&mut self, now: Time, most: usize) -> Option<Transmit> {
        let at = self.clock.instant(now);
        self.buf.clear();
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        self.conn.as_mut()?.1.poll_transmit(at, most, &mut self.buf)
    }

    /// Returns the datagrams that [`transmit`](EndpointMetrics::transmit) wrote.
    pub(crate) fn datagrams(&self) -> &[u8] {
        &self.buf
    }

    /// Returns the next event for the application, and records the end of the connection.
    pub(crate) fn poll(&mut self) -> Option<Event> {
        let event = self.conn.as_mut()?.1.poll()?;
        if let Event::ConnectionLost { reason } = &event {
            self.ended.get_or_insert(match reason {
                ConnectionError::ApplicationClosed(close)
                    if close.error_code == VarInt::from_u32(0) =>
                {
                    Ok(())
                }
                reason => Err(reason.to_string()),
            });
        }
        Some(event)
    }

    /// Closes the connection.
    pub(crate) fn close(&mut self, now: Time) {
        let at = self.clock.instant(now);
        if let Some((_, conn)) = &mut self.conn {
            conn.close(at, VarInt::from_u32(0), bytes::Bytes::new());
        }
        self.ended.get_or_insert(Ok(()));
    }

    /// Returns how the connection ended, once it has.
    pub(crate) fn ended(&self) -> Option<&Result<(), String>> {
        self.ended.as_ref()
    }

    pub(crate) fn conn(&mut self) -> Option<&mut Connection> {
        self.conn.as_mut().map(|(_, conn)| conn)
    }

    /// Returns noq's smoothed RTT.
    pub(crate) fn srtt(&self) -> Span {
        let rtt = self
            .conn
            .as_ref()
            .and_then(|(_, conn)| conn.rtt(PathId::ZERO));
        Span::from_nanos(rtt.unwrap_or_default().as_nanos() as u64)
    }

    /// Passes pending events between noq's endpoint and its connection.
    fn exchange(&mut self) {
        let Some((handle, conn)) = &mut self.conn else {
            return;
        };
        while let Some(event) = conn.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                conn.handle_event(event);
            }
        }
    }
}

fn endpoint_config(settings: &Settings, usage: &str) -> Arc<EndpointConfig> {
    let mut rng = Rng::stream(settings.seed, usage, "noq");
    let mut seed = [0; 32];
    seed.chunks_exact_mut(8)
        .for_each(|word| word.copy_from_slice(&rng.next_u64().to_le_bytes()));
    let mut config = EndpointConfig::default();
    config.rng_seed(Some(seed));
    Arc::new(config)
}

fn transport(settings: &Settings, event_buffer: Arc<EventBuffer>) -> TransportConfig {
    let window = VarInt::from_u64(settings.receive_window.get()).unwrap_or(VarInt::MAX);
    let patience = settings.patience.map(|span| {
        VarInt::from_u64(span.as_nanos() / 1_000_000)
            .unwrap_or(VarInt::MAX)
            .into()
    });
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(Arc::new(Deliver(event_buffer)))
        // Packets have one size, as TCP's have: no MTU probes, whose loss noq does not report. The
        // size falls if packets that large do not get through (RFC 8899 §4.3).
        .mtu_discovery_config(None)
        .initial_mtu(MTU)
        .receive_window(window)
        // The connection's window is the limit, not the streams'.
        .stream_receive_window(VarInt::from_u32(2 * STREAM as u32))
        .max_concurrent_uni_streams(VarInt::from_u32(4096))
        .send_window(
            settings
                .receive_window
                .get()
                .saturating_mul(2)
                .max(4 * STREAM),
        )
        .allow_spin(false)
        .max_idle_timeout(patience);
    if let Some((every, delay)) = settings.delayed_ack {
        let mut frequency = AckFrequencyConfig::default();
        frequency
            .ack_eliciting_threshold(VarInt::from_u32(every.saturating_sub(1)))
            .max_ack_delay(Some(Duration::from_nanos(delay.as_nanos())));
        transport.ack_frequency_config(Some(frequency));
    }
    transport
}

/// Returns the addresses of the two ends, where nothing is routed by address.
pub(crate) fn addresses() -> (SocketAddr, SocketAddr) {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    (at(4433), at(4434))
}
