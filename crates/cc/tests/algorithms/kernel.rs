//! CUBIC's profile "linux" and BBRv1, compared with the TCP of real kernels (Linux 6.12 and 6.1)
//! over their own netem, in simulated time: one flow for 30 or 60 s, without the first 2 s, with fq
//! pacing.
//!
//! The path here is far simpler than the kernel's (no delayed ACKs, no offload, no PRR), so the
//! agreement is due to the control algorithm itself.

use fullpipe_units::{Rate, Span, Time};

use super::driver::word;
use super::path::Path;

/// A measured path, and the kernel's results on it.
struct Measured {
    mbps: u64,
    delay_ms: u64,
    /// Queue limit, in packets; netem's limit includes the packet in service.
    limit: u64,
    seconds: u64,
    /// Goodput in Mbit/s, mean RTT and 95th percentile of the RTT in ms.
    cubic: [f64; 3],
    bbr1: [f64; 3],
}

const KERNEL: [Measured; 5] = [
    Measured {
        mbps: 100,
        delay_ms: 50,
        limit: 3_332,
        seconds: 60,
        cubic: [96.53, 377.7, 443.3],
        bbr1: [94.29, 53.6, 63.4],
    },
    Measured {
        mbps: 20,
        delay_ms: 20,
        limit: 399,
        seconds: 30,
        cubic: [19.31, 219.6, 258.6],
        bbr1: [19.01, 24.7, 28.1],
    },
    Measured {
        mbps: 40,
        delay_ms: 120,
        limit: 399,
        seconds: 30,
        cubic: [38.61, 206.9, 237.6],
        bbr1: [37.52, 126.6, 148.8],
    },
    Measured {
        mbps: 40,
        delay_ms: 40,
        limit: 199,
        seconds: 30,
        cubic: [38.61, 85.9, 98.4],
        bbr1: [37.92, 43.4, 51.0],
    },
    Measured {
        mbps: 40,
        delay_ms: 4,
        limit: 199,
        seconds: 30,
        cubic: [38.61, 56.6, 63.3],
        bbr1: [38.14, 7.3, 8.1],
    },
];

/// Measures goodput, mean RTT and 95th percentile of the RTT, after the first two seconds.
fn measure(mut path: Path, seconds: u64) -> [f64; 3] {
    const SKIPPED: u64 = 2;
    path.run(Time::ZERO + Span::from_secs(SKIPPED), |_, _| {});
    let before = path.conn.delivered;
    let mut rtts = Vec::new();
    path.run(Time::ZERO + Span::from_secs(seconds), |_, rtt| {
        rtts.push(rtt.as_secs_f64() * 1e3)
    });
    let goodput = (path.conn.delivered - before).as_f64() * 8e-6 / (seconds - SKIPPED) as f64;
    let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
    rtts.sort_by(f64::total_cmp);
    [goodput, mean, rtts[rtts.len() * 95 / 100]]
}

fn assert_agrees(what: &str, found: [f64; 3], kernel: [f64; 3], tolerance: [f64; 3]) {
    for i in 0..3 {
        let error = found[i] / kernel[i] - 1.0;
        let name = ["goodput", "mean RTT", "p95 RTT"][i];
        assert!(
            error.abs() <= tolerance[i],
            "{what}, {name}: {:.2}, the kernel's {}",
            found[i],
            kernel[i]
        );
    }
}

#[test]
fn cubic_as_linux_has_it() {
    for at in &KERNEL {
        let params = [("profile", word("linux")), ("slow_start", word("hystart"))];
        let path = Path::new(
            "cubic",
            &params,
            Rate::from_mbps(at.mbps),
            Span::from_millis(at.delay_ms),
            at.limit,
        )
        .paced();
        let found = measure(path, at.seconds);
        assert_agrees(
            &format!("CUBIC at {} Mbit/s", at.mbps),
            found,
            at.cubic,
            [0.002, 0.01, 0.02],
        );
    }
}

#[test]
fn bbr1_as_linux_has_it() {
    for at in &KERNEL {
        let path = Path::new(
            "bbr1",
            &[],
            Rate::from_mbps(at.mbps),
            Span::from_millis(at.delay_ms),
            at.limit,
        );
        let found = measure(path, at.seconds);
        // At 20 Mbit/s and 20 ms, a difference of one packet in the queue is 4 % of the RTT.
        assert_agrees(
            &format!("BBRv1 at {} Mbit/s", at.mbps),
            found,
            at.bbr1,
            [0.005, 0.02, 0.04],
        );
    }
}
