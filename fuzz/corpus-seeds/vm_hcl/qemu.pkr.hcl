source "qemu" "a" {
  qemuargs = concat([["-machine", "type=q35,accel=kvm,hpet=on"]], [["-cpu", "host,${local.f}"]])
}
locals {
  f = "+invtsc"
}
source "vmware-iso" "b" {
  vmx_data = { "tools.syncTime" = "TRUE" }
}
