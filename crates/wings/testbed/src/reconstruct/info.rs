//! TCP_INFO and TCP_CC_INFO, in the layout of the kernel's `include/uapi/linux/tcp.h` and
//! `inet_diag.h`.

use fullpipe_units::{Bytes, Rate, Span};

/// Fields of TCP_INFO that are used here; zero if an older kernel's struct ends before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Info {
    /// TCP_CA_Open, Disorder, CWR, Recovery, Loss: 0 to 4.
    pub(crate) ca_state: u8,
    pub(crate) mss: u64,
    /// Data that is written but not sent yet.
    pub(crate) unsent: Bytes,
    pub(crate) cwnd: u64,
    /// Packets in flight; `cwnd` is also in packets.
    pub(crate) inflight: u64,
    /// `None` before the first congestion.
    pub(crate) ssthresh: Option<u64>,
    pub(crate) srtt: Span,
    pub(crate) min_rtt: Span,
    pub(crate) pacing_rate: Option<Rate>,
    pub(crate) delivery_rate: Option<Rate>,
    pub(crate) delivered: Bytes,
    /// Data acknowledged cumulatively so far.
    pub(crate) acked: Bytes,
    pub(crate) retransmitted: Bytes,
    pub(crate) busy: Span,
    pub(crate) receive_window: Span,
    pub(crate) send_buffer: Span,
}

/// TCP_INFINITE_SSTHRESH.
const NO_SSTHRESH: u32 = 0x7fff_ffff;

impl Info {
    pub(crate) fn read(bytes: &[u8]) -> Info {
        let word = |at: usize| {
            bytes
                .get(at..at + 4)
                .map_or(0, |word| u32::from_ne_bytes(word.try_into().expect("four")))
        };
        let long = |at: usize| {
            bytes.get(at..at + 8).map_or(0, |long| {
                u64::from_ne_bytes(long.try_into().expect("eight"))
            })
        };
        let count = |at: usize| u64::from(word(at));
        let micros = |us: u64| {
            if us == u64::from(u32::MAX) {
                Span::MAX
            } else {
                Span::from_micros(us)
            }
        };
        let rate = |at: usize| match long(at) {
            0 | u64::MAX => None,
            rate => Some(Rate::from_bps(rate.saturating_mul(8))),
        };
        let (mss, sacked) = (count(16), count(28));
        // The SYN and the FIN count as one acknowledged byte each. The SYN's is subtracted; the
        // FIN's remains in the last sample.
        let acked = long(120).saturating_sub(1);
        Info {
            ca_state: bytes.get(1).copied().unwrap_or(0),
            mss,
            unsent: Bytes::new(count(144)),
            cwnd: count(80),
            inflight: (count(24) + count(36)).saturating_sub(sacked + count(32)),
            ssthresh: Some(word(76))
                .filter(|ssthresh| *ssthresh != NO_SSTHRESH)
                .map(u64::from),
            srtt: micros(count(68)),
            min_rtt: micros(count(148)),
            pacing_rate: rate(104),
            delivery_rate: rate(160),
            delivered: Bytes::new(acked + sacked * mss),
            acked: Bytes::new(acked),
            retransmitted: Bytes::new(long(208)),
            busy: Span::from_micros(long(168)),
            receive_window: Span::from_micros(long(176)),
            send_buffer: Span::from_micros(long(184)),
        }
    }
}

/// Appends an algorithm's TCP_CC_INFO as values of fullpipe's fields; see [`fields`].
pub(crate) fn read_cc(kernel: &str, bytes: &[u8], values: &mut Vec<f64>) {
    let word = |at: usize| {
        bytes.get(at..at + 4).map_or(f64::NAN, |word| {
            f64::from(u32::from_ne_bytes(word.try_into().expect("four")))
        })
    };
    match kernel {
        "bbr" => {
            let (bw, gains) = (
                word(0) + word(4) * 4_294_967_296.0,
                [word(12) / 256.0, word(16) / 256.0],
            );
            values.extend([
                bbr_state(bw, gains),
                bw * 8.0,
                word(8) / 1e6,
                gains[0],
                gains[1],
            ]);
        }
        // In units of 1/1024 (DCTCP_MAX_ALPHA).
        "dctcp" => values.push(word(4) / 1024.0),
        // tcpv_rtt is baseRTT. At the end of a round trip there is no sample yet (0x7fffffff).
        "vegas" => values.extend([word(8), word(12)].map(|us| match us {
            us if us < f64::from(i32::MAX) => us / 1e6,
            _ => f64::NAN,
        })),
        _ => {}
    }
}

