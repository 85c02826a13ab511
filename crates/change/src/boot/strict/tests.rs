//! The grammar against two shells: both run every accepted text.

use super::*;
use crate::boot::{change, grub, settings};
use crate::words;
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;

/// Texts as distributions install them, rewritten.
const PLAIN: &[&str] = &[
    "GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`\n",
    "GRUB_DISTRIBUTOR=`( . /etc/os-release && echo ${NAME} )`\n",
    "GRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${NAME:-Ubuntu} ) 2>/dev/null || echo Ubuntu`\n",
    "GRUB_DISTRIBUTOR=$(. /etc/os-release; echo ${NAME})\n",
    "GRUB_DISTRIBUTOR=\"$(sed 's, release .*$,,g' /etc/system-release)\"\n",
    "GRUB_DISTRIBUTOR=\"$(echo \"a b\" | tr -d ')')\"\n",
    "# if this, then that; <<EOF\n#GRUB_BADRAM=\"0x01234567,0xfefefefe\" \\\n",
    "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT crashkernel=512M-:192M\"\n",
    "GRUB_DISABLE_OS_PROBER=false # if\n\t export \tGRUB_COLOR_NORMAL=\"light-gray/black\"\n",
    "GRUB_DISTRIBUTOR=\nGRUB_TIMEOUT=-1\nGRUB_GFXMODE=1024x768,auto\nGRUB_INIT_TUNE='480 440 1'\n",
    "SUSE_BTRFS_SNAPSHOT_BOOTING=\"true\"\nGRUB_X='a $b `c` \"d\" \\'\nGRUB_Y=\"\\$a \\`b\\` \\\"c\\\" \\d\"",
    "clocksource=tsc\n",
    "",
];

