//! What the agents of both sides are told: one file, the same for both.

use std::net::Ipv4Addr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::AgentError;

/// The version of the format.
pub const VERSION: u32 = 1;

/// Which flows there are, and what they do. Times are in ns since the run began, which is when
/// `send` starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`VERSION`].
    pub version: u32,
    /// Where the receivers listen.
    pub receiver: Ipv4Addr,
    /// How long the run lasts.
    pub duration: u64,
    /// Metrics begin here: a sample is taken at it, besides those of `interval`.
    pub measure_from: u64,
    /// Between two samples.
    pub interval: u64,
    /// How long a connection may take to open, and the first one beyond its start to come.
    pub patience: u64,
    /// Of flows that arrive so many may be under way at once; one more is turned away.
    #[serde(default)]
    pub at_once: u32,
    /// The flows, in the scenario's order; behind them those that arrive, in order of time.
    pub flows: Vec<FlowPlan>,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowPlan {
    /// Its name.
    pub name: String,
    /// Where its receiver listens; it is known by this port in every packet.
    pub port: u16,
    /// Of a flow that arrives: its sender's port, by which it is known, since the receiver's is
    /// that of others, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_port: Option<u16>,
    /// TCP_CONGESTION of its sender.
    pub congestion: String,
    /// TCP_CONGESTION of its receiver, where that has a part in it (DCTCP's way of echoing marks);
    /// else the kernel's default.
    pub receiver_congestion: Option<String>,
    /// When its SYN leaves.
    pub start: u64,
    /// What its application does.
    pub app: AppPlan,
    /// Whether it negotiates ECN, if the algorithm does not say (sysctl net.ipv4.tcp_ecn).
    pub ecn: bool,
    /// SO_MAX_PACING_RATE, bytes/s. Any value makes the kernel pace.
    pub pacing_rate: Option<u64>,
    /// SO_SNDBUF of the sender, bytes.
    pub send_buffer: u32,
    /// SO_RCVBUF of the receiver, bytes; none leaves it to auto-tuning.
    pub receive_buffer: Option<u32>,
    /// The largest buffer of auto-tuning (sysctl net.ipv4.tcp_rmem), if it is not the kernel's.
    pub auto_tuning: Option<u32>,
    /// TCP_WINDOW_CLAMP: the largest window that is offered.
    pub window_clamp: Option<u32>,
    /// TCP_NOTSENT_LOWAT: how much the application writes ahead of what is sent.
    pub written_ahead: Option<u32>,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppPlan {
    /// Writes at `first`, bit/s of payload, and from each of the given times on at another rate;
    /// none is no limit.
    Writes {
        /// The rate at the opening.
        first: Option<u64>,
        /// Changes, in order of time.
        changes: Vec<(u64, Option<u64>)>,
        /// Whether these times count from the connection's opening, not from the run's beginning.
        from_opening: bool,
        /// It ends after that many bytes, if ever.
        bytes: Option<u64>,
    },
    /// Writes each chunk so long after the flow's start, or as soon as the connection is open, and
    /// ends.
    Chunks(Vec<(u64, u64)>),
    /// The receiver asks, with a byte each but for the first, which is the SYN; the sender answers.
    Answers {
        /// How long the answers are, in order.
        sizes: Vec<u64>,
        /// For how long the receiver thinks after each.
        thinks: Vec<u64>,
    },
}

impl AppPlan {
    /// What it transfers in all, if it ends.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            AppPlan::Writes { bytes, .. } => *bytes,
            AppPlan::Chunks(chunks) => Some(chunks.iter().map(|(_, bytes)| bytes).sum()),
            AppPlan::Answers { .. } => None,
        }
    }
}

impl FlowPlan {
    /// Whether it arrives: one of many, of which no trace is kept.
    pub fn arrives(&self) -> bool {
        self.near_port.is_some()
    }
}

impl Plan {
    /// Reads one.
    ///
    /// # Errors
    /// When there is none, or it is of another version.
    pub fn read(path: &Path) -> Result<Plan, AgentError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| AgentError::new(format!("{}: {error}", path.display())))?;
        let wrong = |why: String| AgentError::new(format!("{}: {why}", path.display()));
        let plan: Plan =
            serde_json::from_str(&text).map_err(|error| wrong(format!("no plan: {error}")))?;
        match plan {
            Plan { version, .. } if version != VERSION => Err(wrong(format!(
                "a plan of version {version}, where {VERSION} is wanted: make it anew"
            ))),
            Plan { interval: 0, .. } => Err(wrong("interval has to be above zero".to_owned())),
            plan => Ok(plan),
        }
    }

    /// As JSON.
    ///
    /// # Panics
    /// Never: there is nothing in it that JSON has not got.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, words and lists")
    }
}