/// Returns the fields of [`read_cc`], (name, unit, labels) each, named as in fullpipe's algorithm.
pub(crate) fn fields(
    kernel: &str,
) -> &'static [(&'static str, &'static str, &'static [&'static str])] {
    match kernel {
        "bbr" => &[
            ("state", "", &["startup", "drain", "probe_bw", "probe_rtt"]),
            ("max_bw", "bit/s", &[]),
            ("min_rtt", "s", &[]),
            ("pacing_gain", "", &[]),
            ("cwnd_gain", "", &[]),
        ],
        "dctcp" => &[("alpha", "", &[])],
        "vegas" => &[("base_rtt", "s", &[]), ("rtt", "s", &[])],
        _ => &[],
    }
}

/// Derives bbr_mode from the gains that are unique to each mode: 2.89 both (STARTUP), 0.35 and 2.89
/// (DRAIN), 1 both (PROBE_RTT); else 2 for the window (PROBE_BW). Before the first bandwidth
/// sample, both gains are 1 and the mode is STARTUP.
fn bbr_state(bw: f64, [pacing, cwnd]: [f64; 2]) -> f64 {
    if pacing.is_nan() {
        f64::NAN
    } else if bw == 0.0 {
        0.0
    } else if cwnd > 2.5 {
        if pacing > 1.0 { 0.0 } else { 1.0 }
    } else if cwnd < 1.5 {
        3.0
    } else {
        2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::{LINUX, kernel_equivalent};

    /// Each field that a kernel's algorithm fills is one that fullpipe's algorithm declares.
    #[test]
    fn fields_have_the_names_that_our_algorithms_declare() {
        for kernel in LINUX {
            let ours = kernel_equivalent(kernel).map_or(kernel, |known| known.ours);
            let Some(descriptor) = fullpipe_cc::Registry::default().get(ours) else {
                continue;
            };
            for (name, unit, labels) in fields(kernel) {
                let known = descriptor.fields.iter().find(|field| field.name == *name);
                let known = known.unwrap_or_else(|| panic!("{ours} has no {name}"));
                assert_eq!((known.unit, known.labels), (*unit, *labels));
            }
        }
    }

    #[test]
    fn bbr_is_in_startup_before_its_first_sample_though_its_gains_are_those_of_probe_rtt() {
        let state = |bw: u32, gains: [u32; 2]| {
            let mut values = Vec::new();
            let words = [bw, 0, 40_000, gains[0], gains[1]];
            read_cc("bbr", &words.map(u32::to_ne_bytes).concat(), &mut values);
            values[0]
        };
        assert_eq!(
            [
                state(0, [256, 256]),
                state(9, [739, 739]),
                state(9, [256, 256])
            ],
            [0.0, 0.0, 3.0]
        );
    }

    #[test]
    fn a_short_tcp_info_gives_what_it_has() {
        let mut bytes = vec![0; 104];
        bytes[16..20].copy_from_slice(&1448_u32.to_ne_bytes());
        bytes[24..28].copy_from_slice(&10_u32.to_ne_bytes());
        bytes[28..32].copy_from_slice(&3_u32.to_ne_bytes());
        bytes[76..80].copy_from_slice(&NO_SSTHRESH.to_ne_bytes());
        bytes[80..84].copy_from_slice(&20_u32.to_ne_bytes());
        let info = Info::read(&bytes);
        assert_eq!(
            (info.cwnd, info.inflight, info.mss, info.ssthresh),
            (20, 7, 1448, None)
        );
        assert_eq!((info.busy, info.pacing_rate), (Span::ZERO, None));
    }
}
