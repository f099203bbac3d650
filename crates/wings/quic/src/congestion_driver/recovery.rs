//! Recovery episodes.

use fullpipe_cc::replay::Call;
use fullpipe_cc::{CaState, Controller, Observer, Recovery, RecoveryCause, RecoveryOwner};
use fullpipe_tcp::Prr;
use fullpipe_units::{Bytes, Time};

use super::CongestionDriver;

/// A recovery episode (RFC 9002 §7.3.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    pub(super) cause: RecoveryCause,
    /// The first packet sent during the episode: its ACK ends the episode, and its loss is new
    /// congestion.
    pub(super) point: u64,
}

impl CongestionDriver {
    /// Begins a new episode, or extends the current one: a packet was lost that left after the
    /// latest episode began.
    pub(super) fn lost_anew(
        &mut self,
        now: Time,
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
    ) {
        match self.episode {
            // A controller with its own recovery stays in it, as in the simulated TCP.
            Some(episode)
                if self.owner == RecoveryOwner::Own && episode.cause == RecoveryCause::Loss => {}
            Some(_) => self.leave(now, Recovery::Exit, observer),
            None => {}
        }
        self.enter(now, RecoveryCause::Loss, prior_inflight, observer);
    }

    pub(super) fn enter(
        &mut self,
        now: Time,
        cause: RecoveryCause,
        prior_inflight: Bytes,
        observer: &mut dyn Observer,
    ) {
        self.episode = Some(Episode {
            cause,
            point: self.ring.next(),
        });
        self.undo = cause == RecoveryCause::Loss;
        self.conn.state = match cause {
            RecoveryCause::Loss => CaState::Recovery,
            RecoveryCause::Ecn => CaState::Reduced,
        };
        self.call(now, Call::Recovery(Recovery::Enter(cause)), observer);
        if self.owner == RecoveryOwner::Prr {
            self.prr = Some(Prr::new(
                self.conn.smss,
                self.controller.decision().ssthresh,
                prior_inflight,
            ));
        }
    }

    pub(super) fn leave(&mut self, now: Time, change: Recovery, observer: &mut dyn Observer) {
        self.episode = None;
        self.undo &= change == Recovery::Exit;
        self.conn.state = CaState::Open;
        self.prr = None;
        self.call(now, Call::Recovery(change), observer);
    }
}
