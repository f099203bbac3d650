"""The tables of a fleet directory: their columns, each declared once.

All writers use `store.write`, so readers can rely on every column being present.
docs/reference/fleet-tables.md shows these tables, and a test keeps the page equal to this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "int", "float", "bool", "time"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: Name, which ends with the unit unless the unit is evident.
        kind: `text`, `int` (64 bits), `float` (64 bits), `bool`, or `time` (microseconds, UTC).
        meaning: Description for the documentation.
        derived: Whether `derive.py` computes the column from others.
    """

    name: str
    kind: Kind
    meaning: str
    derived: bool = False


def _of(kind: Kind, **columns: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind, meaning) for name, meaning in columns.items())


def _derived(kind: Kind, **columns: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind, meaning, derived=True) for name, meaning in columns.items())


ARM = _of("text", arm="the arm, as in `--arm NAME=…`: the unit of comparison", host="the machine")

CLIENT = _of(
    "text",
    client="the remote address, or its token with `--anonymize`",
    client_net="the remote /24 network (IPv6: /48), or its token",
)

ENDS = (
    *_of("text", local_address="the local address, or its token"),
    *_of("int", local_port="the local port"),
    *_of("int", remote_port="the remote port"),
)

# The fields of a socket in a line of `ss`, in the order of `ss`. A column has the name that `ss`
# uses, and a unit.
FIELDS = (
    *_of("text", state="`ESTAB` etc.; null where `ss` omits it because a filter selects one state"),
    *_of("int", recvq_bytes="Recv-Q", sendq_bytes="Send-Q"),
    *_of(
        "int",
        uid="`uid:`",
        ino="`ino:`, the inode",
        sk="`sk:`, the kernel's cookie, unique to the socket",
    ),
    *_of(
        "text",
        cgroup="`cgroup:`",
        timer="the running timer: `on` (retransmission), `keepalive`, `persist` …",
    ),
    *_of("float", timer_s="time until the timer fires"),
    *_of("int", timer_retrans="number of consecutive times the timer has fired"),
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
        ts="timestamps are on",
        sack="SACK is on",
        ecn="ECN was negotiated",
        ecnseen="a packet with an ECN codepoint was received",
        fastopen="TCP Fast Open, with data acknowledged in the SYN",
    ),
    *_of("text", cc="the congestion control: `cubic`, `bbr` …"),
    *_of("int", wscale_snd="`SND` of `wscale:SND,RCV`", wscale_rcv="`RCV` of `wscale:SND,RCV`"),
    *_of("float", rto_s="retransmission timeout"),
    *_of("int", backoff="number of times the retransmission timeout has been doubled"),
    *_of(
        "float",
        rtt_s="smoothed RTT",
        rttvar_s="mean deviation of the RTT",
        ato_s="delayed-ACK timeout",
    ),
    *_of(
        "int",
        mss_bytes="segment size for sending, without options",
        pmtu_bytes="path MTU",
        rcvmss_bytes="segment size as received",
        advmss_bytes="segment size as advertised",
        cwnd_packets="congestion window",
        ssthresh_packets="slow-start threshold; null until one is set",
        bytes_sent="payload sent, retransmissions included",
        bytes_retrans="payload retransmitted",
        bytes_acked="payload acknowledged; an active opener's SYN and the FIN count one byte each",
        bytes_received="payload received",
        segs_out="segments sent, ACKs included",
        segs_in="segments received",
        data_segs_out="segments with payload sent",
        data_segs_in="segments with payload received",
        dctcp_ce_state="`dctcp:(…)`",
        dctcp_alpha="DCTCP's alpha, in units of 1/1024",
        dctcp_ab_ecn_bytes="bytes acknowledged with ECN marks in this window",
        dctcp_ab_tot_bytes="bytes acknowledged in this window",
    ),
    *_of(
        "float",
        bbr_bw_bps="`bbr:(bw:…)`, BBR's estimate of the bandwidth",
        bbr_mrtt_s="BBR's estimate of the minimum RTT (10 s window)",
        bbr_pacing_gain="BBR's pacing gain",
        bbr_cwnd_gain="BBR's congestion window gain",
        send_bps="`send`: cwnd × mss × 8 / rtt",
        lastsnd_s="time since the last segment was sent",
        lastrcv_s="time since the last segment was received",
        lastack_s="time since the last ACK was received",
        pacing_rate_bps="pacing rate",
        max_pacing_rate_bps="upper limit of the pacing rate; null if there is no limit",
        delivery_rate_bps="the latest sample of the delivery rate",
    ),
    *_of(
        "int",
        delivered_packets="segments delivered",
        delivered_ce_packets="segments delivered with an ECN mark",
    ),
    *_of("bool", app_limited="the delivery-rate sample was limited by the application"),
    *_of(
        "float",
        busy_s="time with data outstanding or queued",
        rwnd_limited_s="busy time limited by the receive window",
        sndbuf_limited_s="busy time limited by the send buffer",
    ),
    *_of(
        "int",
        unacked_packets="segments in flight: sent and not yet acknowledged",
        retrans_packets="`NOW` of `retrans:NOW/TOTAL`: retransmitted and not yet acknowledged",
        retrans_total_packets="`TOTAL`: retransmissions since the connection began",
        lost_packets="segments currently considered lost",
        sacked_packets="segments currently acknowledged by SACK",
        dsack_dups="DSACKs received, each for an unnecessary retransmission",
        fackets_packets="forward-acknowledged segments (kernels before 4.15)",
        reordering_packets="degree of reordering tolerated; initially 3",
        reord_seen="number of times reordering was detected",
    ),
    *_of("float", rcv_rtt_s="RTT as estimated by the receiver"),
    *_of(
        "int",
        rcv_space_bytes="space estimated by receive-buffer auto-tuning",
        rcv_ssthresh_bytes="current limit of the receive window",
        notsent_bytes="bytes written by the application and not yet sent",
    ),
    *_of("float", minrtt_s="minimum RTT (`tcp_min_rtt_wlen`, 300 s)"),
    *_of(
        "int",
        rcv_ooopack="segments received out of order",
        snd_wnd_bytes="window advertised by the remote end",
        rcv_wnd_bytes="window advertised by the local end",
        rehash="number of times the flow's hash was changed",
    ),
    *_of("text", unknown="JSON: fields that fullpipe does not know, as written"),
)

