//! Writes the events of a server's connections as qlog: sent, acknowledged and lost packets, metrics and states.

use std::fs::File;
use std::io::{LineWriter, Write};
use std::time::Duration;

use s2n_quic::provider::event::events::{
    AckRangeReceived, BbrState, BbrStateChanged, PacingRateUpdated, PacketHeader, PacketLost,
    PacketSent, RecoveryMetrics,
};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber};

/// The beginning of a JSON text sequence's record (RFC 7464).
const RECORD: char = '\x1e';
const HEAD: &str = r#"{"qlog_format":"JSON-SEQ","qlog_version":"0.3","title":"fullpipe-s2n-quic","trace":{"vantage_point":{"type":"server"},"common_fields":{"time_format":"relative"}}}"#;

/// Writes a file for each connection.
pub struct Qlog;

pub struct Connection {
    file: Option<LineWriter<File>>,
    start: Duration,
    /// BBR's state; it has no event for the first.
    state: &'static str,
}

impl Connection {
    /// Writes an event; nothing if the file can't be written.
    fn write(&mut self, meta: &ConnectionMeta, name: &str, data: &str) {
        let time = meta.timestamp.duration_since_start().saturating_sub(self.start);
        if let Some(file) = &mut self.file {
            let time = ms(time);
            let event = format_args!(r#"{{"time":{time},"name":"{name}","data":{{{data}}}}}"#);
            let _ = writeln!(file, "{RECORD}{event}");
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn header(of: &PacketHeader) -> String {
    let (kind, number) = match of {
        PacketHeader::Initial { number, .. } => ("initial", *number),
        PacketHeader::Handshake { number, .. } => ("handshake", *number),
        PacketHeader::ZeroRtt { number, .. } => ("0RTT", *number),
        PacketHeader::OneRtt { number, .. } => ("1RTT", *number),
        _ => ("retry", 0),
    };
    format!(r#""header":{{"packet_type":"{kind}","packet_number":{number}}}"#)
}

impl Subscriber for Qlog {
    type ConnectionContext = Connection;

    fn create_connection_context(
        &mut self,
        meta: &ConnectionMeta,
        _: &ConnectionInfo,
    ) -> Self::ConnectionContext {
        let mut file = File::create(format!("{}.sqlog", meta.id)).ok().map(LineWriter::new);
        if let Some(file) = &mut file {
            let _ = writeln!(file, "{RECORD}{HEAD}");
        }
        Connection { file, start: meta.timestamp.duration_since_start(), state: "startup" }
    }

    fn on_packet_sent(&mut self, to: &mut Connection, meta: &ConnectionMeta, event: &PacketSent) {
        let (header, size) = (header(&event.packet_header), event.packet_len);
        to.write(meta, "transport:packet_sent", &format!(r#"{header},"raw":{{"length":{size}}}"#));
    }

    fn on_packet_lost(&mut self, to: &mut Connection, meta: &ConnectionMeta, event: &PacketLost) {
        if !event.is_mtu_probe {
            to.write(meta, "recovery:packet_lost", &header(&event.packet_header));
        }
    }

    fn on_ack_range_received(
        &mut self,
        to: &mut Connection,
        meta: &ConnectionMeta,
        event: &AckRangeReceived,
    ) {
        let header = header(&event.packet_header);
        let (first, last) = (event.ack_range.start(), event.ack_range.end());
        let frame = format!(r#"{{"frame_type":"ack","acked_ranges":[[{first},{last}]]}}"#);
        to.write(meta, "transport:packet_received", &format!(r#"{header},"frames":[{frame}]"#));
    }

    fn on_recovery_metrics(
        &mut self,
        to: &mut Connection,
        meta: &ConnectionMeta,
        event: &RecoveryMetrics,
    ) {
        let data = format!(
            r#""min_rtt":{},"smoothed_rtt":{},"latest_rtt":{},"congestion_window":{},"bytes_in_flight":{}"#,
            ms(event.min_rtt),
            ms(event.smoothed_rtt),
            ms(event.latest_rtt),
            event.congestion_window,
            event.bytes_in_flight
        );
        to.write(meta, "recovery:metrics_updated", &data);
    }

    fn on_pacing_rate_updated(
        &mut self,
        to: &mut Connection,
        meta: &ConnectionMeta,
        event: &PacingRateUpdated,
    ) {
        let rate = 8 * event.bytes_per_second;
        to.write(meta, "recovery:metrics_updated", &format!(r#""pacing_rate":{rate}"#));
    }

    fn on_bbr_state_changed(
        &mut self,
        to: &mut Connection,
        meta: &ConnectionMeta,
        event: &BbrStateChanged,
    ) {
        let state = match event.state {
            BbrState::Startup { .. } => "startup",
            BbrState::Drain { .. } => "drain",
            BbrState::ProbeBwDown { .. } => "probe_bw_down",
            BbrState::ProbeBwCruise { .. } => "probe_bw_cruise",
            BbrState::ProbeBwRefill { .. } => "probe_bw_refill",
            BbrState::ProbeBwUp { .. } => "probe_bw_up",
            BbrState::ProbeRtt { .. } => "probe_rtt",
            _ => "unknown",
        };
        let data = format!(r#""old":"{}","new":"{state}""#, to.state);
        to.write(meta, "recovery:congestion_state_updated", &data);
        to.state = state;
    }
}
