//! The sending end: opens each flow's connection at its start time, writes its application's data,
//! and samples the kernel's state of it.

mod app;
mod flow;
mod samples;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    MsgFlags, Shutdown, SockaddrIn, bind, connect, getsockopt, recv, send as write, setsockopt,
    shutdown, sockopt,
};

use self::app::App;
use self::flow::{Flow, State};
use super::plan::{AppPlan, FlowPlan, Plan};
use super::record::{Header, RecordKind, Writer};
use super::sys::{self, Poll};
use super::{AgentError, failed};

/// Bytes handed to the kernel at a time.
const CHUNK: usize = 256 << 10;

/// Time between two writes of the recording, in ns, so that others can follow it.
const FOLLOWED: u64 = 1_000_000_000;

/// Ports that the kernel assigns to the scenario's own flows. They lie above the ports of
/// workloads, which the plan assigns.
const OWN_PORTS: &str = "60001 65535";

/// Sends the flows of `plan`; the run begins at the time that `begins` returns.
pub(crate) fn send(
    plan: &Plan,
    out: &Path,
    begins: impl FnOnce() -> u64,
) -> Result<(), AgentError> {
    check(plan)?;
    let poll = Poll::new()?;
    let epoch = begins();
    let writer = Writer::create(
        out,
        &Header {
            agent: "send".to_owned(),
            epoch,
            kernel: sys::kernel(),
        },
    )?;
    let flows: Vec<Flow> = plan
        .flows
        .iter()
        .map(|flow| Flow::new(flow, epoch))
        .collect();
    let mut run = Run {
        plan,
        epoch,
        end: epoch + plan.duration,
        poll,
        writer,
        agenda: flows
            .iter()
            .enumerate()
            .map(|(index, flow)| (flow.due, index))
            .collect(),
        flows,
        open: BTreeSet::new(),
        first_arrival: plan
            .flows
            .iter()
            .position(FlowPlan::arrives)
            .unwrap_or(plan.flows.len()),
        under_way: 0,
        closed: 0,
        sampled: (0, epoch),
        broken: false,
        zeros: vec![0; CHUNK],
    };
    run.run()?;
    let failure = run.flows.into_iter().find_map(|flow| flow.failure);
    failure.map_or(Ok(()), |words| Err(AgentError::new(words)))
}

/// Refuses algorithms that this kernel does not offer, and makes room for buffers, before the run
/// begins.
fn check(plan: &Plan) -> Result<(), AgentError> {
    let mut known = BTreeSet::new();
    for flow in plan
        .flows
        .iter()
        .filter(|flow| known.insert(&flow.congestion))
    {
        sys::set_congestion(&sys::stream()?, &flow.name, &flow.congestion)?;
    }
    if plan.flows.iter().any(FlowPlan::arrives) {
        sys::open_many_files()?;
        sys::set_sysctl("ip_local_port_range", OWN_PORTS)?;
        // As in a simulation, a connection must not inherit the metrics of an earlier one.
        sys::set_sysctl("tcp_no_metrics_save", "1")?;
    }
    if let Some(most) = plan.flows.iter().find_map(|flow| flow.send_tuning) {
        sys::set_sysctl("tcp_wmem", &format!("4096 16384 {most}"))?;
    }
    let most = plan.flows.iter().filter_map(|flow| flow.send_buffer).max();
    most.map_or(Ok(()), |most| sys::make_room(&sys::stream()?, true, most))
}

struct Run<'a> {
    plan: &'a Plan,
    epoch: u64,
    end: u64,
    poll: Poll,
    writer: Writer,
    flows: Vec<Flow<'a>>,
    /// Flows that need attention, by time.
    agenda: BTreeSet<(u64, usize)>,
    /// Flows whose connection is open.
    open: BTreeSet<usize>,
    /// Index of the first flow that arrives; these follow the others.
    first_arrival: usize,
    /// Number of arriving flows that are connecting or open.
    under_way: u32,
    /// Number of flows that have ended.
    closed: usize,
    /// Index after the arriving flow that was sampled last, and the time of that sample.
    sampled: (usize, u64),
    /// Whether an arriving flow has failed, which makes the results of the others useless.
    broken: bool,
    zeros: Vec<u8>,
}

