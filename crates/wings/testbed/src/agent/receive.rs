//! The receiving end: reads all data, and records the number of bytes received over time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    Backlog, MsgFlags, SockFlag, SockaddrIn, accept4, bind, getpeername, listen, recv,
    send as write, setsockopt, sockopt,
};

use super::plan::{AppPlan, FlowPlan, Plan};
use super::record::{Header, RecordKind, Writer};
use super::sys::{self, Poll};
use super::{AgentError, failed};

/// Bytes read at a time; MSG_TRUNC discards them without a copy.
const CHUNK: usize = 1 << 20;

/// Time that the receiver waits for the sender to close after the run's end, ns.
const GRACE: u64 = 2_000_000_000;

/// Token of the first flow's connection; smaller tokens belong to listening sockets.
const CONNECTION: u64 = 1 << 32;

/// Receives the flows of `plan`; prints "ready" when it listens.
pub(crate) fn receive(plan: &Plan, out: &Path) -> Result<(), AgentError> {
    let poll = Poll::new()?;
    if let Some(most) = plan
        .flows
        .iter()
        .filter_map(|flow| flow.receive_buffer)
        .max()
    {
        sys::make_room(&sys::stream()?, false, most)?;
    }
    if plan.flows.iter().any(FlowPlan::arrives) {
        sys::open_many_files()?;
    }
    let (mut listening, mut ports) = (Vec::new(), BTreeSet::new());
    for (index, flow) in plan
        .flows
        .iter()
        .enumerate()
        .filter(|(_, flow)| ports.insert(flow.port))
    {
        let socket = listener(plan, flow)?;
        poll.add(&socket, EpollFlags::EPOLLIN, listening.len() as u64)?;
        listening.push((socket, index));
    }
    let near_ports = plan
        .flows
        .iter()
        .enumerate()
        .filter_map(|(index, flow)| Some((flow.near_port?, index)));
    let begun = sys::now();
    let writer = Writer::create(
        out,
        &Header {
            agent: "receive".to_owned(),
            epoch: begun,
            kernel: sys::kernel(),
        },
    )?;
    let asking = |(index, flow): (usize, &FlowPlan)| {
        matches!(flow.app, AppPlan::Answers { .. }).then_some(index)
    };
    let mut run = Run {
        plan,
        poll,
        writer,
        listening,
        near_ports: near_ports.collect(),
        flows: plan.flows.iter().map(Flow::new).collect(),
        asking: plan.flows.iter().enumerate().filter_map(asking).collect(),
        gone: 0,
        buffer: vec![0; CHUNK],
        end: None,
    };
    super::say_ready();
    let first = plan.flows.iter().map(|flow| flow.start).min().unwrap_or(0);
    run.run(begun.saturating_add(first).saturating_add(plan.patience))
}

fn listener(plan: &Plan, flow: &FlowPlan) -> Result<OwnedFd, AgentError> {
    let socket = sys::stream()?;
    setsockopt(&socket, sockopt::ReuseAddr, &true).map_err(failed("SO_REUSEADDR"))?;
    if let Some(name) = &flow.receiver_congestion {
        sys::set_congestion(&socket, &flow.name, name)?;
    }
    if let Some(most) = flow.auto_tuning {
        sys::set_sysctl("tcp_rmem", &format!("4096 131072 {most}"))?;
    }
    // A connection inherits the settings of its listening socket.
    if let Some(bytes) = flow.receive_buffer {
        // If the kernel refuses this size, `make_room` has already set it.
        let _ = sys::set_buffer(&socket, false, bytes);
    }
    if let Some(bytes) = flow.window_clamp {
        sys::set(&socket, sys::Setting::WindowClamp(bytes))?;
    }
    let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, flow.port);
    let what = format!(
        "flow {:?}: listening at {}:{}",
        flow.name, plan.receiver, flow.port
    );
    bind(socket.as_raw_fd(), &SockaddrIn::from(address)).map_err(failed(&what))?;
    let waiting = if flow.arrives() {
        Backlog::MAXALLOWABLE
    } else {
        Backlog::new(8).expect("within the system's limit")
    };
    listen(&socket, waiting).map_err(failed(&what))?;
    Ok(socket)
}

struct Flow<'a> {
    plan: &'a FlowPlan,
    socket: Option<OwnedFd>,
    came: bool,
    read: u64,
    /// Time of the next request; `u64::MAX` for none.
    asks: u64,
    asked: u64,
    answers: usize,
}

impl Flow<'_> {
    fn new(plan: &FlowPlan) -> Flow<'_> {
        Flow {
            plan,
            socket: None,
            came: false,
            read: 0,
            asks: u64::MAX,
            asked: 0,
            answers: 0,
        }
    }
}

struct Run<'a> {
    plan: &'a Plan,
    poll: Poll,
    writer: Writer,
    /// Listening sockets, each with a flow: its only one, or one of those that arrive there.
    listening: Vec<(OwnedFd, usize)>,
    /// Flows that arrive, by their senders' ports.
    near_ports: BTreeMap<u16, usize>,
    flows: Vec<Flow<'a>>,
    /// Flows whose receiver sends requests.
    asking: Vec<usize>,
    /// Number of flows that have ended.
    gone: usize,
    buffer: Vec<u8>,
    /// Time to give up, known once the first connection is open.
    end: Option<u64>,
}

