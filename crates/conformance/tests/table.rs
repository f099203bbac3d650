#[test]
fn table() {
    for (cc, params) in [("bbr3", &[][..]), ("bbr3", &[("profile", "linux")][..]), ("bbr2", &[]), ("bbr1", &[])] {
        println!("{}", conformance::run(&cc::Registry::default(), cc, params).unwrap());
    }
}
