//! Fields of a socket in the output of `ss`: their columns and their notations.

macro_rules! fields {
    ($($variant:ident $name:literal,)*) => {
        /// A numeric field of a socket.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        #[expect(missing_docs, reason = "docs/reference/fleet-tables.md explains each column")]
        pub enum Field { $($variant,)* }

        /// Columns of the fields, in the same order.
        pub const COLUMNS: [&str; [$(Field::$variant),*].len()] = [$($name),*];
    };
}

fields! {
    RecvQ "recvq_bytes", SendQ "sendq_bytes", Uid "uid", Ino "ino", Sk "sk", TimerLeft "timer_s", TimerRetrans "timer_retrans",
    MemR "skmem_r_bytes", MemRb "skmem_rb_bytes", MemT "skmem_t_bytes", MemTb "skmem_tb_bytes", MemF "skmem_f_bytes",
    MemW "skmem_w_bytes", MemO "skmem_o_bytes", MemBl "skmem_bl_bytes", MemD "skmem_d",
    Ts "ts", Sack "sack", Ecn "ecn", EcnSeen "ecnseen", FastOpen "fastopen",
    WscaleSnd "wscale_snd", WscaleRcv "wscale_rcv", Rto "rto_s", Backoff "backoff", Rtt "rtt_s", RttVar "rttvar_s", Ato "ato_s",
    Mss "mss_bytes", Pmtu "pmtu_bytes", RcvMss "rcvmss_bytes", AdvMss "advmss_bytes", Cwnd "cwnd_packets",
    Ssthresh "ssthresh_packets", BytesSent "bytes_sent", BytesRetrans "bytes_retrans", BytesAcked "bytes_acked",
    BytesReceived "bytes_received", SegsOut "segs_out", SegsIn "segs_in", DataSegsOut "data_segs_out",
    DataSegsIn "data_segs_in", DctcpCeState "dctcp_ce_state", DctcpAlpha "dctcp_alpha", DctcpAbEcn "dctcp_ab_ecn_bytes",
    DctcpAbTot "dctcp_ab_tot_bytes", BbrBw "bbr_bw_bps", BbrMrtt "bbr_mrtt_s", BbrPacingGain "bbr_pacing_gain",
    BbrCwndGain "bbr_cwnd_gain", Send "send_bps", LastSnd "lastsnd_s", LastRcv "lastrcv_s", LastAck "lastack_s",
    PacingRate "pacing_rate_bps", MaxPacingRate "max_pacing_rate_bps", DeliveryRate "delivery_rate_bps",
    Delivered "delivered_packets", DeliveredCe "delivered_ce_packets", AppLimited "app_limited", Busy "busy_s",
    RwndLimited "rwnd_limited_s", SndbufLimited "sndbuf_limited_s", Unacked "unacked_packets", Retrans "retrans_packets",
    RetransTotal "retrans_total_packets", Lost "lost_packets", Sacked "sacked_packets", DsackDups "dsack_dups",
    Fackets "fackets_packets", Reordering "reordering_packets", ReordSeen "reord_seen", RcvRtt "rcv_rtt_s",
    RcvSpace "rcv_space_bytes", RcvSsthresh "rcv_ssthresh_bytes", NotSent "notsent_bytes", MinRtt "minrtt_s",
    RcvOooPack "rcv_ooopack", SndWnd "snd_wnd_bytes", RcvWnd "rcv_wnd_bytes", Rehash "rehash",
}

/// Notation of a value after `key:`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Count,
    /// Any decimal.
    Plain,
    /// Milliseconds, with or without a fraction.
    Millis,
    /// `2072ms(68.6%)`, where the share follows from other fields.
    MillisUnit,
    /// `16.139/10.041`, both in milliseconds; the second is the next field.
    MillisPair,
    /// `0/5` or `10,10`; the second is the next field.
    CountPair(u8),
    /// Hexadecimal.
    Hex,
    /// A rate after the colon, as within a group.
    Rate,
}

/// A key of `key:value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) text: &'static [u8],
    pub(super) form: Form,
    pub(super) field: Field,
}

const fn key(text: &'static [u8], form: Form, field: Field) -> Key {
    Key { text, form, field }
}

/// Returns the first eight bytes of a name as a number, which few names share.
pub(super) const fn head(name: &[u8]) -> u64 {
    let (mut head, mut at) = (0, 0);
    while at < name.len() && at < 8 {
        head |= (name[at] as u64) << (8 * at);
        at += 1;
    }
    head
}

