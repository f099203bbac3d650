//! An application whose write rate changes over time.

use fullpipe_units::{Bytes, Draw, Rate, Rng, Span, Time};

use super::Segmentation;

/// An application whose rate changes; it may pause or be unlimited for a time.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Current rate of payload; `None` for unlimited.
    rate: Option<Rate>,
    /// Time of the latest change of rate, and the bytes written by then.
    since: Time,
    base: Bytes,
    /// Future changes, latest first.
    later: Vec<(Time, Option<Rate>)>,
    /// Source of further changes once `later` is empty, if any.
    cycle: Option<Cycle>,
    /// Bytes after which the application ends; `None` if it never ends.
    bytes: Option<Bytes>,
}

/// Alternates between writing and pausing.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Duration of a writing period.
    pub on: Draw<Span>,
    /// Duration of a pause.
    pub off: Draw<Span>,
    /// Rate while writing; `None` for unlimited.
    pub rate: Option<Rate>,
    /// Random stream of the durations.
    pub rng: Rng,
    /// Whether the next change is a pause.
    pauses: bool,
}

impl Cycle {
    /// Creates a cycle that begins by writing.
    pub fn new(on: Draw<Span>, off: Draw<Span>, rate: Option<Rate>, rng: Rng) -> Cycle {
        Cycle {
            on,
            off,
            rate,
            rng,
            pauses: true,
        }
    }

    /// Returns the infinite sequence of changes as (time, rate from then on), for a connection that
    /// opened at `opened`.
    pub fn changes(mut self, opened: Time) -> impl Iterator<Item = (Time, Option<Rate>)> {
        std::iter::successors(Some((opened, None)), move |(at, _)| Some(self.next(*at))).skip(1)
    }

    /// Returns the change that follows one at `at`.
    fn next(&mut self, at: Time) -> (Time, Option<Rate>) {
        let (length, rate) = if self.pauses {
            (self.on, Some(Rate::ZERO))
        } else {
            (self.off, self.rate)
        };
        self.pauses = !self.pauses;
        (at + length.next(&mut self.rng), rate)
    }
}

impl Schedule {
    /// Creates a schedule that starts with rate `first` and changes to another rate at each of the
    /// given times, which must be in order. A rate of `None` is unlimited.
    pub fn new(
        first: Option<Rate>,
        changes: impl IntoIterator<Item = (Time, Option<Rate>)>,
        bytes: Option<Bytes>,
    ) -> Schedule {
        let mut later: Vec<_> = changes.into_iter().collect();
        later.reverse();
        Schedule {
            rate: first,
            since: Time::ZERO,
            base: Bytes::ZERO,
            later,
            cycle: None,
            bytes,
        }
    }

    /// Creates a schedule that alternates between writing and pausing from the opening of the
    /// connection.
    pub fn cycle(cycle: Cycle, bytes: Option<Bytes>) -> Schedule {
        Schedule {
            cycle: Some(cycle.clone()),
            ..Schedule::new(cycle.rate, [], bytes)
        }
    }

    /// Returns the total bytes to write, if the application ends.
    pub(super) fn bytes(&self) -> Option<Bytes> {
        self.bytes
    }

    /// As [`App::written`](super::App). An unlimited application has written the data that the sender has accepted
    /// by the moment its rate changes: those it sent, and those in its buffer.
    pub(super) fn written(
        &mut self,
        opened: Time,
        now: Time,
        accepted: u64,
        segments: Segmentation,
    ) -> u64 {
        while let Some((at, rate)) = self.next_change(opened, now) {
            self.base = self
                .bytes_at(opened, at)
                .unwrap_or(segments.smss * accepted);
            (self.rate, self.since) = (rate, at);
        }
        match (self.bytes_at(opened, now), self.bytes) {
            (None, _) => segments.total,
            (Some(written), Some(bytes)) if written >= bytes => segments.total,
            (Some(written), _) => segments.full(written),
        }
    }

    /// Removes and returns the earliest pending change, if it is due.
    fn next_change(&mut self, opened: Time, now: Time) -> Option<(Time, Option<Rate>)> {
        if self.later.is_empty()
            && let Some(cycle) = &mut self.cycle
        {
            self.later.push(cycle.next(self.since.max(opened)));
        }
        self.later.pop_if(|(at, _)| *at <= now)
    }

    /// Returns the bytes written by `at` under the current rate; `None` if the rate is unlimited.
    fn bytes_at(&self, opened: Time, at: Time) -> Option<Bytes> {
        self.rate
            .map(|rate| self.base + rate.bytes_in(at.since(self.since.max(opened))))
    }

