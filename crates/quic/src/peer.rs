//! The two ends, sans-IO: a server that sends what its client asks for. Both clocks drive them by
//! [`Peer`].

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use fullpipe_tcp::Limit;
use fullpipe_trace::FlowMeter;
use fullpipe_units::{Bytes, Rate, Time};
use noq_proto::{Dir, EcnCodepoint, Event, StreamEvent, StreamId};

use crate::congestion_driver::{CongestionDriver, CongestionDriverConfig};
use crate::endpoint_metrics::{Clock, EndpointMetrics, MTU, Settings};
use crate::event_buffer::{BufferedEvent, EventBuffer};
use crate::output::{Output, Stopped};
use crate::tls::Identity;
use crate::trace_buffer::TraceBuffer;

/// Datagrams that one system call takes: what fits into 64 KiB.
pub(crate) const BATCH: usize = 65_507 / MTU as usize;

/// Datagrams that leave together.
#[derive(Clone, Copy, Debug)]
pub struct Burst<'a> {
    /// One behind the other.
    pub data: &'a [u8],
    /// The size of each but the last.
    pub segment: usize,
    /// Their codepoint.
    pub ecn: Option<EcnCodepoint>,
}

impl<'a> Burst<'a> {
    /// Each datagram.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> {
        self.data.chunks(self.segment)
    }
}

/// One end, as a clock drives it. Times never go back.
pub trait Peer {
    /// A datagram arrives.
    fn receive(&mut self, now: Time, ecn: Option<EcnCodepoint>, data: BytesMut);
    /// The last of those that arrived together: the application looks at what they brought.
    fn on_received(&mut self, now: Time);
    /// What [`wake_at`](Peer::wake_at) said may be due.
    fn on_time(&mut self, now: Time);
    /// What leaves next; to be asked after each of the above until there is nothing.
    fn burst(&mut self, now: Time) -> Option<Burst<'_>>;
    /// When it wants to be called, if nothing arrives.
    fn wake_at(&self) -> Option<Time>;
    /// How the connection came to its end, once it has.
    fn ended(&self) -> Option<&Result<(), String>>;
}

/// What a server is made of besides its connection.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) driver: CongestionDriverConfig,
    pub(crate) meter: FlowMeter,
    /// At which the application writes, if not all the time.
    pub(crate) rate: Option<Rate>,
    /// Its packets are ECN-capable.
    pub(crate) ecn: bool,
    /// Datagrams of one system call at most.
    pub(crate) batch: usize,
    pub(crate) buffer: TraceBuffer,
}

/// The server of a flow.
#[derive(Debug)]
pub struct DataSource {
    endpoint: EndpointMetrics,
    event_buffer: Arc<EventBuffer>,
    event: BufferedEvent,
    /// What the driver is made of, until the request is there.
    config: Option<(CongestionDriverConfig, FlowMeter)>,
    driver: Option<CongestionDriver>,
    output: Option<Output>,
    rate: Option<Rate>,
    /// The request's stream, and what is read of it.
    request: (Option<StreamId>, Vec<u8>),
    ecn: bool,
    batch: usize,
    record: bool,
    /// What holds it back since the last burst.
    limit: Limit,
    buffer: TraceBuffer,
}

impl DataSource {
    pub(crate) fn new(
        clock: Clock,
        identity: &Identity,
        settings: &Settings,
        peer: SocketAddr,
        parts: Parts,
    ) -> DataSource {
        let Parts {
            driver,
            meter,
            rate,
            ecn,
            batch,
            buffer,
        } = parts;
        let event_buffer = Arc::new(EventBuffer::default());
        let endpoint =
            EndpointMetrics::server(clock, identity, settings, event_buffer.clone(), peer);
        DataSource {
            endpoint,
            event_buffer,
            event: BufferedEvent::default(),
            config: Some((driver, meter)),
            driver: None,
            output: None,
            rate,
            request: (None, Vec::new()),
            ecn,
            batch,
            record: false,
            limit: Limit::Handshake,
            buffer,
        }
    }

    /// Keeps what its controller is told, from the first call on.
    pub fn record(&mut self) {
        self.record = true;
    }

    /// Its congestion control, once there is something to send.
    pub fn driver(&mut self) -> Option<&mut CongestionDriver> {
        self.driver.as_mut()
    }

