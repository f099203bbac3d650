//! Recognizes the kind of a line, and reads the columns in front of the fields.

use super::field::Field;
use super::info::{self, Sample, is_space};
use crate::fleet::number;

/// A line of `ss`, or between its outputs.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Empty,
    /// `State Recv-Q …`, with which another output begins.
    Header,
    /// Further fields of the socket above.
    Continued(&'a [u8]),
    /// A socket of another family or protocol than TCP.
    Foreign,
    Socket(Socket<'a>),
}

/// The line of a socket.
#[derive(Debug, PartialEq)]
pub(super) struct Socket<'a> {
    pub(super) state: &'a [u8],
    pub(super) recv_q: f64,
    pub(super) send_q: f64,
    pub(super) local: &'a [u8],
    pub(super) remote: &'a [u8],
    /// Rest of the line.
    pub(super) rest: &'a [u8],
}

const STATES: [&[u8]; 13] = [
    b"ESTAB",
    b"SYN-SENT",
    b"SYN-RECV",
    b"FIN-WAIT-1",
    b"FIN-WAIT-2",
    b"TIME-WAIT",
    b"UNCONN",
    b"CLOSE-WAIT",
    b"LAST-ACK",
    b"LISTEN",
    b"CLOSING",
    b"CLOSED",
    b"NEW-SYN-RECV",
];

/// Values of Netid other than `tcp` and `mptcp`.
const FOREIGN: [&[u8]; 17] = [
    b"udp", b"raw", b"icmp6", b"u_str", b"u_dgr", b"u_seq", b"nl", b"p_raw", b"p_dgr", b"v_str",
    b"v_dgr", b"vsock", b"ti_st", b"ti_rd", b"ti_dg", b"xdp", b"sctp",
];

pub(super) fn classify(line: &[u8]) -> Result<Line<'_>, String> {
    let Some(first) = line.iter().position(|byte| !is_space(*byte)) else {
        return Ok(Line::Empty);
    };
    if first > 0 {
        return Ok(Line::Continued(line));
    }
    let mut rest = line;
    let mut word = || -> &[u8] {
        let start = rest
            .iter()
            .position(|byte| !is_space(*byte))
            .unwrap_or(rest.len());
        let text = &rest[start..];
        let end = memchr::memchr2(b' ', b'\t', text).unwrap_or(text.len());
        rest = &text[end..];
        &text[..end]
    };
    let mut at = word();
    if !STATES.contains(&at) {
        if matches!(at, b"State" | b"Netid" | b"Recv-Q") {
            return Ok(Line::Header);
        }
        if FOREIGN.contains(&at) {
            return Ok(Line::Foreign);
        }
        if matches!(at, b"tcp" | b"mptcp") {
            at = word();
        }
    }
    let mut state: &[u8] = b"";
    if STATES.contains(&at) {
        (state, at) = (at, word());
    }
    let recv_q = number::count(at).ok_or("it begins with no state, queue or time")?;
    let send_q = number::count(word()).ok_or("Send-Q is not a number")?;
    let (local, remote) = (word(), word());
    if !(local.contains(&b':') && remote.contains(&b':')) {
        return Err("two addresses with ports are missing".into());
    }
    Ok(Line::Socket(Socket {
        state,
        recv_q,
        send_q,
        local,
        remote,
        rest,
    }))
}

impl Socket<'_> {
    /// Returns whether the socket can carry data, unlike one that listens.
    pub(super) fn is_connection(&self) -> bool {
        !matches!(self.state, b"LISTEN" | b"UNCONN" | b"CLOSED") && !self.remote.ends_with(b":*")
    }

    /// Begins a sample of this socket.
    pub(super) fn begin(&self, sample: &mut Sample) -> Result<(), String> {
        sample.clear();
        sample.state.extend_from_slice(self.state);
        sample.set(Field::RecvQ, self.recv_q);
        sample.set(Field::SendQ, self.send_q);
        info::read(self.rest, sample)
    }
}
