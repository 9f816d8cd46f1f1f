#!/usr/bin/env python3
"""Makes the embedded PTX of every kernel: ulib-math/src/ops/<op>/<op>.cu -> <op>.ptx. Needs no GPU and no toolkit.

    scripts/build-kernels.py               compile what changed (fetches NVRTC 12.0 from the package index once)
    scripts/build-kernels.py --force       compile everything
    scripts/build-kernels.py --check       only compare the hashes in the .ptx files with the sources
    scripts/build-kernels.py --check --recompile   also compile again and compare byte for byte
    scripts/build-kernels.py --ptxas       also assemble every .ptx for each architecture this ptxas knows

The PTX is for compute_60 with contraction off, and its ISA version is lowered to 7.0, so that drivers from r450 on take it.
"""

import argparse
import ctypes
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPS = ROOT / "ulib-math" / "src" / "ops"
VENV = ROOT / "target" / "kernels-venv"
NVRTC = "nvidia-cuda-nvrtc-cu12==12.0.140"
PTXAS = "nvidia-cuda-nvcc-cu12==12.9.86"
ARCHITECTURES = ["sm_60", "sm_61", "sm_70", "sm_80", "sm_90", "sm_120"]
OPTIONS = ["--gpu-architecture=compute_60", "--fmad=false", "--std=c++17"]
ISA = "7.0"
FORMAT = "one module for each kernel"
INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"', re.MULTILINE)


def fail(message):
    sys.exit(f"build-kernels: {message}")


def sources():
    return sorted(p for p in OPS.glob("*/*.cu") if p.stem == p.parent.name)


def included(path, seen=None):
    """The project headers a source includes, each once, by the name it is included under."""
    seen = {} if seen is None else seen
    for name in INCLUDE.findall(path.read_text()):
        header = (path.parent / name).resolve()
        if name not in seen:
            if not header.is_file():
                fail(f"{path.relative_to(ROOT)} includes {name}, which does not exist")
            seen[name] = header
            included(header, seen)
    return seen


def digest(path):
    """SHA-256 over the source, its headers and the options: whatever changes the PTX changes the digest."""
    sha = hashlib.sha256()
    for part in [path, *(h for _, h in sorted(included(path).items()))]:
        sha.update(part.read_bytes())
        sha.update(b"\0")
    sha.update(" ".join([*OPTIONS, NVRTC, ISA, FORMAT]).encode())
    return sha.hexdigest()


def stored_digest(ptx):
    if not ptx.is_file():
        return None
    match = re.match(r"// source sha256: ([0-9a-f]{64})\n", ptx.read_text())
    return match.group(1) if match else None


def wheel_file(requirement, pattern):
    """A file of a wheel: from the running interpreter's packages, or from our own virtual environment, made if needed."""
    roots = [pathlib.Path(p) for p in sys.path if p.endswith("site-packages")]
    roots += sorted(VENV.glob("lib*/python*/site-packages")) + sorted(VENV.glob("Lib/site-packages"))
    name, version = requirement.split("==")
    for root in roots:
        if (root / f"{name.replace('-', '_')}-{version}.dist-info").is_dir():
            for found in sorted(root.glob(pattern)):
                return found
    if not (VENV / "pyvenv.cfg").is_file():
        venv.create(VENV, with_pip=True)
    python = next((p for p in (VENV / "bin" / "python", VENV / "Scripts" / "python.exe") if p.exists()), None)
    if python is None:
        fail(f"no interpreter in {VENV}")
    print(f"fetching {requirement}", flush=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", requirement], check=True)
    for root in sorted(VENV.glob("lib*/python*/site-packages")) + sorted(VENV.glob("Lib/site-packages")):
        for found in sorted(root.glob(pattern)):
            return found
    fail(f"{requirement} holds no {pattern}")


class Nvrtc:
    """The five calls of libnvrtc that are needed."""

    def __init__(self):
        path = wheel_file(NVRTC, "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
        for builtins in sorted(path.parent.glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(path))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: {self.library.nvrtcGetErrorString(code).decode()}")

    def text(self, program, what):
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.value.decode()

    def compile(self, path):
        headers = included(path)
        names = (ctypes.c_char_p * len(headers))(*(n.encode() for n in headers))
        texts = (ctypes.c_char_p * len(headers))(*(h.read_bytes() for h in headers.values()))
        options = (ctypes.c_char_p * len(OPTIONS))(*(o.encode() for o in OPTIONS))
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), path.read_bytes(), path.name.encode(), len(headers), texts, names)
        try:
            self.call("nvrtcCompileProgram", program, len(OPTIONS), options)
        except RuntimeError as error:
            fail(f"{path.relative_to(ROOT)}: {error}\n{self.text(program, 'ProgramLog')}")
        log = self.text(program, "ProgramLog").strip()
        if log:
            fail(f"{path.relative_to(ROOT)}: the compiler has remarks, and kernels compile without any\n{log}")
        ptx = self.text(program, "PTX")
        self.call("nvrtcDestroyProgram", ctypes.byref(program))
        lowered, count = re.subn(r"(?m)^\.version [0-9.]+$", f".version {ISA}", ptx)
        if count != 1:
            fail(f"{path.name}: {count} .version lines in the PTX")
        return f"// source sha256: {digest(path)}\n" + split(lowered, path)


