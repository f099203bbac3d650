//! The line that a recipe's program prints with `--version`.

/// Prints the line: the program, the versions of some packages in its lock, and a hash of its sources, by which
/// fullpipe notices that the recipe has changed since it was built.
pub fn print(program: &str, packages: &[&str], lock: &str, sources: &[&[u8]]) {
    let versions: Vec<String> = packages
        .iter()
        .map(|name| format!("{name} {}", locked(lock, name)))
        .collect();
    println!(
        "{program} with {}, source {:016x}",
        versions.join(", "),
        hash(sources)
    );
}

fn locked<'a>(lock: &'a str, name: &str) -> &'a str {
    let head = format!("name = \"{name}\"\nversion = \"");
    lock.split_once(&head)
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("of an unknown version")
}

/// FNV-1a, 64 bits.
fn hash(sources: &[&[u8]]) -> u64 {
    sources
        .iter()
        .copied()
        .flatten()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        })
}
