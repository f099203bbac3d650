//! A prior: scenarios drawn one by one, each from its own seed.

use fullpipe_cc::Registry;
use fullpipe_scenario::{Error, Scenario, Template};
use fullpipe_units::Rng;

use super::axis::Range;
use super::plan::{Plan, Request, varied};

/// A scenario's text with keys that are drawn: each from a list of values or a range, in the words of
/// a sweep with `--sample`.
///
/// The scenario of a seed is the first point of a sweep with `--sample 1` and that seed, so another
/// key does not change the draws of those before it.
#[derive(Clone, Debug)]
pub struct Prior {
    template: Template,
    axes: Vec<(String, Choice)>,
}

#[derive(Clone, Debug)]
enum Choice {
    Range(Range),
    Values(Vec<String>),
}

impl Choice {
    fn of(values: Vec<String>) -> Choice {
        match values.first().and_then(|value| Range::read(value)?.ok()) {
            Some(range) => Choice::Range(range),
            None => Choice::Values(values),
        }
    }

    fn draw(&self, rng: &mut Rng) -> String {
        match self {
            Choice::Range(range) => range.draw(rng),
            Choice::Values(values) => values[rng.below(values.len() as u64) as usize].clone(),
        }
    }

    fn end(&self, high: bool) -> String {
        match self {
            Choice::Range(range) => range.end(high),
            Choice::Values(values) => values[if high { values.len() - 1 } else { 0 }].clone(),
        }
    }
}

impl Prior {
    /// Makes a prior from a template, its `[sweep]` table, and keys as `--set` takes them.
    ///
    /// # Errors If an axis is wrong, or the scenario with its first or last values, or with any one
    /// listed value.
    pub fn of(
        mut template: Template,
        set: Vec<(String, String)>,
        registry: &Registry,
    ) -> Result<Prior, Error> {
        let request = Request {
            set,
            sample: Some(1),
            repeat: Some(1),
            ..Request::default()
        };
        Plan::of(template.clone(), &request, registry.clone())?;
        let axes = varied(&mut template, &request)
            .into_iter()
            .map(|(key, values)| (key, Choice::of(values)))
            .collect();
        Ok(Prior { template, axes })
    }

    /// Returns the keys that are drawn.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|(key, _)| key.as_str())
    }

    /// Returns the settings of a seed: keys with values, as `--set` takes them.
    pub fn settings(&self, seed: u64) -> Vec<(String, String)> {
        let draw = |(key, choice): &(String, Choice)| {
            (
                key.clone(),
                choice.draw(&mut Rng::stream(seed, key, "sweep")),
            )
        };
        self.axes.iter().map(draw).collect()
    }

    /// Returns settings at the edges of the prior: all first values, all last ones, and each listed
    /// value with the first ones of the other keys.
    pub fn edges(&self) -> Vec<Vec<(String, String)>> {
        let all = |high| -> Vec<(String, String)> {
            let axes = self.axes.iter();
            axes.map(|(key, choice)| (key.clone(), choice.end(high)))
                .collect()
        };
        let mut edges = vec![all(false), all(true)];
        for (place, (_, choice)) in self.axes.iter().enumerate() {
            if let Choice::Values(values) = choice {
                edges.extend(values.iter().skip(1).map(|value| {
                    let mut edge = all(false);
                    edge[place].1.clone_from(value);
                    edge
                }));
            }
        }
        edges
    }

    /// Returns the scenario with these settings and this seed.
    ///
    /// # Errors If the settings do not fit each other.
    pub fn scenario(&self, settings: &[(String, String)], seed: u64) -> Result<Scenario, Error> {
        let mut template = self.template.clone();
        for (key, value) in settings {
            template.set(key, value);
        }
        template.set_seed(seed);
        template.scenario()
    }

    /// Returns an error about `key`.
    pub fn error(&self, key: &str, value: &str, problem: String, fix: String) -> Error {
        self.template.error(key, value, problem, fix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = r#"
        duration = "1s"
        [path]
        rate = "10mbit"
        rtt = "20ms"
        buffer = "2bdp"
        [[flow]]
        cc = "cubic"
    "#;

    fn set() -> Vec<(String, String)> {
        [
            ("path.rate", "1mbit..100mbit log"),
            ("flow.0.cc", "cubic,bbr3"),
            ("path.rtt", "30ms"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec()
    }

    fn prior() -> Prior {
        let template = Template::read(TEXT, "t.toml").expect("a scenario");
        Prior::of(template, set(), &Registry::default()).expect("a prior")
    }

    proptest! {
        #[test]
        fn a_seed_gives_the_first_point_of_a_sweep(seed in 0_u64..1 << 40) {
            let request = Request { set: set(), sample: Some(1), seed: Some(seed), ..Request::default() };
            let plan = Plan::new(TEXT, "t.toml", &request, Registry::default()).expect("a plan");
            let drawn = prior().settings(seed);
            let drawn: Vec<_> = drawn.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            prop_assert_eq!(&drawn, &plan.settings(0).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_value_that_the_scenario_refuses_is_at_an_edge() {
        let prior = prior();
        let edges = prior.edges();
        assert_eq!(edges.len(), 3);
        assert_eq!(
            edges[0],
            [
                ("path.rate".to_owned(), "1mbit".to_owned()),
                ("flow.0.cc".to_owned(), "cubic".to_owned())
            ]
        );
        assert_eq!(edges[2][1].1, "bbr3");
        let scenario = prior.scenario(&edges[1], 7).expect("an edge");
        assert_eq!(
            (scenario.seed, scenario.path.link.rate.as_bps()),
            (7, 100_000_000)
        );
        assert_eq!(scenario.path.rtt.as_secs_f64(), 0.03);
    }

    #[test]
    fn a_bad_range_is_refused_with_its_key() {
        let template = Template::read(TEXT, "t.toml").expect("a scenario");
        let set = vec![("path.rate".to_owned(), "9mbit..1mbit".to_owned())];
        let error = Prior::of(template, set, &Registry::default()).expect_err("an empty range");
        assert!(
            error.to_string().contains("9mbit is not below 1mbit"),
            "{error}"
        );
    }
}
