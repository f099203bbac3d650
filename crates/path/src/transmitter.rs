//! Transmitters behind a queue, which send bit by bit at a rate, or at given instants.

use fullpipe_units::{Bytes, Rate, Span, Time};

use crate::{Opportunities, Radio, Rates, Serializer};

/// The way in which a link's packets leave.
#[derive(Clone, Debug)]
pub enum Transmitter {
    /// Bit by bit, at a rate that may change.
    Serial(Serializer, Rates),
    /// At the times of a trace.
    Trace(Opportunities),
    /// In transmissions with a fixed overhead, with silences, or both.
    Radio(Box<Radio>),
}

/// Shortest time over which the rate of a trace is a mean.
const TRACE_WINDOW: Span = Span::from_millis(100);

/// Times that define the weight of a packet in time-weighted metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Start of the time in which a shaper held the packet back at the head of the queue.
    pub held_since: Time,
    /// Start of the transmission; from `held_since` until then, a shaper kept the link from
    /// sending.
    pub start: Time,
    /// Start of the time that counts as sending. With a trace, that time is one nanosecond for each
    /// byte of the opportunities.
    pub sent_from: Time,
}

impl Transmitter {
    /// Creates a transmitter at `rates`.
    pub fn serial(mut rates: Rates) -> Transmitter {
        Transmitter::Serial(Serializer::new(rates.at(Time::ZERO)), rates)
    }

    /// Returns the rate, if it never changes.
    pub fn constant(&self) -> Option<Rate> {
        match self {
            Transmitter::Serial(_, rates) => rates.constant(),
            Transmitter::Trace(_) | Transmitter::Radio(_) => None,
        }
    }

    /// Returns the time at which the last bit of all accepted packets leaves.
    #[inline]
    pub(crate) fn free_at(&self) -> Time {
        match self {
            Transmitter::Serial(serializer, _) => serializer.free_at(),
            Transmitter::Trace(opportunities) => opportunities.free_at(),
            Transmitter::Radio(radio) => radio.free_at(),
        }
    }

    /// Returns whether a packet that arrives at `now` may leave at `now`.
    #[inline]
    pub(crate) fn is_free(&self, now: Time) -> bool {
        match self {
            Transmitter::Serial(serializer, _) => now >= serializer.free_at(),
            Transmitter::Trace(_) => false,
            Transmitter::Radio(radio) => radio.start(now) <= now,
        }
    }

    /// Returns the earliest time at which a packet that arrived at `now` may leave: with a trace
    /// after `now`, since it cannot use an opportunity of that instant.
    #[inline]
    pub(crate) fn after(&self, now: Time) -> Time {
        match self {
            Transmitter::Serial(..) | Transmitter::Radio(_) => now,
            Transmitter::Trace(_) => after(now),
        }
    }

    /// Returns the time at which the first bit of a packet that may leave from `earliest` on
    /// leaves.
    #[inline]
    pub(crate) fn start(&self, earliest: Time) -> Time {
        match self {
            Transmitter::Serial(serializer, _) => serializer.free_at().max(earliest),
            Transmitter::Trace(opportunities) => opportunities.start(earliest),
            Transmitter::Radio(radio) => radio.start(earliest),
        }
    }

    /// Accepts a packet that arrived at `arrived` and may leave from `earliest` on, behind those
    /// accepted before; returns (first bit out, last bit out).
    #[inline]
    pub(crate) fn transmit(&mut self, arrived: Time, earliest: Time, size: Bytes) -> (Time, Time) {
        match self {
            Transmitter::Serial(serializer, rates) => serializer.transmit_at(earliest, size, rates),
            Transmitter::Trace(opportunities) => opportunities.transmit(earliest, size),
            Transmitter::Radio(radio) => radio.transmit(arrived, earliest, size),
        }
    }

    /// Returns the times for the time-weighted metrics of a packet of `size` that was at the head
    /// of the queue from `at_head` on and was sent from `start` to `end`.
    #[inline]
    pub(crate) fn measured(&self, at_head: Time, start: Time, end: Time, size: Bytes) -> Measured {
        match self {
            Transmitter::Serial(..) | Transmitter::Radio(_) => Measured {
                held_since: at_head,
                start,
                sent_from: start,
            },
            Transmitter::Trace(_) => {
                let sent_from = end - Span::from_nanos(Opportunities::charged(size).get());
                Measured {
                    held_since: start,
                    start,
                    sent_from,
                }
            }
        }
    }

    /// Returns the mean rates between each two consecutive times of `edges`; of a trace, in packets
    /// of 1500 bytes.
    pub fn mean_rates(mut self, edges: &[Time]) -> Vec<Rate> {
        edges
            .windows(2)
            .map(|edges| self.mean_rate(edges[0], edges[1]))
            .collect()
    }

    /// Returns the mean rate before each of `times`: since the time before it, the first since zero;
    /// of a trace over 100 ms if that is longer, since packets make it coarse.
    pub fn rates_until(mut self, times: &[Time]) -> Vec<Rate> {
        let mut before = Time::ZERO;
        let mut rate = |at: Time| {
            let from = match self {
                Transmitter::Trace(_) => before.min(at - TRACE_WINDOW),
                _ => before,
            };
            before = at;
            self.mean_rate(from, at)
        };
        times.iter().map(|at| rate(*at)).collect()
    }

    fn mean_rate(&mut self, from: Time, to: Time) -> Rate {
        let sent = match self {
            Transmitter::Serial(_, rates) => bits(rates, from, to),
            Transmitter::Radio(radio) => bits(radio.rates(), from, to),
            Transmitter::Trace(opportunities) => {
                // An opportunity counts in the interval at whose end it lies.
                let number = opportunities.before(after(to)) - opportunities.before(after(from));
                u128::from(number) * u128::from(Opportunities::PACKET.get()) * 8_000_000_000
            }
        };
        let ns = u128::from((to - from).as_nanos()).max(1);
        Rate::from_bps(u64::try_from(sent / ns).unwrap_or(u64::MAX))
    }

    /// Returns the time from `from` to `to` during which the transmitter could have sent, in the
    /// unit of [`Measured::sent_from`].
    pub fn offered(&self, from: Time, to: Time) -> Span {
        match self {
            Transmitter::Serial(..) | Transmitter::Radio(_) => to - from,
            Transmitter::Trace(opportunities) => {
                let number = opportunities.before(after(to)) - opportunities.before(after(from));
                Span::from_nanos(number * Opportunities::SIZE.get())
            }
        }
    }
}

/// Returns the next nanosecond: the first whose opportunities a packet that arrives at `now` can
/// use.
fn after(now: Time) -> Time {
    now + Span::from_nanos(1)
}

/// Returns the integral of the rate, in bit·ns/s.
fn bits(rates: &mut Rates, from: Time, to: Time) -> u128 {
    let (mut now, mut sent) = (from, 0);
    while now < to {
        let rate = rates.at(now).as_bps();
        let until = rates.next_change().min(to);
        sent += u128::from(rate) * u128::from((until - now).as_nanos());
        now = until;
    }
    sent
}
