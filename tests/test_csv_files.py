import csv
from pathlib import Path

import pandas as pd
import pytest

from nlgbench.study import csv_files, schema


def logprobs(**cells):
    row = {"output_id": "o1", "model": "m", "logprob": -0.1 - 0.2, "n_tokens": 3}
    return pd.DataFrame([row | cells])


HEADER = "output_id,model,logprob,n_tokens\n"
BAD_FILES = [
    (b"", r"is empty: write at least the header line"),
    (b" \n\n", r"is empty"),
    (
        HEADER.encode() + b"d,caf\xe9,m,-1,2\n",
        r"not UTF-8: byte 0xe9 at offset 38, line 2\. Save it",
    ),
    (b"\xef\xbb\xbfa,b\n\xff", r"not UTF-8: byte 0xff at offset 7, line 2"),
    (HEADER.encode("utf-16"), r"not UTF-8: byte 0xff at offset 0, line 1"),
    (
        HEADER.encode() + b"o1,m,-1,2\no2,m",
        r"row 2 \(line 3\) has 2 fields and the header has 4",
    ),
    (
        HEADER.encode() + b"o1,m,-1,2,9\n",
        r"row 1 \(line 2\) has 5 fields.*comma is not in quotes",
    ),
    (HEADER.encode() + b'o1,"m\n', r"row 1 \(line 2\): unexpected end of data\. The file is cut"),
    (
        HEADER.encode() + b'"o"1,m,-1,2\n',
        r"row 1 \(line 2\): .*a quote inside a text is not doub",
    ),
    (HEADER.encode() + b'"o\n1",m,-1,2\n\no2,m,3,2\n', r"row 2 \(line 5\), .*'o2'.*: '3'"),
    (
        HEADER.encode() + b"o1,m,-1,2\r\no1,m,-1,2\r\n",
        r"the same key .*row 1 \(line 2\), .*; row 2 \(line 3\)",
    ),
    (HEADER.encode()[:-10] + b"\no1,m,-1\n", r"logprobs has no column 'n_tokens'"),
]


@pytest.mark.parametrize(("content", "message"), BAD_FILES)
def test_a_bad_file_is_named_with_its_line(content, message, tmp_path):
    place = tmp_path / "logprobs.csv"
    place.write_bytes(content)
    with pytest.raises(schema.TableError, match=message) as caught:
        schema.read(place, "logprobs")
    assert str(caught.value).startswith(str(place))
    assert place.read_bytes() == content


def test_a_missing_file_is_answered_with_the_nearest(tmp_path):
    (tmp_path / "judgments.csv").touch()
    with pytest.raises(FileNotFoundError, match=r"judgements\.csv\. Did you mean 'judgments\.csv'"):
        schema.read(tmp_path / "judgements.csv", "judgments")
    with pytest.raises(FileNotFoundError, match=r"no file .*a\.csv\.$"):
        schema.read(tmp_path / "no" / "folder" / "a.csv", "judgments")


@pytest.mark.parametrize("content", ["\ufeff{}001,r,NA\n", "{}\n\n001,r,NA", "{}001,r,NA\r\n"])
def test_files_of_other_programs_are_read(content, tmp_path):
    place = tmp_path / "a.csv"
    place.write_bytes(content.format("item_id,reference_id,text\n").encode())
    assert schema.read(place, "references").to_numpy().tolist() == [["001", "r", "NA"]]


def test_rows_may_lack_only_the_columns_named(tmp_path):
    place = tmp_path / "a.csv"
    place.write_text("a,b,c\n1,2\n")
    assert csv_files.parse(place, may_lack=["c"])[0].to_numpy().tolist() == [["1", "2", ""]]
    with pytest.raises(schema.TableError, match="has 2 fields and the header has 3"):
        csv_files.parse(place, may_lack=["b"])


def test_a_long_text_is_read_and_the_limit_of_others_stays(tmp_path):
    before = csv.field_size_limit()
    frame = pd.DataFrame([("i", "r", "x" * 300_000)], columns=schema.columns("references"))
    schema.write(frame, "references", tmp_path / "a.csv")
    assert schema.read(tmp_path / "a.csv", "references")["text"][0] == "x" * 300_000
    assert csv.field_size_limit() == before


def test_a_failed_write_leaves_the_former_file(tmp_path, monkeypatch):
    place = tmp_path / "a.csv"
    schema.write(logprobs(), "logprobs", place)
    former = place.read_bytes()

    def fill_the_disk(frame, aside, **others):
        Path(aside).write_text("half a ta")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pd.DataFrame, "to_csv", fill_the_disk)
        with pytest.raises(OSError, match="No space left"):
            schema.write(logprobs(n_tokens=9), "logprobs", place)
    assert place.read_bytes() == former
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda aside, place: fill_the_disk(None, aside))
        with pytest.raises(OSError, match="No space left"):
            schema.write(logprobs(n_tokens=9), "logprobs", place)
    assert place.read_bytes() == former
    with pytest.raises(schema.TableError, match=r"column .model. must not hold half a surrogate"):
        broken = pd.Series(["\ud800"], dtype=object)  # beside pyarrow, texts cannot hold it
        schema.write(logprobs().assign(model=broken), "logprobs", place)
    assert place.read_bytes() == former
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_in_place_of_the_folder_is_an_error_that_names_it(tmp_path):
    (tmp_path / "out").write_text("not a folder")
    with pytest.raises(OSError, match="out"):
        schema.write(logprobs(), "logprobs", tmp_path / "out" / "a.csv")
    assert (tmp_path / "out").read_text() == "not a folder"


def test_files_are_plain(tmp_path):
    schema.write(logprobs(), "logprobs", tmp_path / "a.csv")
    lines = [HEADER, "o1,m,-0.30000000000000004,3\n"]
    assert (tmp_path / "a.csv").read_bytes().decode() == "".join(lines)
