#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of text.py finds what it is for, and leaves good text alone."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import text  # noqa: E402
import tidy  # noqa: E402

SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"


def found(path, body, root="."):
    return [s for _, s in text.check(path, body, root)]


class Rules(unittest.TestCase):
    def test_good(self):
        self.assertEqual(found("daemon/a.c", SPDX + "int a;\n"), [])

    def test_spdx(self):
        self.assertEqual(len(found("daemon/a.c", "int a;\n")), 1)
        self.assertEqual(len(found("tools/x", "#!/bin/sh\n")), 1)

    def test_space(self):
        self.assertEqual(len(found("daemon/a.c", SPDX + "int a; \n")), 1)
        self.assertEqual(len(found("daemon/a.c", SPDX + "\tint a;\n")), 1)
        self.assertEqual(len(found("daemon/a.c", SPDX + "int a;")), 1)

    def test_size(self):
        self.assertEqual(found("daemon/a.c", SPDX + "int a;\n" * 599), [])
        self.assertEqual(len(found("daemon/a.c", SPDX + "int a;\n" * 600)), 1)

    def test_macros(self):
        self.assertEqual(found("plugins/a/a.h", SPDX + "#define A \\\n" + "x; \\\n" * 22 + "y\n"), [])
        self.assertEqual(len(found("plugins/a/a.h", SPDX + "#define A \\\n" + "x; \\\n" * 23 + "y\n")), 1)

    def test_kernels(self):
        said = ("a.h:1:1: error: function 'f' exceeds recommended size\na.h:1:1: note: 9 parameters (threshold 8)\n"
                "a.c:2:1: error: function 'k_body_' exceeds\na.c:2:1: note: 10 parameters (threshold 8)\n"
                "a.c:2:1: note: 90 lines including whitespace (threshold 80)\n"
                "a.c:2:1: error: function 'k_body_' has cognitive complexity of 31 (threshold 30)\n")
        self.assertEqual(tidy.over(said), {("f", "parameters"), ("k", "lines"), ("k", "complexity")})

    def test_banned(self):
        self.assertEqual(len(found("daemon/a.c", SPDX + "x = atoi(s);\n")), 1)
        self.assertEqual(len(found("daemon/a.c", SPDX + 'printf("x");\n')), 1)
        self.assertEqual(found("tools/a/a.c", SPDX + 'printf("x");\n'), [])
        self.assertEqual(found("daemon/a.c", SPDX + '/* atoi() */ f("atoi(");\n'), [])
        self.assertEqual(found("daemon/a.c", SPDX + "x = atoi(s); /* lint: a reason */\n"), [])

    def test_pipes(self):
        sh = "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n"
        self.assertEqual(len(found("tests/a/run", sh + '"$prefix/bin/trigctl" check-plugin "$plugin" | tail -1\n')), 1)
        self.assertEqual(found("tests/a/run", sh + '"$prefix/bin/trigctl" show-plugin "$plugin" | grep -q "x"\n'), [])

    def test_stages(self):
        self.assertEqual(found("daemon/flow/dispatch.c", SPDX + '#include "flow/dispatch.h"\n#include "flow/decide.h"\n'), [])
        self.assertEqual(len(found("daemon/flow/dispatch.c", SPDX + '#include "flow/ingress.h"\n')), 1)
        self.assertEqual(len(found("daemon/flow/egress.h", SPDX + '#include "flow/ingress.h"\n')), 1)

    def test_folders(self):
        self.assertEqual(found("daemon/exec/lane.c", SPDX + '#include "exec/lane.h"\n#include "menu/menu.h"\n'), [])
        self.assertEqual(found("daemon/loop.c", SPDX + '#include "loop.h"\n#include "flow/ingress.h"\n'), [])
        self.assertEqual(len(found("daemon/exec/lane.c", SPDX + '#include "flow/dispatch.h"\n')), 1)
        self.assertEqual(len(found("daemon/base/ring.h", SPDX + '#include "memory/pool.h"\n')), 1)

    def test_layers(self):
        self.assertEqual(len(found("plugins/a/a.c", SPDX + '#include "../../daemon/pool.h"\n')), 1)
        self.assertEqual(len(found("include/trigd/a.h", SPDX + '#include "pool.h"\n')), 1)

    def test_outside(self):
        self.assertEqual(len(found("docs/a.md", "see /" + "home/me/x\n")), 1)
        self.assertEqual(len(found("docs/a.md", "from py" + "pi.org\n")), 1)

    def test_links(self):
        here = os.path.dirname(os.path.abspath(__file__))
        self.assertEqual(found("a.md", "[x](text.py)\n", here), [])
        self.assertEqual(len(found("a.md", "[x](nothing.py)\n", here)), 1)


if __name__ == "__main__":
    unittest.main()