# Columns derived from the fields of one line.
OF_FIELDS = (
    *_derived(
        "float",
        loss="bytes_retrans / bytes_sent; on older kernels retrans_total_packets / data_segs_out",
    ),
    *_derived(
        "float", rwnd_limited="rwnd_limited_s / busy_s", sndbuf_limited="sndbuf_limited_s / busy_s"
    ),
    *_derived(
        "float",
        bandwidth_bps="bbr_bw_bps, or delivery_rate_bps without BBR",
        busy_rate_bps="8 × transferred_bytes / busy_s: the mean rate while there was data to send",
        min_rtt_s="minrtt_s, or bbr_mrtt_s if missing",
        spurious="dsack_dups / retrans_total_packets, at most 1",
    ),
    *_derived("int", transferred_bytes="bytes_acked, or bytes_sent − bytes_retrans if missing"),
    *_derived("int", inflight_bytes="unacked_packets × mss_bytes"),
)

COURSE = (
    *_of(
        "int",
        busy_samples="number of samples with data in flight (unacked_packets > 0); the means below use these",
    ),
    *_of(
        "float",
        rtt_s_mean="mean of rtt_s",
        rtt_s_max="maximum over all samples",
        cwnd_packets_mean="mean of cwnd_packets",
        unacked_packets_mean="mean of unacked_packets",
        delivery_rate_bps_mean="mean of delivery_rate_bps over samples that are not app_limited",
        delivery_rate_bps_max="maximum over samples that are not app_limited",
    ),
    *_of(
        "int",
        cwnd_packets_max="maximum over all samples",
        unacked_packets_max="maximum over all samples",
        lost_packets_max="maximum over all samples",
        notsent_bytes_max="maximum over all samples",
        app_limited_samples="number of samples that are app_limited",
        bytes_sent_first="bytes_sent at the first sample; the rest was sent during observation",
        bytes_retrans_first="bytes_retrans at the first sample",
        bytes_acked_first="bytes_acked at the first sample",
        data_segs_out_first="data_segs_out at the first sample",
        retrans_total_packets_first="retrans_total_packets at the first sample",
    ),
    *_of("float", busy_s_first="busy_s at the first sample"),
)

