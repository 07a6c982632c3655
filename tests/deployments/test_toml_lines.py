from kvplan.deployments.toml_lines import key_lines

TEXT = '''# a comment with key = 1
schema = "x"   # [not.a.table]

[settings]
max_model_len = 8192
"quoted key" = 1
text = """
users = 99
[workload]
"""
list = [
  1, # ] not the end
  "]",
]
literal = \'\'\'
a = "b\'\'\'
after = 1
[ neighbours ]
tenants = 2
[deep."dotted.name"]
a . b = 3
[[many]]
c = 4
'''


def test_keys_stand_where_an_editor_shows_them() -> None:
    lines = key_lines(TEXT)
    rows = TEXT.split("\n")
    assert lines["schema",] == 2
    assert lines["settings",] == 4
    assert lines["settings", "max_model_len"] == 5
    assert lines["settings", "quoted key"] == 6
    assert lines["settings", "after"] == rows.index("after = 1") + 1
    assert lines["neighbours", "tenants"] == rows.index("tenants = 2") + 1
    assert lines["deep", "dotted.name", "a", "b"] == rows.index("a . b = 3") + 1
    assert lines["many", "c"] == rows.index("c = 4") + 1


def test_what_only_looks_like_a_key_is_none() -> None:
    lines = key_lines(TEXT)
    assert ("settings", "users") not in lines
    assert ("workload",) not in lines
    assert ("settings", "a") not in lines


def test_inline_tables_and_windows_lines() -> None:
    assert key_lines("a = 1\r\nworkload = { users = 8 }\r\nb = 2\r\n")["b",] == 3
