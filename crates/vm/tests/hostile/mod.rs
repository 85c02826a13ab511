//! Texts of any size that are constructed to keep a reader busy.

use clocksmith_vm::Kind;

/// Repeats a piece; `%` in it is a running number.
fn many(piece: &str, size: usize) -> String {
    let mut text = String::with_capacity(size + piece.len() + 16);
    let mut number = 0usize;
    while text.len() < size {
        let mut parts = piece.split('%');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            text.push_str(&number.to_string());
            text.push_str(part);
        }
        number += 1;
    }
    text
}

/// Returns the text before and after that makes the file one of its kind: most kinds are lines, and their sample comes
/// first.
fn around(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Libvirt => {
            ("<domain type='kvm'><name>a</name><os><type>hvm</type></os>", "</domain>")
        }
        Kind::Kubevirt => ("spec:\n  domain:\n    cpu: {model: host}\n", "\n"),
        Kind::Firecracker => ("{\"boot-source\": {\"boot_args\": \"notsc\"}, \"x\": ", "}"),
        Kind::CloudHypervisor => ("{\"payload\": {\"cmdline\": \"notsc\"}, \"x\": ", "}"),
        _ => (kind.sample().1, "\n"),
    }
}

const SYS: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The name of a text, and the text.
type Case = (&'static str, String);

/// Texts for every kind.
fn common(size: usize) -> Vec<Case> {
    let pieces: &[(&str, &str)] = &[
        ("blank", " "),
        ("lines", "\n"),
        ("word", "x"),
        ("words", "a "),
        ("settings", "a% = \"b\"\n"),
        ("settings of one line", "a%=b;"),
        ("keys", "a%: b\n"),
        ("double quotes", "\""),
        ("single quotes", "'"),
        ("nested quotes", "\"'\"'\""),
        ("escaped quotes", "\"\\\""),
        ("never closed", "a = \"b\n"),
        ("never closed, one line", " \"a 'b"),
        ("apostrophes", " a'b"),
        ("backslashes", "\\"),
        ("continued", "a \\\n"),
        ("continued at once", "\\\n"),
        ("continued in quotes", "\"a\\\n"),
        ("open brackets", "["),
        ("open list", "a=["),
        ("open parentheses", "("),
        ("arrays", "a=("),
        ("braces", "{"),
        ("holes", "{{"),
        ("holes closed", "{{ a }} "),
        ("tags", "<% "),
        ("tags closed", "<% a %>"),
        ("here-documents", "<<A%\n"),
        ("here-documents of one line", "<<A% "),
        ("one here-document", "cat <<A%\nqemu-\n"),
        ("substitutions", "$("),
        ("substitutions in words", "a$(b"),
        ("parameters", "${"),
        ("parameters closed", "${a:-b}"),
        ("backquotes", "`"),
        ("backquotes in words", "a `b"),
        ("dollars", "$A "),
        ("dollars in one word", "$A"),
        ("comments", "#"),
        ("comment lines", "# a\n"),
        ("slashes", "/"),
        ("commas", ","),
        ("properties", ",+a"),
        ("pipes", "|"),
        ("conditions", "&& a "),
        ("ifs", "if a; then\n"),
        ("ifs closed", "if a; then b; fi\n"),
        ("clocksources", "clocksource=hpet "),
        ("clocksources by line", "clocksource=hpet\n"),
        ("kernel parameters", "notsc tsc=reliable clocksource=foo%"),
        ("unknown parameters", "tsc_reliable "),
        ("doubling", "A=$A$A\n"),
        ("doubling words", "A=\"$A $A\"\n"),
        ("doubling arrays", "A+=(${A[@]} b)\n"),
        ("chains", "A%=a$A\n"),
        ("umlauts", "ü"),
        ("umlauts and equal signs", "ü="),
        ("elements", "<a>"),
        ("comments of XML", "<!--"),
        ("nothing but NULs", "\u{1}"),
    ];
    let mut cases: Vec<Case> =
        pieces.iter().map(|(name, piece)| (*name, many(piece, size))).collect();
    let half = size / 2;
    cases.push(("variables that name each other", {
        let mut text = String::from("A0=x\n");
        let mut n = 0;
        while text.len() < size {
            n += 1;
            text += &format!("A{n}=$A{}$A{}\n", n - 1, n - 1);
        }
        text + "qemu-system-x86_64 -cpu $A -m 1 -smp 1\n"
    }));
    cases.push(("one long value, used again and again", {
        "A=".to_owned()
            + &many("b", half)
            + "\n"
            + &many("qemu-system-x86_64 -cpu $A -smp 1\n", half)
    }));
    cases.push(("one list, used again and again", {
        "A=\"".to_owned()
            + &many("b ", half)
            + "\"\n"
            + &many("qemu-system-x86_64 $A -cpu host,kvm=off -smp 1\n", half)
    }));
    cases.push(("one list, used in one line", {
        "A=\"".to_owned() + &many("b ", half) + "\"\n" + &many("$A ", half)
    }));
    cases.push(("one list, appended to", {
        "A=(".to_owned() + &many("b ", half) + ")\n" + &many("A+=(a)\n", half)
    }));
    cases
}

/// Texts for one kind.
#[allow(clippy::too_many_lines)]
pub(crate) fn cases(kind: Kind, size: usize) -> Vec<Case> {
    let list = |pieces: &[(&'static str, &str)]| -> Vec<Case> {
        pieces.iter().map(|(name, piece)| (*name, many(piece, size))).collect()
    };
    let nested = |open: &str, close: &str| {
        let times = size / (open.len() + close.len());
        open.repeat(times) + &close.repeat(times)
    };
    let mut own: Vec<Case> = match kind {
        Kind::Libvirt | Kind::Virtualbox => {
            let mut own = list(&[
                ("elements closed", "<a b='c'/>"),
                ("texts", "<a>b</a>"),
                ("closing tags", "</a>"),
                ("attributes alone", " a%='b'"),
                ("holes in elements", "<a b='{{ c }}'/>"),
                ("open holes in elements", "<a b='{{'/>"),
                ("entities", "&amp;"),
                ("never closed element", "<a b="),
                ("domains", "<domain type='kvm'><cpu mode='host-passthrough'/><clock/></domain>"),
                (
                    "timers",
                    "<clock><timer name='tsc' frequency='1'/><timer name='hpet' present='yes'/></clock>",
                ),
                ("features", "<cpu mode='custom'><feature policy='disable' name='rdtscp'/></cpu>"),
            ]);
            own.push(("nested elements", nested("<a>", "</a>")));
            own.push(("nested domains", nested("<domain type='kvm'>", "</domain>")));
            own.push(("attributes", format!("<a{}/>", many(" a%='b'", size))));
            own.push(("attributes of a hole", format!("<a{}/>", many(" a%='{{ b }}'", size))));
            own.push((
                "features of one processor",
                format!(
                    "<cpu mode='host-model'>{}</cpu>",
                    many("<feature policy='disable' name='tsc-deadline'/>", size)
                ),
            ));
            own.push((
                "timers of one clock",
                format!(
                    "<clock offset='utc'>{}</clock>",
                    many("<timer name='hpet' present='yes'/>", size)
                ),
            ));
            own.push((
                "arguments",
                format!(
                    "<commandline>{}</commandline>",
                    many("<arg value='-cpu'/><arg value='host,kvm=off'/>", size)
                ),
            ));
            own.push((
                "one argument",
                format!(
                    "<commandline><arg value='-cpu'/><arg value='host{}'/></commandline>",
                    many(",kvm=off", size)
                ),
            ));
            own.push((
                "devices",
                format!("<devices>{}</devices>", many("<disk><source file='/a'/></disk>", size)),
            ));
            own
        }
        Kind::Qemu | Kind::Proxmox => list(&[
            ("commands", "qemu-system-x86_64 -cpu host,kvm=off -machine pc -smp 1\n"),
            ("options", "-cpu host,kvm=off,+invtsc -machine hpet=on -append notsc "),
            ("one word of options", "-cpu=host,"),
            ("environment", "A% B C qemu-system-x86_64 -cpu host\\\n"),
            (
                "commands under conditions",
                "if grep -q a /proc/cpuinfo; then A=-no-hpet; fi\nqemu-system-x86_64 $A -cpu host,+invtsc -smp 1\n",
            ),
            ("settings under conditions", "if a; then A=b%; fi\n"),
            ("one append", "-append notsc\\ "),
            ("sections", "[a]\ncpu: host\nargs: -cpu host\n"),
        ]),
        Kind::Vmware => list(&[
            ("switches", "tools.syncTime = \"TRUE\"\n"),
            ("virtual TSC", "monitor_control.virtual_rdtsc = \"FALSE\"\n"),
        ]),
        Kind::Xen => list(&[
            ("modes", "tsc_mode=1\nextra='clocksource=hpet'\n"),
            ("extra", "extra = 'clocksource=hpet tsc=foo'\ncpuid='host,rdtscp=0'\n"),
            ("identifiers", "a"),
            ("strings", "a='b' 'c' "),
        ]),
        Kind::Kubevirt => list(&[
            ("documents", "---\na: b\n"),
            ("anchors", "a%: &a%\n"),
            ("aliases", "- *a\n"),
            ("items", "- {name: hpet}\n"),
            ("flow", "a: {b: ["),
            ("explicit keys", "? "),
            ("lists in lists", "- "),
            ("domains", "- domain: {clock: {timer: {hpet: {}}}}\n"),
            ("block", "a: |\n  b\n"),
            ("tags of YAML", "!a "),
            ("quoted", "a%: \"b\\x41\"\n"),
        ]),
        Kind::Firecracker | Kind::CloudHypervisor => {
            let mut own: Vec<Case> = vec![
                ("deep lists", nested("[", "]")),
                ("deep objects", "{\"a\":".repeat(size / 6) + "1" + &"}".repeat(size / 6)),
                ("a list", format!("[{}0]", many("%,", size))),
                ("an object", format!("{{{}\"b\":0}}", many("\"a%\":1,", size))),
                ("a list of lists", format!("[{}0]", many("[1,{\"boot_args\":\"notsc\"}],", size))),
                ("a string", format!("\"{}\"", many("notsc clocksource=hpet ", size))),
            ];
            let keys =
                "\"".to_owned() + &"k".repeat(size / 2) + "\": [" + &many("1,", size / 2) + "1]";
            own.push(("a long key", format!("{{{keys}}}")));
            own.push((
                "deep and wide",
                format!("{}{}1{}", "{\"a\":[".repeat(60), many("1,", size), "]}".repeat(60)),
            ));
            own
        }
        Kind::Tuned => list(&[
            ("sections", "[bootloader]\ncmdline=clocksource=hpet\n"),
            ("writes", &format!("echo hpet > {SYS}\n")),
        ]),
        Kind::Persistence => {
            let mut own = list(&[
                ("writes", &format!("echo hpet > {SYS}\n")),
                ("names", &format!("A%={SYS}\n")),
                ("names used", &format!("A%={SYS}\necho hpet > $A%\n")),
                ("written files", &format!("- path: {SYS}\n")),
                ("indented files", &format!("  a: b\n  - path: {SYS}\n")),
                ("tees", &format!("echo a | tee {SYS} ")),
                ("paths in a line", &format!("{SYS} ")),
                (
                    "greps",
                    "grep clocksource= /etc/default/grub || sed -i 's/^GRUB_CMDLINE_LINUX=.*/a clocksource=hpet/' /etc/default/grub\n",
                ),
                ("seds in a line", "sed -i GRUB_CMDLINE_LINUX clocksource=tsc && "),
                ("appends", "echo clocksource=hpet >> /etc/default/grub\n"),
                ("defaults", "GRUB_CMDLINE_LINUX=\"clocksource=hpet notsc\"\n"),
                (
                    "here-documents that never end",
                    "cat <<A% >> /etc/default/grub\nclocksource=hpet\n",
                ),
            ]);
            own.push((
                "one line of defaults",
                format!("GRUB_CMDLINE_LINUX=\"{}\"", many("clocksource=hpet ", size)),
            ));
            own
        }
        _ => Vec::new(),
    };
    if kind == Kind::Virtualbox {
        own.extend(list(&[
            ("machines", "VBoxManage modifyvm a% --cpus 4 --hpet on --paravirtprovider none\n"),
            ("one machine", "VBoxManage modifyvm a --cpus 4 --hpet on\n"),
            ("extra data", "VBoxManage setextradata a VBoxInternal/TM/K% 1\n"),
            (
                "extra data of one key",
                "VBoxManage setextradata a VBoxInternal/TM/TSCMode Dynamic\n",
            ),
            ("modifications of one line", "modifyvm a --cpus 4 "),
            ("creations of one line", "createvm "),
            ("lists over lines", "a [ \"b\",\n"),
            ("assignments", "v.cpus = 4\n"),
        ]));
    }
    own.extend(common(size));
    own
}

/// Returns the name of the file, and its whole text.
pub(crate) fn file(kind: Kind, text: &str) -> (&'static str, String) {
    let (before, after) = around(kind);
    let name = match kind {
        Kind::Virtualbox if text.starts_with('<') => {
            let file = format!(
                "<VirtualBox version='1.15-linux'><Machine name='a' OSType='Ubuntu_64'><Hardware>{text}</Hardware></Machine></VirtualBox>"
            );
            return ("a.vbox", file);
        }
        Kind::Virtualbox => "a.sh",
        _ => "file",
    };
    (name, format!("{before}{text}{after}"))
}

/// More texts for VirtualBox: extra data and snapshots.
pub(crate) fn machines(size: usize) -> Vec<Case> {
    let root = |inside: String| {
        format!(
            "<VirtualBox version='1.15-linux'><Machine name='a' OSType='Ubuntu_64'>{inside}<Hardware><CPU count='4'/></Hardware></Machine></VirtualBox>"
        )
    };
    vec![
        (
            "snapshots",
            root(many(
                "<Snapshot name='s%'><Hardware><CPU count='2'/></Hardware></Snapshot>",
                size,
            )),
        ),
        (
            "snapshots and keys",
            root(format!(
                "<ExtraData>{}</ExtraData>{}",
                many("<ExtraDataItem name='VBoxInternal/TM/K%' value='1'/>", size / 2),
                many(
                    "<Snapshot name='s%'><Hardware><CPU count='2'/></Hardware></Snapshot>",
                    size / 2
                ),
            )),
        ),
        (
            "one key",
            root(format!(
                "<ExtraData>{}</ExtraData>",
                many("<ExtraDataItem name='VBoxInternal/TM/TSCMode' value='Dynamic'/>\n", size)
            )),
        ),
        (
            "keys",
            root(format!(
                "<ExtraData>{}</ExtraData>",
                many("<ExtraDataItem name='VBoxInternal/TM/K%' value='1'/>", size)
            )),
        ),
    ]
}