CONNECTIONS = (
    *ARM,
    *_of("int", connection="a number unique to the connection"),
    *_of(
        "int",
        pair="the pair it belongs to, such as a simulated path run under each arm; null for real hosts",
    ),
    *CLIENT,
    *ENDS,
    *_of(
        "time",
        first_seen="time of the first sample",
        last_seen="time of the last sample, which the values below are from",
    ),
    *_of("int", samples="number of samples"),
    *FIELDS,
    *COURSE,
    *OF_FIELDS,
    *_derived("float", observed_s="time from the first sample to the last"),
)

SAMPLES = (
    *ARM,
    *_of("int", connection="the connection's number in `connections`"),
    *_of("time", time="time of the sample"),
    *FIELDS,
    *OF_FIELDS,
)

REQUESTS = (
    *ARM,
    *_of("int", pair="as in `connections`"),
    *CLIENT,
    *_of("time", time="time of logging, at the end of the request"),
    *_of("int", status="status code of the response"),
    *_of(
        "int",
        bytes_sent="bytes sent to the client, header included",
        body_bytes_sent="bytes sent to the client, header excluded",
    ),
    *_of(
        "float",
        request_time_s="time from the first byte of the request to the last byte of the response",
        upstream_response_time_s="response time of the last upstream server",
    ),
    *_of("text", protocol="HTTP/1.1, HTTP/2.0 …", country="country in the log, by GeoIP"),
    *_of(
        "int",
        nginx_connection="`$connection`",
        connection_requests="number of requests on the connection so far, this one included",
    ),
    *_of(
        "float",
        tcpinfo_rtt_s="smoothed RTT at the end",
        tcpinfo_rttvar_s="mean deviation of the RTT",
    ),
    *_of(
        "int",
        tcpinfo_snd_cwnd_packets="congestion window",
        tcpinfo_rcv_space_bytes="like `rcv_space_bytes`",
    ),
    *_of("text", kept="JSON: the variables named by `--keep`"),
    *_derived(
        "float",
        throughput_bps="8 × bytes_sent (or body_bytes_sent) / request_time_s; null if request_time_s is 0",
    ),
)

COUNTERS = (
    *ARM,
    *_of("time", time="time of the reading"),
    *_of(
        "float",
        interval_s="time since the previous reading; the counts below are increases in this time",
    ),
    *_of(
        "int",
        in_segs="Tcp InSegs",
        out_segs="Tcp OutSegs: includes pure ACKs, excludes pure retransmissions",
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
        cpu_idle_s="processor time idle, or waiting for I/O",
    ),
    *_derived(
        "float",
        retrans="retrans_segs / out_segs, the usual definition of RetransSegs %",
        retrans_of_all="retrans_segs / (out_segs + retrans_segs)",
        cpu_busy="1 − cpu_idle_s / cpu_s",
    ),
)

HISTOGRAMS = (
    *ARM,
    *_of("time", time="time of the file"),
    *_of("text", name="the histogram's name and key, as bpftrace prints them"),
    *_of(
        "float",
        low="smallest value in the bucket",
        high="smallest value above the bucket; null if the bucket is unbounded",
    ),
    *_of("int", count="number of values in the bucket"),
    *_derived("float", share="share of the histogram's values in the bucket"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "connections": CONNECTIONS,
    "samples": SAMPLES,
    "requests": REQUESTS,
    "counters": COUNTERS,
    "histograms": HISTOGRAMS,
}

# The time column by which each table is split into days. A folder holds the files of one arm and day.
DAY_OF = {
    "connections": "last_seen",
    "samples": "time",
    "requests": "time",
    "counters": "time",
    "histograms": "time",
}
