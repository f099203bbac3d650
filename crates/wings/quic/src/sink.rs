//! The client of a flow: it requests data and measures its arrival.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use fullpipe_trace::FlowMeter;
use fullpipe_units::{Bytes, Time};
use noq_proto::{Dir, EcnCodepoint, Event, StreamEvent, StreamId};

use crate::endpoint_metrics::{Clock, EndpointMetrics, Settings};
use crate::peer::{BATCH, Burst, Peer};
use crate::tls::Identity;

/// The client of a flow.
#[derive(Debug)]
pub struct Sink {
    endpoint: EndpointMetrics,
    /// Bytes to request; `u64::MAX` for unlimited data.
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

    /// Returns the bytes that have arrived, in the order of each stream.
    pub fn got(&self) -> u64 {
        self.got
    }

    /// Returns the measurements.
    pub(crate) fn meter(&self) -> &FlowMeter {
        &self.meter
    }

    /// Returns the measurements, to add a queue's waiting times.
    pub(crate) fn meter_mut(&mut self) -> &mut FlowMeter {
        &mut self.meter
    }

    /// Ends the run: closes the connection.
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
            .expect("a server permits a hundred of these");
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
        // noq determines whether a window update is due when it is asked for datagrams to send.
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
        // As in TCP, ACKs are not ECN-capable.
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
