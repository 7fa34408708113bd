"""Excel files are read as what their cells show: no number, word or date becomes another."""

import zipfile
from xml.sax.saxutils import escape

import pytest

import nlgbench as nb
from nlgbench.runner import new_study
from nlgbench.study import workbooks
from nlgbench.study.csv_files import TableError

pytest.importorskip("python_calamine")
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/'


def workbook(path, sheets):
    """Write an Excel file: numbers, texts, and dates as (day since 1900,)."""

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        day = value if isinstance(value, tuple) else ()
        return f'<c s="1"><v>{day[0]}</v></c>' if day else f"<c><v>{value}</v></c>"

    related = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    named = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1)
    )
    styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    styled = f'<Relationship Id="s" Type="{OFFICE}/styles" Target="styles.xml"/>'
    root = f'<Relationship Id="w" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    parts = {
        "_rels/.rels": f'<Relationships {PACKAGE}relationships">{root}</Relationships>',
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>{named}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships {PACKAGE}relationships">{related}{styled}'
        "</Relationships>",
        "xl/styles.xml": f"<styleSheet {MAIN}>{styles}</styleSheet>",
    }
    for n, rows in enumerate(sheets.values(), 1):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f"<worksheet {MAIN}><sheetData>{lines}</sheetData></worksheet>"
        )
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


RATINGS = [
    ["item", "system", "rater", "fluency", "day"],
    ["007", "NA", "ann", 3, (45296,)],
    ["007", "b", "ann", 4.5, (45297,)],
    ["008", "NA", "ann", "", (45297.5,)],
    ["008", "b", "ann", 2, ""],
]


def test_cells_are_read_as_texts(tmp_path):
    workbook(tmp_path / "r.xlsx", {"Ratings": [[""] * 5, *RATINGS], "Empty": []})
    frame, places = workbooks.read_workbook(tmp_path / "r.xlsx")
    assert frame["fluency"].tolist() == ["3", "4.5", "", "2"]
    assert frame["day"].tolist() == ["2024-01-05", "2024-01-06", "2024-01-06T12:00:00", ""]
    assert frame["system"].tolist() == ["NA", "b"] * 2 and places[0] == "row 3"


def test_a_sheet_is_named_where_there_are_several(tmp_path):
    workbook(tmp_path / "r.xlsx", {"Ratings": RATINGS, "Notes": [["by"], ["ann"]]})
    with pytest.raises(TableError, match=r"several sheets \(Ratings, Notes\).*r.xlsx#Ratings"):
        new_study.new(tmp_path / "s", [tmp_path / "r.xlsx"])
    with pytest.raises(TableError, match="mean 'Ratings'"):
        nb.read_study(tmp_path / "r.xlsx#Rating")
    shown = new_study.new(tmp_path / "s", [tmp_path / "r.xlsx#Ratings"])
    assert "To fix" not in shown and "r.xlsx#Ratings" in (tmp_path / "s/study.yml").read_text()
    for study in (nb.read_study(tmp_path / "s"), nb.read_study(tmp_path / "r.xlsx#Ratings")):
        assert study.judgments["value"].tolist() == [3, 4.5, 2]
        assert study.systems == ["NA", "b"] and set(study.outputs["item_id"]) == {"007", "008"}


@pytest.mark.parametrize(
    ("header", "message"), [("item", "two columns named 'item'"), ("", "a column without a name")]
)
def test_what_is_no_table_is_refused(header, message, tmp_path):
    workbook(tmp_path / "r.xlsx", {"One": [["item", header], [1, 2]]})
    with pytest.raises(TableError, match=message):
        workbooks.read_workbook(tmp_path / "r.xlsx")
    (tmp_path / "r.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(TableError, match="not a valid Excel file"):
        workbooks.read_workbook(tmp_path / "r.xlsx")
