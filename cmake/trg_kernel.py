#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trg_kernel.py [--compile] IN.kernel.c OUT.cl FOLDER...: makes one OpenCL text of a kernel file.

What the file includes with quotes is put where it is included first, each header once, with #line directives, so that a
compiler names the author's file and line.  A header is looked for beside the file that includes it, then in the folders.
OUT.cl.d names all files for the build.  Words that one of the three dialects reserves are refused with file and line,
except where the preprocessor has chosen a dialect and in trigd's own headers.  --compile has the text compiled by the
first OpenCL platform of the machine, if there is one."""
import ctypes
import os
import re
import sys

WIDTHS = "2|3|4|8|16"
OPENCL = (
    r"half|uchar|ushort|uint|ulong|quad|complex|imaginary|"
    rf"(?:char|uchar|short|ushort|int|uint|long|ulong|float|double|half|quad|bool)(?:{WIDTHS})|"
    r"(?:__)?(?:kernel|global|local|constant|private|generic|read_only|write_only|read_write)|pipe|"
    r"image[123]d_t|image[12]d_array_t|image1d_buffer_t|sampler_t|event_t|vec_step|"
    rf"(?:as|convert)_(?:u?char|u?short|u?int|u?long|float|double|half)(?:{WIDTHS})?(?:_\w+)?")
CUDA = (
    r"class|new|delete|this|template|typename|namespace|operator|public|protected|virtual|friend|try|catch|throw|"
    r"using|explicit|export|mutable|constexpr|nullptr|decltype|noexcept|typeid|wchar_t|char16_t|char32_t|alignas|alignof|"
    r"thread_local|static_assert|static_cast|const_cast|dynamic_cast|reinterpret_cast|bool|true|false|asm|"
    r"and|or|not|xor|bitand|bitor|compl|and_eq|or_eq|not_eq|xor_eq|"
    r"restrict|dim[34]|threadIdx|blockIdx|blockDim|gridDim|warpSize|make_\w+[234]|"
    r"__(?:global|device|host|shared|constant|managed|restrict|launch_bounds)__")
INSTEAD = {"uchar": "trg_u8", "ushort": "trg_u16", "uint": "trg_u32", "ulong": "trg_u64", "restrict": "TRG_RESTRICT",
           "kernel": "TRG_KERNEL1 to TRG_KERNEL8", "global": "TRG_GLOBAL", "local": "TRG_LOCAL or TRG_SHARED",
           "constant": "TRG_CONST", "bool": "trg_u32", "half": "trg_f16 for a column"}
RESERVED = [(re.compile(words), dialect) for words, dialect in ((OPENCL, "OpenCL C"), (CUDA, "CUDA C++"))]
# defined by one of the dialects, and other numbers or no function in the others
CALLED = re.compile(
    r"(?:native_|half_)?(?:sin|cos|tan|exp|exp2|exp10|log|log2|log10|pow|sqrt|rsqrt|fabs|floor|ceil|fma|mad|fmin|fmax|"
    r"hypot|atan|atan2|asin|acos|rint|round|trunc|sinh|cosh|tanh|cbrt|fmod|recip|divide|powr)f?|"
    r"min|max|clamp|abs|mix|step|dot|cross|length|normalize|distance|sign|select|barrier|popcount|clz|mul24|mad24|rotate|"
    r"atomic(?:_\w+|[A-Z]\w+)|get_\w+_(?:id|size)|__syncthreads|printf|malloc|free|memcpy|memset|memcmp|assert")
THEIRS = {"sin": "sin", "cos": "cos", "atan2": "atan2", "exp": "exp", "log": "ln", "pow": "pow"}  # of trigd/math.h
BASE = {"sqrt", "fabs", "floor", "ceil", "fma", "popcount", "clz"}  # of trigd/kernel.h
DIALECTS = re.compile(r"__OPENCL|__CUDACC__|__NV_CL|__CUDA_ARCH__|TRG_HOST_ONLY")
TOKENS = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|[0-9][\w.]*|\S")


class Wrong(Exception):
    pass


def advice(word):
    if word in INSTEAD:
        return f"; {INSTEAD[word]} is the word of all three"
    return "; another name is needed"


def called_advice(word):
    stem = word[:-1] if word.endswith("f") and word != "f" else word
    if stem in BASE:
        return f"; trg_{stem} is the same on all devices"
    if stem in THEIRS:
        return f"; trg_{THEIRS[stem]} of trigd/math.h is the same on all devices"
    if word.startswith("atomic"):
        return "; TRG_ATOMIC_ADD_GLOBAL and its like are for all devices"
    return "; a function of another name that the file defines is needed"


def without_comments(text):
    """The text with comments blanked and continued lines kept: the same lines in the same places."""
    keep = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|/\*.*?\*/|//[^\n]*", re.S)
    return keep.sub(lambda m: m.group() if m.group()[0] == '"' else re.sub(r"[^\n]", " ", m.group()), text)


class Flattener:
    def __init__(self, folders):
        self.folders = [os.path.realpath(f) for f in folders]
        self.home = self.folders[0] if folders else ""
        self.files = []  # in the order of their first inclusion
        self.shown = {}  # name in #line directives: path
        self.out = []
        self.problems = []

    def name(self, path):
        """As the author knows it: below an include folder, or below the folder above its own."""
        for folder in self.folders:
            if path.startswith(folder + "/trigd/"):
                return os.path.relpath(path, folder)
        return os.path.relpath(path, os.path.dirname(os.path.dirname(self.files[0])))

    def find(self, header, of):
        for folder in [os.path.dirname(of), *self.folders]:
            path = os.path.join(folder, header)
            if os.path.isfile(path):
                return os.path.realpath(path)
        return None

    def add(self, path, chosen=False):
        """Appends a file; chosen: a dialect has been chosen where it is included."""
        if path in self.files:
            return
        self.files.append(path)
        name = self.name(path)
        self.shown[name] = path
        with open(path, encoding="utf-8") as f:
            text = f.read()
        stack = [chosen]  # whether a dialect is chosen, for each open #if
        self.out.append(f'#line 1 "{name}"')
        continued = False
        for n, (line, code) in enumerate(zip(text.split("\n"), without_comments(text).split("\n")), 1):
            directive = None if continued else re.match(r"\s*#\s*(\w+)\s*(.*)", code)
            include = re.match(r'\s*#\s*include\s+"([^"]+)"', code)
            if include:
                header = self.find(include.group(1), path)
                if not header:
                    self.problems.append(f"{path}:{n}: there is no file {include.group(1)}, neither beside this one nor "
                                         f"in {', '.join(self.folders)}")
                elif header not in self.files:
                    self.add(header, stack[-1])
                self.out.append(f'#line {n + 1} "{name}"')
                continue
            if directive:
                self.nest(stack, *directive.groups())
            if not stack[-1] and not name.startswith("trigd/") and not (directive and directive.group(1) != "define"):
                self.check(code, f"{path}:{n}")
            self.out.append(line)
            continued = code.endswith("\\")

    @staticmethod
    def nest(stack, word, rest):
        if word in ("if", "ifdef", "ifndef"):
            stack.append(stack[-1] or bool(DIALECTS.search(rest)))
        elif word == "elif" and len(stack) > 1:
            stack[-1] = stack[-1] or bool(DIALECTS.search(rest))
        elif word == "endif" and len(stack) > 1:
            stack.pop()

    def check(self, code, where):
        tokens = TOKENS.findall(code)
        for at, word in enumerate(tokens):
            if not re.match(r"[A-Za-z_]", word):
                continue
            is_member = at > 0 and (tokens[at - 1] == "." or tokens[at - 2:at] == ["-", ">"])
            for words, dialect in RESERVED:
                if words.fullmatch(word):
                    self.problems.append(f"{where}: error: '{word}' is reserved in {dialect}{advice(word)}")
                    break
            else:
                if tokens[at + 1:at + 2] == ["("] and not is_member and CALLED.fullmatch(word):
                    self.problems.append(f"{where}: error: '{word}' is a function of one dialect{called_advice(word)}")


# ---------------------------------------------------------------- compiling

def opencl():
    """The library and a device of the first platform that has one, a CPU where there is one; None: there is none."""
    try:
        cl = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return None
    for f in ("clCreateContext", "clCreateProgramWithSource"):
        getattr(cl, f).restype = ctypes.c_void_p
    found = []
    n = ctypes.c_uint(0)
    platforms = (ctypes.c_void_p * 16)()
    if cl.clGetPlatformIDs(16, platforms, ctypes.byref(n)) != 0:
        return None
    for kind in (2, 0xffffffff):  # CL_DEVICE_TYPE_CPU, _ALL
        for p in platforms[:n.value]:
            device = ctypes.c_void_p()
            if cl.clGetDeviceIDs(ctypes.c_void_p(p), ctypes.c_ulong(kind), 1, ctypes.byref(device), None) == 0:
                found.append(device)
    return (cl, found[0]) if found else None


def build_log(text):
    """What the compiler says of the text; None when it compiles or there is no compiler."""
    there = opencl()
    if not there:
        return None
    cl, device = there
    code = ctypes.c_int(0)
    context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(code))
    if code.value != 0:
        return None  # a platform without a usable device
    source = ctypes.c_char_p(text.encode())
    program = ctypes.c_void_p(cl.clCreateProgramWithSource(ctypes.c_void_p(context), 1, ctypes.byref(source), None,
                                                           ctypes.byref(code)))
    failed = cl.clCompileProgram(program, 1, ctypes.byref(device), b"-cl-std=CL1.2", 0, None, None, None, None)
    if failed == 0:
        return None
    size = ctypes.c_size_t(0)
    cl.clGetProgramBuildInfo(program, device, 0x1183, 0, None, ctypes.byref(size))  # CL_PROGRAM_BUILD_LOG
    log = ctypes.create_string_buffer(size.value + 1)
    cl.clGetProgramBuildInfo(program, device, 0x1183, size, log, None)
    return log.value.decode(errors="replace") or f"clCompileProgram failed with {failed}"


def with_paths(log, shown):
    """The log with the author's paths in place of the names in the text, as "path:line:column: error: sentence"."""
    names = "|".join(map(re.escape, sorted(shown, key=len, reverse=True)))
    pattern = re.compile(rf"(?m)^(?:((?:fatal )?(?:error|warning|note): ))?({names})(:\d+:(?:\d+:)?) ?")
    return pattern.sub(lambda m: f"{shown[m.group(2)]}{m.group(3)} {m.group(1) or ''}", log)


def main(arguments):
    compiles = arguments[:1] == ["--compile"]
    arguments = arguments[compiles:]
    if len(arguments) < 3:
        sys.exit(__doc__)
    source, out, *folders = arguments
    flat = Flattener(folders)
    flat.add(os.path.realpath(source))
    if flat.problems:
        sys.exit("\n".join(flat.problems))
    text = "\n".join(flat.out) + "\n"
    log = build_log(text) if compiles else None
    if log:
        sys.exit(with_paths(log, flat.shown))
    with open(out + ".d", "w", encoding="utf-8") as f:
        f.write(f"{out}: " + " ".join(p.replace(" ", "\\ ") for p in flat.files) + "\n")
    with open(out, "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
