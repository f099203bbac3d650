//! The server of a flow: it sends the data that its client requests.

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
use crate::peer::{Burst, Peer};
use crate::tls::Identity;
use crate::trace_buffer::TraceBuffer;

/// The parts of a server besides its connection.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) driver: CongestionDriverConfig,
    pub(crate) meter: FlowMeter,
    /// Write rate of the application; `None` if it always has data.
    pub(crate) rate: Option<Rate>,
    /// Whether its packets are ECN-capable.
    pub(crate) ecn: bool,
    /// Maximum datagrams per system call.
    pub(crate) batch: usize,
    pub(crate) buffer: TraceBuffer,
}

/// The server of a flow.
#[derive(Debug)]
pub struct DataSource {
    endpoint: EndpointMetrics,
    event_buffer: Arc<EventBuffer>,
    event: BufferedEvent,
    /// Configuration of the driver, until the request arrives.
    config: Option<(CongestionDriverConfig, FlowMeter)>,
    driver: Option<CongestionDriver>,
    output: Option<Output>,
    rate: Option<Rate>,
    /// The request's stream, and the part of the request read so far.
    request: (Option<StreamId>, Vec<u8>),
    ecn: bool,
    batch: usize,
    record: bool,
    /// The limit that has applied since the last burst.
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

    /// Records the calls to the controller from the first one on.
    pub fn record(&mut self) {
        self.record = true;
    }

    /// Returns the congestion control, which exists once there is data to send.
    pub fn driver(&mut self) -> Option<&mut CongestionDriver> {
        self.driver.as_mut()
    }

    /// Returns the driver, the meter of a flow without a driver, and the trace.
    pub(crate) fn into_parts(self) -> (Option<CongestionDriver>, Option<FlowMeter>, TraceBuffer) {
        (
            self.driver,
            self.config.map(|(_, meter)| meter),
            self.buffer,
        )
    }

    /// Passes noq's events to the driver, and the driver's window to noq.
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
        if let Some(driver) = self
            .driver
            .as_mut()
            .filter(|_| self.endpoint.ended().is_some())
        {
            // The client closes the connection when it has all data.
            driver.on_end(now, &mut self.buffer);
        }
    }

    /// Reads the request, which is the number of bytes to send; the data and the congestion control
    /// begin with it.
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
            // Drop events of the handshake's packets: their numbers belong to other packet number
            // spaces.
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

    /// Returns the limit that stops the server at `now` before noq is asked, or the number of
    /// datagrams that may leave.
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
