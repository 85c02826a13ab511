use crate::document::Document;
use crate::finding::Severity;
use crate::formats::Kind;
use crate::lint::lint;
use crate::testing;

fn ovf(kind: &str, os: &str, cpus: u32, inside: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<Envelope xmlns:vbox=\"v\" xmlns:vmw=\"w\" xmlns:ovf=\"o\">\n<VirtualSystem ovf:id=\"a\">\n{os}\n<VirtualHardwareSection>\n<System><vssd:VirtualSystemType>{kind}</vssd:VirtualSystemType></System>\n<Item><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>{cpus}</rasd:VirtualQuantity></Item>\n{inside}</VirtualSystem>\n</Envelope>\n"
    )
}

fn ids(text: &str) -> Vec<(&'static str, Severity)> {
    assert_eq!(Kind::detect("a.ovf", text), Some(Kind::Ovf));
    testing::ids(Kind::Ovf, "a.ovf", text)
}

fn machine(inside: &str) -> String {
    format!(
        "</VirtualHardwareSection><vbox:Machine ovf:required=\"false\" version=\"1.19-linux\" name=\"a\" OSType=\"Ubuntu_64\"><ovf:Info>x</ovf:Info><Hardware><CPU><PAE enabled=\"true\"/></CPU>{inside}</Hardware></vbox:Machine>"
    )
}

#[test]
fn virtualbox_is_judged_with_the_cpus_of_the_items() {
    let os = "<OperatingSystemSection ovf:id=\"94\"><vbox:OSType ovf:required=\"false\">Ubuntu_64</vbox:OSType></OperatingSystemSection>";
    let hpet = ids(&ovf("virtualbox-2.2", os, 1, &machine("<HPET enabled=\"true\"/>")));
    assert!(hpet.iter().any(|(id, _)| *id == "vb-hpet-on"), "{hpet:?}");
    let none =
        |cpus| ids(&ovf("virtualbox-2.2", os, cpus, &machine("<Paravirt provider=\"None\"/>")));
    assert_ne!(none(1), none(4));
    // Without VirtualBox's own part, the system and the number of CPUs are used.
    assert_eq!(
        ids(&ovf("virtualbox-2.2", os, 2, "</VirtualHardwareSection>")).len(),
        ids(&ovf("virtualbox-2.2", os, 2, &machine(""))).len()
    );
}

#[test]
fn vmware_configuration_is_judged_as_a_vmx() {
    let os = "<OperatingSystemSection vmw:osType=\"ubuntu64Guest\"/>";
    let sync = "<vmw:Config ovf:required=\"false\" vmw:key=\"tools.syncTimeWithHost\" vmw:value=\"true\"/><vmw:ExtraConfig vmw:key=\"monitor_control.virtual_rdtsc\" vmw:value=\"FALSE\"/></VirtualHardwareSection>";
    let found = ids(&ovf("vmx-19", os, 2, sync));
    let bad: Vec<_> = found
        .iter()
        .filter(|(_, severity)| *severity > Severity::Info)
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(bad, ["vmx-sync-on", "vmx-rdtsc-not-virtualised"]);
    assert_eq!(
        testing::mended(Kind::Ovf, "a.ovf", &ovf("vmx-19", os, 2, sync)),
        ovf("vmx-19", os, 2, sync)
    );
    testing::broken(Kind::Ovf, "<Envelope><VirtualSystem></Envelope>");
}

#[test]
fn ova_is_read_as_the_ovf_that_is_its_first_member() {
    let text = ovf(
        "vmx-19",
        "<OperatingSystemSection vmw:osType=\"ubuntu64Guest\"/>",
        2,
        "</VirtualHardwareSection>",
    );
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "a.ovf", text.as_bytes()).unwrap();
    let bytes = tar.into_inner().unwrap();
    let document = Document::new("a.ova", &bytes).unwrap();
    assert_eq!((document.kind, document.text.as_str()), (Kind::Ovf, text.as_str()));
    assert!(lint(&document).is_ok());
    // A disk after it, of which only the beginning was read.
    let mut long = bytes[..bytes.len() - 1024].to_vec();
    let mut header = tar::Header::new_ustar();
    header.set_path("a.vmdk").unwrap();
    header.set_size(1 << 40);
    header.set_cksum();
    long.extend_from_slice(header.as_bytes());
    assert!(Document::new("a.ova", &long).is_ok());
    assert!(Document::new("a.ova", &long[..700]).is_err());
    let mut other = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(2);
    other.append_data(&mut header, "a.txt", &b"hi"[..]).unwrap();
    let error = Document::new("a.ova", &other.into_inner().unwrap()).unwrap_err();
    assert!(error.to_string().contains("OVF"), "{error}");
}
