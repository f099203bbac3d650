//! The header: layouts as in Rust, in C and C++; and the example in C.

use core::mem::{offset_of, size_of};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use fullpipe_cc::{Registry, check};
use fullpipe_plugin::abi;

use super::{loaded, run};

const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/plugin/include");
const EXAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/c-controller/newreno.c"
);

/// Returns a folder for the outputs of this test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&made).expect("target/ can be written");
    made
}

/// Runs the compiler that is named in a variable, or the usual one.
fn compile(variable: &str, usual: &str, words: &[&str]) {
    let compiler = std::env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let done = Command::new(&compiler)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", INCLUDE])
        .args(words)
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// Compiles a library in C.
pub(crate) fn library(source: &Path, into: &Path) {
    let words = [source, Path::new("-o"), into].map(|each| each.to_str().expect("UTF-8"));
    compile(
        "CC",
        "cc",
        &[&["-std=c99", "-O2", "-shared", "-fPIC"][..], &words].concat(),
    );
}

macro_rules! layouts {
    ($text:ident; $($name:literal: $type:ty { $($field:ident),* })*) => {
        $(
            let size = size_of::<$type>();
            writeln!($text, "FITS(sizeof(struct fullpipe_{}) == {size});", $name).expect("a string");
            $(
                let offset = offset_of!($type, $field);
                let field = stringify!($field);
                writeln!($text, "FITS(offsetof(struct fullpipe_{}, {field}) == {offset});", $name)
                    .expect("a string");
            )*
            // No field is left out: without padding at the end, the last one ends the struct.
            let fields = [$(stringify!($field)),*];
            assert!(!fields.is_empty(), "{}", $name);
        )*
    };
}

fn layouts() -> String {
    let mut text = String::from("#include <fullpipe.h>\n");
    text += "#ifdef __cplusplus\n#define FITS(what) static_assert(what, #what)\n#else\n";
    text += "#define FITS(what) _Static_assert(what, #what)\n#endif\n";
    layouts! { text;
        "text": abi::Text { bytes, length }
        "texts": abi::List<abi::Text> { first, count }
        "params": abi::List<abi::Param> { first, count }
        "defaults": abi::List<abi::Default> { first, count }
        "profiles": abi::List<abi::Profile> { first, count }
        "fields": abi::List<abi::Field> { first, count }
        "specifications": abi::List<abi::Specification> { first, count }
        "values": abi::List<f64> { first, count }
        "param": abi::Param { name, unit, purpose, section, kind, usual, least, most, words }
        "default": abi::Default { name, value, word }
        "profile": abi::Profile { name, defaults }
        "field": abi::Field { name, unit, purpose, labels }
        "specification": abi::Specification { name, note }
        "config": abi::Config {
            smss, initial_cwnd, source_min, source_max, source_frame_period, params
        }
        "conn": abi::Conn {
            smss, initial_cwnd, inflight, delivered, delivered_ce, lost, unsent, srtt, min_rtt,
            next_departure, offload_factor, state, app_limited, cwnd_limited,
            reordering_seen, paced, pacing_rate
        }
        "snapshot": abi::Snapshot {
            sent, first_sent, delivered_at, delivered, delivered_ce, lost, inflight, size, ecn,
            app_limited, retransmit
        }
        "lost": abi::Lost { packet, lost_since_sent, new_range, cause }
        "ack": abi::Ack {
            newest, newly_acked, cumulative, newly_lost, prior_inflight, rtt, rtt_local, rtt_remote,
            one_way, rate, rate_interval, rate_delivered, rate_lost, rate_delivered_ce, ce_packets,
            ce_bytes, feedback, rate_app_limited, ece, tlp_repair
        }
        "decision": abi::Decision {
            cwnd, ssthresh, pacing_rate, send_quantum, source_rate, wake_at, ecn, mark_app_limited
        }
        "context": abi::Context { now, conn, decision, host, random, transition, stream }
        "plugin": abi::Plugin {
            version, owns_recovery, needs, answers_marks, random, name, purpose, params, profiles,
            fields, specifications, create, destroy, error, decision, observe, on_ack, on_sent,
            on_lost, on_acked, on_recovery, on_unused, on_path, on_frame, on_timer, on_end
        }
    }
    let version = abi::VERSION;
    writeln!(
        text,
        "FITS(FULLPIPE_VERSION == {version} && FULLPIPE_NONE == {}u);",
        abi::NONE
    )
    .expect("a string");
    for (name, code) in [
        ("ASK", abi::ASK),
        ("SAME", abi::SAME),
        ("DECIDED", abi::DECIDED),
        ("DEAF", abi::DEAF),
    ] {
        writeln!(text, "FITS(FULLPIPE_{name} == {code});").expect("a string");
    }
    text
}

#[test]
fn the_header_has_rusts_layouts_in_c_and_in_cpp() {
    let folder = folder("layouts");
    let text = layouts();
    assert!(
        text.lines().count() > 150,
        "sizes and offsets of all structs"
    );
    for (compiler, variable, standard, ending) in [
        ("cc", "CC", "-std=c11", "c"),
        ("c++", "CXX", "-std=c++11", "cpp"),
    ] {
        let file = folder.join(format!("layouts.{ending}"));
        std::fs::write(&file, &text).expect("target/ can be written");
        let file = file.to_str().expect("UTF-8");
        compile(variable, compiler, &[standard, "-fsyntax-only", file]);
    }
}

#[test]
fn a_wrong_layout_is_found() {
    let folder = folder("wrong");
    let file = folder.join("wrong.c");
    let wrong = layouts().replacen(
        "sizeof(struct fullpipe_text) == 16",
        "sizeof(struct fullpipe_text) == 24",
        1,
    );
    std::fs::write(&file, wrong).expect("target/ can be written");
    let compiled = std::panic::catch_unwind(|| {
        compile(
            "CC",
            "cc",
            &["-std=c11", "-fsyntax-only", file.to_str().expect("UTF-8")],
        );
    });
    assert!(compiled.is_err(), "the assertions are compiled");
}

fn creno() -> &'static fullpipe_cc::Descriptor {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let file = folder("creno").join("libcreno.so");
        library(Path::new(EXAMPLE), &file);
        file
    });
    loaded(file, "creno")
}