def split(ptx, path):
    """The text as one module for each kernel, each after a line `// entry NAME`: a program then translates only the kernels
    it launches, which is most of what the first launch costs. Functions that are not inlined go with every kernel that
    calls them."""
    head = "\n".join(re.findall(r"(?m)^\.(?:version|target|address_size) .*$", ptx)) + "\n"
    start = re.compile(r"(?m)^\.visible \.entry (\w+)\(|^(?:\.visible )?\.func\s+(?:\([^)]*\)\s*)?(\w+)")
    found = list(start.finditer(ptx))
    if not any(item.group(1) for item in found):
        fail(f"{path.name}: no kernels")
    shared = re.findall(r"(?m)^\.(?:global|const|shared) [^\n]*;$", ptx)
    shared = [re.search(r"([\w$]+)(?:\[[^\]]*\])?(?: = [^;]*)?;$", line).group(1) for line in shared]
    kernels, functions = {}, {}
    for item, after in zip(found, [*found[1:], None]):
        text = ptx[item.start() : after.start() if after else len(ptx)]
        if ";" in text.split("{")[0]:
            continue  # a function announced before its definition
        # What follows the closing brace announces the next kernel.
        body = text[: text.rindex("}") + 1]
        for name in shared:
            if name in body:
                fail(f"{path.name}: kernels share {name}, which is not supported")
        (kernels if item.group(1) else functions)[item.group(1) or item.group(2)] = body

    def called(body):
        """The functions that a body calls, those that they call before them."""
        names = []
        for name, text in functions.items():
            if re.search(rf"\b{name}\b", body.split("{", 1)[1]):
                names += [inner for inner in called(text) if inner not in names] + [name]
        return list(dict.fromkeys(names))

    out = []
    for name, body in kernels.items():
        parts = [functions[function] for function in called(body)] + [body]
        out.append(f"// entry {name}\n{head}\n" + "\n".join(parts) + "\n")
    return "\n".join(out)


def modules(text):
    """The modules of a .ptx file of ours, by kernel."""
    parts = re.split(r"(?m)^// entry (\w+)\n", text)
    return dict(zip(parts[1::2], parts[2::2]))


def assemble(paths):
    ptxas = wheel_file(PTXAS, "nvidia/cuda_nvcc/bin/ptxas")
    known = subprocess.run([ptxas, "--help"], capture_output=True, text=True, check=True).stdout
    wanted = [a for a in ARCHITECTURES if f"'{a}'" in known]
    if not wanted:
        fail(f"{ptxas} knows none of {ARCHITECTURES}")
    for path in paths:
        for architecture in wanted:
            spills, registers = 0, 0
            for name, text in modules(path.read_text()).items():
                with tempfile.TemporaryDirectory() as folder:
                    source = pathlib.Path(folder) / f"{name}.ptx"
                    source.write_text(text)
                    command = [ptxas, f"-arch={architecture}", "-v", "-o", f"{folder}/out.cubin", source]
                    done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    fail(f"{path.relative_to(ROOT)}: {name} for {architecture}:\n{done.stderr}")
                spills += sum(int(n) for n in re.findall(r"(\d+) bytes spill", done.stderr))
                registers = max([registers, *(int(n) for n in re.findall(r"Used (\d+) registers", done.stderr))])
            kernels = len(modules(path.read_text()))
            print(f"{path.name} {architecture}: {kernels} kernels, at most {registers} registers, {spills} bytes spilled")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on drift")
    parser.add_argument("--recompile", action="store_true", help="with --check: compile again and compare bytes")
    parser.add_argument("--ptxas", action="store_true", help="assemble every .ptx")
    parser.add_argument("--force", action="store_true", help="compile even what has not changed")
    options = parser.parse_args()
    paths = sources()
    if not paths:
        fail(f"no kernels under {OPS}")
    stale = [p for p in paths if options.force or stored_digest(p.with_suffix(".ptx")) != digest(p)]
    if options.check:
        if stale:
            fail("stale PTX, run scripts/build-kernels.py: " + ", ".join(p.name for p in stale))
        if options.recompile:
            nvrtc = Nvrtc()
            for path in paths:
                if nvrtc.compile(path) != path.with_suffix(".ptx").read_text():
                    fail(f"{path.with_suffix('.ptx').relative_to(ROOT)} differs from what its source compiles to")
        print(f"{len(paths)} kernel files match their sources" + (", byte for byte" if options.recompile else ""))
    elif stale:
        nvrtc = Nvrtc()
        for path in stale:
            path.with_suffix(".ptx").write_text(nvrtc.compile(path))
            print(f"wrote {path.with_suffix('.ptx').relative_to(ROOT)}")
    if options.ptxas:
        assemble([p.with_suffix(".ptx") for p in paths])


if __name__ == "__main__":
    main()
