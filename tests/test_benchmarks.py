"""What stands in docs/performance.md: every benchmark, and where its figures are."""

import re

import performance

#: What runs the others, and what others run beside ours.
PLAIN = {"performance", "plain_glicko", "plain_huse"}


def test_every_benchmark_is_run_and_its_section_is_there():
    there = {path.stem for path in performance.HERE.glob("*.py")} - PLAIN
    assert there == {*performance.SPEED, *performance.OTHERS}
    page = (performance.HERE / "README.md").read_text(encoding="utf-8")
    headings = re.findall("^## (.+)$", page, re.MULTILINE)
    assert len(set(headings)) == len(headings)
    assert [one for one, _ in performance.OTHERS.values() if one not in headings] == []
