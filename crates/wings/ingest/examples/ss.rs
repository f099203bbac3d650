//! Measures how fast outputs of `ss` are read and joined, without tables: `cargo run --release -p
//! fullpipe-ingest --example ss FILE…`.

use std::path::Path;
use std::time::Instant;

use fullpipe_ingest::fleet::{Parse, ss};
use fullpipe_ingest::input::Input;

#[expect(clippy::disallowed_methods, reason = "it measures")]
fn main() -> std::io::Result<()> {
    let mut reader = ss::Reader::new(ss::Options::default());
    let (begun, mut rows) = (Instant::now(), 0);
    for file in std::env::args_os().skip(1) {
        reader.begin_file(0);
        let mut source = Input::open(Path::new(&file))?;
        while fullpipe_ingest::fleet::read(&mut source, &mut reader, 1 << 16, 1 << 23)? {
            if reader.rows() >= 1 << 16 {
                rows += reader
                    .take()
                    .iter()
                    .map(|(_, columns)| columns.rows())
                    .sum::<usize>();
            }
        }
        reader.end_file();
    }
    rows += reader
        .take()
        .iter()
        .map(|(_, columns)| columns.rows())
        .sum::<usize>();
    let seconds = begun.elapsed().as_secs_f64();
    for (name, count) in reader.counts() {
        println!("{name} {count}");
    }
    #[expect(clippy::cast_precision_loss, reason = "a file's size")]
    let megabytes = reader.counts()[0].1 as f64 / 1e6;
    println!(
        "{rows} rows, {megabytes:.0} MB in {seconds:.2} s: {:.0} MB/s",
        megabytes / seconds
    );
    Ok(())
}
