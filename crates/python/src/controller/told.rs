//! The arguments and the answer of a user's algorithm: sizes in bytes, times in seconds, rates in
//! bit/s.

use fullpipe_cc::{
    Ack, CaState, Conn, Decision, EcnCodepoint, LossCause, Lost, Recovery, RecoveryCause, Snapshot,
};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Arguments of an algorithm's constructor: the connection's constants, and every parameter.
#[pyclass(frozen, get_all, module = "fullpipe._core", name = "Config")]
#[derive(Debug)]
pub(crate) struct PyConfig {
    pub(super) smss: u64,
    pub(super) initial_cwnd: u64,
    pub(super) source: Option<(f64, f64, f64)>,
    pub(super) params: Py<PyDict>,
    pub(super) group: Py<PyDict>,
}

#[pymethods]
impl PyConfig {
    /// Shows the collector a group whose dictionary holds algorithms that hold their configuration.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.params)?;
        visit.call(&self.group)
    }
}

/// The context of a call. It is the same object for every call, and valid only during the call.
#[pyclass(module = "fullpipe._core", name = "Context")]
#[derive(Debug)]
pub(crate) struct PyContext {
    now: f64,
    conn: Py<PyConn>,
    rng: Option<Rng>,
    transitions: Vec<[String; 3]>,
}

/// The state of the connection, as the transport keeps it.
#[pyclass(module = "fullpipe._core", name = "Conn")]
#[derive(Debug)]
pub(crate) struct PyConn(pub(super) Conn);

/// The state of the connection when a packet was sent.
#[pyclass(frozen, module = "fullpipe._core", name = "Snapshot")]
#[derive(Debug)]
pub(crate) struct PySnapshot(pub(super) Snapshot);

/// One lost packet.
#[pyclass(frozen, module = "fullpipe._core", name = "Lost")]
#[derive(Debug)]
pub(crate) struct PyLost(pub(super) Lost);

/// One ACK.
#[pyclass(frozen, module = "fullpipe._core", name = "Ack")]
#[derive(Debug)]
pub(crate) struct PyAck(pub(super) Ack);

/// A change in the transport's recovery.
#[pyclass(frozen, module = "fullpipe._core", name = "Recovery")]
#[derive(Debug)]
pub(crate) struct PyRecovery(pub(super) Recovery);

/// The algorithm's instructions to the transport, until the next decision.
#[pyclass(frozen, module = "fullpipe._core", name = "Decision")]
#[derive(Debug)]
pub(crate) struct PyDecision(pub(super) Decision);

impl PyContext {
    pub(super) fn new(conn: Py<PyConn>) -> PyContext {
        PyContext {
            now: 0.0,
            conn,
            rng: None,
            transitions: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, now: Time, rng: Rng) {
        self.now = now.as_secs_f64();
        self.rng = Some(rng);
    }

    pub(super) fn end(&mut self) -> (Option<Rng>, Vec<[String; 3]>) {
        (self.rng.take(), core::mem::take(&mut self.transitions))
    }
}

#[pymethods]
impl PyContext {
    /// Time of this event, in seconds since the run began.
    #[getter]
    pub(super) fn now(&self) -> f64 {
        self.now
    }

    /// The connection at this event.
    #[getter]
    fn conn(&self, py: Python<'_>) -> Py<PyConn> {
        self.conn.clone_ref(py)
    }

    /// Returns a uniform random number in [0, 1), from the flow's own stream, which the seed
    /// determines.
    fn random(&mut self) -> PyResult<f64> {
        let late = || PyValueError::new_err("cx is valid only during the call that it came with");
        self.rng.as_mut().map(Rng::unit).ok_or_else(late)
    }

