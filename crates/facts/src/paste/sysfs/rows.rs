//! A row of a Markdown table with the properties of one machine: `| Clocksource | hpet |`.

use super::value::{File, told};
use crate::names;
use crate::paste::{Page, table};

/// Labels of the clocksource in use.
const LABELS: [&str; 6] = [
    "clocksource",
    "clock source",
    "current clocksource",
    "current clock source",
    "current_clocksource",
    "active clocksource",
];

/// Words in the head of a table that shows what should be, what something means, or what it costs.
const OTHERS: [&str; 16] = [
    "recommend",
    "expect",
    "default",
    "require",
    "should",
    "meaning",
    "descri",
    "cost",
    "rating",
    "latency",
    "when",
    "want",
    "before",
    "after",
    "option",
    "supported",
];

/// Reads a row.
pub(super) fn row(page: &mut Page<'_>, at: usize) -> usize {
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim();
        let inside = line.strip_prefix('|').and_then(|rest| rest.strip_suffix('|'));
        let bare = |cell: &str| cell.trim().trim_matches(['*', '_', '`', '"', ' ']).to_lowercase();
        inside.map_or_else(Vec::new, |inside| inside.split('|').map(bare).collect())
    };
    let row = cells(page.line(at));
    let name = match row.as_slice() {
        [label, name] if LABELS.contains(&label.as_str()) => name.clone(),
        // With the command that printed it.
        [label, command, name]
            if LABELS.contains(&label.as_str())
                && command.starts_with("cat /sys/")
                && command.ends_with("current_clocksource") =>
        {
            name.clone()
        }
        _ => return 0,
    };
    let is_of_others = table::head(page.lines(), at).is_some_and(|head| {
        let head = page.line(head).to_lowercase();
        OTHERS.iter().any(|word| head.contains(word))
    });
    let is_head = page.line(at + 1).trim_start().starts_with("|-")
        || page.line(at + 1).trim_start().starts_with("|:");
    if is_of_others || is_head || !names::is_known(&name) {
        return 0;
    }
    usize::from(told(page, at, File::Current, &name))
}

#[cfg(test)]
mod tests {
    use crate::paste::sysfs::tests::told;

    #[test]
    fn row_with_a_property_of_the_machine_is_read() {
        for text in [
            "| Item | Value |\n|---|---|\n| Kernel | 6.8 |\n| Clocksource | hpet |\n",
            "| **Clock source** | `hpet` |\n",
            "| current_clocksource | hpet |\n",
            "| Clocksource |`cat /sys/devices/system/clocksource/clocksource0/current_clocksource`| hpet |\n",
        ] {
            assert_eq!(told(text).0.as_deref(), Some("hpet"), "{text}");
        }
        for text in [
            "| Setting | Recommended |\n|---|---|\n| Clocksource | hpet |\n",
            "| Clocksource | tsc |\n|---|---|\n| cost | 20 ns |\n",
            "| | node-a | node-b |\n|---|---|---|\n| Clocksource | tsc | hpet |\n",
            "| Clocksource | which one? |\n",
        ] {
            assert_eq!(told(text).0, None, "{text}");
        }
    }

    #[test]
    fn sentence_that_names_both_files_says_which_is_in_use() {
        let text = "available_clocksource now shows \"jiffies tsc pit\" and current_clocksource is \"pit\".\n";
        assert_eq!(told(text).0.as_deref(), Some("pit"));
    }
}
