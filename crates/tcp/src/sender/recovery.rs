//! Recovery episodes: their begin and end, PRR for controllers that leave the window in recovery to
//! the sender, and undo of spurious episodes.

use core::cmp::Reverse;

use fullpipe_cc::{CaState, Controller, Observer, Recovery, RecoveryCause, RecoveryOwner};
use fullpipe_units::{Bytes, Time};

use super::Sender;
use crate::ecn::EcnFeedback;
use crate::prr::Prr;
use crate::sent::State;
use crate::wire::{Ack, Block};

/// The latest episode: its end, and the state that detects a spurious episode.
#[derive(Debug, Default)]
pub(super) struct Episode {
    /// RecoveryPoint: SND.NXT when it began (RFC 6675 §5).
    point: u64,
    /// SND.UNA when it began; `None` if an undo is ruled out.
    undo_from: Option<u64>,
    /// Retransmissions not yet reported as duplicates (RFC 2883, RFC 3708).
    retransmits: u64,
    /// Time of its first retransmission (RFC 4015 RetransmitTS).
    first_retransmit: Option<Time>,
    /// SND.UNA at its last timeout.
    timed_out: Option<u64>,
}

impl Episode {
    pub(super) fn point(&self) -> u64 {
        self.point
    }

    pub(super) fn on_retransmit(&mut self, now: Time) {
        self.retransmits += 1;
        self.first_retransmit.get_or_insert(now);
    }
}

impl<C: Controller> Sender<C> {
    /// Enters fast recovery. `recover_fs` is the data that can still be delivered (RFC 9937 §6).
    pub(super) fn enter_recovery(
        &mut self,
        now: Time,
        recover_fs: Bytes,
        observer: &mut dyn Observer,
    ) {
        let recover_fs = self.recover_fs(recover_fs);
        if self.conn.state == CaState::Reduced && self.owner == RecoveryOwner::Prr {
            // The window was already reduced in this round trip, and once is enough (RFC 3168
            // §6.1.2; Linux: tcp_enter_recovery).
            self.conn.state = CaState::Recovery;
            self.episode = Episode {
                undo_from: None,
                ..self.begin_episode()
            };
            return;
        }
        if self.conn.state == CaState::Reduced {
            self.leave(now, Recovery::Exit, observer);
        }
        self.lower_at_loss(now, observer);
        self.conn.state = CaState::Recovery;
        self.episode = self.begin_episode();
        self.tell(now, Recovery::Enter(RecoveryCause::Loss), observer);
        if self.owner == RecoveryOwner::Prr {
            self.prr = Some(Prr::new(
                self.conn.smss,
                self.controller.decision().ssthresh,
                recover_fs,
            ));
        }
    }

    /// Returns PRR's RecoverFS of an episode that begins now: the undelivered data (RFC 9937 §6.1), or
    /// Linux's `prior_cwnd`.
    fn recover_fs(&self, undelivered: Bytes) -> Bytes {
        if self.timer.is_linux() {
            self.cwnd()
        } else {
            undelivered
        }
    }

    /// Processes an ACK that reports marks and newly acknowledges `acked` bytes.
    #[cold]
    pub(super) fn take_marks(&mut self, ack: &Ack, acked: Bytes) {
        let most = self.conn.delivered + acked - self.conn.delivered_ce;
        self.conn.delivered_ce += self.ecn.on_ack(ack, acked, most, self.conn.smss);
    }

    /// Begins a reduction for marked packets, at most once per round trip (RFC 3168 §6.1.2).
    pub(super) fn reduce(&mut self, now: Time, recover_fs: Bytes, observer: &mut dyn Observer) {
        let recover_fs = self.recover_fs(recover_fs);
        self.conn.state = CaState::Reduced;
        // A reduction for a mark has no undo: no retransmission can show that a mark was spurious.
        self.episode = Episode {
            undo_from: None,
            ..self.begin_episode()
        };
        self.ecn.cwr = self.ecn.feedback == EcnFeedback::Classic;
        self.tell(now, Recovery::Enter(RecoveryCause::Ecn), observer);
        if self.owner == RecoveryOwner::Prr {
            self.prr = Some(Prr::new(
                self.conn.smss,
                self.controller.decision().ssthresh,
                recover_fs,
            ));
        }
    }

