"""Deployments as people write them: words on a command line, and the files that they commit.

``words`` is the common form: every flag and every file setting becomes one of its fields. ``resolve`` turns words into
a Deployment. ``sources`` finds files, ``forms`` reads them, one module a form, and ``commands`` knows how each engine
is started; the other folders hold what several forms share.
"""
