//! Changes to files, from a generator with a seed.

/// Numbers that sizes, offsets and counts break at.
const ODD: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Words that numbers in text break at.
const WORDS: [&str; 16] = [
    "0",
    "-1",
    "1",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-320",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999999",
    "",
    "\0",
];

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `0 .. below`; 0 for none.
    pub(crate) fn below(&mut self, below: usize) -> usize {
        (self.next() % below.max(1) as u64) as usize
    }
}

/// Changes a file in one to four ways.
pub(crate) fn change(file: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    for _ in 0..=random.below(4) {
        // Headers are where the decisions are.
        let reach = if random.below(4) > 0 {
            file.len().min(600)
        } else {
            file.len()
        };
        let at = random.below(reach);
        match random.below(9) {
            0 if !file.is_empty() => file[at] ^= 1 << random.below(8),
            1 if !file.is_empty() => file[at] = random.next() as u8,
            2 => file.truncate(random.below(file.len() + 1)),
            3 => {
                // A number of 2, 4 or 8 bytes, in either byte order.
                let size = 2 << random.below(3);
                let odd = ODD[random.below(ODD.len())];
                let mut bytes = odd.to_le_bytes()[..size].to_vec();
                if random.below(2) == 0 {
                    bytes.reverse();
                }
                for (own, byte) in file[at..].iter_mut().zip(bytes) {
                    *own = byte;
                }
            }
            4 | 5 => replace_number(file, at, random),
            6 => {
                // A part of it again, or gone.
                let len = random.below((file.len() - at).min(64) + 1);
                if random.below(2) == 0 {
                    let piece = file[at..at + len].to_vec();
                    file.splice(at..at, piece);
                } else {
                    file.drain(at..at + len);
                }
            }
            7 => {
                // The start of one and the end of another.
                let other = &corpus[random.below(corpus.len())];
                file.truncate(at);
                file.extend(&other[random.below(other.len())..]);
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                file.splice(at..at, word.bytes());
            }
        }
    }
}

/// Puts another number in the place of the next one that is written as text.
fn replace_number(file: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = file[at..]
        .iter()
        .position(u8::is_ascii_digit)
        .map(|start| at + start)
    else {
        return;
    };
    let len = file[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let word = WORDS[random.below(WORDS.len())];
    file.splice(start..start + len, word.bytes());
}
