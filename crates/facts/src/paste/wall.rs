//! The wall clock according to tools other than those of time daemons: `ntpq`'s variables, a hypervisor's tools, two
//! outputs of `date`.

use super::{Page, Reader, discipline, prompt};
use crate::Fact;
use crate::wall::{Apart, Remark, TimeSource, Tools, What, ahead_of_utc, date_of, date_seconds};

pub(super) const VARIABLES: Reader =
    Reader { name: "ntpq -c rv", words: &["associd=", "assID=", "srcadr="], read: variables };

pub(super) const ASSOCIATIONS: Reader =
    Reader { name: "ntpq -c as", words: &["conf reach auth condition"], read: associations };

pub(super) const TOOLS: Reader = Reader {
    name: "settings of a hypervisor's tools",
    words: &["vmware-toolbox-cmd timesync ", "ools.sync", "GetHostTimeDisabled"],
    read: tools,
};

pub(super) const DATES: Reader = Reader { name: "date", words: &["date", "Get-Date"], read: dates };

/// Lines of one output of variables.
const VARIABLE_LINES: usize = 24;
/// Lines of a table of associations.
const ROWS: usize = 256;

fn variables(page: &mut Page<'_>, at: usize) -> usize {
    let is_first = |line: &str| {
        let line = line.trim_start();
        line.starts_with("associd=") || line.starts_with("assID=")
    };
    // The first line may be left out.
    if !is_first(page.line(at)) && !page.line(at).trim_start().starts_with("srcadr=") {
        return 0;
    }
    let mut end = at + 1;
    // Each line but the last ends with a comma, and a mail program may have wrapped them.
    while end < page.len().min(at + VARIABLE_LINES) {
        let line = page.line(end).trim();
        if line.is_empty() || !line.contains('=') && !line.ends_with(',') || is_first(line) {
            break;
        }
        if prompt::read(line).is_some() || line.starts_with("```") {
            break;
        }
        end += 1;
    }
    let text: Vec<&str> = (at..end).map(|number| page.line(number)).collect();
    let Some(told) = TimeSource::of_variables(&text.join("\n")) else { return 0 };
    if discipline::is_of_another(page, at) {
        return 0;
    }
    discipline::add(page, at, told);
    end - at
}

fn associations(page: &mut Page<'_>, at: usize) -> usize {
    let rule = usize::from(page.line(at + 1).trim_start().starts_with("===="));
    let from = at + 1 + rule;
    let mut rows = (from..page.len().min(from + ROWS)).map(|number| page.line(number));
    let Some((told, rows)) = TimeSource::of_associations(&mut rows) else { return 0 };
    discipline::add(page, from, told);
    from - at + rows
}

fn tools(page: &mut Page<'_>, at: usize) -> usize {
    let Some((tools, taken)) = Tools::of_lines(page.line(at).trim(), page.line(at + 1)) else {
        return 0;
    };
    if !page.told.tools.is_known() {
        page.told.tools = Fact::known(tools, page.source(at + taken - 1));
    }
    taken
}

/// One command line that runs `date` here and inside, and its two lines of output; or two prompts with one output each.
fn dates(page: &mut Page<'_>, at: usize) -> usize {
    if let taken @ 1.. = windows(page, at) {
        return taken;
    }
    if let Some((inside_first, with)) = Apart::asked(command(page.line(at))) {
        return apart(page, with, inside_first, [at + 1, at + 2], 0);
    }
    match Apart::asked_among(command(page.line(at))) {
        Some((inside_first, with)) => among_others(page, at, with, inside_first),
        None => two_prompts(page, at),
    }
}

/// Lines of the output of a line of commands in which two dates are looked for.
const OUTPUT: usize = 12;

/// The two dates in the output of a line of several commands.
fn among_others(page: &mut Page<'_>, at: usize, with: &'static str, inside_first: bool) -> usize {
    let output = (at + 1..page.len().min(at + 1 + OUTPUT)).take_while(|n| !page.is_prompt(*n));
    let dated: Vec<usize> = output.filter(|n| date_seconds(page.line(*n)).is_some()).collect();
    match dated[..] {
        [first, second] => apart(page, with, inside_first, [first, second], 0),
        _ => 0,
    }
}

