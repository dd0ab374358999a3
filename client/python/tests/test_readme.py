"""The snippets of the README run as they stand there."""

import asyncio
import contextlib
import io
import re
import unittest
from pathlib import Path

from support import Case

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python( notebook)?\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


class Readme(Case):
    settings = {"THINKD_TOOLS__APPROVAL": '["state_put"]'}

    def run_snippet(self, words, notebook=False):
        [(kind, code)] = [(kind, code) for kind, code in SNIPPETS if words in code]
        self.assertEqual(bool(kind), notebook)
        code = code.replace("http://localhost:2953", self.server.url)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            if notebook:
                asyncio.run(self.cell(code))
            else:
                exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
        return out.getvalue().splitlines()

    async def cell(self, code):
        """A cell runs while the loop of the notebook does."""
        exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})

    def test_there_are_five(self):
        self.assertEqual(len(SNIPPETS), 5)

    def test_a_program(self):
        self.assertEqual(self.run_snippet("And in winter?"), ["you said hi", "you said And in winter?"])

    def test_a_reply_while_it_is_written(self):
        self.assertEqual(self.run_snippet("Tell me more."), ["you said Tell me more."])

    def test_asyncio(self):
        lines = self.run_snippet("async def main")
        self.assertRegex(lines[-2], r"^\d+ turn \d+ ended: done$")
        self.assertEqual(lines[-1], "['you said one', 'you said two']")

    def test_a_notebook(self):
        lines = self.run_snippet("history", notebook=True)
        self.assertEqual(lines[0], "you said hi")
        self.assertIn("you said hi", lines[1])

    def test_people_in_the_loop(self):
        t = self.client()
        list(t.thread("people").say('call state_put {"key": "k", "content": "c", "related_keys": []}'))
        list(t.thread("people").say('call ask_user {"question": "Which day?", "choices": null, "schema": null, "who": null, "expires_s": null}'))
        self.assertEqual((len(t.approvals()), len(t.questions())), (1, 1))
        self.assertEqual(self.run_snippet("t.approvals()"), ["state_put {'content': 'c', 'key': 'k', 'related_keys': []}"])
        self.assertEqual((t.approvals(), t.questions()), ([], []))


if __name__ == "__main__":
    unittest.main()
