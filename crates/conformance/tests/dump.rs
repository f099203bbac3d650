#[test]
fn dump() {
    let Ok(section) = std::env::var("CASE") else { return };
    let registry = cc::Registry::default();
    let profile = std::env::var("PROFILE").unwrap_or("draft".into());
    let cc_name = std::env::var("CC").unwrap_or("bbr3".into());
    let params = [("profile", profile.as_str())];
    let subject =
        conformance::Subject::new(&registry, &cc_name, if cc_name == "bbr3" { &params } else { &[] }).unwrap();
    let outcome = conformance::case(&section).unwrap().run(&subject).unwrap();
    for scene in &outcome.scenes {
        println!("{}", scene.scenario);
        let every: u64 = std::env::var("MS").map_or(50, |ms| ms.parse().unwrap());
        let (from, to): (f64, f64) = std::env::var("SPAN").map_or((0.0, 1e9), |s| {
            let (a, b) = s.split_once('-').unwrap();
            (a.parse().unwrap(), b.parse().unwrap())
        });
        let s = scenario::Scenario::parse(&scene.scenario, "x").unwrap();
        let run = sim::run(&s, &registry, sim::TraceLevel::Every(units::Span::from_millis(every))).unwrap();
        let trace = run.trace.unwrap();
        let get = |t: usize, name: &str| -> Vec<String> {
            let Some(c) =
                trace.tables[t].columns.iter().find(|c| c.name == name || c.name == format!("{cc_name}.{name}"))
            else {
                return vec![];
            };
            match &c.data {
                trace::Data::U64(v) => v.iter().map(|v| v.to_string()).collect(),
                trace::Data::U32(v) => v.iter().map(|v| v.to_string()).collect(),
                trace::Data::F32(v) => v.iter().map(|v| format!("{v:.4}")).collect(),
                trace::Data::Label { codes, labels } => {
                    codes.iter().map(|c| labels.get(*c as usize).cloned().unwrap_or_default()).collect()
                }
            }
        };
        let (t, f, to_, r) = (get(2, "time"), get(2, "from"), get(2, "to"), get(2, "reason"));
        for i in 0..t.len() {
            println!("{:.4} {} -> {}: {}", t[i].parse::<f64>().unwrap() * 1e-9, f[i], to_[i], r[i]);
        }
        if std::env::var("MS").is_ok() {
            let names = std::env::var("COLS").unwrap_or("state,round,cwnd,inflight,inflight_longterm,inflight_shortterm,max_bw,bw_shortterm,delivery_rate,rtt,lost,pacing_gain,full_bw_count,limited_by".into());
            let cols: Vec<Vec<String>> = std::iter::once("time").chain(names.split(',')).map(|n| get(0, n)).collect();
            println!("{names}");
            for i in 0..cols[0].len() {
                let time = cols[0][i].parse::<f64>().unwrap() * 1e-9;
                if time < from || time > to {
                    continue;
                }
                print!("{time:.3}");
                for c in &cols[1..] {
                    print!(
                        " {}",
                        c.get(i)
                            .map(|x| x.strip_prefix("probe_bw_").unwrap_or(x).trim_end_matches(".0000"))
                            .unwrap_or("-")
                    );
                }
                println!();
            }
        }
    }
    println!("{outcome}");
}
