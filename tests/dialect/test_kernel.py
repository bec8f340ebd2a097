#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_kernel.py TRG_KERNEL CC NVCC FOLDERS: what trg_kernel.py refuses, and that the three compilers name the author's
file and line.  FOLDERS: include folders of trigd, with ; between them; without nvcc its part is left out."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

FOLDERS = sys.argv.pop().split(";")
NVCC, CC, TOOL = sys.argv.pop(), sys.argv.pop(), os.path.abspath(sys.argv.pop())
spec = importlib.util.spec_from_file_location("trg_kernel", TOOL)
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)

HEAD = '#include "trigd/kernel.h"\n\n#include "mine.h"\n\nTRG_KERNEL1(mine_run, (trg_u32, out), (struct mine_par, par))\n{\n'
SHARED = "struct mine_par {\n    trg_u32 n;\n};\n"


class Kernels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = self.path("mine.kernel.c")

    def path(self, name):
        return os.path.join(os.path.realpath(self.folder.name), "mine", name)

    def write(self, body, shared=SHARED):
        os.makedirs(self.path(""), exist_ok=True)
        for name, text in (("mine.kernel.c", HEAD + body + "}\n"), ("mine.h", shared)):
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)

    def run_tool(self, *options):
        out = self.path("mine.cl")
        done = subprocess.run([sys.executable, TOOL, *options, self.source, out, *FOLDERS], stderr=subprocess.PIPE, text=True)
        self.assertEqual(os.path.exists(out), done.returncode == 0, done.stderr)
        return done.stderr

    def says(self, body, line, sentence):
        self.write("    " + body + "\n")
        self.assertIn(f"{self.source}:{line}: error: {sentence}", self.run_tool())

    def test_words_of_one_dialect(self):
        for word in ("half", "float4", "uchar16", "kernel", "global", "__local", "image2d_t", "sampler_t"):
            self.says(f"trg_u32 {word} = par.n; out[0] = {word};", 7, f"'{word}' is reserved in OpenCL C")
        for word in ("class", "new", "this", "template", "and", "xor", "bool", "threadIdx", "dim3", "restrict"):
            self.says(f"trg_u32 {word} = par.n;", 7, f"'{word}' is reserved in CUDA C++")
        self.says("uint n = par.n;", 7, "'uint' is reserved in OpenCL C; trg_u32 is the word of all three")

    def test_functions_of_one_dialect(self):
        self.says("out[0] = (trg_u32)sqrtf(2.0f);", 7, "'sqrtf' is a function of one dialect; trg_sqrt is the same on all")
        self.says("out[0] = (trg_u32)sin(2.0f);", 7, "'sin' is a function of one dialect; trg_sin of trigd/math.h")
        self.says("out[0] = max(par.n, 3u);", 7, "'max' is a function of one dialect; a function of another name")
        self.says("atomicAdd(out, 1u);", 7, "'atomicAdd' is a function of one dialect; TRG_ATOMIC_ADD_GLOBAL")

    def test_a_shared_header(self):
        self.write("    out[0] = par.half;\n", SHARED.replace("trg_u32 n", "trg_u32 half"))
        told = self.run_tool()
        self.assertIn(f"{self.path('mine.h')}:2: error: 'half'", told)
        self.assertIn(f"{self.source}:7: error: 'half'", told)

    def test_a_missing_header(self):
        self.write('#include "gone.h"\n')
        self.assertIn(f"{self.source}:7: there is no file gone.h", self.run_tool())

    def test_what_is_allowed(self):
        self.write('    /* half of a class */ trg_u32 min = par.n; // float4\n'
                   '#if defined(__CUDACC__)\n    out[0] = max(min, threadIdx.x);\n'
                   '#elif defined(__OPENCL_VERSION__)\n    uint4 v = (uint4)(min);\n    out[0] = v.x;\n'
                   '#else\n    out[0] = min;\n#endif\n')
        self.assertEqual(self.run_tool("--compile"), "")

    def test_a_comment_over_lines_keeps_their_numbers(self):
        self.says("/* one\n two */\n    trg_u32 half = 0u;", 9, "'half'")

    def wrong(self):
        """An error in a header and one behind it, for each compiler."""
        self.write("    out[0] = par.n +;\n", SHARED.replace("trg_u32 n", "trg_u32 n; undeclared_t m"))
        return [self.path("mine.h") + ":2", self.source + ":7"]

    def check_compiler(self, told, separator):
        for place in self.wrong():
            self.assertIn(place if separator == ":" else place.replace(":", "(") + ")", told)

    def test_the_host_compiler(self):
        self.wrong()
        variant = self.path("variant.c")
        with open(variant, "w", encoding="utf-8") as f:
            f.write(f'#include "{self.source}"\n')
        done = subprocess.run([CC, "-fsyntax-only", *("-I" + f for f in FOLDERS), variant], stderr=subprocess.PIPE, text=True)
        self.check_compiler(done.stderr, ":")

    def test_the_opencl_compiler(self):
        if not kernel.opencl():
            self.skipTest("no OpenCL platform")
        self.wrong()
        told = self.run_tool("--compile")
        self.check_compiler(told, ":")
        self.assertRegex(told, r"(?m)^/.*mine\.kernel\.c:7:21: error: ")

    def test_what_the_daemon_logs(self):
        """The text that a plugin carries, compiled by a daemon: names below the folder above the author's."""
        if not kernel.opencl():
            self.skipTest("no OpenCL platform")
        self.wrong()
        self.run_tool()
        with open(self.path("mine.cl"), encoding="utf-8") as f:
            told = kernel.build_log(f.read())
        self.assertIn("mine/mine.h:2", told)
        self.assertIn("mine/mine.kernel.c:7", told)

    def test_nvcc(self):
        if not os.path.exists(NVCC):
            self.skipTest("no nvcc")
        self.wrong()
        done = subprocess.run([NVCC, "-x", "cu", "-ptx", *("-I" + f for f in FOLDERS), self.source, "-o", "/dev/null"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.check_compiler(done.stdout, "(")


if __name__ == "__main__":
    unittest.main()
