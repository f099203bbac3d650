//! Limits of a flow: from the kernel's own clocks (tcp_chrono) where it has them, otherwise from
//! the flow's state.

use fullpipe_scenario::SendBuffer;
use fullpipe_tcp::{LIMITS, Limit};
use fullpipe_trace::{FlowSummary, MeasuredTime};
use fullpipe_units::{Bytes, Span, Time};

use super::info::Info;

/// The longest tick of the kernel's clocks (HZ = 100).
const TICK: Span = Span::from_millis(10);
/// TCP_CA_Recovery.
const RECOVERY: u8 = 3;

/// Returns what limits a flow with data in flight. Linux has no clock for these limits.
fn state(info: &Info, paced: bool) -> Limit {
    if info.ca_state >= RECOVERY {
        Limit::Recovery
    } else if info.unsent == Bytes::ZERO && info.inflight < info.cwnd {
        // With a full window, more data could not be sent either.
        Limit::Application
    } else if paced && info.inflight < info.cwnd {
        Limit::Pacing
    } else {
        Limit::Cwnd
    }
}

/// Divides the time between two samples among the limits of the flow.
fn between(
    before: Option<&(Time, Info)>,
    (now, info): &(Time, Info),
    paced: bool,
) -> [Span; LIMITS.len()] {
    let mut held = [Span::ZERO; LIMITS.len()];
    let Some((then, old)) = before else {
        return held;
    };
    let span = now.since(*then);
    // The kernel's clocks advance in ticks of up to 10 ms.
    let mut left = span;
    let mut take = |limit: Limit, time: Span| {
        let time = time.min(left);
        held[limit as usize] += time;
        left = left.saturating_sub(time);
    };
    take(
        Limit::ReceiveWindow,
        info.receive_window.saturating_sub(old.receive_window),
    );
    take(
        Limit::SendBuffer,
        info.send_buffer.saturating_sub(old.send_buffer),
    );
    let busy = info.busy.saturating_sub(old.busy);
    let idle = span.saturating_sub(busy);
    // A tick counts as busy or idle as a whole. Between two ticks a busy clock stands still, too.
    take(
        Limit::Application,
        if info.inflight == 0 || (busy == Span::ZERO && span >= TICK) {
            idle
        } else {
            Span::ZERO
        },
    );
    take(state(info, paced), Span::MAX);
    held
}

/// Returns the code of the limit that held longest.
fn most(held: &[Span]) -> u8 {
    let largest = held.iter().enumerate().max_by_key(|(_, span)| **span);
    largest.map_or(0, |(index, _)| index as u8)
}

/// Code of the limit at each sample, and the time for which each limit held.
pub(crate) type Limits = (Vec<u8>, [Span; LIMITS.len()]);

/// Returns what limited the flow between each sample and the previous one, and the time for which
/// each limit held within `window`.
pub(crate) fn limits(
    start: Time,
    opened: Option<Time>,
    ended: Time,
    samples: &[(Time, Info)],
    paced: bool,
    window: MeasuredTime,
) -> Limits {
    let mut held = [Span::ZERO; LIMITS.len()];
    let (from, ended) = (start.max(window.from), ended.min(window.to));
    held[Limit::Handshake as usize] = opened.unwrap_or(ended).min(ended).since(from);
    let mut codes = Vec::with_capacity(samples.len());
    for (index, sample) in samples.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &samples[before]);
        let part = between(before, sample, paced);
        codes.push(if before.is_some() {
            most(&part)
        } else {
            state(&sample.1, paced) as u8
        });
        // Exclude time before the window and after the last byte.
        if before.is_some_and(|(then, _)| *then >= from) && sample.0 <= ended {
            held.iter_mut()
                .zip(part)
                .for_each(|(sum, part)| *sum += part);
        }
    }
    (codes, held)
}

/// Share of the time above which a limit of the hosts, if unintended, makes a run doubtful.
pub(super) const SPOILS: f64 = 0.01;

