use cc::Registry;
use scenario::Scenario;
use sim::*;
use units::Span;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let ov: Vec<(String, String)> = a[3..]
        .iter()
        .map(|s| {
            let (k, v) = s.split_once('=').unwrap();
            (k.into(), v.into())
        })
        .collect();
    let s = Scenario::parse_with(&text, &a[1], &ov, None).unwrap_or_else(|e| panic!("{e}"));
    let ms: u64 = a[2].parse().unwrap();
    let lvl = if ms == 0 { TraceLevel::Acks } else { TraceLevel::Every(Span::from_millis(ms)) };
    let r = run(&s, &Registry::default(), lvl).unwrap_or_else(|e| panic!("{e}"));
    let t = r.trace.unwrap();
    for tb in &t.tables {
        println!("## {}", tb.name);
        println!("{}", tb.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(","));
        let n = match &tb.columns[0].data {
            trace::Data::U64(v) => v.len(),
            _ => 0,
        };
        for i in 0..n {
            println!(
                "{}",
                tb.columns
                    .iter()
                    .map(|c| match &c.data {
                        trace::Data::U64(v) => format!("{}", v[i]),
                        trace::Data::U32(v) => format!("{}", v[i]),
                        trace::Data::F64(v) => format!("{:.5}", v[i]),
                        trace::Data::Label { codes, labels } =>
                            labels.get(codes[i] as usize).cloned().unwrap_or_default(),
                    })
                    .collect::<Vec<_>>()
                    .join(",")
            );
        }
    }
    println!("{}", serde_json::to_string_pretty(&r.summary).unwrap());
}
