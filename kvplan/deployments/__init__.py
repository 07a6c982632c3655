"""Deployments as people write them: words on a command line, and the files that they commit.

``words`` is the common form: every flag and every file setting becomes one of its fields. ``resolve`` turns words into
a Deployment. The other files read one file form each.
"""
