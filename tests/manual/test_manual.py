# SPDX-License-Identifier: Apache-2.0
"""test_manual.py BUILD SOURCE: man pages, completion, docs and --help say the same; the docs name only options and
commands that there are."""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = sys.argv[1:3]
MANUAL = os.path.join(SOURCE, "tools", "report", "manual")
INTERNAL = {"trigd": {"worker", "inspector", "nvml"}}  # of processes that trigd starts itself
PYTHON = ["trigmodel", "trighist", "trigconvert", "trigfarm"]
PROGRAMS = ["trigd", "trigctl", "trigreplay", "trigsup", "trigbench", "trigvoxels", *PYTHON]


def run(*words, **how):
    return subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8", check=True, **how).stdout


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


@functools.lru_cache(None)
def helped(*words):
    """Options in what --help prints, and the words of its commands."""
    text = run(f"{BUILD}/bin/{words[0]}", *words[1:], "--help")
    names = set(re.findall(r"(?m)^  (?:-\w(?: [A-Z]+)?, )?--([a-z-]+)", text))
    return names, set(re.findall(r"(?m)^    ([a-z][a-z-]+)\b" if words[0] in PYTHON else r"(?m)^  ([a-z][a-z-]+) ", text))


def options_of(program):
    options, commands = set(helped(program)[0]), helped(program)[1]
    for command in commands if program in ("trigbench", "trigmodel", "trighist", "trigfarm") else []:
        options |= helped(program, command)[0]
    return options


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.made = cls.folder.name
        run(MANUAL, BUILD, cls.made)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_man_pages_have_the_options_of_help(self):
        for program in PROGRAMS:
            page = read(f"{self.made}/man1/{program}.1").replace("\\-", "-")
            self.assertEqual(set(re.findall(r"(?m)^\.B (?:-\w, )?--([a-z-]+)", page)), options_of(program), program)
            self.assertLessEqual(helped(program)[1], set(re.findall(r"(?m)^\.B ([a-z][a-z-]+)", page)), program)

    def test_man_pages_can_be_read(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        for page in glob.glob(f"{self.made}/man*/*"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  check=True)
            self.assertEqual(done.stderr, b"", page)

    def test_internal_modes_are_refused_by_hand(self):
        for program, modes in INTERNAL.items():
            for mode in modes:
                done = subprocess.run([f"{BUILD}/bin/{program}", f"--{mode}"], stderr=subprocess.PIPE, encoding="utf-8", check=False)
                self.assertEqual(done.returncode, 2, mode)
                self.assertRegex(done.stderr, rf"^{program}: only {program} itself starts .*--{mode};.*\n$")

    def test_the_keys_have_a_page(self):
        keys = set(re.findall(r"(?m)^\| `([a-z_.\[\]]+)`", run(f"{BUILD}/bin/trigd", "--keys")))
        page = read(f"{self.made}/man5/trigd.yaml.5").replace("\\-", "-")
        self.assertGreater(len(keys), 50)
        self.assertLessEqual(keys, set(re.findall(r"(?m)^\.B (\S+)", page)))

    def complete(self, *words):
        script = f'. {self.made}/bash/{words[0]}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _{words[0]}; echo "${{COMPREPLY[@]}}"'
        return set(run("bash", "-ec", script, "complete", *words).split())

    def test_bash_completes(self):
        for program in PROGRAMS:
            self.assertEqual(self.complete(program, "--"), {f"--{o}" for o in options_of(program)}, program)
        self.assertEqual(self.complete("trigd", "--log", ""), {"error", "warn", "info", "debug"})
        self.assertIn("lanes", self.complete("trigctl", "show", "la"))
        self.assertIn("nodes", self.complete("trigctl", "--farm", "show", ""))
        self.assertEqual(self.complete("trigreplay", "gen"), {"generate"})

    def test_zsh_reads_its_completion(self):
        for program in PROGRAMS:
            text = read(f"{self.made}/zsh/_{program}")
            self.assertEqual(set(re.findall(r"(?m)^    '--([a-z-]+)\[", text)), options_of(program), program)
            if shutil.which("zsh"):
                run("zsh", "-n", f"{self.made}/zsh/_{program}")

    def test_docs_are_made_again(self):
        run(MANUAL, BUILD, "--docs", f"{self.made}/commands.md")
        self.assertEqual(read(f"{self.made}/commands.md"), read(f"{SOURCE}/docs/commands.md"), "make docs-commands")

    def test_each_has_a_line(self):
        self.assertEqual(re.findall(r"(?m)^\| `.*` \| +(?:\(required\) )?\|$", read(f"{SOURCE}/docs/commands.md")), [])

    def test_docs_name_what_there_is(self):
        allowed = {program: options_of(program) | INTERNAL.get(program, set()) for program in PROGRAMS}
        asked = set(re.findall(r"`([a-z][a-z-]*)", read(f"{SOURCE}/docs/commands.md").split("## trigctl")[1].split("## ")[0]))
        seen = 0
        for path in [f"{SOURCE}/README.md", *glob.glob(f"{SOURCE}/docs/*.md"), *glob.glob(f"{SOURCE}/*/*/README.md")]:
            text = read(path).replace("\\\n", " ")
            for program, rest in re.findall(rf"(?<!-m )\b({'|'.join(PROGRAMS)})((?: +[^\s`|;&<>()#,]+)+)", text):
                for option in re.findall(r"(?<= --)[a-z][a-z-]+", rest):
                    seen += 1
                    self.assertIn(option, allowed[program], f"{path}: {program}{rest}")
            for word in re.findall(r"`trigctl ([a-z][a-z-]+)[^`\n]*`", text):
                seen += 1
                self.assertIn(word, asked, f"{path}: trigctl {word}")
        self.assertGreater(seen, 100)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
