//! Writes a socket in the format of `ss`, and omits fields by the same rules (tcp_show_info of
//! ss.c).

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::filter::STATES;
use super::message::{self, half, long, word};

/// Writes the line of a socket, followed by its fields.
pub(super) fn line(message: &[u8], into: &mut Vec<u8>) {
    // Writing into memory can't fail.
    drop(socket(message, into));
    into.push(b'\n');
}

fn socket(message: &[u8], into: &mut Vec<u8>) -> std::io::Result<()> {
    let number = |at: usize| word(message, at).unwrap_or(0);
    let state = usize::from(message[1])
        .checked_sub(1)
        .and_then(|at| STATES.get(at))
        .unwrap_or(&"UNKNOWN");
    write!(into, "{state} {} {}", number(56), number(60))?;
    for (port, address) in [(4, 8), (6, 24)] {
        let port = u16::from_be_bytes([message[port], message[port + 1]]);
        if i32::from(message[0]) == libc::AF_INET {
            let four: [u8; 4] = message[address..address + 4].try_into().expect("four");
            write!(into, " {}:{port}", Ipv4Addr::from(four))?;
        } else {
            let six: [u8; 16] = message[address..address + 16].try_into().expect("sixteen");
            write!(into, " [{}]:{port}", Ipv6Addr::from(six))?;
        }
    }
    let timer = match message[2] {
        0 => None,
        1 => Some("on"),
        2 => Some("keepalive"),
        3 => Some("timewait"),
        4 => Some("persist"),
        _ => Some("unknown"),
    };
    if let Some(timer) = timer {
        write!(into, " timer:({timer},{}ms,{})", number(52), message[3])?;
    }
    if number(64) != 0 {
        write!(into, " uid:{}", number(64))?;
    }
    write!(
        into,
        " ino:{} sk:{:x}",
        number(68),
        u64::from(number(44)) | u64::from(number(48)) << 32
    )?;
    let (mut tcp, mut cong, mut bbr, mut dctcp) = (None, None, None, None);
    for (kind, value) in message::attributes(message) {
        match kind {
            message::SKMEMINFO => memory(value, into)?,
            message::INFO => tcp = Some(value),
            message::CONG => cong = value.split(|byte| *byte == 0).next(),
            message::BBRINFO => bbr = Some(value),
            message::DCTCPINFO => dctcp = Some(value),
            _ => {}
        }
    }
    if let Some(tcp) = tcp {
        info(tcp, cong, bbr, dctcp, into)?;
    }
    Ok(())
}

fn memory(value: &[u8], into: &mut Vec<u8>) -> std::io::Result<()> {
    let names = ["r", "rb", "t", "tb", "f", "w", "o", "bl", "d"];
    for (at, name) in names.into_iter().enumerate() {
        let Some(value) = word(value, at * 4) else {
            break;
        };
        write!(
            into,
            "{}{name}{value}",
            if at == 0 { " skmem:(" } else { "," }
        )?;
    }
    write!(into, ")")
}

/// Writes the TCP fields of a socket, in the order of `ss`.
fn info(
    tcp: &[u8],
    cong: Option<&[u8]>,
    bbr: Option<&[u8]>,
    dctcp: Option<&[u8]>,
    into: &mut Vec<u8>,
) -> std::io::Result<()> {
    let tcp = Info(tcp);
    tcp.options(cong, into)?;
    tcp.timers(into)?;
    tcp.sizes(into)?;
    if let Some(dctcp) = dctcp.filter(|dctcp| half(dctcp, 0).is_some_and(|enabled| enabled != 0)) {
        of_dctcp(dctcp, into)?;
    }
    if let Some(bbr) = bbr {
        of_bbr(bbr, into)?;
    }
    tcp.rates(into)?;
    tcp.progress(into)?;
    tcp.losses(into)?;
    tcp.receiver(into)
}