    /// Enters loss recovery after a retransmission timeout; the lost segments are already marked.
    pub(super) fn enter_loss(&mut self, now: Time, observer: &mut dyn Observer) {
        let again = match self.conn.state {
            CaState::Open => false,
            // Linux: tcp_enter_loss. A timeout in an episode belongs to it.
            CaState::Recovery | CaState::Reduced => {
                self.one_reduction && self.una < self.episode.point()
            }
            CaState::Loss => self.episode.timed_out == Some(self.una),
        };
        let episode = Episode {
            timed_out: Some(self.una),
            ..self.begin_episode()
        };
        self.episode = match self.conn.state {
            // Another timeout of the same segment reduces nothing further. It belongs to the same
            // episode, which is spurious as a whole or not at all.
            _ if again => Episode {
                point: self.next,
                timed_out: Some(self.una),
                ..self.episode
            },
            CaState::Open | CaState::Loss => episode,
            // One undo can't restore both the earlier reduction and this one.
            CaState::Recovery | CaState::Reduced => Episode {
                undo_from: None,
                ..episode
            },
        };
        if self.conn.state == CaState::Open {
            self.rack.on_timeout_in_disorder(self.sacked);
            self.note_reordering();
        }
        self.conn.state = CaState::Loss;
        self.prr = None;
        self.tell(now, Recovery::Timeout { again }, observer);
        self.recovered(now);
    }

    /// Ends the episode: everything outstanding at its start was acknowledged.
    pub(super) fn exit_recovery(&mut self, now: Time, observer: &mut dyn Observer) {
        let repaired = self.conn.state.repairs();
        self.leave(now, Recovery::Exit, observer);
        if repaired {
            self.rack.on_recovery_exit();
        }
    }

    /// Ends the episode and begins the next one with the same ACK: segments sent since the episode
    /// began were also lost, which is new congestion (RFC 5681 §3.2; Linux: tcp_fastretrans_alert).
    /// A controller with its own recovery stays in it and only begins the next episode: Linux's BBR
    /// saves its model again (`bbr_ssthresh`), and sees only the state after an ACK.
    pub(super) fn next_episode(
        &mut self,
        now: Time,
        recover_fs: Bytes,
        observer: &mut dyn Observer,
    ) {
        if self.owner == RecoveryOwner::Own && self.conn.state == CaState::Recovery {
            self.rack.on_recovery_exit();
            self.episode = self.begin_episode();
            self.tell(now, Recovery::Enter(RecoveryCause::Loss), observer);
        } else {
            self.exit_recovery(now, observer);
            self.enter_recovery(now, recover_fs, observer);
        }
    }

    /// Returns whether a segment that was declared lost is not yet delivered (Linux: lost_out).
    pub(super) fn is_repairing(&self) -> bool {
        self.lost > 0 || self.retransmissions_out() > 0
    }

    /// Returns the number of retransmissions that may still be in flight (Linux: retrans_out).
    fn retransmissions_out(&self) -> u64 {
        self.retransmitted
            .iter()
            .filter(|(seq, when)| self.is_current(*seq, *when))
            .count() as u64
    }

    /// Returns an episode that begins now. While retransmissions of the previous episode may still
    /// be answered, their timestamps prove nothing about this one, so the time of the first of them
    /// is kept (Linux: retrans_stamp and tcp_any_retrans_done).
    fn begin_episode(&mut self) -> Episode {
        // If a probe retransmitted a segment that had arrived, the receiver will report a
        // duplicate. Count the probe here, so that its DSACK is not taken for the DSACK of a later
        // retransmission.
        let observer = self
            .timer
            .end_probe()
            .filter(|seq| *seq >= self.una && self.window.get(*seq).state == State::Sacked);
        let retransmits = self.retransmissions_out() + u64::from(observer.is_some());
        let head_again = self.una < self.next && self.window.get(self.una).transmissions > 1;
        let first_retransmit = self
            .episode
            .first_retransmit
            .filter(|_| retransmits > 0 || head_again);
        Episode {
            point: self.next,
            undo_from: Some(self.una),
            retransmits,
            first_retransmit,
            timed_out: None,
        }
    }

