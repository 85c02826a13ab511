//! The differences in a script that is a unit of systemd, or writes one.

/// Whether a text is a unit of systemd, in which a continued line is a blank.
pub(crate) fn is_unit(text: &str) -> bool {
    text.lines().any(|line| matches!(line.trim_end(), "[Service]" | "[Unit]"))
}

/// Whether a line of a unit is a comment. Within a continued line it is left out, and the line goes on behind it:
/// systemd.syntax(7).
pub(crate) fn is_remark_of_unit(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}

/// The length of the comment lines at the beginning of a text.
pub(super) fn remarks_of_unit(text: &str) -> usize {
    text.split_inclusive('\n').take_while(|line| is_remark_of_unit(line)).map(str::len).sum()
}
