//! Samples of the kernel's state of open connections.

use super::{Flow, Run, State};
use crate::agent::record::RecordKind;
use crate::agent::sys;
use crate::agent::{AgentError, failed};

/// Number of arriving flows sampled at a time, at most every 10 ms; they have no rows in a trace.
const SAMPLED: usize = 64;
const SAMPLED_EACH: u64 = 10_000_000;

impl Run<'_> {
    /// Samples all flows that do not arrive, and the next few of those that do.
    pub(super) fn sample_all(&mut self, now: u64) -> Result<(), AgentError> {
        let mut chosen: Vec<usize> = self.open.range(..self.first_arrival).copied().collect();
        let (next, at) = self.sampled;
        if now >= at + SAMPLED_EACH {
            let others = chosen.len();
            chosen.extend(
                self.open
                    .range(next.max(self.first_arrival)..)
                    .take(SAMPLED),
            );
            // After the last of them, sampling begins again with the first.
            let last = chosen.last().filter(|_| chosen.len() - others == SAMPLED);
            self.sampled = (last.map_or(0, |last| last + 1), now);
        }
        chosen
            .into_iter()
            .try_for_each(|index| self.sample(index, now))
    }

    pub(super) fn sample(&mut self, index: usize, now: u64) -> Result<(), AgentError> {
        let flow = &self.flows[index];
        let Flow {
            socket: Some(socket),
            state: State::Open,
            ..
        } = flow
        else {
            return Ok(());
        };
        let mut buffer = [0; 512];
        if !flow.plan.arrives()
            && let Ok(cc @ [_, ..]) = sys::tcp_cc_info(socket, &mut buffer)
        {
            self.writer.add(RecordKind::CcInfo, index, now, cc)?;
        }
        let info = sys::tcp_info(socket, &mut buffer).map_err(failed("TCP_INFO"))?;
        self.writer.add(RecordKind::Info, index, now, info)
    }
}
