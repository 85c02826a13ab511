//! Versions of programs that a text names: after the name of a program, in the name of a package,
//! an image or a source. The consequences of a version for a file are not here.

/// The first two numbers of a version.
pub(crate) type Version = (u32, u32);

/// The limit of the distance between the name of a program and its version, in bytes.
const NEAR: usize = 40;
/// The limit of a line's part that is read, in bytes.
const MOST_OF_LINE: usize = 2048;

/// Returns the lines of a text in lower case, truncated, and where each begins.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, String)> {
    text.split_inclusive('\n').scan(0, |start, whole| {
        let at = *start;
        *start += whole.len();
        let mut end = whole.len().min(MOST_OF_LINE);
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        Some((at, whole.get(..end).unwrap_or_default().to_ascii_lowercase()))
    })
}

/// Returns whether a line has the name of an image, or of a release, and not a longer name.
pub(crate) fn has_image(line: &str, image: &str) -> bool {
    let release = image.starts_with("nixos-");
    line.match_indices(image).any(|(at, _)| {
        let behind = line.get(at + image.len()..).and_then(|it| it.chars().next());
        let before = line.get(..at).and_then(|it| it.chars().next_back());
        let own = !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-');
        // `debian:10` does not match `debian:100`; it matches `debian:10-slim`.
        own && (release && behind == Some('.')
            || !release && !behind.is_some_and(|c| c.is_ascii_digit() || c == '.'))
    })
}

/// Returns a version directly after the name of QEMU: `qemu-4.2`, `qemu-kvm-ev-2.12.0`, `qemu-system-x86=1:4.2-3`,
/// `QEMU version 3.1`.
pub(crate) fn version_near(behind: &str) -> Option<(Version, String)> {
    let bytes = behind.as_bytes();
    let mut at = 0;
    while at < bytes.len().min(NEAR) {
        let c = bytes.get(at).copied().unwrap_or_default();
        if c.is_ascii_digit() {
            let before = at.checked_sub(1).and_then(|n| bytes.get(n)).copied().unwrap_or(b'-');
            if let Some(found) = version_at(behind, at, before) {
                return Some(found);
            }
            while bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
                at += 1;
            }
            continue;
        }
        let next = bytes.get(at + 1).copied().unwrap_or_default();
        let goes_on = match c {
            // The next option, and the value of this one.
            b' ' => next != b'-',
            b'/' => next.is_ascii_digit() || next == b'v',
            _ => c.is_ascii_alphanumeric() || b"-_:=@\"'()[]{}~^<>.,".contains(&c),
        };
        if !goes_on {
            return None;
        }
        at += 1;
    }
    None
}

/// Returns a series directly after the name of a program: ` 4.x`.
pub(crate) fn written_out(behind: &str) -> Option<(Version, String)> {
    let word = behind.trim_start_matches([' ', '-', '_', ':']);
    let end = word.find(|c: char| !c.is_ascii_digit())?;
    let major = word.get(..end)?.parse().ok()?;
    let rest = word.get(end..)?;
    let series = rest.starts_with(".x") && !rest[2..].starts_with(|c: char| c.is_alphanumeric());
    series.then(|| ((major, 0), format!("{major}.x")))
}

/// A version of a source anywhere on a line.
pub(crate) fn any_version(line: &str, first: Version) -> Option<String> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
            continue;
        }
        let before = at.checked_sub(1).and_then(|n| bytes.get(n)).copied().unwrap_or(b' ');
        if let Some((_, shown)) = version_at(line, at, before).filter(|(it, _)| *it < first) {
            return Some(shown);
        }
        while bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.') {
            at += 1;
        }
    }
    None
}

/// Returns a version that begins at a place: at least two numbers, and not a size, an address or a machine type.
fn version_at(text: &str, at: usize, before: u8) -> Option<(Version, String)> {
    let word = text.get(..at).unwrap_or_default();
    let machine = ["i440fx-", "q35-", "rhel", "virt-", "pc-"].iter().any(|it| word.ends_with(it));
    // `x86` is not a version, `v4.2` is one.
    let begins = !before.is_ascii_alphanumeric() && before != b'.'
        || before == b'v'
            && !word.trim_end_matches('v').ends_with(|c: char| c.is_ascii_alphanumeric());
    if machine || !begins {
        return None;
    }
    let rest = text.get(at..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let shown = rest.get(..end)?.trim_end_matches('.');
    let mut parts = shown.split('.');
    let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    // `10.0.2.15`, `4.5G`.
    let size = rest.get(shown.len()..).is_some_and(|it| it.starts_with(['g', 'm', 'k', 't']));
    (shown.split('.').count() <= 3 && !size).then(|| ((major, minor), shown.to_owned()))
}