/// Lines that prevent edits of a file, each with its message.
const REFUSED: &[(&str, &str)] = &[
    ("true ||\nGRUB_CMDLINE_LINUX_DEFAULT=\"q\"", "`true`"),
    ("false &&\nGRUB_CMDLINE_LINUX_DEFAULT=", "`false`"),
    ("true |\nGRUB_CMDLINE_LINUX_DEFAULT=\"q\"", "`true`"),
    ("GRUB_X=1\\\nGRUB_CMDLINE_LINUX_DEFAULT=\"q\"", "outside of quotes"),
    ("GRUB_X=\"1\\\n2\"", "several lines"),
    ("\u{a0}GRUB_CMDLINE_LINUX_DEFAULT=\"q\"", "NAME=VALUE"),
    ("GRUB_X=1\u{a0}GRUB_Y=2", "outside of quotes"),
    ("\u{c}GRUB_CMDLINE_LINUX_DEFAULT=\"q\"", "U+000C"),
    ("GRUB_X=1\u{b}", "U+000B"),
    ("GRUB_X=1\r", "carriage return"),
    ("GRUB_X=\"a\0b\"", "NUL"),
    ("\u{feff}GRUB_X=1", "byte order mark"),
    (". /etc/default/more", "`.`"),
    ("source /etc/default/more", "`source`"),
    ("F=/x; . $F", "outside of quotes"),
    ("unset GRUB_CMDLINE_LINUX_DEFAULT", "`unset`"),
    ("export $N=late", "NAME=VALUE"),
    ("unset $N", "`unset`"),
    ("export GRUB_\"CMDLINE\"_LINUX_DEFAULT=late", "NAME=VALUE"),
    ("export GRUB_CMDLINE_LINUX_DEFAULT", "NAME=VALUE"),
    ("export GRUB_X=$GRUB_Y", "`export`"),
    ("export -n GRUB_X=1", "NAME=VALUE"),
    (": ${GRUB_CMDLINE_LINUX_DEFAULT:=late}", "`:`"),
    ("GRUB_X=\"${GRUB_CMDLINE_LINUX_DEFAULT:=late}\"", "expansion"),
    ("GRUB_X=\"${GRUB_CMDLINE_LINUX_DEFAULT=late}\"", "expansion"),
    ("GRUB_X=\"$((GRUB_CMDLINE_LINUX_DEFAULT=5))\"", "expansion"),
    ("GRUB_X=\"$[GRUB_CMDLINE_LINUX_DEFAULT=5]\"", "expansion"),
    ("GRUB_X=\"$1\"", "expansion"),
    ("GRUB_X=\"$\"", "expansion"),
    ("GRUB_X=$'a'", "expansion"),
    ("GRUB_X=\"$(kill $$)\"", "expansion"),
    ("GRUB_X=$(set)", "expansion"),
    ("GRUB_X=`echo $GRUB_CMDLINE_LINUX_DEFAULT`", "expansion"),
    ("GRUB_X=`echo \\`id\\``", "expansion"),
    ("GRUB_X=$(. /etc/default/more)", "expansion"),
    ("GRUB_X=$(echo a", "expansion"),
    ("GRUB_X=`echo a", "backquote"),
    ("GRUB_CMDLINE_LINUX_DEFAULT+=\" more\"", "`+=`"),
    ("GRUB_CMDLINE_LINUX_DEFAULT=~", "outside of quotes"),
    ("GRUB_X=a:~/b", "outside of quotes"),
    ("set -n", "`set`"),
    ("set -e", "`set`"),
    ("if true; then", "`if`"),
    ("case a in", "`case`"),
    ("for a in b; do", "`for`"),
    ("while :; do", "`while`"),
    ("{ GRUB_X=1; }", "`{`"),
    ("( GRUB_X=1 )", "NAME=VALUE"),
    ("f() { :; }", "NAME=VALUE"),
    ("GRUB_X() { :; }", "NAME=VALUE"),
    ("function f {", "`function`"),
    ("GRUB_X=(1 2)", "array"),
    ("GRUB_X[1]=2", "NAME=VALUE"),
    ("exit 0", "`exit`"),
    ("return", "`return`"),
    ("exec true", "`exec`"),
    ("eval GRUB_X=1", "`eval`"),
    ("alias a=b", "`alias`"),
    ("readonly GRUB_CMDLINE_LINUX_DEFAULT", "`readonly`"),
    ("trap 'GRUB_X=1' EXIT", "`trap`"),
    ("declare GRUB_X=1", "`declare`"),
    ("[ -f /x ] && GRUB_X=1", "`[`"),
    ("cat <<E\nGRUB_CMDLINE_LINUX_DEFAULT=\"b\"\nE", "NAME=VALUE"),
    ("GRUB_X=1 GRUB_Y=2", "more than one word"),
    ("GRUB_X=1 true", "more than one word"),
    ("GRUB_X=1; GRUB_Y=2", "outside of quotes"),
    ("GRUB_X=1 ; GRUB_Y=2", "more than one word"),
    ("GRUB_X=1 &", "more than one word"),
    ("GRUB_X=\"1\"&", "several parts"),
    ("GRUB_X=\"1\"2", "several parts"),
    ("GRUB_X=1\"2\"", "several parts"),
    ("GRUB_X=\"1\"#2", "several parts"),
    ("GRUB_X=1#2", "outside of quotes"),
    ("GRUB_X =1", "NAME=VALUE"),
    ("GRUB_X=a\\ b", "outside of quotes"),
    ("GRUB_X=*", "outside of quotes"),
    ("GRUB_X={a,b}", "outside of quotes"),
    ("GRUB_X=\"a", "quote"),
    ("GRUB_X='a", "quote"),
    ("GRUB_X='a\nb'", "quote"),
    ("GRUB_X=\"a\nb\"", "quote"),
    ("1GRUB=2", "NAME=VALUE"),
    ("GRUB-X=2", "NAME=VALUE"),
    ("PATH=/none", "PATH"),
    ("IFS=a", "IFS"),
    ("UID=0", "UID"),
    ("BASHOPTS=x", "BASHOPTS"),
    ("BASH_ENV=/x", "BASH_ENV"),
    ("ENV=/x", "ENV"),
    ("LC_ALL=C", "LC_ALL"),
    ("PS4=x", "PS4"),
    ("LINENO=0", "LINENO"),
    ("PPID=1", "PPID"),
    ("LD_PRELOAD=/x", "LD_PRELOAD"),
    ("_=x", "_"),
    ("sysconfdir=/x", "sysconfdir"),
    ("grub_cfg=/x", "grub_cfg"),
    ("foo-command", "NAME=VALUE"),
];

fn read(text: &str) -> Result<Vec<Setting>, Obstacle> {
    super::read(text, grub::KIND.names)
}