/// Heads of [`KEYS`], contiguous in memory.
pub(super) const HEADS: [u64; KEYS.len()] = {
    let (mut heads, mut at) = ([0; KEYS.len()], 0);
    while at < KEYS.len() {
        heads[at] = head(KEYS[at].text);
        at += 1;
    }
    heads
};

/// Bytes of each of [`HEADS`] that belong to the key's name.
pub(super) const MASKS: [u64; KEYS.len()] = {
    let (mut masks, mut at) = ([u64::MAX; KEYS.len()], 0);
    while at < KEYS.len() {
        if KEYS[at].text.len() < 8 {
            masks[at] = (1 << (8 * KEYS[at].text.len())) - 1;
        }
        at += 1;
    }
    masks
};

/// Keys of the TCP part, in the order of tcp_stats_print() of ss.c, so the next key is usually the
/// one after the last.
pub(super) const KEYS: [Key; 44] = [
    key(b"wscale", Form::CountPair(b','), Field::WscaleSnd),
    key(b"rto", Form::Millis, Field::Rto),
    key(b"backoff", Form::Count, Field::Backoff),
    key(b"rtt", Form::MillisPair, Field::Rtt),
    key(b"ato", Form::Millis, Field::Ato),
    key(b"mss", Form::Count, Field::Mss),
    key(b"pmtu", Form::Count, Field::Pmtu),
    key(b"rcvmss", Form::Count, Field::RcvMss),
    key(b"advmss", Form::Count, Field::AdvMss),
    key(b"cwnd", Form::Count, Field::Cwnd),
    key(b"ssthresh", Form::Count, Field::Ssthresh),
    key(b"bytes_sent", Form::Count, Field::BytesSent),
    key(b"bytes_retrans", Form::Count, Field::BytesRetrans),
    key(b"bytes_acked", Form::Count, Field::BytesAcked),
    key(b"bytes_received", Form::Count, Field::BytesReceived),
    key(b"segs_out", Form::Count, Field::SegsOut),
    key(b"segs_in", Form::Count, Field::SegsIn),
    key(b"data_segs_out", Form::Count, Field::DataSegsOut),
    key(b"data_segs_in", Form::Count, Field::DataSegsIn),
    key(b"lastsnd", Form::Millis, Field::LastSnd),
    key(b"lastrcv", Form::Millis, Field::LastRcv),
    key(b"lastack", Form::Millis, Field::LastAck),
    key(b"delivered", Form::Count, Field::Delivered),
    key(b"delivered_ce", Form::Count, Field::DeliveredCe),
    key(b"busy", Form::MillisUnit, Field::Busy),
    key(b"rwnd_limited", Form::MillisUnit, Field::RwndLimited),
    key(b"sndbuf_limited", Form::MillisUnit, Field::SndbufLimited),
    key(b"unacked", Form::Count, Field::Unacked),
    key(b"retrans", Form::CountPair(b'/'), Field::Retrans),
    key(b"lost", Form::Count, Field::Lost),
    key(b"sacked", Form::Count, Field::Sacked),
    key(b"dsack_dups", Form::Count, Field::DsackDups),
    key(b"fackets", Form::Count, Field::Fackets),
    key(b"reordering", Form::Count, Field::Reordering),
    key(b"reord_seen", Form::Count, Field::ReordSeen),
    key(b"rcv_rtt", Form::Millis, Field::RcvRtt),
    key(b"rcv_space", Form::Count, Field::RcvSpace),
    key(b"rcv_ssthresh", Form::Count, Field::RcvSsthresh),
    key(b"notsent", Form::Count, Field::NotSent),
    key(b"minrtt", Form::Millis, Field::MinRtt),
    key(b"rcv_ooopack", Form::Count, Field::RcvOooPack),
    key(b"snd_wnd", Form::Count, Field::SndWnd),
    key(b"rcv_wnd", Form::Count, Field::RcvWnd),
    key(b"rehash", Form::Count, Field::Rehash),
];

/// Keys of the socket, as opposed to its TCP.
pub(super) const SOCKET_KEYS: [Key; 3] = [
    key(b"uid", Form::Count, Field::Uid),
    key(b"ino", Form::Count, Field::Ino),
    key(b"sk", Form::Hex, Field::Sk),
];

