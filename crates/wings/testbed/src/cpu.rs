//! CPU time of all processors together.

use fullpipe_units::Span;

/// Ticks since boot, by proc(5): 1/100 s on every current platform of Linux.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    all: u64,
    busy: u64,
    stolen: u64,
}

impl Cpu {
    pub(crate) fn now() -> Cpu {
        Cpu::read(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Parses the first line: user, nice, system, idle, iowait, irq, softirq, steal.
    fn read(text: &str) -> Cpu {
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .filter_map(|word| word.parse().ok())
            .collect();
        let idle = ticks.iter().skip(3).take(2).sum::<u64>();
        let all = ticks.iter().sum();
        Cpu {
            all,
            busy: all - idle,
            stolen: ticks.get(7).copied().unwrap_or(0),
        }
    }

    /// Returns the share of busy CPU time since `self`.
    pub(crate) fn busy_since(self) -> f64 {
        let now = Cpu::now();
        (now.busy - self.busy) as f64 / (now.all - self.all).max(1) as f64
    }

    /// Returns the CPU time since `self` that a virtual machine's host gave to others.
    pub(crate) fn stolen_since(self) -> Span {
        Span::from_millis((Cpu::now().stolen - self.stolen) * 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_all_processors() {
        let cpu = Cpu::read("cpu  100 20 30 1000 50 1 2 7 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
        assert_eq!((cpu.all, cpu.busy, cpu.stolen), (1210, 160, 7));
        let bare = Cpu::read("");
        assert_eq!(
            (bare.all, bare.busy, bare.stolen),
            (0, 0, 0),
            "without /proc all counters are zero"
        );
    }
}
