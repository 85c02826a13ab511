//! The differences in a script that is a systemd unit, or writes one.

/// Returns whether a text is a systemd unit, in which a line continuation is a blank.
pub(crate) fn is_unit(text: &str) -> bool {
    text.lines().any(|line| matches!(line.trim_end(), "[Service]" | "[Unit]"))
}

/// Returns whether a line of a unit is a comment. Within a continued line it is ignored, and the line continues after
/// it: systemd.syntax(7).
pub(crate) fn is_remark_of_unit(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}

/// The length of the comment lines at the beginning of a text.
pub(super) fn remarks_of_unit(text: &str) -> usize {
    text.split_inclusive('\n').take_while(|line| is_remark_of_unit(line)).map(str::len).sum()
}
