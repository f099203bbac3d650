"""The tables of a fleet directory: their columns, each declared once.

Whoever writes one does so through `store.write`, so whoever reads one can rely on every column
being there. docs/guide/fleet.md shows these tables, and a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "int", "float", "bool", "time"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: With its unit at the end, where the name alone does not say it.
        kind: `text`, `int` (64 bits), `float` (64 bits), `bool`, or `time` (microseconds, UTC).
        meaning: In words.
        derived: Whether `derive.py` computes it from others.
    """

    name: str
    kind: Kind
    meaning: str
    derived: bool = False


def _of(kind: Kind, **columns: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind, meaning) for name, meaning in columns.items())


def _derived(kind: Kind, **columns: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind, meaning, derived=True) for name, meaning in columns.items())


ARM = _of("text", arm="what is compared: `--arm NAME=…`", host="the machine")

CLIENT = _of(
    "text",
    client="the other end's address, or its token with `--anonymize`",
    client_net="its /24, with IPv6 its /48, or the token of that",
)

ENDS = (
    *_of("text", local_address="this end's address, or its token"),
    *_of("int", local_port="this end's port"),
    *_of("int", remote_port="the other end's port"),
)

# What a line of `ss` says of a socket, in the order in which it says it. A name is that of ss, with
# a unit.
FIELDS = (
    *_of("text", state="ESTAB and so on; null where ss leaves it out, since a filter asked for it"),
    *_of("int", recvq_bytes="Recv-Q", sendq_bytes="Send-Q"),
    *_of(
        "int",
        uid="`uid:`",
        ino="`ino:`, the inode",
        sk="`sk:`, the kernel's cookie, that no other socket has",
    ),
    *_of(
        "text",
        cgroup="`cgroup:`",
        timer="the timer that runs: `on` (retransmission), `keepalive`, `persist` …",
    ),
    *_of("float", timer_s="until it fires"),
    *_of("int", timer_retrans="how often it has fired in a row"),
    *_of(
        "int",
        skmem_r_bytes="`skmem:(r…)`, allocated for receiving",
        skmem_rb_bytes="`rb`, the receive buffer's limit",
        skmem_t_bytes="`t`, allocated for sending",
        skmem_tb_bytes="`tb`, the send buffer's limit",
        skmem_f_bytes="`f`, reserved",
        skmem_w_bytes="`w`, queued for sending",
        skmem_o_bytes="`o`, options",
        skmem_bl_bytes="`bl`, backlog",
        skmem_d="`d`, packets dropped before the socket",
    ),
    *_of(
        "bool",
        ts="time stamps are on",
        sack="SACK is on",
        ecn="ECN was negotiated",
        ecnseen="a packet with an ECN codepoint came",
        fastopen="TCP Fast Open, with data acknowledged in the SYN",
    ),
    *_of("text", cc="the congestion control: `cubic`, `bbr` …"),
    *_of("int", wscale_snd="`wscale:SND,RCV`", wscale_rcv="the same"),
    *_of("float", rto_s="retransmission timeout"),
    *_of("int", backoff="how often it has been doubled"),
    *_of("float", rtt_s="smoothed RTT", rttvar_s="its variation", ato_s="delayed-ACK timeout"),
    *_of(
        "int",
        mss_bytes="segment size for sending, without options",
        pmtu_bytes="path MTU",
        rcvmss_bytes="segment size as received",
        advmss_bytes="segment size as advertised",
        cwnd_packets="congestion window",
        ssthresh_packets="slow-start threshold; null while there is none",
        bytes_sent="payload sent, retransmissions included",
        bytes_retrans="payload retransmitted",
        bytes_acked="acknowledged; an active opener's SYN and the FIN count one each",
        bytes_received="payload received",
        segs_out="segments sent, ACKs included",
        segs_in="segments received",
        data_segs_out="segments with payload sent",
        data_segs_in="segments with payload received",
        dctcp_ce_state="`dctcp:(…)`",
        dctcp_alpha="of 1024",
        dctcp_ab_ecn_bytes="acknowledged with marks, in this window",
        dctcp_ab_tot_bytes="acknowledged in this window",
    ),
    *_of(
        "float",
        bbr_bw_bps="`bbr:(bw:…)`, its estimate of the bandwidth",
        bbr_mrtt_s="its estimate of the minimum RTT (10 s window)",
        bbr_pacing_gain="its pacing gain",
        bbr_cwnd_gain="its window's gain",
        send_bps="`send`: cwnd × mss × 8 / rtt",
        lastsnd_s="since the last segment was sent",
        lastrcv_s="since the last was received",
        lastack_s="since the last ACK was received",
        pacing_rate_bps="pacing rate",
        max_pacing_rate_bps="its limit; null while there is none",
        delivery_rate_bps="the latest sample of the delivery rate",
    ),
    *_of(
        "int",
        delivered_packets="segments delivered",
        delivered_ce_packets="those with a mark of ECN",
    ),
    *_of("bool", app_limited="the delivery rate's sample was limited by the application"),
    *_of(
        "float",
        busy_s="time with data outstanding or waiting",
        rwnd_limited_s="of it limited by the receive window",
        sndbuf_limited_s="of it limited by the send buffer",
    ),
    *_of(
        "int",
        unacked_packets="in flight: sent and not acknowledged",
        retrans_packets="`retrans:NOW/TOTAL`, retransmitted and not acknowledged",
        retrans_total_packets="retransmissions ever",
        lost_packets="deemed lost now",
        sacked_packets="acknowledged by SACK now",
        dsack_dups="DSACKs received: retransmissions that were not needed",
        fackets_packets="forward acknowledged (before 4.15)",
        reordering_packets="how much reordering is tolerated; 3 to begin with",
        reord_seen="how often reordering was seen",
    ),
    *_of("float", rcv_rtt_s="the receiver's RTT"),
    *_of(
        "int",
        rcv_space_bytes="of the receive buffer's tuning",
        rcv_ssthresh_bytes="the receive window's current limit",
        notsent_bytes="written, and not sent yet",
    ),
    *_of("float", minrtt_s="minimum RTT (`tcp_min_rtt_wlen`, 300 s)"),
    *_of(
        "int",
        rcv_ooopack="segments received out of order",
        snd_wnd_bytes="the window that the other end offers",
        rcv_wnd_bytes="the window that this end offers",
        rehash="how often the flow's hash was changed",
    ),
    *_of("text", unknown="JSON: fields that are not known here, as they were written"),
)