/// Returns warnings about a flow that the hosts limited unintentionally.
pub(super) fn spoiled(spec: &fullpipe_scenario::Flow, metrics: &FlowSummary) -> Vec<String> {
    let share = |limit: Limit| {
        metrics
            .limited_by
            .get(LIMITS[limit as usize])
            .copied()
            .unwrap_or(0.0)
    };
    let words = |limit, what: &str, fix: &str| {
        let share = share(limit);
        let text = || {
            format!(
                "flow {:?} was limited by its {what} for {:.0} % of the time: {fix}",
                spec.name,
                share * 100.0
            )
        };
        (share > SPOILS).then(text)
    };
    let window = words(
        Limit::ReceiveWindow,
        "receive window",
        "the receiver did not read in time, or its kernel granted less",
    );
    let window = window.filter(|_| spec.receive_window.is_none());
    let buffer = words(
        Limit::SendBuffer,
        "send buffer",
        "the sender did not write in time: was the machine too busy?",
    );
    let buffer = buffer.filter(|_| spec.stack.send_buffer == SendBuffer::Unlimited);
    window.into_iter().chain(buffer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn info(busy: u64, receive_window: u64, inflight: u64) -> Info {
        let ms = Span::from_millis;
        let (busy, receive_window, unsent) = (ms(busy), ms(receive_window), Bytes::new(1));
        Info {
            busy,
            receive_window,
            unsent,
            inflight,
            cwnd: 10,
            ..Info::read(&[])
        }
    }

    #[test]
    fn a_clock_between_two_ticks_does_not_make_a_flow_idle() {
        // Samples each millisecond of a flow with a full window; the clock ticks each 4 ms.
        let samples: Vec<_> = (0..12)
            .map(|ms| (at(ms), info(ms / 4 * 4, 0, 10)))
            .collect();
        let window = MeasuredTime::new(at(0), at(12));
        let (codes, held) = limits(at(0), Some(at(0)), at(12), &samples, false, window);
        assert!(codes.iter().all(|code| *code == Limit::Cwnd as u8));
        assert_eq!(held[Limit::Cwnd as usize], Span::from_millis(11));
    }

    #[test]
    fn time_is_what_the_kernels_clocks_say_and_the_rest_is_told_by_state() {
        let recovering = Info {
            ca_state: 4,
            ..info(40, 10, 5)
        };
        let samples = [
            (at(20), info(0, 0, 10)),
            (at(30), info(10, 0, 10)),
            (at(40), info(20, 10, 10)),
            (at(50), info(30, 10, 4)),
            (at(60), recovering),
            (at(70), info(40, 10, 0)),
            (
                at(80),
                Info {
                    unsent: Bytes::ZERO,
                    ..info(50, 10, 3)
                },
            ),
            (
                at(90),
                Info {
                    unsent: Bytes::ZERO,
                    ..info(60, 10, 10)
                },
            ),
        ];
        let window = MeasuredTime::new(at(0), at(100));
        let (codes, held) = limits(at(0), Some(at(20)), at(90), &samples, true, window);
        let named: Vec<&str> = codes
            .iter()
            .map(|code| LIMITS[usize::from(*code)])
            .collect();
        assert_eq!(
            named,
            [
                "cwnd",
                "cwnd",
                "receive_window",
                "pacing",
                "recovery",
                "application",
                "application",
                "cwnd"
            ]
        );
        let ms = |limit: Limit| held[limit as usize].as_nanos() / 1_000_000;
        assert_eq!(ms(Limit::Handshake), 20);
        let others = [
            Limit::Cwnd,
            Limit::ReceiveWindow,
            Limit::Pacing,
            Limit::Recovery,
        ];
        assert_eq!(
            (others.map(ms), ms(Limit::Application)),
            ([20, 10, 10, 10], 20)
        );
    }
}
