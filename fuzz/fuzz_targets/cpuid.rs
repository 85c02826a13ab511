//! CPUID dumps: any text parses or is refused, a written dump is read back, every accessor returns.

#![no_main]

use clocksmith_facts::cpuid::CpuidDump;
use clocksmith_facts::hypervisor::Hypervisor;
use clocksmith_facts::{Fact, Facts, Origin};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(dump) = CpuidDump::parse(&String::from_utf8_lossy(data)) else { return };
    match CpuidDump::parse(&dump.to_string()) {
        Ok(again) => assert_eq!(again, dump, "what was written is not what was read"),
        Err(error) => panic!("what was written is refused: {error}"),
    }
    let _ = (dump.vendor(), dump.family_model(), dump.brand());
    let _ =
        (dump.tsc(), dump.hypervisor_bit(), dump.invariant_tsc(), dump.tsc_adjust(), dump.arat());
    let _ = (dump.tsc_ratio().map(|ratio| ratio.tsc_hz()), dump.base_frequency());
    for signature in dump.signatures() {
        assert!((0x4000_0000..0x4001_0100).contains(&signature.base));
    }
    for difference in dump.differences() {
        assert!(difference.values.len() > 1, "{} does not differ", difference.what);
    }
    let mut facts = Facts::empty(Origin::Stated);
    facts.hypervisor = Fact::known(Hypervisor::from_cpuid(&dump), "cpuid");
    facts.cpuid = Fact::known(dump, "cpuid");
    clocksmith_fuzz::judge(&facts);
});
