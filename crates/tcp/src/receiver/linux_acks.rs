//! Linux's rules for delayed ACKs: quick ACKs, ping-pong mode and the ACK timeout (`icsk_ack`).

use fullpipe_units::{Bytes, Span, Time};

use super::round_trip::RoundTrip;

/// Number of quick ACKs at the start, after a long pause and after a duplicate (Linux:
/// TCP_MAX_QUICKACKS).
const MANY: u32 = 16;
/// Number of quick ACKs after a mark (Linux: tcp_ecn_check_ce).
const AFTER_MARK: u32 = 2;
/// Shortest time that an ACK waits (Linux: TCP_ATO_MIN, TCP_DELACK_MIN).
const SHORTEST: Span = Span::from_millis(40);
/// Longest time that an ACK waits (Linux: TCP_DELACK_MAX).
const LONGEST: Span = Span::from_millis(200);

/// The state of these rules.
#[derive(Debug, Default)]
pub(super) struct LinuxAcks {
    /// Number of quick ACKs that are left (`quick`).
    quick: u32,
    /// The ACK timeout (`ato`); zero before the first data.
    timeout: Span,
    /// Ping-pong mode: the application answers data with data, which carries the ACK.
    interactive: bool,
    /// Arrival of the latest data in order (`lrcvtime`).
    last_data: Time,
    /// Whether data arrived since the last ACK (ICSK_ACK_SCHED).
    scheduled: bool,
    /// Number of short or pushed segments since the last ACK: at least one (ICSK_ACK_PUSHED), or
    /// another one before a short one (ICSK_ACK_PUSHED2).
    pushed: bool,
    pushed_again: bool,
    /// Whether the protocol calls for an ACK at once (ICSK_ACK_NOW).
    now: bool,
    /// Time at which the delayed ACK is due (ICSK_ACK_TIMER).
    due: Option<Time>,
    /// In-order bytes that the last ACK acknowledged (`rcv_wup`), and the window that it
    /// advertised, in segments (`rcv_wnd`).
    acknowledged: Bytes,
    window: u32,
}

impl LinuxAcks {
    /// Creates the state for a connection that advertises `window` segments.
    pub(super) fn new(window: u32) -> LinuxAcks {
        LinuxAcks {
            window,
            ..LinuxAcks::default()
        }
    }

    /// Processes data in order (`tcp_event_data_recv`). `short` says whether the segment is not
    /// full, `push` whether it has PSH.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, short: bool, push: bool, rtt: &RoundTrip) {
        self.scheduled = true;
        // tcp_measure_rcv_mss
        if short || push {
            self.pushed_again |= short && self.pushed;
            self.pushed = true;
        }
        let gap = now.since(self.last_data);
        self.last_data = now;
        if self.timeout == Span::ZERO {
            self.add_quick(MANY);
            self.timeout = SHORTEST;
        } else if gap <= SHORTEST / 2 {
            self.timeout = self.timeout / 2 + SHORTEST / 2;
        } else if gap < self.timeout {
            self.timeout = (self.timeout / 2 + gap).min(rtt.timeout());
        } else if gap > rtt.timeout() {
            self.add_quick(MANY);
        }
    }

    /// Processes a segment out of order, above the next expected one.
    pub(super) fn on_early(&mut self) {
        self.scheduled = true;
    }

    /// Processes a segment that had already been acknowledged: its sender needs ACKs quickly.
    pub(super) fn on_duplicate(&mut self) {
        self.scheduled = true;
        self.enter_quick_mode(MANY);
    }

    /// Processes a mark, or a retransmission of a sender that sees marks: its window may be small
    /// (`__tcp_ecn_check_ce`).
    pub(super) fn on_mark(&mut self) {
        self.enter_quick_mode(AFTER_MARK);
    }

    /// Lets the ACK of the current segment leave at once.
    pub(super) fn require_ack(&mut self) {
        self.now = true;
    }

    /// Notes that the window can grow: the sender should know it soon (`tcp_grow_window`).
    pub(super) fn on_larger_window(&mut self) {
        self.quick |= 1;
    }

    /// `tcp_enter_quickack_mode`
    fn enter_quick_mode(&mut self, most: u32) {
        self.add_quick(most);
        self.interactive = false;
        self.timeout = SHORTEST;
    }

    /// `tcp_incr_quickack`: as many as acknowledge half a window.
    #[cold]
    fn add_quick(&mut self, most: u32) {
        let wanted = match self.window / 2 {
            0 => 2,
            half => half.min(most),
        };
        self.quick = self.quick.max(wanted);
    }

    /// Returns whether an ACK leaves at once, with `in_order` bytes received in order and segments
    /// of `full` bytes (`__tcp_ack_snd_check`).
    pub(super) fn is_due(&self, in_order: Bytes, full: Bytes) -> bool {
        in_order - self.acknowledged > full || (self.quick > 0 && !self.interactive) || self.now
    }

    /// Returns whether an ACK leaves as the application reads the data (`tcp_cleanup_rbuf`).
    pub(super) fn is_due_on_read(&self) -> bool {
        self.pushed_again || (self.pushed && !self.interactive)
    }

    /// Returns the time at which the delayed ACK is due, if any.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// Delays an ACK and returns the time at which it is due; `None` if it leaves at once, because
    /// an earlier delay is about to end (`tcp_send_delayed_ack`).
    #[inline(always)] // for every second packet
    pub(super) fn delay(&mut self, now: Time, rtt: &RoundTrip) -> Option<Time> {
        let mut wait = self.timeout;
        if wait > SHORTEST && rtt.smoothed() > Span::ZERO {
            wait = wait.min(rtt.smoothed().max(SHORTEST));
        }
        wait = wait.min(LONGEST);
        let mut at = now + wait;
        if let Some(due) = self.due {
            if due <= now + wait / 4 {
                return None;
            }
            at = at.min(due);
        }
        self.due = Some(at);
        Some(at)
    }

    /// Processes the end of a delay at `due` (`tcp_delack_timer_handler`).
    pub(super) fn on_timer(&mut self, due: Time, rtt: &RoundTrip) {
        if self.due != Some(due) {
            return;
        }
        if self.interactive {
            // No data carried the ACK.
            self.interactive = false;
            self.timeout = SHORTEST;
        } else {
            self.timeout = (self.timeout * 2).min(rtt.timeout());
        }
    }

    /// Notes that data leaves, which carries an ACK (`tcp_event_data_sent`).
    pub(super) fn on_request(&mut self, now: Time) {
        if now.since(self.last_data) < self.timeout {
            self.interactive = true;
        }
    }

    /// Notes that an ACK of `in_order` bytes leaves and advertises `window` segments
    /// (`tcp_event_ack_sent`).
    pub(super) fn on_ack_sent(&mut self, in_order: Bytes, window: u32) {
        // tcp_dec_quickack_mode
        if self.quick > 0 && self.scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.timeout = SHORTEST;
            }
        }
        (self.scheduled, self.pushed, self.pushed_again) = (false, false, false);
        (self.now, self.due) = (false, None);
        (self.acknowledged, self.window) = (in_order, window);
    }
}
