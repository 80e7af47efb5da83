"""What an answer commits to, and whether that is right: `verdict` and `mentions` on plain strings.

The accepted spellings are listed in `ANSWERS.md` beside the package.
"""

from supersession.answers.verdicts import Verdict, mentions, verdict

__all__ = ["Verdict", "mentions", "verdict"]
