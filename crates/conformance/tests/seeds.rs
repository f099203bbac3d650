#[test]
fn seeds() {
    let registry = cc::Registry::default();
    for seed in 1..=30 {
        let report = conformance::Subject::new(&registry, "bbr3", &[]).unwrap().with_seed(seed).run().unwrap();
        for outcome in &report.outcomes {
            for judged in outcome.judged() {
                if judged.verdict == conformance::Verdict::Missed {
                    println!("seed {seed} {} {} {:?} {}", outcome.case.section, judged.condition.what, judged.measured, judged.why);
                }
            }
        }
    }
}
