//! Ansible: a file of tasks, for `ansible.builtin.import_tasks`.

use super::{SYSFS, Wanted, comment, indent_lines, indented, notes};
use crate::unit::{UNIT, unit};
use std::fmt::Write;

/// The file that GRUB of Debian and its family reads after /etc/default/grub (grub-mkconfig, 2.02 on).
const DROP_IN: &str = "/etc/default/grub.d/90-clocksmith.cfg";

/// The tasks. `clocksmith_sysfs` is the kernel's directory, a variable so that they can be tested;
/// tasks that need systemd have the tag `systemd`.
pub(super) fn render(wanted: &Wanted) -> String {
    let mut undo = Vec::new();
    if wanted.clocksource.is_some() {
        undo.extend([
            "ansible.builtin.systemd_service: name=clocksmith-clocksource enabled=false,",
            "ansible.builtin.file: path=/etc/systemd/system/clocksmith-clocksource.service",
            "state=absent, and a reboot",
        ]);
    }
    if !(wanted.add.is_empty() && wanted.remove.is_empty()) {
        undo.extend([
            "remove /etc/default/grub.d/90-clocksmith.cfg and run update-grub, or run grubby",
            "--update-kernel=ALL with --remove-args and --args exchanged",
        ]);
    }
    let mut out = format!("---\n{}", comment(&notes(wanted, &undo)));
    if let Some(name) = &wanted.clocksource {
        out.push_str(&runtime(name));
    }
    if !(wanted.add.is_empty() && wanted.remove.is_empty()) {
        out.push_str(&parameters(wanted));
    }
    out
}

fn runtime(name: &str) -> String {
    let directory = format!("{{{{ clocksmith_sysfs | default('{SYSFS}') }}}}");
    let available =
        format!("'{name}' in (clocksmith_available.content | default('') | b64decode).split()");
    format!(
        "\
- name: Look for the kernel's files
  ansible.builtin.stat:
    path: \"{directory}/available_clocksource\"
  register: clocksmith_files

- name: Read the available clocksources
  ansible.builtin.slurp:
    src: \"{directory}/available_clocksource\"
  register: clocksmith_available
  when: clocksmith_files.stat.exists

- name: Read the clocksource in use
  ansible.builtin.slurp:
    src: \"{directory}/current_clocksource\"
  register: clocksmith_before
  when: clocksmith_files.stat.exists

- name: Say that {name} is not available
  ansible.builtin.debug:
    msg: \"{name} is not available here; `clocksmith why` shows why. Nothing is changed.\"
  when: \"not ({available})\"

- name: Choose the clocksource {name}
  ansible.builtin.command:
    argv:
      - /bin/sh
      - -c
      - |
{}  become: true
  changed_when: true
  when:
    - \"{available}\"
    - \"(clocksmith_before.content | default('') | b64decode | trim) != '{name}'\"

- name: Install the unit that chooses it at each boot
  ansible.builtin.copy:
    dest: /etc/systemd/system/{UNIT}
    owner: root
    group: root
    mode: \"0644\"
    content: |
{}  become: true
  when: \"{available}\"
  tags: [systemd]

- name: Enable the unit
  ansible.builtin.systemd_service:
    name: {UNIT}
    enabled: true
    daemon_reload: true
  become: true
  when: \"{available}\"
  tags: [systemd]

- name: Read the clocksource back
  ansible.builtin.slurp:
    src: \"{directory}/current_clocksource\"
  register: clocksmith_after
  when: \"{available}\"

- name: The kernel must have accepted {name}
  ansible.builtin.assert:
    that: \"(clocksmith_after.content | b64decode | trim) == '{name}'\"
    fail_msg: \"{{{{ clocksmith_after.content | b64decode | trim }}}} is in use; dmesg shows why\"
    quiet: true
  when:
    - \"{available}\"
    - not ansible_check_mode
",
        indented(name, &directory, 8),
        indent_lines(&unit(name), 6),
    )
}

fn parameters(wanted: &Wanted) -> String {
    let (add, remove) = (wanted.add.join(" "), wanted.remove.join(" "));
    let mut drop_in =
        comment(&["Made by clocksmith. Undo: remove this file, run update-grub.".to_owned()]);
    if !wanted.remove.is_empty() {
        for list in ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"] {
            let _ = writeln!(
                drop_in,
                "clocksmith=\nfor word in ${list}; do\n  case $word in\n    {}) ;;\n    *) \
                 clocksmith=\"$clocksmith $word\" ;;\n  esac\ndone\n{list}=$clocksmith",
                wanted.remove.join(" | ")
            );
        }
    }
    if !wanted.add.is_empty() {
        let _ = writeln!(drop_in, "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {add}\"");
    }
    let mut arguments = String::new();
    let mut differs = Vec::new();
    for (option, words, there) in [("args", &add, "not in"), ("remove-args", &remove, "in")] {
        if !words.is_empty() {
            let _ = writeln!(arguments, "      - \"--{option}={words}\"");
            differs
                .extend(words.split(' ').map(|word| format!("'{word}' {there} clocksmith_words")));
        }
    }
    format!(
        "
- name: Write the kernel parameters (Debian family)
  ansible.builtin.copy:
    dest: {DROP_IN}
    owner: root
    group: root
    mode: \"0644\"
    content: |
{}  become: true
  register: clocksmith_grub
  when: ansible_facts['os_family'] == 'Debian'

- name: Generate GRUB's configuration again
  ansible.builtin.command: update-grub # noqa: no-handler
  become: true
  changed_when: true
  when: clocksmith_grub is changed

- name: Read the kernel parameters (Red Hat family)
  ansible.builtin.command: grubby --info=DEFAULT
  become: true
  register: clocksmith_grubby
  changed_when: false
  check_mode: false
  when: ansible_facts['os_family'] == 'RedHat'

- name: Change the kernel parameters (Red Hat family)
  ansible.builtin.command:
    argv:
      - grubby
      - --update-kernel=ALL
{arguments}  become: true
  changed_when: true
  vars:
    clocksmith_words: \"{{{{ clocksmith_grubby.stdout | default('') | replace('\\\"', ' ') | split }}}}\"
  when:
    - ansible_facts['os_family'] == 'RedHat'
    - \"{}\"

- name: Say that this system is not known
  ansible.builtin.debug:
    msg: \"Add to the kernel command line by hand: {add}; remove: {remove}\"
  when: ansible_facts['os_family'] not in ['Debian', 'RedHat']
",
        indent_lines(&drop_in, 6),
        differs.join(" or "),
    )
}
