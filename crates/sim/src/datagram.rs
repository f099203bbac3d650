//! Flows of datagrams: their sender's events, and their receiver.

use fullpipe_tcp::{Ack, Emitted};
use fullpipe_units::{Bytes, Time};

use crate::event_queue::EventKind;
use crate::flow::{AnySender, Flow, Network, PacketInTransit, Parts};
use crate::forward_path::ForwardPath;
use crate::step::Step;

impl Step<'_> {
    /// Handles a report that arrives at the sender.
    pub(crate) fn report(&mut self, flow: &mut Flow, now: Time, report: &Ack) {
        let Flow {
            source: AnySender::Datagram(sender),
            path,
            meter,
            transitions,
            last,
            ..
        } = flow
        else {
            return;
        };
        let Some(receiver) = &mut path.datagrams else {
            return;
        };
        let covered = receiver.report(report);
        *last = sender.on_report(now, report, covered, transitions, || meter.on_lost(now));
        receiver.forget(report);
        if let Some(rtt) = last.rtt {
            meter.on_rtt(now, rtt);
        }
        self.send_datagrams(flow, now);
        if flow.watched {
            self.watch(flow, now);
        }
    }

    /// Handles the timer of the sender.
    #[cold]
    pub(crate) fn datagram_timer(&mut self, flow: &mut Flow, now: Time) {
        let Flow {
            source: AnySender::Datagram(sender),
            meter,
            transitions,
            ..
        } = flow
        else {
            return;
        };
        sender.on_timer(now, transitions, || meter.on_lost(now));
        self.send_datagrams(flow, now);
    }

    /// Lets the sender take over frames and send, and schedules its next calls.
    pub(crate) fn send_datagrams(&mut self, flow: &mut Flow, now: Time) {
        let Parts {
            source: AnySender::Datagram(sender),
            transitions,
            mut path,
            ..
        } = flow.parts()
        else {
            return;
        };
        sender.transmit(now, transitions, |emitted| match emitted {
            Emitted::Frame(created, size) => path.meter.on_frame(created, size),
            Emitted::Packet(segment) => path.enter(self.network, now, &segment),
        });
        let (timer, departure) = (sender.timer_at(), sender.departure_at());
        let (queue, key) = (&mut self.network.event_queue, flow.key);
        flow.timer.arm(queue, timer.max(now), EventKind::Timer, key);
        flow.departure
            .arm(queue, departure.max(now), EventKind::Departure, key);
    }
}

impl ForwardPath<'_> {
    /// Lets the receiver of datagrams read a packet that arrives at `at`.
    pub(crate) fn receive_datagram(
        &mut self,
        network: &mut Network,
        at: Time,
        packet: PacketInTransit,
    ) {
        let Some(mut receiver) = self.path.datagrams.take() else {
            return;
        };
        let ForwardPath {
            key, path, meter, ..
        } = self;
        let is_new = receiver.on_segment(at, &packet.segment, |at, report| {
            path.acknowledge(network, meter, *key, at, report, &[])
        });
        let size = Bytes::new(packet.segment.size.into());
        meter.on_delivered(at, packet.waited, if is_new { size } else { Bytes::ZERO });
        if is_new {
            meter.on_frame_data(at, packet.segment.echo, size);
        }
        let due = receiver.report_due();
        path.datagrams = Some(receiver);
        self.arm_report(network, due);
    }

    /// Handles the timer of the report.
    pub(crate) fn report_on_time(&mut self, network: &mut Network, now: Time) {
        let Some(mut receiver) = self.path.datagrams.take() else {
            return;
        };
        let ForwardPath {
            key, path, meter, ..
        } = self;
        receiver.on_time(now, |at, report| {
            path.acknowledge(network, meter, *key, at, report, &[])
        });
        let due = receiver.report_due();
        path.datagrams = Some(receiver);
        self.arm_report(network, due);
    }

    fn arm_report(&mut self, network: &mut Network, due: Option<Time>) {
        if let Some(due) = due {
            self.path.delayed_ack.arm(
                &mut network.event_queue,
                due,
                EventKind::DelayedAck,
                self.key,
            );
        }
    }
}
