//! Model of a host: CPU time for packets and system calls, and wake-up latency.
//!
//! A program that implements a transport waits for packets and timers, and works in turns: it
//! wakes, reads the packets that have arrived, and sends the packets that may leave. While it
//! works, everything else waits; while it sleeps, the next event must wake it first.

use fullpipe_units::{Rng, Span, Time};

/// CPU times of operations.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Time to send a data packet.
    pub send: Span,
    /// Time to receive a data packet.
    pub receive: Span,
    /// Time to send or receive an ACK.
    pub ack: Span,
    /// Time of a system call, which sends or receives a batch.
    pub call: Span,
    /// Maximum packets per batch.
    pub batch: u32,
}

impl Costs {
    /// Returns all costs multiplied by `factor`, as on a slower or faster machine.
    pub fn scaled(self, factor: f64) -> Costs {
        let [send, receive, ack, call] =
            [self.send, self.receive, self.ack, self.call].map(|span| span.mul_f64(factor));
        Costs {
            send,
            receive,
            ack,
            call,
            batch: self.batch,
        }
    }

    /// Returns the cost of one call with `packets` packets that cost `each`.
    pub fn of_call(&self, packets: usize, each: Span) -> Span {
        if packets == 0 {
            Span::ZERO
        } else {
            self.call + each * packets as u64
        }
    }
}

/// Wake-up latency: a bounded Pareto distribution, since most wake-ups are quick and some take a
/// hundred times as long.
#[derive(Clone, Copy, Debug)]
pub struct WakeUp {
    min: f64,
    /// Exponent of the tail, and (min / max) to the power of the exponent.
    shape: f64,
    last: f64,
}

impl WakeUp {
    /// No latency.
    pub const NONE: WakeUp = WakeUp {
        min: 0.0,
        shape: 1.0,
        last: 1.0,
    };

    /// Creates a distribution from `min` to `max` with the given median, which must be below the
    /// geometric mean of `min` and `max` for a Pareto tail to exist.
    pub fn new(min: Span, median: Span, max: Span) -> WakeUp {
        let [min, median, max] = [min, median, max].map(|span| span.as_nanos() as f64);
        if min == 0.0 || min == max {
            return WakeUp {
                min,
                shape: 1.0,
                last: 1.0,
            };
        }
        // The distribution function, 1 - (min/x)^shape over 1 - (min/max)^shape, grows with the
        // shape at every x.
        let below_median = |shape: f64| {
            (1.0 - libm::pow(min / median, shape)) / (1.0 - libm::pow(min / max, shape))
        };
        let (mut low, mut high) = (1e-6, 1e3);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if below_median(middle) < 0.5 {
                low = middle
            } else {
                high = middle
            }
        }
        WakeUp {
            min,
            shape: low,
            last: libm::pow(min / max, low),
        }
    }

    /// Returns the latency at quantile `u`, in [0, 1).
    fn quantile(&self, u: f64) -> Span {
        Span::from_nanos(
            (self.min * libm::pow(1.0 - u * (1.0 - self.last), -1.0 / self.shape)) as u64,
        )
    }
}

/// One thread of a program: busy or asleep.
#[derive(Debug)]
pub struct Cpu {
    wake: WakeUp,
    rng: Rng,
    free_at: Time,
    /// Latency of the wake-up from the current sleep.
    latency: Span,
}

impl Cpu {
    /// Creates a thread that sleeps from `now` on.
    pub fn new(wake: WakeUp, rng: Rng, now: Time) -> Cpu {
        let mut cpu = Cpu {
            wake,
            rng,
            free_at: now,
            latency: Span::ZERO,
        };
        cpu.rest();
        cpu
    }

    /// Returns the time at which the last turn's work is done.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Returns the time at which the next turn begins if `event` is the next thing to do: after the
    /// current turn, or after the wake-up.
    pub fn turn_at(&self, event: Time) -> Time {
        match event {
            Time::MAX => Time::MAX,
            event if event <= self.free_at => self.free_at,
            event => event + self.latency,
        }
    }

    /// Begins a turn.
    pub fn begin(&mut self, now: Time) {
        debug_assert!(now >= self.free_at, "one turn at a time");
        self.free_at = now;
    }

    /// Works for `span`. Returns the time at which the work is done.
    pub fn work(&mut self, span: Span) -> Time {
        self.free_at += span;
        self.free_at
    }

    /// Ends the turn. Draws one latency per turn, whether the thread sleeps or not, so that later
    /// draws don't depend on timing.
    pub fn rest(&mut self) {
        self.latency = self.wake.quantile(self.rng.unit());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_have_the_ends_and_the_median_that_were_given() {
        let us = Span::from_micros;
        let wake = WakeUp::new(us(5), us(20), us(1_000));
        assert_eq!(wake.quantile(0.0), us(5));
        let near = |u: f64, expected: f64| {
            let got = wake.quantile(u).as_secs_f64() * 1e6;
            assert!(
                (got / expected - 1.0).abs() < 1e-3,
                "{got} us at {u}, not {expected}"
            );
        };
        near(0.5, 20.0);
        near(1.0 - 1e-12, 1_000.0);
        let mut rng = Rng::stream(1, "host", "test");
        let below = (0..100_000)
            .filter(|_| wake.quantile(rng.unit()) <= us(20))
            .count();
        assert!(
            (49_500..50_500).contains(&below),
            "{below} of 100000 below the median"
        );
    }

    #[test]
    fn a_constant_latency_is_constant() {
        let us = Span::from_micros;
        assert_eq!(WakeUp::new(us(7), us(7), us(7)).quantile(0.9), us(7));
        assert_eq!(WakeUp::NONE.quantile(0.9), Span::ZERO);
    }

    #[test]
    fn who_is_busy_need_not_wake() {
        let us = |us: u64| Time::ZERO + Span::from_micros(us);
        let latency = Span::from_micros(50);
        let mut cpu = Cpu::new(
            WakeUp::new(latency, latency, latency),
            Rng::stream(1, "host", "test"),
            us(0),
        );
        assert_eq!(cpu.turn_at(us(10)), us(60), "asleep");
        cpu.begin(us(60));
        assert_eq!(cpu.work(Span::from_micros(5)), us(65));
        cpu.rest();
        assert_eq!(cpu.turn_at(us(63)), us(65), "busy");
        assert_eq!(cpu.turn_at(us(66)), us(116), "asleep again");
        assert_eq!(cpu.turn_at(Time::MAX), Time::MAX, "nothing to do");
    }
}