/// Losses, a timeout, marks and a spurious loss episode.
const SCENARIO: &str = r#"
stack = "rfc"
    duration = "30s"
    [path]
    rate = "20mbit"
    rtt = "40ms"
    buffer = "1bdp"
    loss = "0.02%"
    queue = "codel"
    [[path.change]]
    at = "8s"
    loss = "99.9%"
    [[path.change]]
    at = "9s"
    loss = "0.02%"
    [[path.change]]
    at = "15s"
    rtt = "200ms"
    [[path.change]]
    at = "17s"
    rtt = "40ms"
    [[flow]]
    name = "flow"
    cc = "newreno"
    ecn = "ect0"
    [[flow]]
    name = "app"
    cc = "newreno"
    app_rate = "2mbit"
"#;

#[test]
fn newreno_in_c_decides_what_the_built_in_one_does() {
    let registry = Registry::default().with(creno());
    let text = SCENARIO.replace("cc = \"newreno\"", "cc = \"creno\"");
    let [ours, theirs] = [&text, SCENARIO].map(|text| run(text, &registry));
    let column = |run: &fullpipe_trace::Run, name: &str| {
        let trace = run.trace.as_ref().expect("traced");
        let table = trace.table("flows").expect("flows are traced");
        let column = table.column(name);
        let column = column.unwrap_or_else(|| panic!("no column {name}"));
        format!("{:?}", column.data)
    };
    assert!(theirs.summary.flows[0].retransmits > 0);
    for name in ["cwnd", "ssthresh", "inflight", "delivered"] {
        let [ours, theirs] = [column(&ours, name), column(&theirs, name)];
        assert!(
            theirs.len() > 100_000,
            "{name}: {} characters",
            theirs.len()
        );
        assert!(ours == theirs, "{name}");
    }
}

