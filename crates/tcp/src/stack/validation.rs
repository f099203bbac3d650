//! Congestion window validation: rules for a window that the flow does not use.

use fullpipe_units::{Bytes, Span, Time};

/// The rule for a congestion window that the flow does not fully use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CwndValidation {
    /// The window stays.
    #[default]
    Off,
    /// RFC 2861, as Linux has it.
    Linux,
    /// RFC 7661.
    Rfc7661,
}

/// The sender during a write (Linux: tcp_write_xmit).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writing {
    pub(crate) now: Time,
    /// SND.UNA and SND.NXT, in segments.
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// Congestion window and initial window.
    pub(crate) window: Bytes,
    pub(crate) initial: Bytes,
    pub(crate) smss: Bytes,
    pub(crate) srtt: Span,
    pub(crate) rto: Span,
    /// Whether no loss is being repaired.
    pub(crate) open: bool,
}

/// A write that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) now: Time,
    /// SND.UNA and SND.NXT, in segments.
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// One past the last segment that the application has written.
    pub(crate) end: u64,
    /// Congestion window and slow-start threshold.
    pub(crate) window: Bytes,
    pub(crate) ssthresh: Bytes,
    pub(crate) smss: Bytes,
    /// Whether the write sent data.
    pub(crate) sent: bool,
    /// Whether the window stopped it.
    pub(crate) limited: bool,
}

impl Writing {
    /// Returns the congestion window in segments, in which Linux and the rules here count.
    pub(crate) fn cwnd(&self) -> u64 {
        self.window.get() / self.smss.get()
    }

    fn initial(&self) -> u64 {
        self.initial.get() / self.smss.get()
    }

    /// Returns a window of `cwnd` segments, if that is lower.
    pub(super) fn lower_to(&self, cwnd: u64) -> Option<Bytes> {
        (cwnd < self.cwnd()).then(|| self.smss * cwnd)
    }

    /// Returns half of the window, but at least the initial one.
    pub(super) fn half(&self) -> u64 {
        (self.cwnd() / 2).max(self.initial())
    }
}

/// The use that the flow makes of its window (Linux: tcp_cwnd_validate).
#[derive(Debug)]
pub(super) struct Usage {
    /// Whether the window limited the flow during the flight (tp->is_cwnd_limited).
    limited: bool,
    /// Largest number of outstanding segments in the flight (tp->max_packets_out).
    most: u64,
    /// SND.NXT at the end of the flight (tp->cwnd_usage_seq).
    end: u64,
    /// Time at which data was last sent (tp->lsndtime).
    last_sent: Time,
}

impl Usage {
    pub(super) fn new(now: Time) -> Usage {
        Usage {
            limited: false,
            most: 0,
            end: 0,
            last_sent: now,
        }
    }

    /// Halves the window for each timeout of a pause, down to the initial window (RFC 2861 §3,
    /// Linux: tcp_slow_start_after_idle_check, tcp_cwnd_restart).
    pub(super) fn after_idle(&self, writing: &Writing) -> Option<Bytes> {
        let mut idle = writing.now.since(self.last_sent);
        let mut cwnd = writing.cwnd();
        let least = writing.initial().min(cwnd);
        while idle > writing.rto && cwnd > least {
            idle -= writing.rto;
            cwnd /= 2;
        }
        writing.lower_to(cwnd.max(least))
    }

    #[inline]
    pub(super) fn on_written(&mut self, written: &Written) {
        if written.sent {
            self.on_sent(written.now);
        } else if !written.limited {
            return;
        }
        let out = written.next - written.una;
        if written.una >= self.end || written.limited || (!self.limited && out > self.most) {
            self.limited = written.limited;
            self.most = out;
            self.end = written.next;
        }
    }

    #[inline]
    pub(super) fn on_sent(&mut self, now: Time) {
        self.last_sent = now;
    }

    /// Returns whether the window limits the flow; in slow start until it is twice the outstanding
    /// data (Linux: tcp_is_cwnd_limited).
    #[inline]
    pub(super) fn is_limited(&self, written: &Written) -> bool {
        let Written { window, smss, .. } = *written;
        self.limited || window < written.ssthresh && window.get() / smss.get() < 2 * self.most
    }
}
