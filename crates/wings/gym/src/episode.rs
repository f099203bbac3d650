//! One environment at work: its simulation, its agents, and its seeds.

use std::sync::Arc;

use fullpipe_cc::steered::Order;
use fullpipe_policy::History;
use fullpipe_scenario::{Error, Scenario};
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Bytes, Rng, Span, Time};

use crate::spec::{AGENT, Spec};

/// Names of the numbers about an agent's last interval, in their order.
pub const INFO: [&str; 8] = [
    "time_s",
    "interval_s",
    "throughput_bps",
    "mean_rtt_s",
    "loss_ratio",
    "packets",
    "rate_bps",
    "cwnd_bytes",
];

/// The result of a reset or a step. Values of several agents follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Observations.
    pub observations: Vec<f32>,
    /// Rewards.
    pub rewards: Vec<f64>,
    /// Whether all data of the agent's flow was delivered.
    pub terminated: Vec<bool>,
    /// Whether the episode was cut, by its number of steps or the scenario's duration.
    pub truncated: bool,
    /// Numbers about the interval, as in [`INFO`].
    pub info: Vec<[f64; INFO.len()]>,
    /// Seed of the episode.
    pub seed: u64,
}

/// An environment.
#[derive(Debug)]
pub struct Episode {
    spec: Arc<Spec>,
    /// Seed of the first episode after a reset with a seed, and number of episodes since.
    seeds: (u64, u64),
    running: Option<Running>,
    outcome: Outcome,
}

#[derive(Debug)]
struct Running {
    simulation: Simulation,
    scenario: Scenario,
    agents: Vec<Agent>,
    steps: u64,
    over: bool,
}

#[derive(Debug)]
struct Agent {
    flow: usize,
    history: History,
    smss: Bytes,
    /// Length of its next interval; `None` before its first packet.
    length: Option<Span>,
}

impl Episode {
    /// Creates an environment. [`reset`](Episode::reset) begins its first episode.
    pub fn new(spec: Arc<Spec>) -> Episode {
        Episode {
            spec,
            seeds: (0, 0),
            running: None,
            outcome: Outcome::default(),
        }
    }

    /// Returns the result of the last reset or step.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns whether the episode is over: it was cut, or all agents are done.
    pub fn is_over(&self) -> bool {
        self.outcome.truncated || self.outcome.terminated.iter().all(|done| *done)
    }

    /// Begins an episode: with this seed, or with the next one of the sequence that the last given
    /// seed began.
    ///
    /// # Errors If the drawn settings do not fit each other.
    pub fn reset(&mut self, seed: Option<u64>) -> Result<(), Error> {
        self.seeds = match seed {
            Some(seed) => (seed, 0),
            None => (self.seeds.0, self.seeds.1 + 1),
        };
        let seed = match self.seeds {
            (seed, 0) => seed,
            // Seeds of scenarios are below 2^63.
            (seed, count) => Rng::stream(seed, &count.to_string(), "gym episode").next_u64() >> 1,
        };
        let spec = Arc::clone(&self.spec);
        let scenario = spec.prior.scenario(&spec.prior.settings(seed), seed)?;
        let mut simulation = Simulation::new(&scenario, &spec.registry, TraceLevel::Off)?;
        simulation.without_summary();
        let agents = agents(&spec, &scenario, &mut simulation);
        let mut running = Running {
            simulation,
            scenario,
            agents,
            steps: 0,
            over: false,
        };
        running.begin(&spec);
        let agents = running.agents.len();
        self.outcome = Outcome {
            observations: Vec::with_capacity(agents * spec.observed()),
            rewards: vec![0.0; agents],
            terminated: vec![false; agents],
            truncated: false,
            info: vec![[0.0; INFO.len()]; agents],
            seed,
        };
        running.tell(&spec, &mut self.outcome);
        self.outcome.rewards.fill(0.0);
        self.running = Some(running);
        Ok(())
    }

    /// Makes a step with one action per agent.
    ///
    /// # Panics If no episode has begun.
    pub fn step(&mut self, actions: &[f32]) {
        let running = self
            .running
            .as_mut()
            .expect("an episode begins with a reset");
        running.act(&self.spec, actions);
        running.tell(&self.spec, &mut self.outcome);
        running.steps += 1;
        self.outcome.truncated = running.over || running.steps >= self.spec.max_steps;
    }
}

