{ nixvirt, cfg, ... }: {
  definition = nixvirt.lib.domain.writeXML {
    type = "kvm"; # a comment { [
    name = "win11";
    memory = { count = 8; unit = "GiB"; };
    os.arch = "x86_64";
    cpu = {
      mode = "host-passthrough";
      migratable = false;
      feature = [ { policy = "require"; name = "invtsc"; } { policy = "disable"; name = "hypervisor"; } ];
    };
    features = {
      hyperv = { mode = "custom"; relaxed = { state = true; }; };
      kvm.hidden.state = true;
    };
    clock = {
      offset = "localtime";
      timer = [
        { name = "rtc"; tickpolicy = "catchup"; }
        { name = "hpet"; present = true; }
        { name = "tsc"; frequency = 2995200000; mode = "native"; }
        { name = "hypervclock"; present = true; }
      ];
    };
    devices = { hostdev = [ { type = "pci"; } ]; };
  };
}
