//! The runs measured in `docs/evidence/performance.md`.

use fullpipe_scenario::Scenario;

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name on the command line and on the page.
    pub name: &'static str,
    path: &'static str,
    flows: &'static str,
    /// Length in seconds of virtual time.
    pub seconds: u32,
}

const GIGABIT: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"";
const HUNDRED: &str = "rate = \"100mbit\"\nrtt = \"50ms\"\nbuffer = \"8bdp\"";
const TEN_GIGABIT: &str = "rate = \"10gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"";
const SMALL: &str = "rate = \"20mbit\"\nrtt = \"20ms\"\nbuffer = \"2bdp\"";
const SHALLOW: &str = "rate = \"10gbit\"\nrtt = \"10ms\"\nbuffer = \"1bdp\"";
const LOSSY: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"\nloss = \"1%\"";

const RED: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"\nqueue = \"red\"";
const CODEL: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nqueue = \"codel\"";
const FQ_CODEL: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nqueue = \"fq_codel\"";
const SFQ: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"\nqueue = \"sfq\"";
const PIE: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nqueue = \"pie\"";
const DUALPI2: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nqueue = \"dualpi2\"";
const STEP_ECN: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"\nqueue = \"step_ecn\"";
const CAKE: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nqueue = \"cake\"";
const VARYING: &str =
    "rate_pattern = \"sine 500mbit..1500mbit every 1s\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"";
const SHAPED: &str =
    "rate = \"10gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"\nshaper = \"1gbit burst 100kB\"";
const WIFI: &str = "rate = \"1gbit\"\nrtt = \"10ms\"\nbuffer = \"8bdp\"\nwifi = \"frames 32 overhead 300us backoff 150us\"";
/// A backbone's trace of 15 minutes, synthesized from its published statistics: 890,000 flows.
const BACKBONE: &str = "rate = \"3gbit\"\nrtt = \"20ms\"\nbuffer = \"8bdp\"";

/// All flows of the trace, with one algorithm.
macro_rules! trace {
    ($cc:literal) => {
        concat!("[[workload]]\nsource = \"mawi-2020-06-10\"\nmodel = \"collapsed\"\nload = 0.73\ncc = \"", $cc, "\"")
    };
}

const TEN: &str = "[[flow]]\ncc = \"cubic\"\ncount = 10";

/// All runs.
pub static CASES: &[Case] = &[
    Case {
        name: "cubic-1g",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"cubic\"",
        seconds: 400,
    },
    Case {
        name: "bbr1-1g",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"bbr1\"",
        seconds: 400,
    },
    Case {
        name: "bbr2-1g",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"bbr2\"",
        seconds: 400,
    },
    Case {
        name: "bbr3-1g",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"bbr3\"",
        seconds: 400,
    },
    Case {
        name: "newreno-1g",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"newreno\"",
        seconds: 400,
    },
    Case {
        name: "cubic-100m",
        path: HUNDRED,
        flows: "[[flow]]\ncc = \"cubic\"",
        seconds: 1000,
    },
    Case {
        name: "bbr1-100m",
        path: HUNDRED,
        flows: "[[flow]]\ncc = \"bbr1\"",
        seconds: 1000,
    },
    Case {
        name: "cubic-10-flows",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"cubic\"\ncount = 10",
        seconds: 100,
    },
    Case {
        name: "bbr1-10-flows",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"bbr1\"\ncount = 10",
        seconds: 100,
    },
    Case {
        name: "cubic-1000-flows",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"cubic\"\ncount = 1000",
        seconds: 20,
    },
    Case {
        name: "small",
        path: SMALL,
        flows: "[[flow]]\ncc = \"cubic\"",
        seconds: 1,
    },
    Case {
        name: "cubic-10000-flows",
        path: TEN_GIGABIT,
        flows: "[[flow]]\ncc = \"cubic\"\ncount = 10000",
        seconds: 20,
    },
    Case {
        name: "cubic-lossy",
        path: SHALLOW,
        flows: "[[flow]]\ncc = \"cubic\"\nparams = { slow_start = \"classic\" }",
        seconds: 20,
    },
    Case {
        name: "red-10-flows",
        path: RED,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "codel-10-flows",
        path: CODEL,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "fq_codel-10-flows",
        path: FQ_CODEL,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "sfq-10-flows",
        path: SFQ,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "pie-10-flows",
        path: PIE,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "dualpi2-10-flows",
        path: DUALPI2,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "step_ecn-10-flows",
        path: STEP_ECN,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "cake-10-flows",
        path: CAKE,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "sine-10-flows",
        path: VARYING,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "shaper-10-flows",
        path: SHAPED,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "wifi-10-flows",
        path: WIFI,
        flows: TEN,
        seconds: 100,
    },
    Case {
        name: "prague-1g",
        path: DUALPI2,
        flows: "[[flow]]\ncc = \"prague\"",
        seconds: 100,
    },
    Case {
        name: "ledbat++-1g",
        path: GIGABIT,
        flows: "[[flow]]\ncc = \"ledbat++\"",
        seconds: 100,
    },
    Case {
        name: "cubic-trace",
        path: BACKBONE,
        flows: trace!("cubic"),
        seconds: 900,
    },
    Case {
        name: "bbr1-trace",
        path: BACKBONE,
        flows: trace!("bbr1"),
        seconds: 900,
    },
    Case {
        name: "bbr3-trace",
        path: BACKBONE,
        flows: trace!("bbr3"),
        seconds: 900,
    },
    Case {
        name: "bbr1-lossy",
        path: LOSSY,
        flows: "[[flow]]\ncc = \"bbr1\"",
        seconds: 100,
    },
];

impl Case {
    /// The scenario, with a length of `seconds`.
    ///
    /// # Panics If the scenario is not valid, which is a bug in this table.
    pub fn scenario(&self, seconds: u32) -> Scenario {
        self.with_stack("rfc", seconds)
    }

    /// Returns the same with the TCP of another `stack`.
    ///
    /// # Panics If the scenario is not valid, which is a bug in this table.
    pub fn with_stack(&self, stack: &str, seconds: u32) -> Scenario {
        let text = format!(
            "stack = \"{stack}\"\nduration = \"{seconds}s\"\n[path]\n{}\n{}\n",
            self.path, self.flows
        );
        Scenario::parse(&text, self.name).unwrap_or_else(|error| panic!("{error}"))
    }
}