impl Run<'_> {
    /// Runs until the end, or until all flows have ended.
    fn run(&mut self) -> Result<(), AgentError> {
        let (interval, mark) = (self.plan.interval, self.epoch + self.plan.measure_from);
        let mut sample_at = self.epoch + interval;
        let mut written_at = self.epoch;
        loop {
            let now = sys::now();
            if now >= self.end
                || self.poll.stopped()
                || self.closed == self.flows.len()
                || self.broken
            {
                break;
            }
            if now >= sample_at {
                self.sample_all(now)?;
                if now >= written_at + FOLLOWED {
                    self.writer.flush()?;
                    written_at = now;
                }
                let regular = self.epoch + ((now - self.epoch) / interval + 1) * interval;
                sample_at = if now < mark && mark < regular {
                    mark
                } else {
                    regular
                };
            }
            while let Some((_, index)) = self.agenda.first().copied().filter(|(due, _)| *due <= now)
            {
                self.on_due(index, now)?;
            }
            let due = self.agenda.first().map_or(u64::MAX, |(due, _)| *due);
            for (token, what) in self.poll.wait(due.min(sample_at).min(self.end))? {
                self.on_event(token as usize, what)?;
            }
        }
        let now = sys::now();
        for index in 0..self.flows.len() {
            self.sample(index, now)?;
            // The run is over, so data in flight need not arrive.
            if let Some(socket) = self.flows[index].socket.take() {
                let at_once = libc::linger {
                    l_onoff: 1,
                    l_linger: 0,
                };
                setsockopt(&socket, sockopt::Linger, &at_once).map_err(failed("SO_LINGER"))?;
            }
        }
        self.writer.finish(now)
    }

    fn on_due(&mut self, index: usize, now: u64) -> Result<(), AgentError> {
        match self.flows[index].state {
            State::Waiting => self.connect(index),
            State::Connecting => {
                let patience = self.plan.patience as f64 / 1e9;
                self.fail(index, now, format!("no answer within {patience} s"))
            }
            State::Open => self.write(index),
            State::Closed => {
                self.set_due(index, u64::MAX);
                Ok(())
            }
        }
    }

    /// Sets the time at which the flow needs attention next.
    fn set_due(&mut self, index: usize, due: u64) {
        let before = std::mem::replace(&mut self.flows[index].due, due);
        self.agenda.remove(&(before, index));
        if due != u64::MAX {
            self.agenda.insert((due, index));
        }
    }

    /// Ends the flow.
    fn close(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        self.under_way -= u32::from(flow.plan.arrives() && flow.state != State::Waiting);
        (flow.socket, flow.app, flow.state) = (None, None, State::Closed);
        self.closed += 1;
        self.open.remove(&index);
        self.set_due(index, u64::MAX);
    }

    fn connect(&mut self, index: usize) -> Result<(), AgentError> {
        let plan = self.flows[index].plan;
        if plan.arrives() && self.under_way >= self.plan.at_once {
            self.close(index);
            return self.writer.add(RecordKind::Refused, index, sys::now(), &[]);
        }
        let socket = sys::stream()?;
        if let Some(port) = plan.near_port {
            let address = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
            bind(socket.as_raw_fd(), &address)
                .map_err(failed(&format!("flow {:?}: port {port}", plan.name)))?;
        }
        sys::set_congestion(&socket, &plan.name, &plan.congestion)?;
        if let Some(bytes) = plan.send_buffer {
            // If the kernel refuses this size, `make_room` has already set it.
            let _ = sys::set_buffer(&socket, true, bytes);
        }
        // The kernel reads this sysctl when it creates the SYN.
        sys::set_sysctl("tcp_ecn", if plan.ecn { "1" } else { "2" })?;
        sys::set(&socket, sys::Setting::Segment(plan.segment))?;
        if let Some(rate) = plan.pacing_rate {
            sys::set(&socket, sys::Setting::MaxPacingRate(rate))?;
        }
        if let Some(bytes) = plan.written_ahead {
            sys::set(&socket, sys::Setting::NotSentLowAt(bytes))?;
        }
        if plan.written_ahead.is_some()
            || matches!(plan.app, AppPlan::Answers { .. } | AppPlan::Chunks(_))
        {
            // The last segment of an answer or of a chunk must not wait for more data.
            setsockopt(&socket, sockopt::TcpNoDelay, &true).map_err(failed("TCP_NODELAY"))?;
        }
        let edges = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP;
        self.poll.add(&socket, edges, index as u64)?;
        let now = sys::now();
        self.writer.add(RecordKind::Start, index, now, &[])?;
        let address = SockaddrIn::from(SocketAddrV4::new(self.plan.receiver, plan.port));
        let result = connect(socket.as_raw_fd(), &address);
        let flow = &mut self.flows[index];
        (flow.socket, flow.state, flow.started) = (Some(socket), State::Connecting, now);
        self.under_way += u32::from(plan.arrives());
        self.set_due(index, now.saturating_add(self.plan.patience));
        match result {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(()),
            Err(error) => self.fail(index, now, unreachable(error)),
        }
    }

    fn on_event(&mut self, index: usize, what: EpollFlags) -> Result<(), AgentError> {
        let now = sys::now();
        let flow = &mut self.flows[index];
        let Some(socket) = &flow.socket else {
            return Ok(());
        };
        let error = match getsockopt(socket, sockopt::SocketError) {
            Ok(0) => None,
            Ok(number) => Some(Errno::from_raw(number)),
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            let words = match flow.state {
                State::Connecting => unreachable(error),
                _ => format!("the connection broke: {error}"),
            };
            return self.fail(index, now, words);
        }
        if flow.state == State::Connecting && what.contains(EpollFlags::EPOLLOUT) {
            flow.state = State::Open;
            flow.app = Some(App::new(flow.plan, self.epoch, flow.started, now));
            self.open.insert(index);
            self.writer.add(RecordKind::Open, index, now, &[])?;
            self.sample(index, now)?;
        }
        if self.flows[index].state == State::Open {
            if what.contains(EpollFlags::EPOLLIN) {
                self.read(index)?;
            }
            if what.contains(EpollFlags::EPOLLRDHUP) {
                return self.on_closed(index, now);
            }
            self.write(index)?;
        }
        Ok(())
    }

    /// Handles a close by the other side, which is an error unless the transfer is complete.
    fn on_closed(&mut self, index: usize, now: u64) -> Result<(), AgentError> {
        let flow = &self.flows[index];
        if flow.plan.app.bytes() != Some(flow.written) {
            return self.fail(index, now, "the receiver closed the connection".to_owned());
        }
        let written = flow.written;
        self.sample(index, now)?;
        self.writer
            .add_number(RecordKind::End, index, now, written)?;
        self.close(index);
        Ok(())
    }

    /// Reads requests, a byte each.
    fn read(&mut self, index: usize) -> Result<(), AgentError> {
        let flow = &mut self.flows[index];
        let Flow {
            socket: Some(socket),
            app: Some(App::Answers(_, asked)),
            ..
        } = flow
        else {
            return Ok(());
        };
        let mut bytes = [0; 64];
        while let Ok(count @ 1..) = recv(socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
            *asked += count;
        }
        Ok(())
    }

    fn write(&mut self, index: usize) -> Result<(), AgentError> {
        let flow = &mut self.flows[index];
        let Flow {
            socket: Some(socket),
            app: Some(app),
            ..
        } = flow
        else {
            return Ok(());
        };
        let mut due;
        loop {
            let allowed = app.allowed(sys::now(), flow.written);
            due = allowed.again;
            let more = allowed.bytes.saturating_sub(flow.written).min(CHUNK as u64) as usize;
            if more == 0 {
                break;
            }
            match write(
                socket.as_raw_fd(),
                &self.zeros[..more],
                MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT,
            ) {
                Ok(count) => flow.written += count as u64,
                // The socket reports when it has room again. Until then a further allowance of the
                // clock has no effect, but a change of the rate does.
                Err(Errno::EAGAIN) => break,
                // `on_event` gets the error from the socket.
                Err(_) => break,
            }
            if flow.plan.app.bytes() == Some(flow.written) {
                shutdown(socket.as_raw_fd(), Shutdown::Write)
                    .map_err(failed("closing a connection"))?;
            }
        }
        self.set_due(index, due);
        Ok(())
    }

    /// Ends the flow with an error. The others go on, unless the flow is one that arrives.
    fn fail(&mut self, index: usize, now: u64, why: String) -> Result<(), AgentError> {
        let flow = &mut self.flows[index];
        let words = format!(
            "flow {:?} to {}:{}: {why}",
            flow.plan.name, self.plan.receiver, flow.plan.port
        );
        self.writer
            .add(RecordKind::Failure, index, now, words.as_bytes())?;
        flow.failure = Some(words);
        self.broken |= flow.plan.arrives();
        self.close(index);
        Ok(())
    }
}

fn unreachable(error: Errno) -> String {
    match error {
        Errno::ECONNREFUSED => {
            "no receiver listens there\n  fix: start `fullpipe-agent receive` first".to_owned()
        }
        error => format!("the address can't be reached: {error}"),
    }
}