    /// As [`App::ready_at`](super::App), or the time of the next change if that is earlier.
    pub(super) fn ready_at(&self, opened: Time, seq: u64, segments: Segmentation) -> Time {
        let change = self.later.last().map_or(Time::MAX, |(at, _)| *at);
        let ready = match self.rate {
            Some(rate) if rate > Rate::ZERO && seq < segments.total => {
                let end = self
                    .bytes
                    .unwrap_or(Bytes::MAX)
                    .min(segments.smss * (seq + 1));
                self.since.max(opened)
                    + rate.time_for(end.saturating_sub(self.base))
                    + Span::from_nanos(1)
            }
            _ => Time::MAX,
        };
        ready.min(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::App;
    use crate::wire::SMSS;

    #[test]
    fn a_schedule_pauses_has_no_limit_for_a_time_and_goes_on_from_what_was_sent() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let ten = Rate::from_bps(1448 * 8 * 10);
        let changes = [
            (at(1000), Some(Rate::ZERO)),
            (at(3000), None),
            (at(4000), Some(ten)),
        ];
        let mut app = App::Scheduled(Box::new(Schedule::new(Some(ten), changes, None)));
        let opened = at(100);
        assert_eq!(app.written(opened, at(600), 0, 0, app.segments(SMSS)), 5);
        assert_eq!(
            app.ready_at(opened, 5, app.segments(SMSS)),
            at(700) + Span::from_nanos(1)
        );
        assert_eq!(
            app.written(opened, at(1000), 0, 5, app.segments(SMSS)),
            9,
            "data written before the pause is sent during it"
        );
        assert_eq!(app.written(opened, at(2999), 0, 9, app.segments(SMSS)), 9);
        assert_eq!(
            app.ready_at(opened, 9, app.segments(SMSS)),
            at(3000),
            "the pause ends"
        );
        assert_eq!(
            app.written(opened, at(3000), 0, 9, app.segments(SMSS)),
            u64::MAX
        );
        assert_eq!(
            app.written(opened, at(4200), 0, 500, app.segments(SMSS)),
            502,
            "whole segments after those already sent"
        );
        assert_eq!(
            app.ready_at(opened, 502, app.segments(SMSS)),
            at(4300) + Span::from_nanos(1)
        );
    }

    #[test]
    fn a_schedule_ends_with_its_last_byte() {
        let second = Time::ZERO + Span::from_secs(1);
        let schedule = Schedule::new(
            None,
            [(second, Some(Rate::from_mbps(1)))],
            Some(Bytes::new(2_000)),
        );
        let mut app = App::Scheduled(Box::new(schedule));
        assert_eq!(
            (
                app.segments(SMSS).total,
                app.size(0, SMSS),
                app.size(1, SMSS)
            ),
            (2, 1448, 552)
        );
        assert_eq!(
            app.written(Time::ZERO, Time::ZERO, 0, 0, app.segments(SMSS)),
            2
        );
        assert_eq!(
            app.written(
                Time::ZERO,
                second + Span::from_secs(9),
                0,
                0,
                app.segments(SMSS)
            ),
            2
        );
        assert_eq!(app.ready_at(Time::ZERO, 2, app.segments(SMSS)), Time::MAX);
    }

    #[test]
    fn a_cycle_writes_and_pauses_in_turn_from_the_opening_on() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let constant = |ms| Draw::Constant(Span::from_millis(ms));
        let rng = Rng::stream(1, "flow", "app");
        let cycle = Cycle::new(constant(200), constant(100), None, rng.clone());
        let mut app = App::Scheduled(Box::new(Schedule::cycle(cycle, None)));
        let opened = at(50);
        assert_eq!(
            app.written(opened, opened, 0, 0, app.segments(SMSS)),
            u64::MAX
        );
        assert_eq!(
            app.written(opened, at(249), 10, 20, app.segments(SMSS)),
            u64::MAX
        );
        assert_eq!(
            app.written(opened, at(250), 20, 30, app.segments(SMSS)),
            30,
            "the data sent by then"
        );
        assert_eq!(app.ready_at(opened, 30, app.segments(SMSS)), at(350));
        assert_eq!(
            app.written(opened, at(350), 30, 30, app.segments(SMSS)),
            u64::MAX
        );
        assert_eq!(app.written(opened, at(550), 70, 80, app.segments(SMSS)), 80);
        // With a rate, data that was written but not yet sent is sent during the pause.
        let rate = Some(Rate::from_bps(1448 * 8 * 100));
        let cycle = Cycle::new(constant(200), constant(100), rate, rng);
        let mut app = App::Scheduled(Box::new(Schedule::cycle(cycle, None)));
        assert_eq!(app.written(opened, at(300), 3, 5, app.segments(SMSS)), 20);
        assert_eq!(
            app.written(opened, at(400), 20, 20, app.segments(SMSS)),
            25,
            "50 ms after the pause ends"
        );
    }
}