# What follows from the fields of one line.
OF_FIELDS = (
    *_derived(
        "float",
        loss="bytes_retrans / bytes_sent; of older kernels retrans_total_packets / data_segs_out",
    ),
    *_derived(
        "float", rwnd_limited="rwnd_limited_s / busy_s", sndbuf_limited="sndbuf_limited_s / busy_s"
    ),
    *_derived(
        "float",
        bandwidth_bps="bbr_bw_bps; without BBR delivery_rate_bps",
        busy_rate_bps="8 × transferred_bytes / busy_s: the mean rate while there was something to send",
        min_rtt_s="minrtt_s; where that is missing, bbr_mrtt_s",
        spurious="dsack_dups / retrans_total_packets, 1 at most",
    ),
    *_derived(
        "int", transferred_bytes="bytes_acked; where that is missing, bytes_sent − bytes_retrans"
    ),
    *_derived("int", inflight_bytes="unacked_packets × mss_bytes"),
)

COURSE = (
    *_of(
        "int",
        busy_samples="samples with data in flight (unacked_packets > 0); the means below are over these",
    ),
    *_of(
        "float",
        rtt_s_mean="mean of rtt_s",
        rtt_s_max="over all samples",
        cwnd_packets_mean="mean of cwnd_packets",
        unacked_packets_mean="mean of unacked_packets",
        delivery_rate_bps_mean="mean of delivery_rate_bps, without samples that are app_limited",
        delivery_rate_bps_max="over all samples that are not app_limited",
    ),
    *_of(
        "int",
        cwnd_packets_max="over all samples",
        unacked_packets_max="over all samples",
        lost_packets_max="over all samples",
        notsent_bytes_max="over all samples",
        app_limited_samples="samples that are app_limited",
        bytes_sent_first="bytes_sent at the first sample: what is above it was sent under observation",
        bytes_retrans_first="the same",
        bytes_acked_first="the same",
        data_segs_out_first="the same",
        retrans_total_packets_first="the same",
    ),
    *_of("float", busy_s_first="the same"),
)

