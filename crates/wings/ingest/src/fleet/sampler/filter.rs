//! The filter of a listing, as a program that the kernel runs for each socket (`inet_diag_bc_run`).

use std::net::IpAddr;

/// Selects connections that meet all given conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// One bit per state, by the kernel's numbers.
    pub states: u32,
    /// First and last local port.
    pub sport: Option<(u16, u16)>,
    /// First and last remote port.
    pub dport: Option<(u16, u16)>,
    /// Network of this end: an address, and the length of its prefix.
    pub src: Option<(IpAddr, u8)>,
    /// Network of the other end.
    pub dst: Option<(IpAddr, u8)>,
}

/// Names of states by the kernel's numbers, from 1 (`tcp_states.h`).
pub const STATES: [&str; 11] = [
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "UNCONN",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
];

impl Default for Filter {
    /// Selects connections that carry data or may have carried some: no listeners, and none in
    /// TIME-WAIT or being opened.
    fn default() -> Self {
        let named = [
            "ESTAB",
            "FIN-WAIT-1",
            "FIN-WAIT-2",
            "CLOSE-WAIT",
            "LAST-ACK",
            "CLOSING",
        ];
        Filter {
            states: named.iter().filter_map(|name| state(name)).sum(),
            sport: None,
            dport: None,
            src: None,
            dst: None,
        }
    }
}

/// Returns the bit of a state.
fn state(name: &str) -> Option<u32> {
    STATES
        .iter()
        .position(|state| *state == name)
        .map(|at| 1 << (at + 1))
}

const S_GE: u8 = 2;
const S_LE: u8 = 3;
const D_GE: u8 = 4;
const D_LE: u8 = 5;
const S_COND: u8 = 7;
const D_COND: u8 = 8;

impl Filter {
    /// Returns the bits of named states; `None` if a name is unknown.
    #[must_use]
    pub fn states(names: &[&str]) -> Option<u32> {
        names
            .iter()
            .map(|name| state(&name.to_ascii_uppercase()))
            .sum()
    }

    /// Returns the program: all conditions one after the other; empty if there are no conditions.
    pub(super) fn program(&self) -> Vec<u8> {
        let mut conditions: Vec<(u8, Vec<u8>)> = Vec::new();
        let mut port = |code: u8, port: u16| {
            // An operation that uses only its last field.
            let [low, high] = port.to_ne_bytes();
            conditions.push((code, vec![0, 0, low, high]));
        };
        if let Some((first, last)) = self.sport {
            port(S_GE, first);
            port(S_LE, last);
        }
        if let Some((first, last)) = self.dport {
            port(D_GE, first);
            port(D_LE, last);
        }
        for (code, net) in [(S_COND, self.src), (D_COND, self.dst)] {
            if let Some((address, bits)) = net {
                conditions.push((code, host(address, bits)));
            }
        }
        let mut left: usize = conditions.iter().map(|(_, data)| 4 + data.len()).sum();
        let mut program = Vec::new();
        for (code, data) in conditions {
            let length = u8::try_from(4 + data.len()).expect("an address has 16 bytes at most");
            // A jump to the end accepts a socket; a jump beyond the end refuses it.
            let no = u16::try_from(left + 4).expect("there are six conditions at most");
            program.extend([code, length]);
            program.extend(no.to_ne_bytes());
            program.extend(&data);
            left -= usize::from(length);
        }
        program
    }
}

/// `struct inet_diag_hostcond`: family, prefix, any port, address.
fn host(address: IpAddr, bits: u8) -> Vec<u8> {
    let (family, bytes) = match address {
        IpAddr::V4(four) => (libc::AF_INET, four.octets().to_vec()),
        IpAddr::V6(six) => (libc::AF_INET6, six.octets().to_vec()),
    };
    let mut condition = vec![
        u8::try_from(family).expect("they are small numbers"),
        bits,
        0,
        0,
    ];
    condition.extend((-1i32).to_ne_bytes());
    condition.extend(bytes);
    condition
}
