//! What a host takes: CPU time for packets and system calls, and the time to wake up.
//!
//! A program that speaks a transport waits for packets and timers, and takes turns: it wakes, reads
//! what has come, and sends what it may. While it works, everything else waits; while it sleeps,
//! what comes next has to wake it first.

use fullpipe_units::{Rng, Span, Time};

/// CPU time.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Of sending a data packet.
    pub send: Span,
    /// Of receiving a data packet.
    pub receive: Span,
    /// Of sending or receiving an ACK.
    pub ack: Span,
    /// Of a system call, which sends or receives a batch.
    pub call: Span,
    /// Packets in a batch, at most.
    pub batch: u32,
}

impl Costs {
    /// All of them `factor` times as large, as on another machine.
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

    /// Of one call with `packets` of `each` in it.
    pub fn of_call(&self, packets: usize, each: Span) -> Span {
        if packets == 0 {
            Span::ZERO
        } else {
            self.call + each * packets as u64
        }
    }
}

/// How long it takes to wake up: a bounded Pareto distribution, since most wake-ups are quick and
/// some take hundred times as long.
#[derive(Clone, Copy, Debug)]
pub struct WakeUp {
    min: f64,
    /// The tail's exponent, and (min / max) to its power.
    shape: f64,
    last: f64,
}

impl WakeUp {
    /// At once.
    pub const NONE: WakeUp = WakeUp {
        min: 0.0,
        shape: 1.0,
        last: 1.0,
    };

    /// From `min` to `max`, half of them up to `median`; that is below the ends' geometric mean, or
    /// the tail would not be one.
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

    /// The latency that `u`, uniform in [0, 1), stands for.
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
    /// How long the wake-up from the present sleep takes.
    latency: Span,
}

impl Cpu {
    /// Asleep from `now` on.
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

    /// When the last turn's work is done.
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// When the next turn begins, if `event` is the first thing to do: after the present one, or
    /// when it has woken.
    pub fn turn_at(&self, event: Time) -> Time {
        match event {
            Time::MAX => Time::MAX,
            event if event <= self.free_at => self.free_at,
            event => event + self.latency,
        }
    }

    /// A turn begins.
    pub fn begin(&mut self, now: Time) {
        debug_assert!(now >= self.free_at, "one turn at a time");
        self.free_at = now;
    }

    /// It works for so long; when that is done.
    pub fn work(&mut self, span: Span) -> Time {
        self.free_at += span;
        self.free_at
    }

    /// The turn is over. Draws one latency a turn, slept or not: what others draw must not depend
    /// on who asks when.
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