/// Lines between `date` in a guest and `Get-Date` in Windows.
const WINDOWS_WITHIN: usize = 8;
/// Zones differ by multiples of that, in seconds.
const ZONE_S: i64 = 900;

/// `Get-Date` in PowerShell below an output of `date` in WSL. Both have the same zone, as WSL takes it from Windows; a difference that
/// a zone explains is none.
fn windows(page: &mut Page<'_>, at: usize) -> usize {
    if !behind_windows_prompt(page.line(at))
        .is_some_and(|command| command.eq_ignore_ascii_case("get-date"))
    {
        return 0;
    }
    let Some(shown) = (at + 1..page.len().min(at + 4)).find(|n| !page.line(*n).trim().is_empty())
    else {
        return 0;
    };
    let Some(there) = date_of_windows(page.line(shown)) else { return 0 };
    let is_wsl = |line: &String| {
        line.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word.eq_ignore_ascii_case("wsl") || word.eq_ignore_ascii_case("wsl2"))
    };
    if !page.lines()[..at].iter().any(is_wsl) {
        return 0;
    }
    let above = (at.saturating_sub(WINDOWS_WITHIN)..at).rev();
    let here = above
        .filter(|n| matches!(date_of(command(page.line(*n))), Some(None | Some("wsl" | "wsl.exe"))))
        .find_map(|n| date_seconds(page.line(n + 1)));
    let Some((here, _)) = here else { return 0 };
    let behind_s = there - here;
    let rest = (behind_s + ZONE_S / 2).rem_euclid(ZONE_S) - ZONE_S / 2;
    if rest.abs() < TYPED_S {
        return 0;
    }
    let found = Apart { with: "wsl", behind_s, before_s: None, at_s: there };
    let source = page.source(shown);
    if !page.told.apart.is_known() {
        page.told.apart = Fact::known(found, source);
    }
    shown + 1 - at
}

/// The command behind a prompt of PowerShell or `cmd.exe`: `PS C:\Users\me> date`, `C:\> wsl date`.
fn behind_windows_prompt(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.strip_prefix("PS ").unwrap_or(line);
    let (place, command) = rest.split_once('>')?;
    let mut letters = place.chars();
    let is_drive =
        letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':');
    (is_drive && !place.contains(' ')).then_some(command.trim())
}

/// Seconds since 1970, as if the zone were UTC, of `Tuesday, June 18, 2019 9:59:33 AM`.
fn date_of_windows(line: &str) -> Option<i64> {
    let line = line.trim();
    let short: Vec<String> = line
        .split_ascii_whitespace()
        .map(|word| {
            let bare = word.trim_end_matches(',');
            // The names in full.
            let is_name = bare.len() > 3 && bare.chars().all(char::is_alphabetic);
            if is_name { bare.chars().take(3).collect() } else { bare.to_owned() }
        })
        .collect();
    date_seconds(&format!("{} UTC", short.join(" "))).map(|(seconds, _)| seconds)
}

/// The command of a line that is one.
fn command(line: &str) -> &str {
    if let Some(command) = behind_windows_prompt(line) {
        return command;
    }
    let line = line.trim();
    match prompt::read(line) {
        Some(found) => found.command,
        None => line.trim_start_matches(['$', '#', '%', '>', ' ']),
    }
}

/// Lines after the first output among which the second command is.
const NEXT_WITHIN: usize = 4;
/// Two outputs of two commands below which nothing is said, in seconds: the second one was typed.
const TYPED_S: i64 = 60;

/// `$ date -u`, its output, `$ docker run -it fedora date -u`, its output.
fn two_prompts(page: &mut Page<'_>, at: usize) -> usize {
    let is_asked = |line: &str| {
        let line = line.trim_start();
        prompt::read(line).is_some() || line.starts_with(['$', '#', '%'])
    };
    let of = |number: usize| {
        let line = page.line(number);
        is_asked(line).then(|| date_of(command(line))).flatten()
    };
    let Some(first) = of(at) else { return 0 };
    let next = (at + 2..page.len().min(at + 2 + NEXT_WITHIN)).find(|n| is_asked(page.line(*n)));
    let Some((next, second)) = next.and_then(|next| Some((next, of(next)?))) else { return 0 };
    let (with, inside_first) = match (first, second) {
        (None, Some(with)) => (with, false),
        (Some(with), None) => (with, true),
        (None, None) => return went_back(page, at, next),
        _ => return 0,
    };
    apart(page, with, inside_first, [at + 1, next + 1], TYPED_S)
}

