//! Patches and mails about them: they have the words of kernels, clocks and hypervisors, but no machine's.

use anyhow::{Error, anyhow};

/// Returns the error for a patch, or for a mail about one, that was given as a log.
pub(super) fn refused(shown: &str, lines: &[String]) -> Option<Error> {
    is_patch(lines).then(|| {
        anyhow!(
            "{shown} is a patch, or a mail about one: it shows the code of a program, and no line from a machine that \
             clocksmith can read. Give the output of `dmesg` or `journalctl -k -b`"
        )
    })
}

/// Whether a text is mainly a patch, or a mail about one. A post that shows the lines which its author changed is not.
fn is_patch(lines: &[String]) -> bool {
    let bare: Vec<&str> = lines.iter().map(|line| unquoted(line)).collect();
    let Some(begin) = bare.windows(2).position(|pair| is_header(pair[0], pair[1])) else {
        return false;
    };
    let Some(hunk) = bare[begin..].iter().position(|line| is_hunk(line)) else { return false };
    let is_changed = |line: &&&str| line.starts_with(['+', '-', ' ', '@', '\t']);
    let full = |lines: &[&str]| lines.iter().filter(|line| !line.trim().is_empty()).count();
    let below = &bare[begin + hunk..];
    let changed = below.iter().filter(is_changed).count();
    let others = full(&bare[..begin]) + full(below).saturating_sub(changed);
    changed > others || bare.iter().any(|line| is_sent(line))
}

/// A line without the signs of quotations. The blank after them separates them from the line.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    rest
}

/// Whether two lines name the files of a patch, as git does.
fn is_header(line: &str, next: &str) -> bool {
    line.starts_with("diff --git a/") || line.starts_with("--- a/") && next.starts_with("+++ b/")
}

/// `@@ -98,7 +98,7 @@ static struct clocksource`.
fn is_hunk(line: &str) -> bool {
    let rest = line.strip_prefix("@@ -").and_then(|rest| rest.split_once(" @@"));
    rest.is_some_and(|(places, _)| {
        places.contains(" +")
            && places.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | ' ' | '+'))
    })
}

/// Whether a line is one that people who send a patch write above it.
fn is_sent(line: &str) -> bool {
    let subject = line.strip_prefix("Subject: ").map(str::to_ascii_lowercase);
    let of_patch = |subject: String| {
        let tag = subject.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        tag.is_some_and(|(tag, _)| tag.split_ascii_whitespace().any(|word| word == "patch"))
    };
    line.starts_with("Signed-off-by: ") || subject.is_some_and(of_patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(text: &str) -> bool {
        refused("x", &text.lines().map(str::to_owned).collect::<Vec<_>>()).is_some()
    }

    const DIFF: &str = "diff --git a/lib/late.c b/lib/late.c\nindex 1..2 100644\n--- a/lib/late.c\n+++ b/lib/late.c\n\
                        @@ -10,3 +10,3 @@ int late(void)\n-\treturn drift(clock);\n+\treturn 0;\n }\n";

    #[test]
    fn patches_and_mails_about_them_are_refused() {
        let quoted: String = DIFF.lines().map(|line| format!("> > {line}\n")).collect();
        let prose =
            "The guest's clock is behind after a restore.\nIt drifts, and nothing sets it.\n"
                .repeat(9);
        assert!(refuses(DIFF));
        assert!(refuses(&quoted));
        assert!(refuses(&format!(
            "Subject: Re: [RFC PATCH v2 3/9] late: return\n\n{prose}{quoted}"
        )));
        assert!(refuses(&format!("{prose}> Signed-off-by: A <a@b>\n{quoted}{prose}")));
        let git_less = DIFF.lines().skip(2).collect::<Vec<_>>().join("\n");
        assert!(refuses(&git_less));
    }

    #[test]
    fn posts_that_show_a_change_are_not() {
        let prose =
            "The guest's clock is behind after a restore.\nIt drifts, and nothing sets it.\n"
                .repeat(9);
        assert!(!refuses(&format!("{prose}{DIFF}")));
        assert!(!refuses(&prose));
        assert!(!refuses("Subject: [PATCH] late: return\n\nDoes this help the clock?\n"));
        assert!(!refuses(
            "--- /etc/chrony.conf.old\n+++ /etc/chrony.conf\n@@ -1,1 +1,1 @@\n-a\n+b\n"
        ));
        assert!(!refuses("diff --git a/x b/x\nnothing\n@@ here @@\n"));
    }
}
