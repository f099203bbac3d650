//! A trained policy as a controller.

use std::sync::Arc;

use fullpipe_cc::steered::{Order, Steered};
use fullpipe_cc::{Ack, Config, Context, Controller, Decision, Lost, PathChange, Snapshot};
use fullpipe_units::{Bytes, Time};

use crate::file::Read;
use crate::history::History;

/// A trained policy: at the end of each monitor interval, its network turns the observation into an
/// action.
#[derive(Debug)]
pub struct Policy {
    read: Arc<Read>,
    steered: Steered,
    history: History,
    smss: Bytes,
}

impl Policy {
    /// Creates the controller of a connection.
    pub fn new(read: Arc<Read>, config: &Config) -> Policy {
        let spaces = &read.spaces;
        let mut steered = Steered::new(config, spaces.warm_up);
        steered.begin_with(spaces.rule.first(None, config.smss), spaces.warm_up);
        Policy {
            steered,
            history: History::new(&read.spaces, config.smss),
            smss: config.smss,
            read,
        }
    }

    /// Acts if an interval has ended.
    fn act(&mut self, ended: u64) {
        if self.steered.intervals() == ended {
            return;
        }
        let Read { spaces, network } = &*self.read;
        let mean = self.history.add(spaces, &self.steered);
        // Actions of environments have single precision.
        let action = f64::from(network.outputs(self.history.values())[0] as f32);
        let length = spaces.next_length(mean, self.steered.ordered_length());
        let from = self.steered.closed().time.1;
        self.steered.steer(Order {
            target: spaces.rule.target(action, &self.steered, self.smss),
            until: from + length,
        });
    }
}

impl Controller for Policy {
    fn wants_sent(&mut self, now: Time, from_idle: bool) -> bool {
        self.steered.wants_sent(now, from_idle)
    }

    fn on_sent(&mut self, cx: &mut Context<'_>, packet: &Snapshot) -> bool {
        self.steered.on_sent(cx, packet)
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &Lost) {
        self.steered.on_lost(cx, lost);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.steered.on_ack(cx, ack);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let ended = self.steered.intervals();
        self.steered.on_timer(cx);
        self.act(ended);
    }

    fn on_path(&mut self, cx: &mut Context<'_>, change: PathChange) {
        self.smss = cx.conn.smss;
        self.steered.on_path(cx, change);
    }

    fn decision(&self) -> Decision {
        self.steered.decision()
    }

    fn observe(&self, row: &mut Vec<f64>) {
        self.steered.observe(row);
    }
}
