//! Whether a binary program is as long as it says: the driver is not told its length.

use ulib_core::{Error, Result};

/// Checks the sizes in the headers of an ELF file (a cubin) or a fatbin. Anything else is taken for text and has to be that.
///
/// # Errors
/// Kind `InvalidArgument`, saying what is wrong.
pub(super) fn check(op: &'static str, image: &[u8]) -> Result<()> {
    let refused = |found: &str| {
        Err(Error::invalid(
            op,
            "image",
            found,
            "a whole cubin, fatbin or PTX text",
        ))
    };
    if image.is_empty() {
        return refused("empty");
    }
    if image.starts_with(b"\x7fELF") {
        return match elf_end(image) {
            Some(end) if end <= image.len() as u64 => Ok(()),
            Some(_) => refused("a cubin whose end is missing"),
            None => refused("no 64-bit cubin"),
        };
    }
    if image.starts_with(&FATBIN) {
        return match fatbin_end(image) {
            Some(end) if end <= image.len() as u64 => Ok(()),
            _ => refused("a fatbin whose end is missing"),
        };
    }
    let text = image.strip_suffix(b"\0").unwrap_or(image);
    let good = core::str::from_utf8(text).is_ok_and(|text| {
        !text.contains(|c: char| c.is_ascii_control() && !c.is_ascii_whitespace())
    });
    if good {
        Ok(())
    } else {
        refused("neither a binary program nor text")
    }
}

/// As [`check`], for what is to be loaded: an ELF file has to be one for these devices.
pub(super) fn check_program(op: &'static str, image: &[u8]) -> Result<()> {
    /// The number of the machine in the headers of cubins.
    const DEVICE: u64 = 190;
    check(op, image)?;
    if image.starts_with(b"\x7fELF") && number::<2>(image, 18) != Some(DEVICE) {
        let found = "a program for another machine";
        return Err(Error::invalid(
            op,
            "image",
            found,
            "a cubin, fatbin or PTX text",
        ));
    }
    Ok(())
}

const FATBIN: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();

fn number<const N: usize>(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let found = bytes.get(at..at.checked_add(N)?)?;
    Some(
        found
            .iter()
            .rev()
            .fold(0, |all, &byte| all << 8 | u64::from(byte)),
    )
}

/// How far the tables and sections of an ELF file reach.
fn elf_end(image: &[u8]) -> Option<u64> {
    // 64 bits, little-endian.
    if image.get(4) != Some(&2) || image.get(5) != Some(&1) {
        return None;
    }
    let (programs, sections) = (number::<8>(image, 32)?, number::<8>(image, 40)?);
    let (program_size, program_count) = (number::<2>(image, 54)?, number::<2>(image, 56)?);
    let (section_size, section_count) = (number::<2>(image, 58)?, number::<2>(image, 60)?);
    if section_count > 0 && section_size < 64 {
        return None;
    }
    let mut end = programs.checked_add(program_size * program_count)?;
    end = end.max(sections.checked_add(section_size * section_count)?);
    if end > image.len() as u64 {
        return Some(end);
    }
    for index in 0..section_count {
        let at = sections + index * section_size;
        const NO_BYTES: u64 = 8;
        if number::<4>(image, at + 4)? != NO_BYTES {
            let reach = number::<8>(image, at + 24)?.checked_add(number::<8>(image, at + 32)?)?;
            end = end.max(reach);
        }
    }
    Some(end)
}

/// How far the header and the body of a fatbin reach.
fn fatbin_end(image: &[u8]) -> Option<u64> {
    number::<2>(image, 6)?.checked_add(number::<8>(image, 8)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fatbin(body: u64) -> Vec<u8> {
        let mut bytes = FATBIN.to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend(body.to_le_bytes());
        bytes
    }

    #[test]
    fn what_is_shorter_than_it_says_is_refused() {
        assert!(check("op", b".version 7.0\n").is_ok());
        assert!(check("op", b".version 7.0\n\0").is_ok());
        assert!(check("op", b"").is_err());
        assert!(check("op", b"a\0b").is_err());
        assert!(check("op", b"\x7fELF").is_err());
        assert!(check("op", &[0xff; 64]).is_err());
        assert!(check("op", &fatbin(0)).is_ok());
        assert!(check("op", &fatbin(1)).is_err());
        assert!(check("op", &fatbin(u64::MAX)).is_err());
        let mut elf = vec![0_u8; 128];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[40] = 64; // the table of sections
        elf[58] = 64;
        elf[60] = 1;
        elf[64 + 4] = 1;
        elf[64 + 32] = 128;
        assert!(check("op", &elf).is_ok());
        assert!(check_program("op", &elf).is_err());
        elf[18] = 190;
        assert!(check_program("op", &elf).is_ok());
        elf[64 + 32] = 129;
        assert!(check("op", &elf).is_err());
        elf[64 + 4] = 8; // a section without bytes in the file
        assert!(check("op", &elf).is_ok());
        elf[60] = 2;
        assert!(check("op", &elf).is_err());
        elf[47] = 0xff;
        assert!(check("op", &elf).is_err());
    }
}