/// Notes that `date` at the second of two prompts of one machine printed an earlier time than at the first.
fn went_back(page: &mut Page<'_>, at: usize, next: usize) -> usize {
    let host = |number: usize| prompt::read(page.line(number)).map(|prompt| prompt.host);
    // A remark of the writer may follow.
    let date =
        |number: usize| date_seconds(page.line(number).split('#').next().unwrap_or_default());
    let (Some((first, zone)), Some((second, other))) = (date(at + 1), date(next + 1)) else {
        return 0;
    };
    if host(at) != host(next) || zone != other {
        return 0;
    }
    if second < first {
        let what = What::WentBack;
        let remark = Remark { what, program: "date", source: page.source(next + 1) };
        discipline::add(
            page,
            next + 1,
            TimeSource { remarks: vec![remark], ..TimeSource::default() },
        );
    }
    next - at
}

/// Notes how far apart two outputs are, from this many seconds on; returns the number of lines from the command on.
fn apart(
    page: &mut Page<'_>,
    with: &'static str,
    inside_first: bool,
    at: [usize; 2],
    least: i64,
) -> usize {
    let (Some((first, zone)), Some((second, other))) =
        (date_seconds(page.line(at[0])), date_seconds(page.line(at[1])))
    else {
        return 0;
    };
    let zones =
        if zone == other { Some((0, 0)) } else { ahead_of_utc(zone).zip(ahead_of_utc(other)) };
    let Some((ahead, other_ahead)) = zones else { return 0 };
    let (first, second) = (first - ahead, second - other_ahead);
    let behind_s = if inside_first { second - first } else { first - second };
    // If the zones differ, only a large difference counts.
    let least = if zone == other { least } else { least.max(TYPED_S) };
    let agrees = behind_s.abs() < least;
    // That two clocks agree is news only after a pair that does not.
    if agrees && page.told.apart.value().is_none_or(|known| known.with != with) {
        return 0;
    }
    let behind_s = if agrees { 0 } else { behind_s };
    let found = Apart { with, behind_s, before_s: None, at_s: first };
    let mut source = page.source(at[1]);
    let pair = match &page.told.apart {
        Fact::Known { value, source: place } => {
            let mut pair = value.clone();
            pair.add(found);
            if pair.at_s != first {
                source = place.clone();
            }
            pair
        }
        Fact::Missing(_) => found,
    };
    page.told.apart = Fact::known(pair, source);
    at[1] + 2 - at[0]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::paste::Pasted;

    fn behind(text: &str) -> Option<i64> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Pasted::read(&lines, "text").told.apart.value().map(|apart| apart.behind_s)
    }

    #[test]
    fn date_in_wsl_is_compared_with_powershells_below_it() {
        let text = |there: &str| {
            format!(
                "C:\\> wsl date\nMon Jun 17 19:06:58 CEST 2019\nPS C:\\Users\\me> Get-Date\n\n{there}\n"
            )
        };
        assert_eq!(behind(&text("Tuesday, June 18, 2019 9:59:33 AM")), Some(53_555));
        assert_eq!(behind(&text("Monday, June 17, 2019 7:07:20 PM")), None);
        // Zones differ by whole hours.
        assert_eq!(behind(&text("Monday, June 17, 2019 5:07:20 PM")), None);
        assert_eq!(behind(&text("Tuesday, June 18, 2019 9:59:33 AM").replace("wsl ", "")), None);
        let both = "PS C:\\> wsl date -u; date\nMon Jun 17 17:06:58 UTC 2019\nTue Jun 18 07:59:33 UTC 2019\n";
        assert_eq!(behind(both), Some(53_555));
    }

    #[test]
    fn of_several_pairs_the_last_one_counts_and_the_earlier_difference_is_kept() {
        let pair = |day: u32, there: &str, here: &str| {
            format!(
                "$ docker run --rm x date -u && date -u\nWed Oct {day} {there} UTC 2016\nWed Oct {day} {here} UTC 2016\n"
            )
        };
        let good = pair(10, "17:18:18", "17:18:19");
        let bad = pair(12, "15:32:20", "15:53:15");
        let later = pair(13, "16:01:02", "16:01:02");
        let of = |text: String| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let apart = Pasted::read(&lines, "text").told.apart.value().cloned().unwrap();
            (apart.behind_s, apart.before_s)
        };
        assert_eq!(of(format!("{good}{bad}")), (1255, Some(1)));
        assert_eq!(of(format!("{bad}{later}")), (0, Some(1255)));
        assert_eq!(of(format!("{good}{bad}{later}")), (0, Some(1255)));
        // By their dates, whatever their order in the text.
        assert_eq!(of(format!("{later}{bad}")), (0, Some(1255)));
        assert_eq!(of(bad), (1255, None));
    }

    #[test]
    fn a_table_of_another_machines_daemon_is_not_of_this_one() {
        let table = "     remote           refid      st t when poll reach   delay   offset  jitter\n\
                     ==============================================================================\n\
                     \u{20}192.0.2.9       .GPS.            1 u  71m 1024   16   39.530   -0.200   0.736\n";
        let known = |command: &str| {
            let text = format!("$ {command}\n{table}");
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            Pasted::read(&lines, "text").told.source.is_known()
        };
        for command in
            ["ntpq -p", "ntpq -pn localhost", "ntpq -p 127.0.0.1", "ntpq -c peers", "sudo ntpq -pn"]
        {
            assert!(known(command), "{command}");
        }
        for command in ["ntpq -p db2", "ntpq -pn 192.0.2.7", "ntpq -c peers ntp.example.org"] {
            assert!(!known(command), "{command}");
        }
    }

    #[test]
    fn a_date_that_is_earlier_than_the_one_before_it_went_back() {
        let remarks = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let read = Pasted::read(&lines, "text");
            read.told.source.value().map_or(0, |told| told.remarks.len())
        };
        let text = "me@pc:~$ date\nSun Jul  6 10:07:24 -03 2025\nme@pc:~$ date\nSun Jul  6 10:07:23 -03 2025 # back!\n";
        assert_eq!(remarks(text), 1);
        assert_eq!(remarks(&text.replace("10:07:23", "10:07:24")), 0);
        assert_eq!(remarks(&text.replacen("me@pc", "me@db", 1)), 0);
        let three = "[root@a ~]# date; ssh b date; ssh c date\nSat Mar 19 22:43:04 UTC 2016\nSat Mar 19 22:53:47 UTC 2016\n\
                     Sat Mar 19 22:53:47 UTC 2016\n";
        assert_eq!(behind(three), Some(-643));
    }

    #[test]
    fn two_prompts_of_date_are_compared_where_more_than_typing_lies_between() {
        let text = "$ date -u\nWed May 31 15:52:34 UTC 2017\n$ docker run -it fedora date -u\nWed May 31 15:16:54 UTC 2017\n";
        assert_eq!(behind(text), Some(2140));
        let typed = text.replace("15:16:54", "15:52:55");
        assert_eq!(behind(&typed), None);
        let other_zone = text.replace("15:16:54 UTC", "17:16:54 CEST");
        assert_eq!(behind(&other_zone), Some(2140));
        assert_eq!(behind(&other_zone.replace("CEST", "CST")), None);
        let same = text.replace("docker run -it fedora date -u", "date -u");
        assert_eq!(behind(&same), None);
        let among = "$ podman machine ssh 'uname -a ; date -u' 2>/dev/null; echo ; date -u && uname\n\
                     Linux x 5.15.6 #1 SMP Wed Dec 1 13:41:10 UTC 2021 x86_64 GNU/Linux\n\
                     Fri Dec 10 13:04:43 UTC 2021\n\nFri Dec 10 13:06:43 UTC 2021\nDarwin\n";
        assert_eq!(behind(among), Some(120));
        let one = "$ date -u ; docker run busybox date\nFri  3 Nov 2017 15:20:43 UTC\nFri Nov  3 15:20:10 UTC 2017\n";
        assert_eq!(behind(one), Some(33));
    }
}