/// `struct tcp_dctcp_info` of `include/uapi/linux/inet_diag.h`.
fn of_dctcp(dctcp: &[u8], into: &mut Vec<u8>) -> std::io::Result<()> {
    let of = |at: usize| word(dctcp, at).unwrap_or(0);
    let state = half(dctcp, 2).unwrap_or(0);
    write!(
        into,
        " dctcp:(ce_state:{state},alpha:{},ab_ecn:{},ab_tot:{})",
        of(4),
        of(8),
        of(12)
    )
}

/// `struct tcp_bbr_info` of the same header.
fn of_bbr(bbr: &[u8], into: &mut Vec<u8>) -> std::io::Result<()> {
    let of = |at: usize| word(bbr, at).unwrap_or(0);
    let bw = u64::from(of(0)) | u64::from(of(4)) << 32;
    write!(
        into,
        " bbr:(bw:{}bps,mrtt:{}",
        bw.saturating_mul(8),
        Millis(of(8))
    )?;
    for (name, at) in [("pacing_gain", 12), ("cwnd_gain", 16)] {
        if of(at) != 0 {
            write!(into, ",{name}:{}", f64::from(of(at)) / 256.0)?;
        }
    }
    write!(into, ")")
}

/// `struct tcp_info` of `include/uapi/linux/tcp.h`; shorter on older kernels.
struct Info<'a>(&'a [u8]);