impl Run<'_> {
    /// Runs until all flows have ended, or until they should have.
    fn run(&mut self, first_by: u64) -> Result<(), AgentError> {
        loop {
            let now = sys::now();
            if self.gone == self.flows.len()
                || self.poll.stopped()
                || self.end.is_some_and(|end| now >= end)
            {
                return self.writer.finish(now);
            }
            if self.end.is_none() && now >= first_by {
                self.writer.finish(now)?;
                let patience = self.plan.patience as f64 / 1e9;
                return Err(AgentError::new(format!(
                    "no sender connected within {patience} s"
                )));
            }
            for place in 0..self.asking.len() {
                let index = self.asking[place];
                if self.flows[index].asks <= now {
                    self.ask(index, now)?;
                }
            }
            let asks = self
                .asking
                .iter()
                .map(|index| self.flows[*index].asks)
                .min()
                .unwrap_or(u64::MAX);
            for (token, _) in self.poll.wait(asks.min(self.end.unwrap_or(first_by)))? {
                match token.checked_sub(CONNECTION) {
                    None => self.accept(token as usize)?,
                    Some(index) => self.read(index as usize)?,
                }
            }
        }
    }

    /// Accepts all connections that wait at a listening socket.
    fn accept(&mut self, place: usize) -> Result<(), AgentError> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let (listener, flow) = (self.listening[place].0.as_raw_fd(), self.listening[place].1);
        loop {
            match accept4(listener, flags) {
                Ok(connection) => self.come(connection, flow)?,
                // The peer aborted the connection before this end accepted it.
                Err(Errno::ECONNABORTED | Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(()),
                Err(error) => return Err(failed("accepting a connection")(error)),
            }
        }
    }

    #[allow(unsafe_code, reason = "nix returns a connection as a bare number")]
    fn come(&mut self, connection: RawFd, mut index: usize) -> Result<(), AgentError> {
        // SAFETY: `accept4` opened it just now, so it has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(connection) };
        if self.flows[index].plan.arrives() {
            // A connection that is already closed has no peer; its sender reports the reason.
            let peer = getpeername::<SockaddrIn>(connection).ok();
            let Some(found) = peer.and_then(|peer| self.near_ports.get(&peer.port())) else {
                return Ok(());
            };
            index = *found;
        }
        let now = sys::now();
        let flow = &mut self.flows[index];
        if flow.came {
            return Ok(());
        }
        if matches!(flow.plan.app, AppPlan::Answers { .. }) {
            setsockopt(&socket, sockopt::TcpNoDelay, &true).map_err(failed("TCP_NODELAY"))?;
        }
        self.poll.add(
            &socket,
            EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP,
            CONNECTION + index as u64,
        )?;
        (flow.socket, flow.came) = (Some(socket), true);
        self.writer.add(RecordKind::Open, index, now, &[])?;
        self.end
            .get_or_insert(now.saturating_sub(flow.plan.start) + self.plan.duration + GRACE);
        self.read(index)
    }

    fn read(&mut self, index: usize) -> Result<(), AgentError> {
        let flow = &mut self.flows[index];
        let Some(socket) = &flow.socket else {
            return Ok(());
        };
        let before = flow.read;
        let ended = loop {
            match recv(
                socket.as_raw_fd(),
                &mut self.buffer,
                MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT,
            ) {
                Ok(0) => break true,
                Ok(count) => flow.read += count as u64,
                Err(Errno::EAGAIN | Errno::EINTR) => break false,
                // The run ends before the transfer, and the sender resets the connection.
                Err(_) => break true,
            }
        };
        let now = sys::now();
        if flow.read > before {
            self.writer
                .add_number(RecordKind::Read, index, now, flow.read)?;
            self.answered(index, now)?;
        }
        if ended {
            let flow = &mut self.flows[index];
            (flow.socket, flow.asks) = (None, u64::MAX);
            self.gone += 1;
            self.writer
                .add_number(RecordKind::End, index, now, flow.read)?;
        }
        Ok(())
    }

    /// Records an answer if it has become complete.
    fn answered(&mut self, index: usize, now: u64) -> Result<(), AgentError> {
        let flow = &mut self.flows[index];
        let AppPlan::Answers { sizes, thinks } = &flow.plan.app else {
            return Ok(());
        };
        let complete: u64 = sizes.iter().take(flow.answers + 1).sum();
        if flow.answers < sizes.len() && flow.asks == u64::MAX && flow.read >= complete {
            let mut data = [0; 16];
            data[..8].copy_from_slice(&flow.asked.to_le_bytes());
            data[8..].copy_from_slice(&sizes[flow.answers].to_le_bytes());
            flow.asks = now.saturating_add(thinks.get(flow.answers).copied().unwrap_or(0));
            flow.answers += 1;
            self.writer.add(RecordKind::Answer, index, now, &data)?;
        }
        Ok(())
    }

    fn ask(&mut self, index: usize, now: u64) -> Result<(), AgentError> {
        let flow = &mut self.flows[index];
        (flow.asked, flow.asks) = (now, u64::MAX);
        if let Some(socket) = &flow.socket {
            // If the connection broke, `read` notices.
            let _ = write(
                socket.as_raw_fd(),
                &[0],
                MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT,
            );
        }
        Ok(())
    }
}