    /// Returns whether the current episode is over.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        // A reduction lasts until the first segment sent after it, which carries CWR, is
        // acknowledged (Linux: tcp_fastretrans_alert): earlier ACKs may still echo the mark that
        // caused it.
        if self.conn.state == CaState::Reduced {
            self.una > self.episode.point()
        } else {
            self.una >= self.episode.point()
        }
    }

    /// Undoes the episode: its losses were spurious.
    pub(super) fn undo(&mut self, now: Time, observer: &mut dyn Observer) {
        self.episode.undo_from = None;
        while let Some(Reverse(seq)) = self.to_retransmit.pop() {
            if seq >= self.una && self.window.get(seq).state == State::Lost {
                let record = self.window.get_mut(seq);
                record.state = State::Outstanding;
                self.conn.inflight += Bytes::new(u64::from(record.size));
                self.lost -= 1;
                if record.transmissions > 1 {
                    let burst = record.burst();
                    let when = self.bursts.get(burst).sent;
                    let place = self
                        .retransmitted
                        .partition_point(|(of, at)| (*at, *of) < (when, seq));
                    self.retransmitted.insert(place, (seq, when));
                }
            }
        }
        self.judged = self.una;
        self.leave(now, Recovery::Spurious, observer);
    }

    pub(super) fn leave(&mut self, now: Time, change: Recovery, observer: &mut dyn Observer) {
        self.conn.state = CaState::Open;
        self.prr = None;
        self.tell(now, change, observer);
        self.recovered(now);
    }

    /// Returns whether this ACK, whose deliveries are already counted, shows that the episode was
    /// spurious: all its retransmissions were reported as duplicates (DSACK, RFC 2883), or an ACK
    /// of retransmitted data echoes a timestamp from before the retransmission (Eifel, RFC 3522).
    /// `una` is SND.UNA before the ACK.
    #[inline(always)]
    pub(super) fn detect_spurious(&mut self, ack: &Ack, blocks: &[Block], una: u64) -> bool {
        // Without a DSACK, only an ACK in recovery shows anything.
        (ack.dsack || self.conn.state.repairs()) && self.is_spurious(ack, blocks, una)
    }

    #[inline(never)] // most ACKs show nothing
    fn is_spurious(&mut self, ack: &Ack, blocks: &[Block], una: u64) -> bool {
        if ack.dsack {
            self.rack.on_dsack(self.una, self.next);
        }
        let (Some(undo_from), Some(first_retransmit)) =
            (self.episode.undo_from, self.episode.first_retransmit)
        else {
            return false;
        };
        if ack.dsack && blocks[0].start >= undo_from && self.episode.retransmits > 0 {
            // Among the segments in the window, count only retransmitted ones: the network may also
            // have duplicated a packet.
            let again = |seq: &u64| *seq < self.una || self.window.get(*seq).transmissions > 1;
            let reported = (blocks[0].start..blocks[0].end.min(self.next))
                .filter(again)
                .count() as u64;
            self.episode.retransmits = self.episode.retransmits.saturating_sub(reported);
            if self.episode.retransmits == 0 {
                return true;
            }
        }
        let late =
            ack.next > una && self.window.get(una).transmissions > 1 && ack.echo < first_retransmit;
        match self.conn.state {
            CaState::Open | CaState::Reduced => false,
            // While other retransmissions are in flight, one of them may have been necessary
            // (Linux: tcp_try_undo_partial).
            CaState::Recovery if late && self.retransmissions_out() == 0 => {
                self.rack.on_late(undo_from);
                true
            }
            CaState::Recovery => false,
            CaState::Loss => late,
        }
    }

    /// Notifies the controller of a change in recovery.
    pub(super) fn tell(&mut self, now: Time, change: Recovery, observer: &mut dyn Observer) {
        self.call(now, observer, |controller, cx| {
            controller.on_recovery(cx, change)
        });
    }

    /// Updates the controller's view of reordering (Linux: tcp_may_raise_cwnd).
    #[inline]
    pub(super) fn note_reordering(&mut self) {
        self.conn.reordering_seen = self.rack.is_beyond_threshold();
    }
}
