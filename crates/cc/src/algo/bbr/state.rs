//! The state machine: what states there are, and which may follow which (draft-ietf-ccwg-bbr-06
//! §5.1.1).

/// `BBR.state`; Linux has the four of ProbeBW as `cycle_idx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Grow until the pipe is full.
    Startup,
    /// Drain the queue that Startup made.
    Drain,
    /// Drain the queue that probing made, and leave some room.
    ProbeBwDown,
    /// Send what is delivered.
    ProbeBwCruise,
    /// Fill the pipe before probing.
    ProbeBwRefill,
    /// Look for more bandwidth.
    ProbeBwUp,
    /// Let the queue run empty to see the path's RTT.
    ProbeRtt,
}

use State::{Drain, ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp, ProbeRtt, Startup};

impl State {
    /// The names in transitions and traces, by discriminant.
    pub(super) const NAMES: &[&str] = &[
        "startup",
        "drain",
        "probe_bw_down",
        "probe_bw_cruise",
        "probe_bw_refill",
        "probe_bw_up",
        "probe_rtt",
    ];

    /// The name.
    pub(super) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// `IsInAProbeBWState`.
    #[inline]
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(
            self,
            ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp
        )
    }

    /// `IsProbingBW`.
    #[inline]
    pub(super) const fn is_probing(self) -> bool {
        matches!(self, Startup | ProbeBwRefill | ProbeBwUp)
    }

    /// Whether the machine has an arrow from here to there. Those back to Startup and Refill that
    /// the diagram doesn't have are the undo of a spurious loss (§5.5.11.2).
    pub(super) const fn may_become(self, next: State) -> bool {
        matches!(
            (self, next),
            (Startup, Drain)
                | (Drain, ProbeBwDown)
                | (ProbeBwDown, ProbeBwCruise)
                | (ProbeBwDown | ProbeBwCruise, ProbeBwRefill)
                | (ProbeBwRefill, ProbeBwUp)
                | (ProbeBwUp, ProbeBwDown)
                | (ProbeRtt, ProbeBwDown | Startup)
                | (
                    Drain | ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp,
                    Startup
                )
        ) || (!matches!(self, ProbeRtt) && matches!(next, ProbeRtt))
    }
}

/// What ACKs tell about probing: `BBR.ack_phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing.
    Init,
    /// What is sent fills the pipe.
    Refilling,
    /// Probing; what is acknowledged was sent before.
    ProbeStarting,
    /// Probing, and what is acknowledged was sent meanwhile.
    ProbeFeedback,
    /// No longer probing; what is acknowledged was sent meanwhile.
    ProbeStopping,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [State; 7] = [
        Startup,
        Drain,
        ProbeBwDown,
        ProbeBwCruise,
        ProbeBwRefill,
        ProbeBwUp,
        ProbeRtt,
    ];

    #[test]
    fn no_state_leads_to_itself_and_every_other_state_to_probe_rtt() {
        for state in ALL {
            assert!(!state.may_become(state), "{state:?}");
            assert_eq!(state.may_become(ProbeRtt), state != ProbeRtt, "{state:?}");
        }
    }

    #[test]
    fn probing_comes_after_refilling_and_is_followed_by_going_down() {
        let before_up: Vec<State> = ALL
            .into_iter()
            .filter(|state| state.may_become(ProbeBwUp))
            .collect();
        let after_up: Vec<State> = ALL
            .into_iter()
            .filter(|state| ProbeBwUp.may_become(*state))
            .collect();
        assert_eq!(before_up, [ProbeBwRefill]);
        assert_eq!(after_up, [Startup, ProbeBwDown, ProbeRtt]);
    }

    #[test]
    fn every_state_has_its_name() {
        assert_eq!(ALL.map(State::name), State::NAMES);
    }
}
