//! The state machine: what states there are, and which may follow which.

/// `enum bbr_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Ramp up quickly to fill the pipe.
    Startup,
    /// Drain the queue that Startup made.
    Drain,
    /// Use the pipe, and look now and then whether it has become wider.
    ProbeBw,
    /// Let the queue run empty to see the path's RTT.
    ProbeRtt,
}

impl State {
    /// The names in transitions and traces, by discriminant.
    pub(super) const NAMES: &[&str] = &["startup", "drain", "probe_bw", "probe_rtt"];

    /// The name.
    pub(super) const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether the machine has an arrow from here to there: the diagram that opens Linux's
    /// `tcp_bbr.c`.
    pub(super) const fn may_become(self, next: State) -> bool {
        use State::{Drain, ProbeBw, ProbeRtt, Startup};
        matches!(
            (self, next),
            (Startup, Drain)
                | (Drain, ProbeBw)
                | (Startup | Drain | ProbeBw, ProbeRtt)
                | (ProbeRtt, Startup | ProbeBw)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::State::{self, Drain, ProbeBw, ProbeRtt, Startup};

    #[test]
    fn no_state_leads_back_to_itself_and_startup_never_to_probe_bw() {
        for state in [Startup, Drain, ProbeBw, ProbeRtt] {
            assert!(!state.may_become(state));
        }
        assert!(!Startup.may_become(ProbeBw));
        assert!(
            !Drain.may_become(Startup)
                && !ProbeBw.may_become(Startup)
                && !ProbeBw.may_become(Drain)
        );
    }

    #[test]
    fn every_state_has_its_name() {
        let names = [Startup, Drain, ProbeBw, ProbeRtt].map(State::name);
        assert_eq!(names, State::NAMES);
    }
}
