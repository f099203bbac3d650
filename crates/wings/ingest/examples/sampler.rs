//! Measures the cost of a sample: `cargo run --release -p fullpipe-ingest --example sampler
//! CONNECTIONS [HOLD_S]`.
//!
//! Opens CONNECTIONS connections on the loopback, lists one end of each, and holds them for HOLD_S
//! seconds, so that the whole command can be measured: `time fullpipe fleet sample --sport PORT
//! --interval 1s --count 20 -o DIR`.

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use fullpipe_ingest::fleet::sampler::{Filter, Sampler};
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::time::{ClockId, clock_gettime};

    const SAMPLES: u32 = 20;
    let mut words = std::env::args()
        .skip(1)
        .map(|word| word.parse().expect("a number"));
    let (connections, hold) = (words.next().unwrap_or(10_000), words.next().unwrap_or(0));
    let files = 2 * connections + 100;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, files, most.max(files))?;

    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (address, mut ends) = (listener.local_addr()?, Vec::new());
    for _ in 0..connections {
        let mut client = TcpStream::connect(address)?;
        let (mut server, _) = listener.accept()?;
        server.write_all(&[1; 5000])?;
        client.read_exact(&mut [0; 5000])?;
        ends.extend([client, server]);
    }

    let mut sampler = Sampler::new(Filter {
        sport: Some((address.port(), address.port())),
        ..Filter::default()
    })?;
    let (mut text, mut took) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        text.clear();
        let begun = Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?);
        let listing = sampler.list(&mut text)?;
        took.push((
            Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?) - begun,
            listing.sockets,
        ));
    }
    took.sort();
    let (median, sockets) = took[took.len() / 2];
    println!(
        "{sockets} of {} sockets: {median:.1?} of CPU time per sample, {} bytes",
        ends.len(),
        text.len()
    );
    if hold > 0 {
        println!("port {} for {hold} s", address.port());
        std::thread::sleep(Duration::from_secs(hold));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the sampler needs Linux");
}