    /// What was taken down.
    pub(crate) fn into_parts(self) -> (Option<CongestionDriver>, Option<FlowMeter>, TraceBuffer) {
        (
            self.driver,
            self.config.map(|(_, meter)| meter),
            self.buffer,
        )
    }

    /// Hands what noq told to the driver, and the driver's window to noq.
    fn take_event(&mut self, now: Time) {
        self.event_buffer.take(&mut self.event);
        let Some(driver) = self.driver.as_mut().filter(|_| !self.event.is_empty()) else {
            return;
        };
        let acked = driver.on_event(now, &self.event, self.endpoint.srtt(), &mut self.buffer);
        self.event_buffer.set_window(driver.window());
        if acked {
            self.buffer.on_ack(now, driver);
        }
    }

    fn events(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    self.request.0 = self
                        .endpoint
                        .conn()
                        .and_then(|conn| conn.streams().accept(Dir::Bi));
                    self.read_request(now);
                }
                Event::Stream(StreamEvent::Readable { .. }) => self.read_request(now),
                _ => {}
            }
        }
    }

    /// The request is the number of bytes that are wanted; with it begins the data, and congestion
    /// control.
    fn read_request(&mut self, now: Time) {
        let (Some(id), text) = &mut self.request else {
            return;
        };
        let Some(conn) = self.endpoint.conn() else {
            return;
        };
        let mut stream = conn.recv_stream(*id);
        let Ok(mut chunks) = stream.read(true) else {
            return;
        };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            text.extend_from_slice(&chunk.bytes);
        }
        let _ = chunks.finalize();
        let wanted = text.as_slice().try_into().map(u64::from_be_bytes);
        if let (Ok(wanted), Some((config, meter))) = (wanted, self.config.take()) {
            // What was told of the handshake's packets has numbers of other spaces.
            self.event_buffer.take(&mut self.event);
            let mut driver = CongestionDriver::new(config, now, meter);
            if self.record {
                driver.record();
            }
            self.event_buffer.set_window(driver.window());
            self.driver = Some(driver);
            self.output = Some(Output::new(wanted, self.rate, now));
        }
    }

    /// What stops it at `now` before noq is asked; else how many datagrams may leave.
    fn may_send(&mut self, now: Time) -> Result<(usize, Stopped), Limit> {
        let Some(driver) = &mut self.driver else {
            return Ok((self.batch, Stopped::Application));
        };
        let stopped = match (&mut self.output, self.endpoint.conn()) {
            (Some(output), Some(conn)) => output.fill(now, conn),
            _ => Stopped::Application,
        };
        let allowance = driver.allowance(now);
        if allowance == Bytes::ZERO {
            let full = driver.conn().inflight + driver.conn().smss > driver.cwnd();
            return Err(if full { Limit::Cwnd } else { Limit::Pacing });
        }
        let most = allowance.get().div_ceil(MTU.into()).min(self.batch as u64) as usize;
        Ok((most, stopped))
    }
}

impl Peer for DataSource {
    fn receive(&mut self, now: Time, ecn: Option<EcnCodepoint>, data: BytesMut) {
        self.endpoint.receive(now, ecn, data);
        self.take_event(now);
    }

    fn on_received(&mut self, now: Time) {
        self.events(now);
    }

    fn on_time(&mut self, now: Time) {
        self.endpoint.on_time(now);
        self.take_event(now);
        if let Some(driver) = &mut self.driver {
            driver.on_time(now, &mut self.buffer);
            self.event_buffer.set_window(driver.window());
        }
        self.events(now);
    }