    /// Reports a transition from one state to another, with its reason.
    fn transition(&mut self, from_: String, to: String, reason: String) {
        self.transitions.push([from_, to, reason]);
    }
}

impl Default for PyConn {
    fn default() -> PyConn {
        PyConn(Conn::new(Time::ZERO, Bytes::ZERO, 0))
    }
}

/// Defines getters that read from the wrapped value.
macro_rules! attributes {
    ($class:ident, $it:ident, $($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        #[pymethods]
        impl $class {
            $(
                $(#[$doc])*
                #[getter]
                fn $name(&self) -> $type {
                    let $it = &self.0;
                    $value
                }
            )*
        }
    };
}

attributes! { PyConn, it,
    /// Payload of a full segment.
    smss: u64 = it.smss.get();
    /// Initial congestion window.
    initial_cwnd: u64 = it.initial_cwnd.get();
    /// Bytes sent and neither acknowledged nor declared lost.
    inflight: u64 = it.inflight.get();
    /// Bytes that the application handed over and that were not sent; 0 without transport = "datagram".
    unsent: u64 = it.unsent.get();
    /// Bytes acknowledged so far.
    delivered: u64 = it.delivered.get();
    /// Acknowledged bytes that arrived with a CE mark; with classic feedback, all bytes of ACKs with
    /// ECE.
    delivered_ce: u64 = it.delivered_ce.get();
    /// Bytes declared lost so far.
    lost: u64 = it.lost.get();
    /// Smoothed RTT; None before the first sample.
    srtt: Option<f64> = (it.srtt != Span::ZERO).then(|| it.srtt.as_secs_f64());
    /// Smallest RTT; None before the first sample.
    min_rtt: Option<f64> = (it.min_rtt != Span::MAX).then(|| it.min_rtt.as_secs_f64());
    /// Whether the application has too little data to fill the window.
    app_limited: bool = it.app_limited;
    /// Whether the window was fully used by the flight that is being acknowledged.
    cwnd_limited: bool = it.cwnd_limited;
    /// State of loss recovery: "open", "reduced", "recovery" or "loss". "reduced" follows a mark,
    /// "loss" a timeout.
    state: &'static str = match it.state {
        CaState::Open => "open",
        CaState::Reduced => "reduced",
        CaState::Recovery => "recovery",
        CaState::Loss => "loss",
    };
    /// Whether `state` is "reduced" or "recovery": with `recovery = "prr"`, PRR sets the window.
    in_recovery: bool = it.in_recovery();
    /// Whether a segment arrived more than three segments late.
    reordering_seen: bool = it.reordering_seen;
    /// Time at which the pacer allows the next packet.
    next_departure: f64 = it.next_departure.as_secs_f64();
    /// Whether packets are paced.
    paced: bool = it.paced;
    /// Current pacing rate; None if unpaced.
    pacing_rate: Option<u64> = it.pacing().map(Rate::as_bps);
}

attributes! { PySnapshot, it,
    /// Number of the packet: grows from each packet of the connection to the next.
    number: u64 = it.number();
    /// Time at which the packet left.
    sent: f64 = it.sent.as_secs_f64();
    /// Sending time of the packet that started the sampled flight.
    first_sent: f64 = it.first_sent.as_secs_f64();
    /// Time at which `delivered` last grew.
    delivered_at: f64 = it.delivered_at.as_secs_f64();
    /// Bytes acknowledged by then.
    delivered: u64 = it.delivered.get();
    /// Bytes acknowledged with a CE mark by then.
    delivered_ce: u64 = it.delivered_ce.get();
    /// Bytes declared lost by then.
    lost: u64 = it.lost.get();
    /// Bytes in flight, including this packet.
    inflight: u64 = it.inflight.get();
    /// Size of the payload in bytes.
    size: u16 = it.size;
    /// Whether the connection was application-limited.
    app_limited: bool = it.app_limited;
    /// Whether the packet is a retransmission.
    retransmit: bool = it.retransmit;
    /// ECN codepoint of the packet.
    ecn: &'static str = match it.ecn {
        EcnCodepoint::NotEct | EcnCodepoint::Ce => "off",
        EcnCodepoint::Ect0 => "ect0",
        EcnCodepoint::Ect1 => "ect1",
    };
}

attributes! { PyLost, it,
    /// State of the connection when the packet was sent.
    packet: PySnapshot = PySnapshot(it.packet);
    /// Bytes lost since the packet was sent, including the packet.
    lost_since_sent: u64 = it.lost_since_sent.get();
    /// Whether the packet begins a new range of lost packets.
    new_range: bool = it.new_range;
    /// Cause of the loss: "rack" or "rto".
    cause: &'static str = match it.cause {
        LossCause::Rack => "rack",
        LossCause::Rto => "rto",
    };
}

attributes! { PyAck, it,
    /// The most recently sent of the newly acknowledged packets.
    newest: PySnapshot = PySnapshot(it.newest);
    /// Bytes newly acknowledged, cumulatively or selectively.
    newly_acked: u64 = it.newly_acked.get();
    /// Whether SND.UNA advanced.
    advanced: bool = it.advanced();
    /// Bytes by which SND.UNA advanced, including those that were SACKed earlier.
    cumulative: u64 = it.cumulative.get();
    /// Bytes newly declared lost while this ACK was processed.
    newly_lost: u64 = it.newly_lost.get();
    /// Bytes in flight before this ACK.
    prior_inflight: u64 = it.prior_inflight.get();
    /// The RTT sample; None without one.
    rtt: Option<f64> = it.rtt.map(|rtt| rtt.raw.as_secs_f64());
    /// The part of the RTT that this host took; 0 without [host].
    rtt_local: f64 = it.rtt.map_or(0.0, |rtt| rtt.local.as_secs_f64());
    /// The part of the RTT that the peer's host took; 0 without [host].
    rtt_remote: f64 = it.rtt.map_or(0.0, |rtt| rtt.remote.as_secs_f64());
    /// Time from sending the packet to the peer's sending of this ACK; only differences are
    /// meaningful.
    one_way: Option<f64> = it.one_way.map(Span::as_secs_f64);
    /// The delivery-rate sample; None without one.
    rate: Option<u64> = it.rate.rate.map(Rate::as_bps);
    /// Interval that the rate sample covers.
    rate_interval: f64 = it.rate.interval.as_secs_f64();
    /// Bytes delivered during the rate sample.
    rate_delivered: u64 = it.rate.delivered.get();
    /// Bytes lost since the newest acknowledged packet was sent.
    rate_lost: u64 = it.rate.lost.get();
    /// Bytes delivered with a CE mark during the rate sample.
    rate_delivered_ce: u64 = it.rate.delivered_ce.get();
    /// Whether the rate sample may understate the path, since the application limited it.
    rate_app_limited: bool = it.rate.app_limited;
    /// Packets newly reported as marked.
    ce_packets: u64 = it.ecn.ce_packets;
    /// Whether this ACK reports congestion, by the ECE flag or by counts.
    ece: bool = it.ece;
    /// Value of the receiver's algorithm; None without one.
    feedback: Option<u64> = it.feedback;
    /// Whether this ACK shows that a tail loss probe repaired a loss.
    tlp_repair: bool = it.tlp_repair;
}

