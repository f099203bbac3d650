//! Files that can't be loaded, and two libraries with one name: each is an error with a fix.

use std::fs;
use std::path::PathBuf;

use fullpipe_plugin::{abi, load};

use super::built;
use super::c::{folder, library};

fn refused(name: &str, content: &[u8]) -> (String, String) {
    let file = folder("refused").join(name);
    fs::write(&file, content).expect("target/ can be written");
    let error = load(&file, None, false).expect_err("no library");
    (error.problem, error.fix)
}

fn in_c(name: &str, text: &str) -> PathBuf {
    let folder = folder("refused");
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, text).expect("target/ can be written");
    let file = folder.join(format!("lib{name}.so"));
    library(&source, &file);
    file
}

#[test]
fn other_files_are_no_libraries() {
    let (problem, fix) = refused("text.so", b"[package]\n");
    assert_eq!(problem, "is no library");
    assert!(fix.contains("fullpipe plugin build CRATE"), "{fix}");
    let gone = load(&folder("refused").join("gone.so"), None, false).expect_err("no file");
    assert!(gone.problem.starts_with("can't be read: "), "{gone}");
}

#[test]
fn a_library_for_another_machine_is_named() {
    let mut content = fs::read(built("faulty")).expect("built");
    // EM_S390, then EM_AARCH64 or EM_X86_64, whichever this machine is not.
    content[18] = if cfg!(target_arch = "x86_64") {
        183
    } else {
        62
    };
    let (problem, fix) = refused("other.so", &content);
    let other = if cfg!(target_arch = "x86_64") {
        "aarch64"
    } else {
        "x86_64"
    };
    assert!(
        problem.starts_with(&format!("is a library for Linux on {other}, and")),
        "{problem}"
    );
    assert_eq!(fix, "build it on this machine, or for it");
}

#[test]
fn a_damaged_library_is_refused() {
    let content = fs::read(built("faulty")).expect("built");
    for length in [17, 100, content.len() / 8, content.len() - 1] {
        let (problem, _) = refused(&format!("short{length}.so"), &content[..length]);
        assert_eq!(problem, "is a damaged library");
    }
}

#[test]
fn the_words_of_the_system_are_passed_on() {
    let file = in_c(
        "lacks",
        "int absent(void);\nint lacks(void);\nint lacks(void) { return absent(); }\n",
    );
    let error = load(&file, None, false).expect_err("a function is missing");
    assert!(
        error.problem.starts_with("can't be loaded: ") && error.problem.contains("absent"),
        "{error}"
    );
}

#[test]
fn a_library_without_an_algorithm_is_refused() {
    let file = in_c(
        "nothing",
        "int nothing(void);\nint nothing(void) { return 0; }\n",
    );
    let error = load(&file, None, false).expect_err("no algorithm");
    assert_eq!(error.problem, "exports no function fullpipe_plugin");
    assert!(error.fix.contains("plugin!(DESCRIPTOR)"), "{error}");
    let file = in_c(
        "null",
        "const void *fullpipe_plugin(void);\nconst void *fullpipe_plugin(void) { return 0; }\n",
    );
    assert_eq!(
        load(&file, None, false).expect_err("null").problem,
        "describes no algorithm"
    );
}

#[test]
fn another_version_of_the_interface_is_refused() {
    let file = in_c(
        "later",
        "static const unsigned version = 77;\nconst void *fullpipe_plugin(void);\n\
         const void *fullpipe_plugin(void) { return &version; }\n",
    );
    let error = load(&file, None, false).expect_err("another version");
    assert_eq!(
        error.problem,
        format!(
            "is for version 77 of the interface, and this fullpipe has version {}",
            abi::VERSION
        )
    );
    assert!(error.fix.starts_with("build it again: "), "{error}");
}

#[test]
fn the_version_before_is_loaded() {
    let text = table("older", "").replace("FULLPIPE_VERSION,", "2,");
    let library = load(&in_c("older", &text), None, false).expect("a library");
    assert_eq!(library.descriptor.name, "older");
}