    fn burst(&mut self, now: Time) -> Option<Burst<'_>> {
        let limit = match self.may_send(now) {
            Err(limit) => limit,
            Ok((most, stopped)) => {
                let transmit = self.endpoint.transmit(now, most);
                self.take_event(now);
                match transmit {
                    Some(transmit) => {
                        if let Some(driver) = &mut self.driver {
                            driver.on_burst(now);
                        }
                        let data = &self.endpoint.datagrams()[..transmit.size];
                        let ecn = transmit.ecn.filter(|_| self.ecn);
                        return Some(Burst {
                            data,
                            segment: transmit.segment_size.unwrap_or(transmit.size),
                            ecn,
                        });
                    }
                    None if self.event.cwnd_limited => Limit::Cwnd,
                    None if self.driver.is_none() => Limit::Handshake,
                    None if stopped == Stopped::ReceiveWindow => Limit::ReceiveWindow,
                    None => Limit::Application,
                }
            }
        };
        self.limit = limit;
        if let Some(driver) = &mut self.driver {
            driver.on_limit(now, limit);
        }
        None
    }

    fn wake_at(&self) -> Option<Time> {
        let driver = self.driver.as_ref();
        let departure = driver
            .filter(|_| self.limit == Limit::Pacing)
            .map(CongestionDriver::next_departure);
        let more = self
            .output
            .as_ref()
            .filter(|_| self.limit == Limit::Application)
            .and_then(Output::next_at);
        [
            self.endpoint.timer_at(),
            departure,
            more,
            driver.and_then(CongestionDriver::wake_at),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn ended(&self) -> Option<&Result<(), String>> {
        self.endpoint.ended()
    }
}

/// The client of a flow.
#[derive(Debug)]
pub struct Sink {
    endpoint: EndpointMetrics,
    /// What it asks for; `u64::MAX` for data without end.
    wanted: u64,
    got: u64,
    meter: FlowMeter,
}

impl Sink {
    pub(crate) fn new(
        clock: Clock,
        identity: &Identity,
        settings: &Settings,
        peer: SocketAddr,
        wanted: Option<Bytes>,
        meter: FlowMeter,
        now: Time,
    ) -> Sink {
        let endpoint =
            EndpointMetrics::client(clock, identity, settings, Arc::default(), peer, now);
        Sink {
            endpoint,
            wanted: wanted.map_or(u64::MAX, Bytes::get),
            got: 0,
            meter,
        }
    }

    /// Bytes that arrived so far, each stream's in order.
    pub fn got(&self) -> u64 {
        self.got
    }

    /// What it measured.
    pub(crate) fn meter(&self) -> &FlowMeter {
        &self.meter
    }

    /// The same, to add a queue's wait to.
    pub(crate) fn meter_mut(&mut self) -> &mut FlowMeter {
        &mut self.meter
    }

    /// The run is over: says so to the server.
    pub(crate) fn stop(&mut self, now: Time) {
        self.endpoint.close(now);
    }

    fn events(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll() {
            match event {
                Event::Connected => self.ask(),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    while let Some(id) = self
                        .endpoint
                        .conn()
                        .and_then(|conn| conn.streams().accept(Dir::Uni))
                    {
                        self.read(now, id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(now, id),
                _ => {}
            }
        }
    }

    fn ask(&mut self) {
        let wanted = self.wanted.to_be_bytes();
        let Some(conn) = self.endpoint.conn() else {
            return;
        };
        let id = conn
            .streams()
            .open(Dir::Bi)
            .expect("a server takes a hundred of these");
        let mut stream = conn.send_stream(id);
        let written = stream.write(&wanted);
        debug_assert_eq!(
            written.ok(),
            Some(wanted.len()),
            "the first eight bytes fit into any window"
        );
        let _ = stream.finish();
    }

    fn read(&mut self, now: Time, id: StreamId) {
        let Some(conn) = self.endpoint.conn() else {
            return;
        };
        let mut stream = conn.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return;
        };
        let before = self.got;
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.got += chunk.bytes.len() as u64;
        }
        // Whether a window's update is due noq finds out by itself when it is asked for what to
        // send.
        let _ = chunks.finalize();
        self.meter.on_received(now, Bytes::new(self.got - before));
        if self.got >= self.wanted {
            self.meter.on_complete(now);
            self.endpoint.close(now);
        }
    }
}

impl Peer for Sink {
    fn receive(&mut self, now: Time, ecn: Option<EcnCodepoint>, data: BytesMut) {
        self.endpoint.receive(now, ecn, data);
    }

    fn on_received(&mut self, now: Time) {
        self.events(now);
    }

    fn on_time(&mut self, now: Time) {
        self.endpoint.on_time(now);
        self.events(now);
    }

    fn burst(&mut self, now: Time) -> Option<Burst<'_>> {
        let transmit = self.endpoint.transmit(now, BATCH)?;
        let data = &self.endpoint.datagrams()[..transmit.size];
        // ACKs are not ECN-capable, as TCP's are not.
        Some(Burst {
            data,
            segment: transmit.segment_size.unwrap_or(transmit.size),
            ecn: None,
        })
    }

    fn wake_at(&self) -> Option<Time> {
        self.endpoint.timer_at()
    }

    fn ended(&self) -> Option<&Result<(), String>> {
        self.endpoint.ended()
    }
}