/// The result of a file that a shell reads: the output, the shell's options, and the values of these variables. The
/// shell's path contains no program.
fn run(shell: &str, directory: &Path, text: &str, names: &[String]) -> String {
    let file = directory.join("file");
    std::fs::write(&file, text).unwrap();
    let mut script =
        ". ./file; printf '<%s>' \"$-\" \"$PATH\" \"$IFS\" \"$PWD\"; export -p; trap;".to_owned();
    for name in names {
        script.push_str(&format!("printf '%s=<%s>\\n' {name} \"${name}\";"));
    }
    script.push_str("printf end");
    let output = Command::new(shell)
        .args(["-c", &script])
        .env_clear()
        .env("PATH", directory)
        .current_dir(directory)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn shells() -> Vec<&'static str> {
    let found: Vec<&str> = ["/bin/dash", "/bin/bash", "/bin/sh"]
        .into_iter()
        .filter(|it| Path::new(it).exists())
        .collect();
    assert!(!found.is_empty());
    found
}

/// Edits a text, and verifies the result with every shell; returns whether the text was edited.
fn held_against_shells(text: &str, wanted: &words::Change) -> Result<bool, String> {
    let Ok(edited) = settings::edited(&grub::KIND, text, grub::VARIABLE, "", wanted) else {
        return Ok(false);
    };
    let directory = tempfile::tempdir().unwrap();
    let settings = read(&edited).map_err(|it| it.to_string())?;
    let mut names: Vec<String> = settings.into_iter().map(|it| it.name).collect();
    names.extend([grub::VARIABLE, grub::ALL, "N", "F"].map(str::to_owned));
    names.sort();
    names.dedup();
    let others: Vec<String> =
        names.iter().filter(|name| *name != grub::VARIABLE).cloned().collect();
    let ours = [grub::VARIABLE.to_owned()];
    let predicted =
        settings::evaluate(&grub::KIND, [edited.as_str()]).map_err(|it| it.to_string())?;
    for shell in shells() {
        let run = |text: &str, names: &[String]| run(shell, directory.path(), text, names);
        let said = |out: &str| {
            // The value itself may hold `=<`.
            let (_, value) = out.split_once("=<").unwrap_or_default();
            value.trim_end_matches(">\nend").to_owned()
        };
        let only = |text: &str| {
            let out = run(text, &ours);
            let at = out
                .rfind(&format!("{}=<", grub::VARIABLE))
                .ok_or(format!("{shell} printed nothing"))?;
            Ok::<_, String>(said(out.get(at..).unwrap_or_default()))
        };
        let (was, is) = (run(text, &others), run(&edited, &others));
        // An exported variable is shown with its value.
        let shown = |out: &str| -> Vec<String> {
            out.lines()
                .filter(|line| {
                    !line.contains(&format!("{}=", grub::VARIABLE)) || line.starts_with(grub::ALL)
                })
                .map(str::to_owned)
                .collect()
        };
        if !is.ends_with("end") || shown(&was) != shown(&is) {
            return Err(format!("{shell} of {edited:?}: {was} -> {is}"));
        }
        let (was, is) = (only(text)?, only(&edited)?);
        if words::all(&wanted.of(&was)) != words::all(&is) || !wanted.holds(&is) {
            return Err(format!("{shell} of {edited:?}: {was:?} -> {is:?}"));
        }
        let expected = predicted.get(grub::VARIABLE).map_or("", String::as_str);
        if expected != is {
            return Err(format!("{shell} of {edited:?}: {is:?}, and not {expected:?}"));
        }
    }
    Ok(true)
}

#[test]
fn files_of_distributions_are_read() {
    for text in PLAIN {
        if let Err(obstacle) = read(text) {
            panic!("{text}: {obstacle}");
        }
        assert_eq!(held_against_shells(text, &change(&["zz9=1"], &[])), Ok(true), "{text}");
    }
}

#[test]
fn read_ambiguous_file_is_refused_with_its_line() {
    let quiet = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n";
    for (text, what) in REFUSED {
        for (before, after, line) in [("", quiet, 1), (quiet, "", 2), ("#\n\n", quiet, 3)] {
            let text = format!("{before}{text}\n{after}");
            let obstacle = read(&text).expect_err(&text);
            assert_eq!(obstacle.line, line, "{text:?}: {obstacle}");
            assert!(obstacle.what.contains(what), "{text:?}: {obstacle}");
        }
    }
}

