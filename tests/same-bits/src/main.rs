//! Prints the trace hash and the name of each scenario file given.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file)?;
        let hash = same_bits::trace_hash(&text).map_err(|error| format!("{file}: {error}"))?;
        println!("{hash:016x}  {file}");
    }
    Ok(())
}
