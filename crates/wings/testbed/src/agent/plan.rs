//! The plan of a run: one file that the agents of both sides read.

use std::net::Ipv4Addr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::AgentError;

/// Version of the plan's format.
pub const VERSION: u32 = 2;

/// The flows of a run and what each does. Times are in ns since the start of the run, which is when
/// `send` starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the format, [`VERSION`].
    pub version: u32,
    /// Address at which the receivers listen.
    pub receiver: Ipv4Addr,
    /// Duration of the run.
    pub duration: u64,
    /// Time at which metrics begin. A sample is taken then, in addition to one every `interval`.
    pub measure_from: u64,
    /// Time between two samples.
    pub interval: u64,
    /// Longest time for a connection to open. The first connection must also open within this time
    /// after its start.
    pub patience: u64,
    /// Largest number of concurrent flows of workloads; the agent refuses further ones.
    #[serde(default)]
    pub at_once: u32,
    /// Flows in the scenario's order, followed by those that arrive, in order of time.
    pub flows: Vec<FlowPlan>,
}

/// Plan of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowPlan {
    /// Name of the flow.
    pub name: String,
    /// Port at which the flow's receiver listens; it identifies the flow in every packet.
    pub port: u16,
    /// Sender's port of a flow that arrives. It identifies the flow, because flows of a workload
    /// share the receiver's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_port: Option<u16>,
    /// TCP_CONGESTION of the sender.
    pub congestion: String,
    /// TCP_CONGESTION of the receiver if it matters (DCTCP's way of echoing marks); `None` for the
    /// kernel's default.
    pub receiver_congestion: Option<String>,
    /// Time at which the SYN leaves.
    pub start: u64,
    /// Application of the flow.
    pub app: AppPlan,
    /// Whether the flow negotiates ECN (sysctl net.ipv4.tcp_ecn), unless its algorithm decides.
    pub ecn: bool,
    /// Payload of a full segment, bytes: TCP_MAXSEG without the timestamp option.
    pub segment: u32,
    /// SO_MAX_PACING_RATE, bytes/s. Any value makes the kernel pace.
    pub pacing_rate: Option<u64>,
    /// SO_SNDBUF of the sender, bytes; `None` leaves the size to auto-tuning.
    pub send_buffer: Option<u32>,
    /// Largest send buffer of auto-tuning (sysctl net.ipv4.tcp_wmem); `None` for the kernel's
    /// default.
    pub send_tuning: Option<u32>,
    /// SO_RCVBUF of the receiver, bytes; `None` leaves the size to auto-tuning.
    pub receive_buffer: Option<u32>,
    /// Largest buffer of auto-tuning (sysctl net.ipv4.tcp_rmem); `None` for the kernel's default.
    pub auto_tuning: Option<u32>,
    /// TCP_WINDOW_CLAMP: the largest window that the receiver advertises.
    pub window_clamp: Option<u32>,
    /// TCP_NOTSENT_LOWAT: limit of written but unsent data, bytes.
    pub written_ahead: Option<u32>,
}

/// Behavior of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppPlan {
    /// Writes at a rate, bit/s of payload, which changes at given times; `None` is no limit.
    Writes {
        /// Rate at the opening.
        first: Option<u64>,
        /// Changes of the rate, (time, rate) each, in order of time.
        changes: Vec<(u64, Option<u64>)>,
        /// Whether these times count from the opening of the connection; otherwise from the start
        /// of the run.
        from_opening: bool,
        /// Bytes after which the application ends; `None` if it does not end.
        bytes: Option<u64>,
    },
    /// Writes each chunk, (time, bytes), at its time after the flow's start, or as soon as the
    /// connection is open, and then ends.
    Chunks(Vec<(u64, u64)>),
    /// The receiver sends requests, and the sender answers. The SYN is the first request; each
    /// further one is a byte.
    Answers {
        /// Length of each answer, in order.
        sizes: Vec<u64>,
        /// Time that the receiver thinks after each answer.
        thinks: Vec<u64>,
    },
}

impl AppPlan {
    /// Returns the bytes of the whole transfer, if it ends.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            AppPlan::Writes { bytes, .. } => *bytes,
            AppPlan::Chunks(chunks) => Some(chunks.iter().map(|(_, bytes)| bytes).sum()),
            AppPlan::Answers { .. } => None,
        }
    }
}

impl FlowPlan {
    /// Returns whether the flow arrives during the run: one of many, without a trace.
    pub fn arrives(&self) -> bool {
        self.near_port.is_some()
    }
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// When the file can't be read, is not a plan, or has another version.
    pub fn read(path: &Path) -> Result<Plan, AgentError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| AgentError::new(format!("{}: {error}", path.display())))?;
        let wrong = |why: String| AgentError::new(format!("{}: {why}", path.display()));
        let plan: Plan =
            serde_json::from_str(&text).map_err(|error| wrong(format!("not a plan: {error}")))?;
        match plan {
            Plan { version, .. } if version != VERSION => Err(wrong(format!(
                "plan version {version}, where {VERSION} is needed: write the plan again"
            ))),
            Plan { interval: 0, .. } => Err(wrong("interval must be greater than zero".to_owned())),
            plan => Ok(plan),
        }
    }

    /// Returns the plan as JSON.
    ///
    /// # Panics
    /// Never: JSON can represent every value of a plan.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, words and lists")
    }
}