#[test]
fn places_of_values_are_exact() {
    let text = "# x\n  A='b c' # d\nexport B=\"e\"\nC=f\nD=";
    let all = super::read(text, ordinary).unwrap();
    let found: Vec<_> = all
        .iter()
        .map(|it| (it.name.as_str(), it.line, &text[it.span.0..it.span.1], it.quote))
        .collect();
    assert_eq!(
        found,
        [
            ("A", 2, "b c", Some('\'')),
            ("B", 3, "e", Some('"')),
            ("C", 4, "f", None),
            ("D", 5, "", None)
        ]
    );
}

/// A line of a file: usually a good one.
fn any_line() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("GRUB_CMDLINE_LINUX_DEFAULT"),
        Just("GRUB_CMDLINE_LINUX"),
        Just("GRUB_X"),
        Just("F"),
        Just("export GRUB_CMDLINE_LINUX_DEFAULT"),
        Just("  GRUB_CMDLINE_LINUX_DEFAULT"),
    ];
    let value = prop_oneof![
        Just("quiet".to_owned()),
        Just("\"\"".to_owned()),
        Just(String::new()),
        Just("\"$GRUB_CMDLINE_LINUX_DEFAULT more\"".to_owned()),
        Just("${GRUB_CMDLINE_LINUX}".to_owned()),
        Just("\"$F b\"".to_owned()),
        Just("`lsb_release -i -s 2> /dev/null || echo Debian`".to_owned()),
        "[a-c =-]{0,12}".prop_map(|it| format!("\"{it}\"")),
        "[a-c =\"$`\\\\-]{0,12}".prop_map(|it| format!("'{it}'")),
        "\"([a-c ]|\\\\[\"$`\\\\ad]|\\$F|--){0,6}\"",
        "[a-c=,.:/@%+-]{0,8}",
    ];
    let good = (name, value, prop_oneof![Just(""), Just(" "), Just(" # x"), Just("\t#")])
        .prop_map(|(name, value, end)| format!("{name}={value}{end}"));
    let bad = (0..REFUSED.len()).prop_map(|index| REFUSED[index].0.to_owned());
    prop_oneof![10 => good, 1 => Just("# x \\".to_owned()), 1 => Just(String::new()), 1 => bad]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn edit_has_intended_effect_in_every_shell(
        lines in proptest::collection::vec(any_line(), 1..5),
        at in any::<proptest::sample::Index>(),
        insert in proptest::option::weighted(0.4, "[\"'`$(){};<>&|\\\\\n\u{a0}\u{c}~!#=+*? \t\\[\\]-]{1,2}"),
        newline in any::<bool>(),
        remove in any::<bool>(),
    ) {
        let mut text = lines.join("\n");
        if newline {
            text.push('\n');
        }
        if let Some(insert) = insert {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            text.insert_str(places[at.index(places.len())], &insert);
        }
        let wanted = if remove { change(&["zz9=1"], &["quiet"]) } else { change(&["zz9=1"], &[]) };
        if let Err(why) = held_against_shells(&text, &wanted) {
            prop_assert!(false, "{text:?}: {why}");
        }
    }

    #[test]
    fn any_text_is_survived(text in "(\\PC|[\n`\"'$(){};<&]){0,80}") {
        let _ = read(&text);
        let _ = settings::edited(&grub::KIND, &text, grub::VARIABLE, "", &change(&["b"], &["c"]));
    }

    #[test]
    fn added_and_removed_gives_the_same_bytes(
        // No name with a meaning to a shell: `PSQ` begins like `PS1`.
        before in "(#[a-z ]{0,9}\n|[A-C]{1,2}Q=[a-z]{0,4}\n){0,3}",
        value in "[a-c =]{0,20}",
        after in "(\n#[a-z \"']{0,9}|\nBQ='[a-z ]{0,4}'){0,3}"
    ) {
        let text = format!("{before}GRUB_CMDLINE_LINUX_DEFAULT=\"{value}\"{after}");
        let wanted = change(&["zz=1"], &[]);
        let edit = |text: &str, change| settings::edited(&grub::KIND, text, grub::VARIABLE, "", change).unwrap();
        let edited = edit(&text, &wanted);
        prop_assert_eq!(edit(&edited, &wanted), edited.clone());
        prop_assert_eq!(edit(&edited, &wanted.reversed()), text);
    }
}
