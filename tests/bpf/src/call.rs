//! `struct fp_call` (bpf/include/fp_call.h).

/// The functions of the kernel's `struct tcp_congestion_ops`: `enum fp_kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `init`
    #[default]
    Begin,
    /// `cong_control` or `cong_avoid`
    Ack,
    /// `ssthresh`
    Ssthresh,
    /// `set_state`
    State,
    /// `undo_cwnd`
    Undo,
    /// `cwnd_event`, the first packet after idle
    Restart,
    /// `pkts_acked`
    Rtt,
}

/// TCP_CA_Open.
pub(crate) const OPEN: u8 = 0;
/// TCP_CA_CWR.
pub(crate) const CWR: u8 = 2;
/// TCP_CA_Recovery.
pub(crate) const RECOVERY: u8 = 3;
/// TCP_CA_Loss.
pub(crate) const LOSS: u8 = 4;

/// `enum fp_flags`.
pub mod flags {
    /// The flight fully used the window.
    pub const CWND_LIMITED: u8 = 1;
    /// The rate sample, or the connection, is application-limited.
    pub const APP_LIMITED: u8 = 2;
    /// The connection negotiated ECN.
    pub const ECN: u8 = 8;
    /// A mark began the episode.
    pub const BY_MARK: u8 = 16;
}

/// All that an algorithm may read, and the decision that it changes. Volumes are in segments, times
/// in us.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[expect(missing_docs, reason = "fp_call.h documents the fields")]
pub struct Call {
    pub now: u64,
    pub pacing_rate: u64,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub kind: Kind,
    pub ca_state: u8,
    pub flags: u8,
    pub unused: u8,
    pub random: u32,
    pub mss: u32,
    pub inflight: u32,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub lost: u32,
    pub srtt: u32,
    pub min_rtt: u32,
    pub departs_in: u32,
    pub rtt: u32,
    pub interval: u32,
    pub sample_delivered: u32,
    pub sample_delivered_ce: u32,
    pub prior_delivered: u32,
    pub acked: u32,
    pub losses: u32,
    pub prior_inflight: u32,
    pub tx_inflight: u32,
    pub tx_lost: u32,
}

impl Call {
    /// Returns whether a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}
