//! Root runs the program, and an ordinary user has prepared the files that it reads: a journal, a result of `verify`,
//! and in place of the map of a runtime a FIFO, a link, a device and a file without end.

use super::super::guest::{self, said};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);

/// `who` is ended after 30 s; then its status is not 0.
const SCRIPT: &str = "V=/var/lib/clocksmith
mkdir -p $V/journal /tmp/theirs /etc
chmod 1777 /tmp
chown -R 1000:1000 $V /tmp/theirs
clocksmith fix --undo >/tmp/out 2>&1; echo \"== undo $? $(cat /tmp/out)\"
clocksmith fix --status >/tmp/out 2>&1; echo \"== status $? $(cat /tmp/out)\"
clocksmith fix --apply --runtime-only >/tmp/out 2>&1; echo \"== apply $? $(cat /tmp/out)\"
rm -r $V
ln -s /tmp/theirs $V
clocksmith fix --undo >/tmp/out 2>&1; echo \"== linked $? $(cat /tmp/out)\"
rm $V
mkdir $V
echo '{}' >$V/verify.json
packed() { clocksmith collect --output - 2>/dev/null | tar tzf - | grep -c var/lib/clocksmith/verify.json; }
echo \"== ours $(packed)\"
chown 1000:1000 $V/verify.json
echo \"== theirs $(packed)\"
chown 0:0 $V/verify.json
chmod 777 $V
echo \"== open $(packed)\"

echo secret >/etc/shadow
cp /bin/reader /tmp/node
/tmp/node spin &
pid=$!
map=/tmp/perf-$pid.map
look() {
    time -v timeout 30 clocksmith who -p $pid --duration 300ms --no-color >/tmp/out 2>/tmp/err
    echo \"== $1 $? $(grep -c 'Exit status: 0' /tmp/err) $(grep Maximum /tmp/err | tr -dc 0-9) $(tr -s '\\n ' ' ' </tmp/out)\"
}
mkfifo $map
chown 1000:1000 $map
look fifo
rm $map
ln -s /etc/shadow $map
look link
rm $map
mknod $map c 1 5
look device
rm $map
# 230 MB, of which none is there.
dd if=/dev/zero of=$map bs=1 count=1 seek=230000000 2>/dev/null
chown 1000:1000 $map
look long
kill $pid
echo '== end'";

/// Most memory that `who` may take, in KiB.
const MOST: f64 = 102_400.0;

#[test]
#[ignore = "boots a guest"]
fn what_a_user_prepared_is_refused_by_root() {
    let dir = tempfile::tempdir().unwrap();
    let forger = super::build(dir.path());
    let lines = guest::run("boundaries", SCRIPT, Some(&forger), PATIENCE);
    let lines = lines.as_str();
    for what in ["undo", "status", "apply"] {
        let said = said(lines, what);
        assert!(said.starts_with("2 "), "{what}: {said}");
        assert!(said.contains("/var/lib/clocksmith (owner 1000"), "{what}: {said}");
    }
    let linked = said(lines, "linked");
    assert!(linked.starts_with("2 ") && linked.contains("/tmp/theirs (owner 1000"), "{linked}");

    // The file is read only if no other user could have written it.
    assert_eq!(["ours", "theirs", "open"].map(|what| said(lines, what)), ["1", "0", "0"]);

    for (what, why) in [
        ("fifo", "a FIFO, not a regular file"),
        ("link", "a symbolic link, not a regular file"),
        ("device", "a device, not a regular file"),
        ("long", "it is longer than"),
    ] {
        let said = said(lines, what);
        let mut words = said.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        assert_eq!((word(), word()), ("0", "1"), "{what}: {said}");
        let kib: f64 = word().parse().unwrap_or_else(|_| panic!("{what}: {said}"));
        assert!(kib < MOST, "{what}: {kib} KiB");
        assert!(word().contains(why), "{what}: {said}");
    }
}
