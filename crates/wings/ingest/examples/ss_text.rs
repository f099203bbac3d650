//! Writes output of `ss -tineH` on a busy host, for measurements: `cargo run --release -p
//! fullpipe-ingest --example ss_text MB CONNECTIONS SAMPLES SEED`.
//!
//! The text has about MB megabytes, and samples 10 s apart. Each sample has CONNECTIONS
//! connections, half under CUBIC and half under BBR; a connection appears in SAMPLES samples on
//! average.

use std::io::{self, BufWriter, Write};

/// Xorshift (G. Marsaglia, 2003), which is good enough here.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

struct Connection {
    ino: u64,
    client: [u64; 3],
    port: u64,
    rtt_us: u64,
    sent: u64,
    retrans: u64,
    received: u64,
    busy_ms: u64,
}

fn begin(chance: &mut Chance, serial: u64) -> Connection {
    let (client, port) = (
        [20 + chance.below(100), chance.below(256), chance.below(256)],
        1024 + chance.below(64_000),
    );
    let spread = 1 << (10 + chance.below(9));
    let rtt_us = 2000 + chance.below(spread);
    Connection {
        ino: 10_000_000 + serial,
        client,
        port,
        rtt_us,
        sent: 0,
        retrans: 0,
        received: 300,
        busy_ms: 0,
    }
}

fn main() -> io::Result<()> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let &[megabytes, connections, samples, seed] = &numbers[..] else {
        eprintln!("ss_text MB CONNECTIONS SAMPLES SEED");
        std::process::exit(2);
    };
    let mut chance = Chance(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut serial = 0;
    let mut next = |chance: &mut Chance| {
        serial += 1;
        begin(chance, serial)
    };
    let mut all: Vec<Connection> = (0..connections).map(|_| next(&mut chance)).collect();
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let (mut written, mut time, mut text) = (0, 1_576_576_800, Vec::new());
    while written < megabytes * 1_000_000 {
        writeln!(out, "@{time}")?;
        time += 10;
        for one in &mut all {
            if chance.below(samples) == 0 {
                *one = next(&mut chance);
            }
            text.clear();
            line(one, &mut chance, &mut text)?;
            out.write_all(&text)?;
            written += text.len() as u64;
        }
    }
    out.flush()
}

fn line(one: &mut Connection, chance: &mut Chance, out: &mut Vec<u8>) -> io::Result<()> {
    let more = chance.below(4_000_000);
    one.sent += more;
    one.retrans += if chance.below(3) == 0 { more / 200 } else { 0 };
    one.received += chance.below(2000);
    one.busy_ms += chance.below(10_000);
    let Connection {
        ino,
        client: [a, b, c],
        port,
        rtt_us,
        sent,
        retrans,
        received,
        busy_ms,
    } = *one;
    let (cwnd, unacked, rate) = (
        10 + chance.below(300),
        chance.below(60),
        100_000 + chance.below(90_000_000),
    );
    let (rtt, vary) = (rtt_us + chance.below(rtt_us), chance.below(rtt_us / 2));
    let (segs, acked) = (
        sent / 1448,
        sent - retrans - unacked * 1448 % (sent - retrans + 1),
    );
    writeln!(
        out,
        "ESTAB 0      {queue:<6} 10.0.0.1:443 {a}.{b}.{c}.9:{port} ino:{ino} sk:{ino:x} cgroup:/system.slice/nginx.service <->",
        queue = more / 3,
    )?;
    let bbr = ino.is_multiple_of(2);
    write!(
        out,
        "\t ts sack {} wscale:7,10 rto:{}",
        if bbr { "bbr" } else { "cubic" },
        200 + rtt / 1000
    )?;
    write!(
        out,
        " rtt:{}.{:03}/{}.{:03} ato:40",
        rtt / 1000,
        rtt % 1000,
        vary / 1000,
        vary % 1000
    )?;
    write!(
        out,
        " mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:{cwnd} ssthresh:{} bytes_sent:{sent}",
        cwnd / 2
    )?;
    if retrans > 0 {
        write!(out, " bytes_retrans:{retrans}")?;
    }
    write!(
        out,
        " bytes_acked:{acked} bytes_received:{received} segs_out:{segs} segs_in:{}",
        segs / 2
    )?;
    write!(out, " data_segs_out:{segs} data_segs_in:{}", received / 500)?;
    if bbr {
        write!(
            out,
            " bbr:(bw:{rate}bps,mrtt:{}.{:03},pacing_gain:1,cwnd_gain:2)",
            rtt_us / 1000,
            rtt_us % 1000
        )?;
    }
    write!(
        out,
        " send {}bps lastsnd:4 lastrcv:332 lastack:4 pacing_rate {}bps",
        rate * 3,
        rate + rate / 5
    )?;
    write!(
        out,
        " delivery_rate {rate}bps delivered:{segs}{}",
        if more.is_multiple_of(3) {
            " app_limited"
        } else {
            ""
        }
    )?;
    write!(
        out,
        " busy:{busy_ms}ms rwnd_limited:{}ms(1.0%)",
        busy_ms / 100
    )?;
    if unacked > 0 {
        write!(out, " unacked:{unacked}")?;
    }
    if retrans > 0 {
        write!(
            out,
            " retrans:0/{} dsack_dups:{}",
            retrans / 1448 + 1,
            retrans / 14_480
        )?;
    }
    let (micros, millis) = (rtt_us % 1000, rtt_us / 1000);
    writeln!(
        out,
        " rcv_space:14480 rcv_ssthresh:64088 notsent:{more} minrtt:{millis}.{micros:03} snd_wnd:1042432"
    )
}
