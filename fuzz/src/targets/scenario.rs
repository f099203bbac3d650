//! The text of a scenario: an accepted text is written and read as the same, and an error names its
//! file and a fix.

use fullpipe_scenario::Scenario;

pub(crate) fn check(text: &str) {
    match Scenario::parse(text, "fuzzed.toml") {
        // Writing and reading a million flows takes ten seconds.
        Ok(scenario) if scenario.flows.len() > 10_000 => {}
        Ok(scenario) => {
            let written = scenario.to_toml();
            let mut again = Scenario::parse(&written, "written.toml")
                .unwrap_or_else(|error| panic!("{error}\n{written}"));
            assert_eq!(
                again.to_toml(),
                written,
                "a written text is written the same again"
            );
            // The text has the values of a profile, and its name in a comment.
            (again.comment, again.profile) = (scenario.comment.clone(), scenario.profile.clone());
            assert_eq!(again, scenario, "{written}");
            let finite = |line: &str| {
                !["= nan", "= inf", "= -inf"]
                    .iter()
                    .any(|end| line.ends_with(end))
            };
            assert!(
                written
                    .lines()
                    .all(|line| line.starts_with('#') || finite(line)),
                "{written}"
            );
        }
        Err(error) => {
            assert_eq!(error.file(), "fuzzed.toml");
            assert!(
                !error.problem().is_empty() && !error.fix().is_empty(),
                "{error}"
            );
            assert_eq!(
                error.to_string().matches('\n').count(),
                1,
                "two lines: {error}"
            );
        }
    }
}