CONNECTIONS = (
    *ARM,
    *_of("int", connection="a number of its own"),
    *_of(
        "int",
        pair="what is compared pairwise, as a simulated path under several algorithms; null of real ones",
    ),
    *CLIENT,
    *ENDS,
    *_of(
        "time", first_seen="its first sample", last_seen="its last, from which the values below are"
    ),
    *_of("int", samples="how many there are"),
    *FIELDS,
    *COURSE,
    *OF_FIELDS,
    *_derived("float", observed_s="from the first sample to the last"),
)

SAMPLES = (
    *ARM,
    *_of("int", connection="the number that it has in `connections`"),
    *_of("time", time="of the sample"),
    *FIELDS,
    *OF_FIELDS,
)

REQUESTS = (
    *ARM,
    *_of("int", pair="as in `connections`"),
    *CLIENT,
    *_of("time", time="when it was logged, which is its end"),
    *_of("int", status="the answer's code"),
    *_of("int", bytes_sent="to the client, header included", body_bytes_sent="without it"),
    *_of(
        "float",
        request_time_s="from the request's first byte to the answer's last",
        upstream_response_time_s="of the last upstream server",
    ),
    *_of("text", protocol="HTTP/1.1, HTTP/2.0 …", country="as the log has it, by GeoIP"),
    *_of(
        "int",
        nginx_connection="`$connection`",
        connection_requests="how many it had had before, and this one",
    ),
    *_of("float", tcpinfo_rtt_s="smoothed RTT at the end", tcpinfo_rttvar_s="its variation"),
    *_of(
        "int",
        tcpinfo_snd_cwnd_packets="congestion window",
        tcpinfo_rcv_space_bytes="as `rcv_space_bytes`",
    ),
    *_of("text", kept="JSON: the variables of `--keep`"),
    *_derived(
        "float",
        throughput_bps="8 × bytes_sent (or body_bytes_sent) / request_time_s; null when that is 0",
    ),
)

COUNTERS = (
    *ARM,
    *_of("time", time="of the reading"),
    *_of("float", interval_s="since the reading before; the counts below are increases in it"),
    *_of(
        "int",
        in_segs="Tcp InSegs",
        out_segs="Tcp OutSegs: no pure retransmissions in it, but pure ACKs",
        retrans_segs="Tcp RetransSegs",
        fast_retrans="TcpExt TCPFastRetrans",
        slow_start_retrans="TcpExt TCPSlowStartRetrans",
        lost_retransmit="TcpExt TCPLostRetransmit",
        timeouts="TcpExt TCPTimeouts",
        loss_probes="TcpExt TCPLossProbes",
        dsack_received="TcpExt TCPDSACKRecv",
    ),
    *_of(
        "float",
        cpu_s="processor time, idle included, from /proc/stat",
        cpu_idle_s="of it idle, or waiting for I/O",
    ),
    *_derived(
        "float",
        retrans="retrans_segs / out_segs, as RetransSegs % usually is",
        retrans_of_all="retrans_segs / (out_segs + retrans_segs)",
        cpu_busy="1 − cpu_idle_s / cpu_s",
    ),
)

HISTOGRAMS = (
    *ARM,
    *_of("time", time="of the file"),
    *_of("text", name="as bpftrace prints it, with its key"),
    *_of(
        "float",
        low="the bucket's smallest value",
        high="the first value above it; null where it has no end",
    ),
    *_of("int", count="how many values"),
    *_derived("float", share="of this histogram's values"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "connections": CONNECTIONS,
    "samples": SAMPLES,
    "requests": REQUESTS,
    "counters": COUNTERS,
    "histograms": HISTOGRAMS,
}

# By which a table is split into days; the files of an arm and a day lie in one folder.
DAY_OF = {
    "connections": "last_seen",
    "samples": "time",
    "requests": "time",
    "counters": "time",
    "histograms": "time",
}
