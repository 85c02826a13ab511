//! GRUB's environment block: 1024 bytes, `name=value` lines, filled up with `#`.
//!
//! Source: `grub-core/lib/envblk.c`; the size is `DEFAULT_ENVBLK_SIZE` of `util/grub-editenv.c`. GRUB
//! writes it block by block at boot, so its size must not change.

use crate::words::Change;

/// The beginning of a block.
const SIGNATURE: &str = "# GRUB Environment Block\n";

/// Returns the block with words added to and removed from one of its variables.
///
/// # Errors
/// Returns the reason if the block cannot be edited.
pub(super) fn edit(block: &str, name: &str, change: &Change) -> Result<String, String> {
    let size = block.len();
    if !block.starts_with(SIGNATURE) {
        return Err("it is not a GRUB environment block".to_owned());
    }
    let start = block
        .match_indices(&format!("\n{name}="))
        .map(|(at, found)| at + found.len())
        .next()
        .ok_or_else(|| format!("it has no {name}"))?;
    let rest = block.get(start..).unwrap_or_default();
    let end = start + rest.find('\n').ok_or_else(|| format!("{name} in it has no end"))?;
    let value = block.get(start..end).unwrap_or_default();
    let mut out = block.to_owned();
    out.replace_range(start..end, &change.of(value));
    let body = out.trim_end_matches('#').len();
    if body > size {
        return Err(format!("it has no room: {body} bytes of {size}"));
    }
    out.truncate(body);
    out.extend(std::iter::repeat_n('#', size - body));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(value: &str) -> String {
        let mut text = format!("{SIGNATURE}saved_entry=0\nkernelopts={value}\nboot_success=0\n");
        text.extend(std::iter::repeat_n('#', 1024 - text.len()));
        text
    }

    #[test]
    fn keeps_its_size_and_everything_else() {
        let change = Change { add: vec!["clocksource=tsc".into()], remove: vec!["quiet".into()] };
        let edited = edit(&block("ro quiet rhgb "), "kernelopts", &change).unwrap();
        assert_eq!(edited.len(), 1024);
        assert!(edited.contains("\nkernelopts=ro rhgb  clocksource=tsc\nboot_success=0\n#"));
        let back = Change { add: vec![], remove: vec!["clocksource=tsc".into()] };
        assert_eq!(edit(&edited, "kernelopts", &back).unwrap(), block("ro rhgb "));
        let full = Change { add: vec!["x".repeat(999)], remove: vec![] };
        assert!(edit(&block("ro"), "kernelopts", &full).unwrap_err().contains("no room"));
        assert!(edit("nothing", "kernelopts", &change).is_err());
        assert!(edit(&block("ro"), "other", &change).unwrap_err().contains("no other"));
    }
}