attributes! { PyRecovery, it,
    /// One of "enter", "exit", "spurious", "timeout" or "persistent".
    kind: &'static str = match it {
        Recovery::Enter(_) => "enter",
        Recovery::Exit => "exit",
        Recovery::Spurious => "spurious",
        Recovery::Timeout { .. } => "timeout",
        Recovery::Persistent => "persistent",
    };
    /// Cause of an "enter": "loss" or "ecn"; None for other kinds.
    cause: Option<&'static str> = match it {
        Recovery::Enter(RecoveryCause::Loss) => Some("loss"),
        Recovery::Enter(RecoveryCause::Ecn) => Some("ecn"),
        _ => None,
    };
    /// Whether this "timeout" follows another one without an acknowledgment in between.
    again: bool = matches!(it, Recovery::Timeout { again: true });
}

/// Returns a number of bytes; a float is rounded down.
fn octets(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(whole) = value.extract::<u64>() {
        return Ok(whole);
    }
    match value.extract::<f64>() {
        Ok(number) if (0.0..9e18).contains(&number) => Ok(number as u64),
        _ => Err(PyValueError::new_err(format!(
            "{name} = {value}: give a number of bytes"
        ))),
    }
}

#[pymethods]
impl PyDecision {
    /// Creates a decision from a window and further limits.
    #[new]
    #[pyo3(
        signature = (cwnd, ssthresh=None, *, pacing_rate=None, send_quantum=None, ecn="off", source_rate=None, mark_app_limited=false, wake_at=None),
        text_signature = "(cwnd, ssthresh=None, *, pacing_rate=None, send_quantum=0, ecn='off', source_rate=None, mark_app_limited=False, wake_at=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the fields of the Python class")]
    fn new(
        cwnd: &Bound<'_, PyAny>,
        ssthresh: Option<&Bound<'_, PyAny>>,
        pacing_rate: Option<f64>,
        send_quantum: Option<&Bound<'_, PyAny>>,
        ecn: &str,
        source_rate: Option<f64>,
        mark_app_limited: bool,
        wake_at: Option<f64>,
    ) -> PyResult<PyDecision> {
        let refuse = |problem: String| Err(PyValueError::new_err(problem));
        let cwnd = octets("cwnd", cwnd)?;
        let ssthresh = ssthresh
            .map(|value| octets("ssthresh", value))
            .transpose()?;
        let send_quantum = send_quantum
            .map(|value| octets("send_quantum", value))
            .transpose()?;
        let ecn = match ecn {
            "off" => EcnCodepoint::NotEct,
            "ect0" => EcnCodepoint::Ect0,
            "ect1" => EcnCodepoint::Ect1,
            other => {
                return refuse(format!(
                    "ecn = {other:?}: give \"off\", \"ect0\" or \"ect1\""
                ));
            }
        };
        if cwnd == 0 {
            return refuse(
                "cwnd = 0: no packet could ever be sent; give at least one segment".to_owned(),
            );
        }
        if let Some(rate) = pacing_rate.filter(|rate| !rate.is_finite() || *rate < 1.0) {
            return refuse(format!(
                "pacing_rate = {rate}: give at least 1 bit/s, or None for no pacing"
            ));
        }
        if let Some(rate) = source_rate.filter(|rate| !rate.is_finite() || *rate < 0.0) {
            return refuse(format!(
                "source_rate = {rate}: give a rate in bit/s, or None for the source's maximum"
            ));
        }
        if let Some(time) = wake_at.filter(|time| !time.is_finite() || *time < 0.0) {
            return refuse(format!("wake_at = {time}: give a time in seconds, or None"));
        }
        Ok(PyDecision(Decision {
            cwnd: Bytes::new(cwnd),
            ssthresh: ssthresh.map_or(Bytes::MAX, Bytes::new),
            pacing_rate: pacing_rate.map(Rate::from_bps_f64),
            send_quantum: Bytes::new(send_quantum.unwrap_or(0)),
            ecn,
            source_rate: source_rate.map(Rate::from_bps_f64),
            mark_app_limited,
            wake_at: wake_at.map(|time| Time::from_nanos(Span::from_secs_f64(time).as_nanos())),
        }))
    }
}