fn table(name: &str, more: &str) -> String {
    format!(
        "#include <fullpipe.h>\n\
         static void *create(const struct fullpipe_config *config) {{ return (void *)(uintptr_t)config; }}\n\
         static void destroy(void *it) {{ (void)it; }}\n\
         static int32_t decision(void *it, struct fullpipe_decision *into) {{ (void)it; (void)into; return 0; }}\n\
         static int32_t on_ack(void *it, const struct fullpipe_context *cx, const struct fullpipe_ack *ack)\n\
         {{ (void)it; (void)cx; (void)ack; return 0; }}\n\
         static const struct fullpipe_param param = {{ .name = FULLPIPE_TEXT(\"gain\"), .usual = 2, .most = 1 }};\n\
         static const struct fullpipe_plugin table = {{ .version = FULLPIPE_VERSION,\n\
         .name = FULLPIPE_TEXT(\"{name}\"), .create = create, .destroy = destroy, .decision = decision,\n\
         .on_ack = on_ack, {more} }};\n\
         const struct fullpipe_param *used(void);\n\
         const struct fullpipe_param *used(void) {{ return &param; }}\n\
         FULLPIPE_PLUGIN(table)\n"
    )
}

#[test]
fn a_table_with_an_error_is_refused() {
    for (number, (name, more, problem)) in [
        (
            "wrong",
            ".needs = 1u << 30",
            "needs signals that this version does not know",
        ),
        (
            "wrong",
            ".params = { &param, 1 }",
            "the default of gain is not from 0 to 1",
        ),
        (
            "two words",
            "",
            "the name \"two words\" can't be one of an algorithm",
        ),
        ("cubic", "", "cubic is the name of a built-in algorithm"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = in_c(&format!("table{number}"), &table(name, more));
        let error = load(&file, None, false).expect_err(problem);
        assert_eq!(error.problem, problem);
    }
}

#[test]
fn a_table_without_a_function_is_refused() {
    let text = table("wrong", "").replace(".on_ack = on_ack,", ".on_end = 0,");
    let unused = text.replace("static int32_t on_ack", "int32_t on_ack(void *it, const struct fullpipe_context *cx, const struct fullpipe_ack *ack);\nint32_t on_ack");
    let error = load(&in_c("without", &unused), None, false).expect_err("a function is missing");
    assert_eq!(error.problem, "has no function on_ack");
}

#[test]
fn two_libraries_with_one_name_are_told_apart() {
    let [one, two] = ["one", "two"].map(|which| {
        in_c(
            which,
            &table("twin", &format!(".purpose = FULLPIPE_TEXT(\"{which}\")")),
        )
    });
    let first = load(&one, None, false).expect("the first of its name");
    let error = load(&two, None, false).expect_err("the name is taken");
    assert!(
        error
            .problem
            .ends_with("libone.so has an algorithm twin, too"),
        "{error}"
    );
    assert!(
        error
            .fix
            .starts_with("give it a name of its own: --plugin NAME="),
        "{error}"
    );
    let second = load(&two, Some("other"), false).expect("another name");
    assert_eq!(
        [first.descriptor.purpose, second.descriptor.purpose],
        ["one", "two"]
    );
    assert_eq!(second.descriptor.name, "other");
    // A worker of a cluster gets the library of each task.
    let replaced = load(&two, Some("twin"), true).expect("replaced");
    assert_eq!(replaced.descriptor.purpose, "two");
    let known = fullpipe_plugin::registry();
    assert_eq!(known.get("twin").map(|found| found.purpose), Some("two"));
}

#[test]
fn a_library_is_read_once_and_a_new_build_replaces_it() {
    let file = in_c(
        "again",
        &table("again", ".purpose = FULLPIPE_TEXT(\"before\")"),
    );
    let first = load(&file, None, false).expect("a library");
    let same = load(&file, None, false).expect("the same");
    assert!(std::ptr::eq(first.descriptor, same.descriptor));
    fs::remove_file(&file).expect("there");
    in_c(
        "again",
        &table("again", ".purpose = FULLPIPE_TEXT(\"after\")"),
    );
    let second = load(&file, None, false).expect("a new build");
    assert_eq!(second.descriptor.purpose, "after");
}