#[test]
fn newreno_in_c_keeps_the_contract() {
    check::contract(creno(), 30).unwrap_or_else(|broken| panic!("{broken}"));
}

/// Grows by a segment at every eighth ACK, by one of the answers; counts the calls of `decision` and of `on_sent`, and
/// fails at one too many.
fn answering(answer: &str, sent: &str) -> String {
    format!(
        r#"#include <fullpipe.h>
#include <stdlib.h>
struct state {{ uint64_t cwnd, acks, asked, sent; }};
static void *create(const struct fullpipe_config *config) {{
    struct state *it = calloc(1, sizeof *it);
    if (it) it->cwnd = config->initial_cwnd;
    return it;
}}
static void destroy(void *it) {{ free(it); }}
static struct fullpipe_text error(void *it) {{
    static const struct fullpipe_text text = FULLPIPE_TEXT("one call too many");
    (void)it;
    return text;
}}
static int32_t decision(void *data, struct fullpipe_decision *into) {{
    struct state *it = data;
    into->cwnd = it->cwnd;
    return it->asked++ > 0 && {answer} != FULLPIPE_ASK ? -1 : 0;
}}
static int32_t on_ack(void *data, const struct fullpipe_context *cx, const struct fullpipe_ack *ack) {{
    struct state *it = data;
    (void)ack;
    if (++it->acks % 8) return FULLPIPE_SAME;
    it->cwnd += cx->conn->smss;
    if ({answer} == FULLPIPE_DECIDED) cx->decision->cwnd = it->cwnd;
    return {answer};
}}
static int32_t on_sent(void *data, const struct fullpipe_context *cx, const struct fullpipe_snapshot *packet) {{
    struct state *it = data;
    (void)cx;
    (void)packet;
    return it->sent++ > 0 && {sent} == FULLPIPE_DEAF ? -1 : {sent};
}}
static const struct fullpipe_plugin table = {{ .version = FULLPIPE_VERSION, .owns_recovery = 1,
    .name = FULLPIPE_TEXT("answering"), .create = create, .destroy = destroy, .error = error,
    .decision = decision, .on_ack = on_ack, .on_sent = on_sent }};
FULLPIPE_PLUGIN(table)
"#
    )
}

fn answered(name: &'static str, answer: &str, sent: &str) -> fullpipe_trace::Run {
    let folder = folder("answering");
    let (source, file) = (
        folder.join(format!("{name}.c")),
        folder.join(format!("lib{name}.so")),
    );
    std::fs::write(&source, answering(answer, sent)).expect("target/ can be written");
    library(&source, &file);
    let registry = Registry::default().with(loaded(&file, name));
    let text = format!(
        "duration = \"2s\"\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\nbuffer = \"8bdp\"\n[[flow]]\ncc = {name:?}\n"
    );
    run(&text, &registry)
}

#[test]
fn a_decision_that_is_written_is_that_which_is_asked_for() {
    let asked = answered("asked", "FULLPIPE_ASK", "FULLPIPE_SAME");
    let written = answered("written", "FULLPIPE_DECIDED", "FULLPIPE_DEAF");
    let windows = |run: &fullpipe_trace::Run| {
        let table = run.trace.as_ref().expect("traced").table("flows");
        let column = table.expect("flows are traced").column("cwnd");
        format!("{:?}", column.expect("a window").data)
    };
    assert_eq!(windows(&asked), windows(&written));
    // The initial window is 2.9 Mbit/s.
    assert!(asked.summary.flows[0].goodput_bps > 4e6, "it grows");
}

#[test]
fn the_answer_of_the_first_version_is_an_error() {
    let fault = std::panic::catch_unwind(|| answered("old", "FULLPIPE_ASK", "1"));
    let fault = fault.expect_err("1 is no answer");
    let fault = fault.downcast::<fullpipe_cc::Fault>().expect("a fault");
    assert_eq!(
        fault.problem,
        "on_sent at 0.0400264 s failed: one call too many"
    );
}