impl Info<'_> {
    fn number(&self, at: usize) -> u32 {
        word(self.0, at).unwrap_or(0)
    }

    fn large(&self, at: usize) -> u64 {
        long(self.0, at).unwrap_or(0)
    }

    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// Writes the negotiated options, and the algorithm.
    fn options(&self, cong: Option<&[u8]>, into: &mut Vec<u8>) -> std::io::Result<()> {
        let flags = [
            (1, "ts"),
            (2, "sack"),
            (8, "ecn"),
            (16, "ecnseen"),
            (32, "fastopen"),
        ];
        for (_, flag) in flags.into_iter().filter(|(bit, _)| self.byte(5) & bit != 0) {
            write!(into, " {flag}")?;
        }
        if let Some(cong) = cong {
            into.push(b' ');
            into.extend_from_slice(cong);
        }
        if self.byte(5) & 4 != 0 {
            write!(into, " wscale:{},{}", self.byte(6) & 15, self.byte(6) >> 4)?;
        }
        Ok(())
    }

    /// Writes timers, and the RTT.
    fn timers(&self, into: &mut Vec<u8>) -> std::io::Result<()> {
        if self.number(8) != 3_000_000 {
            millis(into, "rto", self.number(8))?;
        }
        count(into, "backoff", u64::from(self.byte(4)))?;
        if self.number(68) != 0 {
            write!(
                into,
                " rtt:{}/{}",
                Millis(self.number(68)),
                Millis(self.number(72))
            )?;
        }
        millis(into, "ato", self.number(12))?;
        Ok(())
    }

    /// Writes sizes of packets and windows, and amounts sent and received.
    fn sizes(&self, into: &mut Vec<u8>) -> std::io::Result<()> {
        for (name, at) in [
            ("mss", 16),
            ("pmtu", 60),
            ("rcvmss", 20),
            ("advmss", 84),
            ("cwnd", 80),
        ] {
            count(into, name, u64::from(self.number(at)))?;
        }
        if self.number(76) < 0xffff {
            count(into, "ssthresh", u64::from(self.number(76)))?;
        }
        for (name, at) in [
            ("bytes_sent", 200),
            ("bytes_retrans", 208),
            ("bytes_acked", 120),
            ("bytes_received", 128),
        ] {
            count(into, name, self.large(at))?;
        }
        for (name, at) in [
            ("segs_out", 136),
            ("segs_in", 140),
            ("data_segs_out", 156),
            ("data_segs_in", 152),
        ] {
            count(into, name, u64::from(self.number(at)))?;
        }
        Ok(())
    }

    /// Writes rates, and the times since the last packets.
    fn rates(&self, into: &mut Vec<u8>) -> std::io::Result<()> {
        let (cwnd, mss, rtt) = (
            f64::from(self.number(80)),
            f64::from(self.number(16)),
            f64::from(self.number(68)),
        );
        if cwnd * mss > 0.0 && rtt > 0.0 {
            write!(into, " send {:.0}bps", cwnd * mss * 8e6 / rtt)?;
        }
        for (name, at) in [("lastsnd", 44), ("lastrcv", 52), ("lastack", 56)] {
            count(into, name, u64::from(self.number(at)))?;
        }
        let rate = |at: usize| {
            Some(self.large(at))
                .filter(|rate| ![0, u64::MAX].contains(rate))
                .map(|rate| rate.saturating_mul(8))
        };
        if let Some(pacing) = rate(104) {
            write!(into, " pacing_rate {pacing}bps")?;
            if let Some(most) = rate(112) {
                write!(into, "/{most}bps")?;
            }
        }
        if let Some(delivery) = rate(160) {
            write!(into, " delivery_rate {delivery}bps")?;
        }
        Ok(())
    }

    /// Writes deliveries, and the times for which the sender was busy or limited.
    fn progress(&self, into: &mut Vec<u8>) -> std::io::Result<()> {
        count(into, "delivered", u64::from(self.number(192)))?;
        count(into, "delivered_ce", u64::from(self.number(196)))?;
        if self.byte(7) & 1 != 0 {
            write!(into, " app_limited")?;
        }
        if self.large(168) != 0 {
            write!(into, " busy:{}ms", self.large(168) / 1000)?;
            for (name, at) in [("rwnd_limited", 176), ("sndbuf_limited", 184)] {
                if self.large(at) != 0 {
                    write!(into, " {name}:{}ms", self.large(at) / 1000)?;
                }
            }
        }
        Ok(())
    }

    /// Writes numbers of packets outstanding, lost or out of order.
    fn losses(&self, into: &mut Vec<u8>) -> std::io::Result<()> {
        count(into, "unacked", u64::from(self.number(24)))?;
        if self.number(36) != 0 || self.number(100) != 0 {
            write!(into, " retrans:{}/{}", self.number(36), self.number(100))?;
        }
        for (name, at) in [
            ("lost", 32),
            ("sacked", 28),
            ("dsack_dups", 216),
            ("fackets", 40),
        ] {
            count(into, name, u64::from(self.number(at)))?;
        }
        if self.number(88) != 3 {
            write!(into, " reordering:{}", self.number(88))?;
        }
        count(into, "reord_seen", u64::from(self.number(220)))?;
        Ok(())
    }

    /// Writes the receiver's fields, and those that newer kernels add.
    fn receiver(&self, into: &mut Vec<u8>) -> std::io::Result<()> {
        millis(into, "rcv_rtt", self.number(92))?;
        for (name, at) in [("rcv_space", 96), ("rcv_ssthresh", 64), ("notsent", 144)] {
            count(into, name, u64::from(self.number(at)))?;
        }
        if self.number(148) != u32::MAX {
            millis(into, "minrtt", self.number(148))?;
        }
        for (name, at) in [
            ("rcv_ooopack", 224),
            ("snd_wnd", 228),
            ("rcv_wnd", 232),
            ("rehash", 236),
        ] {
            count(into, name, u64::from(self.number(at)))?;
        }
        Ok(())
    }
}

/// Writes `name:value`, unless the value is zero.
fn count(into: &mut Vec<u8>, name: &str, value: u64) -> std::io::Result<()> {
    if value == 0 {
        Ok(())
    } else {
        write!(into, " {name}:{value}")
    }
}

/// Writes microseconds as `name:milliseconds`, unless they are zero.
fn millis(into: &mut Vec<u8>, name: &str, micros: u32) -> std::io::Result<()> {
    if micros == 0 {
        Ok(())
    } else {
        write!(into, " {name}:{}", Millis(micros))
    }
}

/// Microseconds as milliseconds, with all their digits.
struct Millis(u32);

impl std::fmt::Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0 / 1000)?;
        let rest = self.0 % 1000;
        if rest == 0 {
            Ok(())
        } else {
            f.write_str(format!(".{rest:03}").trim_end_matches('0'))
        }
    }
}
