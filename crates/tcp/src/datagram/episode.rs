//! Recovery episodes of a datagram flow (RFC 9002 §7.3.2): from a loss or a mark until a packet
//! sent after it is acknowledged.

use fullpipe_cc::{CaState, Controller, Observer, Recovery, RecoveryCause, RecoveryOwner};
use fullpipe_units::{Bytes, Time};

use super::DatagramSender;
use crate::prr::Prr;

/// An episode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    /// The first packet sent during the episode: its ACK ends the episode, and its loss is new
    /// congestion.
    pub(super) point: u64,
    /// Packets whose loss belongs to the episode and that have not arrived after all; `None` if the
    /// episode can't prove spurious.
    lost: Option<u64>,
    /// Whether it began with a timeout.
    timeout: bool,
}

impl<C: Controller> DatagramSender<C> {
    /// Begins an episode for the loss of packets up to `last`, or counts them in the current one.
    pub(super) fn on_losses(
        &mut self,
        now: Time,
        (last, lost): (u64, u64),
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
    ) {
        match &mut self.episode {
            Some(episode) if last < episode.point && self.conn.state.repairs() => {
                episode.lost = episode.lost.map(|before| before + lost);
                return;
            }
            Some(episode) if last < episode.point && self.owner == RecoveryOwner::Prr => {
                // The window was already reduced in this round trip (RFC 3168 §6.1.2).
                episode.lost = None;
                self.conn.state = CaState::Recovery;
                return;
            }
            // A controller with its own recovery stays in it, as with TCP.
            Some(_) if self.owner == RecoveryOwner::Own && self.conn.state == CaState::Recovery => {
            }
            Some(_) => self.leave(now, Recovery::Exit, observer),
            None => {}
        }
        self.enter(now, RecoveryCause::Loss, prior_inflight, observer);
        if let Some(episode) = &mut self.episode {
            episode.lost = Some(lost);
        }
    }

    /// Begins an episode.
    pub(super) fn enter(
        &mut self,
        now: Time,
        cause: RecoveryCause,
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
    ) {
        self.episode = Some(Episode {
            point: self.sent.next(),
            lost: None,
            timeout: false,
        });
        self.conn.state = match cause {
            RecoveryCause::Loss => CaState::Recovery,
            RecoveryCause::Ecn => CaState::Reduced,
        };
        self.call(now, observer, |controller, cx| {
            controller.on_recovery(cx, Recovery::Enter(cause))
        });
        if self.owner == RecoveryOwner::Prr {
            self.prr = Some(Prr::new(
                self.conn.smss,
                self.controller.decision().ssthresh,
                prior_inflight,
            ));
        }
    }

    /// Begins an episode after a timeout; everything in flight is already declared lost.
    pub(super) fn time_out(&mut self, now: Time, observer: &mut dyn Observer) {
        let again = self.episode.is_some_and(|episode| episode.timeout);
        self.episode = Some(Episode {
            point: self.sent.next(),
            lost: None,
            timeout: true,
        });
        self.prr = None;
        self.conn.state = CaState::Loss;
        self.call(now, observer, |controller, cx| {
            controller.on_recovery(cx, Recovery::Timeout { again })
        });
    }

    /// Ends the episode, if there is one.
    pub(super) fn leave(&mut self, now: Time, change: Recovery, observer: &mut dyn Observer) {
        self.episode = None;
        self.conn.state = CaState::Open;
        self.prr = None;
        self.call(now, observer, |controller, cx| {
            controller.on_recovery(cx, change)
        });
    }

    /// Notes that `late` packets arrived that were declared lost. If these are all losses of the
    /// episode, it was spurious.
    pub(super) fn on_late(&mut self, now: Time, late: u64, observer: &mut dyn Observer) {
        let Some(Episode {
            lost: Some(lost), ..
        }) = &mut self.episode
        else {
            return;
        };
        *lost = lost.saturating_sub(late);
        if *lost == 0 {
            self.leave(now, Recovery::Spurious, observer);
        }
    }

    /// Returns whether the acknowledgment of packet `number` ends the episode.
    pub(super) fn ends_episode(&self, number: u64) -> bool {
        self.episode.is_some_and(|episode| number >= episode.point)
    }
}
