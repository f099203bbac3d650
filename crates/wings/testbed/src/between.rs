//! The common part of runs in real time: the path between the ends of a bed while work is done
//! there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use fullpipe_emulator::Emulator;
use fullpipe_scenario::{Error, Scenario};
use fullpipe_trace::LinkSummary;

use crate::cpu::Cpu;
use crate::forward::{Forwarder, Route, Side, Tap, Timeliness};
use crate::{Bed, Clock, SandboxError, capacity, facts, privileges};

/// Results of the path.
#[derive(Debug)]
pub struct Between<T> {
    /// The tap, with its observations.
    pub tap: T,
    /// The links' metrics.
    pub links: Vec<LinkSummary>,
    /// Facts about the machine.
    pub host: BTreeMap<&'static str, String>,
    /// Reasons not to trust the run.
    pub warnings: Vec<String>,
}

/// Creates a bed on a machine that can pace the scenario's path.
///
/// # Errors
/// When the machine does not allow a bed; the inner error, when it can't pace the path.
pub fn raise(scenario: &Scenario) -> Result<Result<Bed, Error>, SandboxError> {
    let bed = Bed::raise()?;
    let most = capacity::measure(&bed, scenario)?;
    Ok(capacity::check(scenario, most).map(|()| bed))
}

/// Creates a bed on a simulated clock, where every path can be paced.
///
/// # Errors
/// When the kernel does not allow a bed.
pub(crate) fn raise_simulated() -> Result<Bed, SandboxError> {
    Bed::raise_simulated()
}

/// Share of busy CPU time above which threads have to wait for a CPU.
const SATURATED: f64 = 0.9;

/// Forwards between the ends of `bed` over the scenario's path while `work` runs, in this thread
/// and without capabilities. The near end sends in the forward direction.
pub fn between<T: Tap, R>(
    bed: &mut Bed,
    scenario: &Scenario,
    clock: Clock,
    route: impl Route + Send,
    tap: T,
    work: impl FnOnce() -> R,
) -> (R, Between<T>) {
    let path = Emulator::new(scenario, fullpipe_emulator::whole(scenario));
    let mut forwarder = Forwarder::new(bed, path, clock, Side::Near, route, tap);
    let before = Cpu::now();
    let stop = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| forwarder.run_in_front(&stop));
        let _ = privileges::drop_all();
        // Stops the forwarder even if the work panics: the scope waits for it.
        let _stopper = Stopper(&stop);
        work()
    });
    let busy = before.busy_since();
    let (path, tap, timeliness) = forwarder.finish(bed);
    let links = path.summaries(fullpipe_units::Time::ZERO + scenario.duration);
    // A simulated clock knows no load.
    let busy = if bed.simulated { 0.0 } else { busy };
    let unread = bed.near.unread() + bed.far.unread();
    let host = facts::host(&timeliness, busy);
    (
        result,
        Between {
            tap,
            links,
            host,
            warnings: warnings(timeliness, busy, unread),
        },
    )
}

struct Stopper<'a>(&'a AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn warnings(timeliness: Timeliness, busy: f64, unread: u64) -> Vec<String> {
    let saturated = format!(
        "the CPUs were busy for {:.0} % of the time: use a slower path or a quieter machine",
        busy * 100.0
    );
    let full = format!(
        "{unread} UDP packets arrived and were dropped, since the receive buffer of their socket was full: \
         let the program set SO_RCVBUF, raise net.core.rmem_default, or use a slower path"
    );
    timeliness
        .doubts
        .into_iter()
        .chain((busy > SATURATED).then_some(saturated))
        .chain((unread > 0).then_some(full))
        .collect()
}