fn agents(spec: &Spec, scenario: &Scenario, simulation: &mut Simulation) -> Vec<Agent> {
    let mut agents = Vec::new();
    for (flow, about) in scenario.flows.iter().enumerate() {
        if about.cc != AGENT {
            continue;
        }
        let share = spec
            .start
            .as_ref()
            .map(|start| start.draw(scenario.seed, &about.name));
        let rate = share.map(|share| share * scenario.path.link.rate.as_f64());
        let first = spec
            .spaces
            .rule
            .first(rate.map(|rate| (rate, scenario.path.rtt)), about.mss);
        let (steered, _) = simulation
            .steered(flow)
            .expect("an agent's flow is steered TCP");
        steered.begin_with(first, spec.spaces.warm_up);
        agents.push(Agent {
            flow,
            history: History::new(&spec.spaces, about.mss),
            smss: about.mss,
            length: None,
        });
    }
    agents
}

impl Running {
    /// Runs to the end of the first interval of the first agent.
    fn begin(&mut self, spec: &Spec) {
        let look = spec.look(&self.scenario);
        let first = loop {
            let wakes = self.agents.iter().filter_map(|agent| {
                self.simulation
                    .steered(agent.flow)
                    .and_then(|(steered, _)| steered.wakes_at())
            });
            if let Some(first) = wakes.min() {
                break first;
            }
            let next = self.simulation.now() + look;
            if self.simulation.advance_to(next) {
                self.over = true;
                return;
            }
        };
        self.run_to(spec, first);
    }

    /// Gives the agents' orders and runs to the end of their intervals.
    fn act(&mut self, spec: &Spec, actions: &[f32]) {
        if self.over {
            return;
        }
        let now = self.simulation.now();
        let lengths = self.agents.iter().filter_map(|agent| agent.length);
        let length = lengths.max().unwrap_or_else(|| spec.look(&self.scenario));
        let until = now + length;
        for (agent, action) in self.agents.iter().zip(actions) {
            let Some((steered, _)) = self.simulation.steered(agent.flow) else {
                continue;
            };
            if steered.awaits_order() {
                steered.steer(Order {
                    target: spec
                        .spaces
                        .rule
                        .target(f64::from(*action), steered, agent.smss),
                    until,
                });
            }
        }
        self.run_to(spec, until);
    }

    /// Runs to `at` and closes the intervals of all agents that have begun.
    fn run_to(&mut self, spec: &Spec, at: Time) {
        self.over = self.simulation.advance_to(at);
        let now = self.simulation.now();
        for agent in &mut self.agents {
            let Some((steered, conn)) = self.simulation.steered(agent.flow) else {
                continue;
            };
            if !steered.has_begun() {
                continue;
            }
            // Its own timer has done so, unless the agent began in this step, or its host is busy.
            steered.close(now, conn);
            let last = steered.ordered_length();
            let mean = agent.history.add(&spec.spaces, steered);
            agent.length = Some(spec.spaces.next_length(mean, last));
        }
    }

    /// Writes observations, rewards and numbers of the last intervals.
    fn tell(&mut self, spec: &Spec, outcome: &mut Outcome) {
        outcome.observations.clear();
        let now = self.simulation.now().as_secs_f64();
        for (place, agent) in self.agents.iter().enumerate() {
            outcome
                .observations
                .extend_from_slice(agent.history.values());
            for column in &spec.columns {
                let value = column.value(&mut self.simulation, agent.flow);
                outcome.observations.push(value as f32);
            }
            outcome.terminated[place] = self.simulation.is_done(agent.flow);
            let Some((steered, _)) = self.simulation.steered(agent.flow) else {
                continue;
            };
            if agent.length.is_none() {
                outcome.info[place][0] = now;
                continue;
            }
            let interval = steered.closed();
            outcome.rewards[place] = spec.reward.of(interval, &agent.history, &self.scenario);
            let seconds = interval.length().as_secs_f64();
            let per_second = |bytes: Bytes| {
                if seconds > 0.0 {
                    8.0 * bytes.as_f64() / seconds
                } else {
                    0.0
                }
            };
            let (cwnd, rate) = steered.window();
            outcome.info[place] = [
                now,
                seconds,
                per_second(interval.acked),
                interval.mean_rtt().unwrap_or(0.0),
                agent.history.loss(interval),
                interval.sent.as_f64() / agent.smss.as_f64(),
                rate.map_or(0.0, |rate| rate.as_f64()),
                cwnd.as_f64(),
            ];
        }
    }
}
