//! Mappings: the lines of `/proc/PID/maps`, from their text (`show_map_vma()`, `fs/proc/task_mmu.c`).

use core::ops::Range;

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// Addresses; never empty.
    pub range: Range<u64>,
    /// Whether its bytes can be read.
    pub readable: bool,
    /// Whether code can run there.
    pub executable: bool,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// The device of the file's filesystem, major and minor; zeros if there is no file.
    pub device: (u32, u32),
    /// The file's inode; 0 if there is no file.
    pub inode: u64,
    /// The rest of the line as it is written: a path, a name in brackets, or nothing.
    pub name: &'a str,
}

/// The mappings; lines that are not understood are left out.
pub fn parse(text: &str) -> impl Iterator<Item = Mapping<'_>> {
    text.lines().filter_map(line)
}

/// The mapping that holds an address.
#[must_use]
pub fn around(text: &str, address: u64) -> Option<Mapping<'_>> {
    parse(text).find(|mapping| mapping.range.contains(&address))
}

fn line(line: &str) -> Option<Mapping<'_>> {
    let mut words = line.splitn(6, ' ');
    let (from, to) = words.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let range = hex(from)?..hex(to)?;
    let permissions = words.next()?;
    let offset = hex(words.next()?)?;
    let (device, inode) = (words.next()?, words.next()?);
    (range.start < range.end).then(|| Mapping {
        range,
        readable: permissions.starts_with('r'),
        executable: permissions.contains('x'),
        offset,
        device: numbers(device).unwrap_or_default(),
        inode: inode.parse().unwrap_or(0),
        name: words.next().unwrap_or("").trim_start(),
    })
}

/// `08:02`.
fn numbers(device: &str) -> Option<(u32, u32)> {
    let (major, minor) = device.split_once(':')?;
    Some((u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parse_every_kind_of_line() {
        let text = "1000-3000 r-xp 00001000 08:02 12      /usr/bin/a b\n4000-5000 ---p 00000000 00:00 0 \nx\n-\n";
        let maps: Vec<_> = parse(text).collect();
        assert_eq!(maps.len(), 2);
        assert_eq!((maps[0].name, maps[0].offset, maps[0].inode), ("/usr/bin/a b", 0x1000, 12));
        assert_eq!((maps[0].device, maps[1].device), ((8, 2), (0, 0)));
        assert!(maps[0].readable && maps[0].executable && !maps[1].readable);
        assert_eq!(around(text, 0x2fff).map(|mapping| mapping.range), Some(0x1000..0x3000));
        assert_eq!(around(text, 0x3000), None);
    }

    proptest! {
        #[test]
        fn parse_any_text_gives_ranges_that_are_not_empty(text: String, from: u64, to: u64) {
            prop_assert!(parse(&text).all(|mapping| mapping.range.start < mapping.range.end));
            let line = format!("{from:x}-{to:x} r-xp 0 00:00 0 /x");
            prop_assert_eq!(parse(&line).count(), usize::from(from < to));
        }
    }
}
