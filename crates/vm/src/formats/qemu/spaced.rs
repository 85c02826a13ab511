//! Lists of strings without blanks between them, in one line: `CMD ["qemu-system-x86_64","-cpu","host"]` of a Dockerfile,
//! and JSON as `jq -c` prints it. The meaning of the words is not read here.

use super::script::names_program;
use std::borrow::Cow;

/// Returns a text with blanks in place of the commas between strings that nothing else separates, so that places do not
/// change: `CMD ["qemu-system-x86_64","-cpu","host"]`. Only lines with a list of strings have them.
pub(super) fn spaced(text: &str) -> Cow<'_, str> {
    const COMMA: &str = "\",\"";
    if !text.contains(COMMA) {
        return Cow::Borrowed(text);
    }
    let mut out = text.to_owned();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let list = line.contains("[\"") && names_program(line);
        for (at, _) in line.match_indices(COMMA).filter(|_| list) {
            let before = line.get(..at).and_then(|it| it.chars().next_back());
            let after = line.get(at + COMMA.len()..).and_then(|it| it.chars().next());
            // A string that is only a comma.
            let alone =
                |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "([{+,=)]}".contains(c));
            if !alone(before) && !alone(after) {
                out.replace_range(start + at + 1..start + at + 2, " ");
            }
        }
        start += line.len();
    }
    Cow::Owned(out)
}
