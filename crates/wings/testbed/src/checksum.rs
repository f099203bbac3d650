//! The Internet checksum (RFC 1071).

/// Returns the sum of all 16-bit words in the machine's byte order, which does not matter
/// (RFC 1071 §2 (B)). All words but the last are whole.
pub(crate) fn add_up(bytes: &[u8]) -> u64 {
    let mut sums = [0_u64; 8];
    let mut blocks = bytes.chunks_exact(32);
    for block in &mut blocks {
        for (sum, word) in sums.iter_mut().zip(block.chunks_exact(4)) {
            *sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
    }
    let mut words = blocks.remainder().chunks_exact(2);
    let mut sum: u64 = sums.iter().sum();
    for word in &mut words {
        sum += u64::from(u16::from_ne_bytes([word[0], word[1]]));
    }
    match words.remainder() {
        [last] => sum + u64::from(u16::from_ne_bytes([*last, 0])),
        _ => sum,
    }
}

/// Returns the bytes of a checksum. Zero is sent as its other form, as Linux does: UDP's zero is "none".
pub(crate) fn checksum(sum: u64) -> [u8; 2] {
    match !fold(sum) {
        0 => [0xff; 2],
        sum => sum.to_ne_bytes(),
    }
}

/// Returns the sum of the 16-bit words of a sum, with end-around carry.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the sum of the pseudo-header of TCP and UDP (RFC 9293 §3.1).
pub(crate) fn pseudo_header(packet: &[u8], length: usize) -> u64 {
    add_up(&packet[12..20]) + add_up(&[0, packet[9]]) + add_up(&(length as u16).to_be_bytes())
}
