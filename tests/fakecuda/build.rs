//! Declares the configuration that says whether emulated kernels are linked.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(fakecuda_emulation)");
}
