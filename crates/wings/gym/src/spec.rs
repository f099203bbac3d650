//! The declaration of an environment.

use fullpipe_batch::sweep::{Prior, Range};
use fullpipe_cc::{Registry, steered};
use fullpipe_policy::Spaces;
use fullpipe_scenario::{Error, Scenario, Template};
use fullpipe_sim::Simulation;
use fullpipe_trace::TraceLevel;
use fullpipe_units::{Rng, Span};

use crate::column::Column;
use crate::reward::Reward;

/// Name of the algorithm of a steered flow.
pub const AGENT: &str = steered::DESCRIPTOR.name;

/// Options of an environment.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keys of the scenario, as `--set` takes them: one value, several, or a range to draw from.
    pub prior: Vec<(String, String)>,
    /// Observations and actions.
    pub spaces: Spaces,
    /// Columns of the trace that an observation has besides.
    pub columns: Vec<String>,
    /// The reward.
    pub reward: Reward,
    /// Number of steps after which an episode is cut; `None` for the scenario's duration alone.
    pub max_steps: Option<u64>,
    /// Rate with which an agent begins, as a share of the bottleneck's: a number or a range. `None`
    /// for the initial window.
    pub start: Option<String>,
}

/// A checked environment.
#[derive(Debug)]
pub struct Spec {
    pub(crate) prior: Prior,
    pub(crate) registry: Registry,
    pub(crate) spaces: Spaces,
    pub(crate) columns: Vec<Column>,
    pub(crate) reward: Reward,
    pub(crate) max_steps: u64,
    pub(crate) start: Option<Start>,
    /// Names of the steered flows.
    agents: Vec<String>,
}

/// The share of the bottleneck's rate with which an agent begins.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    Share(f64),
    Range(Range),
}

impl Start {
    fn read(text: &str) -> Option<Start> {
        match Range::read(text) {
            Some(range) => range.ok().map(Start::Range),
            None => text.trim().parse().ok().map(Start::Share),
        }
    }

    pub(crate) fn draw(&self, seed: u64, flow: &str) -> f64 {
        match self {
            Start::Share(share) => *share,
            Start::Range(range) => {
                let drawn = range.draw(&mut Rng::stream(seed, flow, "gym start"));
                drawn
                    .parse()
                    .expect("a range of plain numbers draws numbers")
            }
        }
    }
}

impl Spec {
    /// Checks an environment: its scenarios at the edges of the prior, and its options.
    ///
    /// # Errors If a scenario is refused, none of its flows is steered, or an option is wrong.
    pub fn new(template: Template, options: Options, registry: Registry) -> Result<Spec, Error> {
        let registry = registry.with(&steered::DESCRIPTOR);
        let prior = Prior::of(template, options.prior, &registry)?;
        let start = match &options.start {
            None => None,
            Some(text) => {
                let start = Start::read(text);
                let positive = match &start {
                    Some(Start::Share(share)) => *share > 0.0 && share.is_finite(),
                    Some(Start::Range(range)) => {
                        range.end(false).parse().is_ok_and(|low: f64| low > 0.0)
                    }
                    None => false,
                };
                if !positive {
                    let fix = "give a share of the bottleneck's rate, like \"0.5\", or a range, like \"0.3..1.5\"";
                    let problem = "neither a positive number nor a range".to_owned();
                    return Err(prior.error(
                        "start",
                        &format!("{text:?}"),
                        problem,
                        fix.to_owned(),
                    ));
                }
                start
            }
        };
        let mut agents: Option<Vec<String>> = None;
        let mut columns = Vec::new();
        for settings in prior.edges() {
            let scenario = prior.scenario(&settings, 1)?;
            Simulation::new(&scenario, &registry, TraceLevel::Off)?;
            let here = steered_flows(&scenario);
            if here.is_empty() {
                let problem = format!("no flow has the algorithm {AGENT:?}");
                let fix = format!("write cc = {AGENT:?} in the [[flow]] that the agent steers");
                return Err(prior.error("flow", "", problem, fix));
            }
            if let Some(flow) = scenario
                .flows
                .iter()
                .find(|flow| flow.cc == AGENT && flow.is_datagram())
            {
                let problem = "an agent steers TCP, and this is a flow of datagrams".to_owned();
                let fix = "remove transport, or give this flow another algorithm".to_owned();
                return Err(prior.error(&flow.key("transport"), "", problem, fix));
            }
            if agents.as_ref().is_some_and(|agents| *agents != here) {
                let problem = "the number of agents differs within the prior".to_owned();
                let fix = format!("let the same flows have cc = {AGENT:?} in all scenarios");
                return Err(prior.error("flow", "", problem, fix));
            }
            agents = Some(here);
            columns = options
                .columns
                .iter()
                .map(|text| {
                    Column::read(text, &scenario).map_err(|(problem, fix)| {
                        prior.error("observation", &format!("{text:?}"), problem, fix)
                    })
                })
                .collect::<Result<_, _>>()?;
        }
        Ok(Spec {
            agents: agents.unwrap_or_default(),
            prior,
            registry,
            spaces: options.spaces,
            columns,
            reward: options.reward,
            max_steps: options.max_steps.unwrap_or(u64::MAX),
            start,
        })
    }

    /// Returns the names of the agents' flows.
    pub fn agents(&self) -> &[String] {
        &self.agents
    }

    /// Returns the number of values in an agent's observation: the history's features, then the
    /// columns.
    pub fn observed(&self) -> usize {
        self.spaces.observed() + self.columns.len()
    }

    /// Returns observations and actions of agents.
    pub fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    /// Returns the settings that an episode's seed draws.
    pub fn settings(&self, seed: u64) -> Vec<(String, String)> {
        self.prior.settings(seed)
    }

    /// Time between two looks for the first packet of an agent: before it, no agent acts.
    pub(crate) fn look(&self, scenario: &Scenario) -> Span {
        let shortest = scenario
            .path
            .rtt
            .mul_f64(0.5 * self.spaces.warm_up.min(1.0));
        shortest.max(Span::from_micros(10))
    }
}

fn steered_flows(scenario: &Scenario) -> Vec<String> {
    let flows = scenario.flows.iter();
    let steered = flows.filter(|flow| flow.cc == AGENT);
    steered.map(|flow| flow.name.clone()).collect()
}
