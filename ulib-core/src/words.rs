//! Words of messages that depend on what is counted or named.

use std::fmt::Display;

/// How many there are of something, in one word for one of it: `axis` becomes `axes`, others get an `s`.
///
/// ```
/// use ulib_core::words::counted;
/// assert_eq!(counted(1, "row"), "1 row");
/// assert_eq!(counted(0_u64, "byte"), "0 bytes");
/// assert_eq!(counted(3, "axis"), "3 axes");
/// ```
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {one}");
    }
    match one.strip_suffix("is") {
        Some(stem) => format!("{count} {stem}es"),
        None => format!("{count} {one}s"),
    }
}

/// The name of a class after `a` or `an`. A `u` is spoken as in `uint8` and `uLib`.
///
/// ```
/// use ulib_core::words::with_article;
/// assert_eq!(with_article("EventTable"), "an EventTable");
/// assert_eq!(with_article("VoxImage"), "a VoxImage");
/// assert_eq!(with_article("uint8"), "a uint8");
/// ```
#[must_use]
pub fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}