/// Members of a group `name:(member:value,…)`.
pub(super) const GROUPS: [(&[u8], &[Key]); 2] = [
    (
        b"bbr",
        &[
            key(b"bw", Form::Rate, Field::BbrBw),
            key(b"mrtt", Form::Millis, Field::BbrMrtt),
            key(b"pacing_gain", Form::Plain, Field::BbrPacingGain),
            key(b"cwnd_gain", Form::Plain, Field::BbrCwndGain),
        ],
    ),
    (
        b"dctcp",
        &[
            key(b"ce_state", Form::Count, Field::DctcpCeState),
            key(b"alpha", Form::Count, Field::DctcpAlpha),
            key(b"ab_ecn", Form::Count, Field::DctcpAbEcn),
            key(b"ab_tot", Form::Count, Field::DctcpAbTot),
        ],
    ),
];

/// Members of `skmem:(r0,rb131072,…)`: letters, then digits.
pub(super) const MEMORY: [(&[u8], Field); 9] = [
    (b"r", Field::MemR),
    (b"rb", Field::MemRb),
    (b"t", Field::MemT),
    (b"tb", Field::MemTb),
    (b"f", Field::MemF),
    (b"w", Field::MemW),
    (b"o", Field::MemO),
    (b"bl", Field::MemBl),
    (b"d", Field::MemD),
];

/// Words without a value.
pub(super) const FLAGS: [(&[u8], Field); 6] = [
    (b"ts", Field::Ts),
    (b"sack", Field::Sack),
    (b"ecn", Field::Ecn),
    (b"ecnseen", Field::EcnSeen),
    (b"fastopen", Field::FastOpen),
    (b"app_limited", Field::AppLimited),
];

/// Words whose value is the next word, a rate.
pub(super) const RATES: [(&[u8], Field); 3] = [
    (b"send", Field::Send),
    (b"pacing_rate", Field::PacingRate),
    (b"delivery_rate", Field::DeliveryRate),
];

/// Fields that every version of `ss` omits when they are zero.
const IN_ALL_VERSIONS: &[Field] = {
    use Field::*;
    &[
        Ts,
        Sack,
        Ecn,
        EcnSeen,
        FastOpen,
        Backoff,
        LastSnd,
        LastRcv,
        LastAck,
        Unacked,
        Retrans,
        RetransTotal,
        Lost,
        Sacked,
    ]
};

/// Sets fields to zero that `ss` omits when they are zero, if another field shows that this version
/// of `ss` and of the kernel would have printed them.
///
/// The kernels that introduced each, by the history of struct tcp_info: bytes_acked (4.1) and
/// segs_out (4.2), min_rtt with data_segs and notsent (4.6), delivery_rate (4.9), busy with its
/// parts (4.10), bytes_sent with the rest (4.19), snd_wnd (5.4).
pub(super) fn fill(values: &mut [f64; COLUMNS.len()]) {
    use Field::*;
    let has = |field: Field| !values[field as usize].is_nan();
    if !(has(Cwnd) || has(Rto) || has(Rtt)) {
        return;
    }
    let since_5_4 = has(SndWnd);
    let since_4_19 = since_5_4 || has(BytesSent);
    let since_4_10 = since_4_19 || has(Busy) || has(Delivered);
    let since_4_9 = since_4_10 || has(DeliveryRate);
    let since_4_6 = since_4_9 || has(MinRtt) || has(DataSegsOut);
    let since_4_2 = since_4_6 || has(SegsOut);
    let ages: [(bool, &[Field]); 7] = [
        (true, IN_ALL_VERSIONS),
        (since_4_2, &[BytesAcked, BytesReceived]),
        (since_4_6, &[DataSegsOut, DataSegsIn, NotSent]),
        (since_4_9, &[AppLimited]),
        (since_4_10, &[Busy, RwndLimited, SndbufLimited]),
        (
            since_4_19,
            &[
                BytesSent,
                BytesRetrans,
                Delivered,
                DeliveredCe,
                DsackDups,
                ReordSeen,
            ],
        ),
        (since_5_4, &[RcvOooPack]),
    ];
    for field in ages
        .iter()
        .filter(|(known, _)| *known)
        .flat_map(|(_, fields)| *fields)
    {
        let value = &mut values[*field as usize];
        if value.is_nan() {
            *value = 0.0;
        }
    }
    // TCP_REORDERING of tcp.h, which `ss` prints only if it differs.
    if values[Reordering as usize].is_nan() {
        values[Reordering as usize] = 3.0;
    }
}
