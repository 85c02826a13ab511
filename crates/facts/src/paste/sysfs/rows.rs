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

/// Headings of a column with current values, in lower case.
const VALUES: &str = "value values result output actual current now reading observed measured found state status detail \
    details info this my the on of in use information data content system machine host server node vm guest laptop desktop wert werte ergebnis \
    aktuell ist valeur valeurs résultat actuel valor valores resultado valore risultato waarde wartość hodnota värde verdi \
    значение результат 值 数值 当前值 结果 値 結果 現在 값";

/// Whether the head of a table of two columns is above values that were read: none, one of a list, or the name of a
/// machine. A different heading, in any language, may not introduce current values.
fn is_of_values(page: &Page<'_>, head: usize, cells: &[String]) -> bool {
    let below = page.line(head + 1).trim_start();
    if !(below.starts_with("|-") || below.starts_with("|:") || below.starts_with("| -")) {
        return true;
    }
    let [_, head] = cells else { return true };
    let names_one = !head.contains(' ') && head.bytes().any(|b| b.is_ascii_digit());
    let is_known = |word: &str| VALUES.split_ascii_whitespace().any(|known| known == word);
    names_one || head.is_empty() || head.split(' ').all(is_known)
}

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
        let lower = page.line(head).to_lowercase();
        OTHERS.iter().any(|word| lower.contains(word))
            || row.len() == 2 && !is_of_values(page, head, &cells(page.line(head)))
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
            "| Kernel | 6.8 |\n| Clocksource | hpet |\n",
            "| Eigenschaft | Wert |\n|---|---|\n| Clocksource | hpet |\n",
            "| Property | web7 |\n| --- | --- |\n| Clocksource | hpet |\n",
            "| current_clocksource | hpet |\n",
            "| Clocksource |`cat /sys/devices/system/clocksource/clocksource0/current_clocksource`| hpet |\n",
        ] {
            assert_eq!(told(text).0.as_deref(), Some("hpet"), "{text}");
        }
        for text in [
            "| Setting | Recommended |\n|---|---|\n| Clocksource | hpet |\n",
            "| Einstellung | Empfohlen |\n|---|---|\n| Clocksource | hpet |\n",
            "| \u{53c2}\u{6570} | \u{63a8}\u{8350}\u{503c} |\n|---|---|\n| Clocksource | hpet |\n",
            "| Param\u{e8}tre | Valeur recommand\u{e9}e |\n|---|---|\n| Clocksource | hpet |\n",
            "| Parameter | Ziel |\n| --- | --- |\n| Clocksource | hpet |\n",
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
