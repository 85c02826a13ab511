//! The entry that boots by default, or next.

use super::*;

#[test]
fn grub_whose_default_entry_is_not_verified_is_refused() {
    let good = debian(&["vmlinuz-6"], "quiet quirk=1");
    let saved = "set default=\"${saved_entry}\"\n";
    let with = |default: &str, entry: &str, block: &str| {
        let text = good.replacen("set timeout", &format!("{default}set timeout"), 1);
        let text = text.replace("linux /boot/my-kernel root=/dev/sda9", entry);
        let grub = made(GRUB, &text, &text);
        let block = made("/boot/grub/grubenv", block, block);
        let wanted = change(&["quirk=1"], &[]);
        check(&[grub, block], &wanted, Some(&wanted), &|name| name != "my-kernel")
            .map_err(|fault| fault.why)
    };
    let ours = "linux /boot/vmlinuz-6 root=/dev/sda9";
    for (default, entry, block, why) in [
        ("set default=mine\n", ours, "", "entry 'mine', which lacks quirk=1"),
        ("default=\"mine\"\n", ours, "", "entry 'mine', which lacks quirk=1"),
        ("set default='mine'\n", "configfile /x.cfg", "", "entry 'mine', which leads to"),
        ("set default=mine\n", "source /x.cfg", "", "`source /x.cfg`"),
        ("set default=mine\n", "multiboot /x", "", "whose kernel is not seen"),
        (saved, ours, "saved_entry=mine\n", "entry 'mine', which lacks"),
        // The recovery entry.
        (
            "set default='gnulinux-advanced-1>gnulinux-vmlinuz-6-recovery-1'\n",
            ours,
            "",
            "(rettungsmodus)', which lacks quirk=1",
        ),
        ("set default='1>1'\n", ours, "", "(rettungsmodus)', which lacks quirk=1"),
        ("set default=4\n", ours, "", "entry 'mine', which lacks quirk=1"),
    ] {
        let error = with(default, entry, block).unwrap_err();
        assert!(error.contains("boots by default") && error.contains(why), "{default}: {error}");
    }
    let once = "if [ \"${next_entry}\" ]; then\nset default=\"${next_entry}\"\nfi\n";
    let error = with(once, ours, "next_entry=mine\n").unwrap_err();
    assert!(error.contains("boots next its entry 'mine', which lacks"), "{error}");
    for (default, entry, block) in [
        (once, ours, "next_entry=\nsaved_entry=mine\n"),
        ("", ours, ""),
        (saved, ours, ""),
        (saved, ours, "saved_entry=\n"),
        (saved, ours, "saved_entry=gone\n"),
        ("set default=\"${other}\"\n", ours, ""),
        ("set default=0\n", ours, ""),
        ("set default='1>0'\n", ours, ""),
        ("set default=1\n", ours, ""),
        ("set default=mine\n", "linux /boot/vmlinuz-6 root=/dev/sda9 quirk=1", ""),
        // An entry of another system: its words are not checked.
        ("set default=mine\n", "linux /boot/my-kernel root=/dev/sda9", ""),
        ("set default=mine\n", "chainloader +1", ""),
        ("set default=osprober-gnulinux-x\n", ours, ""),
        (
            "if [ \"${next_entry}\" ]; then\nset default=\"${next_entry}\"\nelse\nset default=0\nfi\n",
            ours,
            "",
        ),
    ] {
        assert_eq!(with(default, entry, block), Ok(()), "{default} {entry}");
    }
}

#[test]
fn default_entry_of_the_file_that_grub_reads_beside_is_looked_at() {
    let reads = "if [ -f ${config_directory}/custom.cfg ]; then\n  source ${config_directory}/custom.cfg\nfi\n";
    let wanted = change(&["quirk=1"], &[]);
    let with = |custom: &str, reads: &str| {
        let text = debian(&["vmlinuz-6"], "quiet quirk=1") + &section("41_custom", reads);
        let all = [made(GRUB, &text, &text), made("/boot/grub/custom.cfg", custom, custom)];
        check(&all, &wanted, Some(&wanted), &|_| true).map_err(|fault| (fault.path, fault.why))
    };
    let own = "menuentry 'own' --id own {\n  linux /boot/vmlinuz-6 root=/dev/sda9\n}\n";
    let (path, why) = with(&format!("{own}set default=own\n"), reads).unwrap_err();
    assert_eq!(path, Path::new("/boot/grub/custom.cfg"));
    assert!(why.contains("'own', which lacks quirk=1 (line 2)"), "{why}");
    assert_eq!(with(own, reads), Ok(()));
    assert_eq!(with(&format!("{own}set default=own\n"), ""), Ok(()));
    let good = own.replace("sda9", "sda9 quirk=1");
    assert_eq!(with(&format!("{good}set default=own\n"), reads), Ok(()));
}
