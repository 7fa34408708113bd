"""Overlap and Self-BLEU of more texts than one process holds: in shards, and exactly.

A shard is the folder of a study; all of them together are one. Most overlap is of one output and
its references alone. Self-BLEU and CIDEr look at every text, in rounds, one for each length of
n-grams: `_ask` puts the different n-grams of a shard, with two numbers, into partitions; `_merge`
reads a partition of all shards, puts the two numbers together, and answers each. An n-gram is the
pair of its first n - 1 words, numbered in the round before, and its last word, so that whole
numbers are compared, never hashes; these say only which partition something goes to. What one task
holds is a shard or a partition.

- Self-BLEU needs min(count, largest count in any other text), which is min(count, second largest
  count), where the largest stands twice if two texts have it. So the two numbers are the two
  largest counts. An n-gram of one text alone matches nothing, nor does any longer one around it:
  these are left out of the next round.
- CIDEr needs the number of documents; and the place where an n-gram first occurs, as sums are
  rounded by the order of their terms, which is that one.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench import files
from nlgbench.evaluators import diversity, overlap
from nlgbench.evaluators.references import reference_lists, usable
from nlgbench.evaluators.score import OVERLAP
from nlgbench.evaluators.stored import made_by
from nlgbench.hashing import file_hash
from nlgbench.names import did_you_mean
from nlgbench.study import Study, csv_files, read_study, schema
from nlgbench.study.checks import checked
from nlgbench.text import count_pairs, count_tokens, tokenize

if TYPE_CHECKING:
    from distributed import Client

Ints = NDArray[np.int64]

NAMES = (*OVERLAP, *(f"minus_self_bleu_{n}" for n in range(1, 10)))

#: Bytes of tables for each partition: at the very most 8 million n-grams, mostly under 1 million.
_PARTITION = 2**24

_ABOUT = "shards.json"
_WORK = ".work"


@checked
def score_shards(
    shards: Sequence[str | os.PathLike],
    evaluators: Sequence[str],
    folder: str | os.PathLike,
    *,
    client: Client | None = None,
) -> list[Path]:
    """Score the outputs of a study that lies in shards, as `score` would all of them together.

    Parameters
    ----------
    shards : sequence of paths
        Folders as `read_study` reads and `Study.write` writes them: ``outputs.csv``, and, for
        overlap, ``references.csv`` with the references of the items that occur there. Together they
        are one study, in this order: systems may be spread over shards, an output_id stands once.
    evaluators : sequence of str
        Names of `score`: ``bleu_1`` to ``bleu_4`` (``@coco``), ``bleu_2_to_4``, ``rouge_1``,
        ``rouge_2``, ``rouge_l``, ``chrf``, ``cider``, ``cider_d``, and ``minus_self_bleu_4`` (1 to
        9), whose mean over a system is minus its ``self_bleu_4``.
    folder : path
        Where scores are written, a file for each shard. A second call makes those that are missing;
        of other shards, evaluators, code or packages it is refused.
    client : distributed.Client, optional
        Whose workers do it, with the same code and packages, and folders that all of them see at
        the same place. Default: this process, one shard after another.

    Returns
    -------
    list of Path
        Of each shard a ``scores`` table, ``folder/<the shard's name>.csv``, written aside and
        renamed. Scores and signatures are those of `score`, to the bit.

    Raises
    ------
    TableError
        When a table breaks a rule, or two shards have the same output_id.
    ValueError
        For an evaluator that is not scored in shards, or shards of the same name.
    FileExistsError
        When the folder holds something else.
    OSError
        When another process writes to the folder, or it cannot be written.

    Notes
    -----
    Memory is bounded by the largest shard and by a partition, whatever the number of texts: cut
    shards of 50,000 to 200,000 texts. `docs/scaling.md` has what was measured, the disk that
    ``folder/.work`` takes meanwhile (it is removed at the end and after a failure), and what a
    cluster would do.

    Examples
    --------
    >>> import tempfile
    >>> outputs = pd.DataFrame({"output_id": ["1", "2", "3"], "item_id": ["1", "2", "3"]})
    >>> outputs = outputs.assign(system="a", text=["a b", "c", "a b c"])
    >>> with tempfile.TemporaryDirectory() as home:
    ...     shards = [Path(home, "s1"), Path(home, "s2")]
    ...     Study(outputs[:2]).write(shards[0])
    ...     Study(outputs[2:]).write(shards[1])
    ...     made = score_shards(shards, ["minus_self_bleu_2"], Path(home, "scores"))
    ...     pd.concat(map(pd.read_csv, made))["score"].round(3).tolist()
    [-1.0, -0.116, -0.707]
    """
    places = _places(shards)
    names = _names(evaluators)
    home = Path(folder).absolute()
    made = [home / f"{place.name}.csv" for place in places]
    kinds = _kinds(names)
    code = made_by()
    with _writing(home):
        hashes = _each(client, _hashes, places, repeat(code))
        _about(home, {"shards": hashes, "evaluators": names, **code})
        if all(path.is_file() for path in made):
            return made
        _remove(home / _WORK)
        work = home / _WORK
        work.mkdir()
        try:
            size = sum(one.stat().st_size for place in places for one in place.glob("*.csv"))
            job = _Job(work, len(places), -(-size // _PARTITION), code)
            _score(job, places, made, names, kinds, client)
        finally:
            _remove(work)
    return made


class _Job(NamedTuple):
    """What every task is told."""

    work: Path
    n_shards: int
    n_partitions: int
    made_by: dict[str, object]


class _Summary(NamedTuple):
    """What the driver must know of a shard."""

    systems: list[str]
    lengths: list[Counter[int]]  # of each system
    documents: list[int]  # of each system
    has_text: bool


def _score(
    job: _Job,
    places: list[Path],
    made: list[Path],
    names: list[str],
    kinds: dict[str, int],
    client: Client | None,
) -> None:
    every, shards = range(job.n_partitions), range(job.n_shards)
    for part in ("ids", *kinds):
        (job.work / part).mkdir()
    found: list[_Summary] = _each(
        client, _read, repeat(job), shards, places, repeat(names), repeat(list(kinds))
    )
    if not any(one.has_text for one in found):
        raise ValueError(f"{names[0]} needs texts, and the outputs of these shards have none.")
    for repeated in _each(client, _repeated, repeat(job), every):
        if repeated:
            _refuse_repeated(places, *repeated)
    _remove(job.work / "ids")
    systems = sorted({name for one in found for name in one.systems})
    number = {name: at for at, name in enumerate(systems)}
    numbers = [np.array([number[name] for name in one.systems]) for one in found]
    for kind, max_n in kinds.items():
        n_words = max(_each(client, _name, repeat(job), every, repeat(kind)))
        n_grams = len(systems)
        for n in range(1, max_n + 1):
            if n_grams * n_words >= 2**63:
                raise OverflowError(
                    f"there are {n_grams:,} different {n - 1}-grams and {n_words:,} words: their "
                    "pairs cannot be numbered in 64 bits. Score fewer texts together."
                )
            (job.work / kind / f"{n}").mkdir()
            asked = repeat(kind), repeat(n), repeat(n_words)
            _each(client, _ask, repeat(job), shards, numbers, *asked)
            n_grams = max(_each(client, _merge, repeat(job), every, repeat(kind), repeat(n)))
            for path in (job.work / kind / f"{n}").glob("asked-*"):
                path.unlink()
    lengths = {name: Counter[int]() for name in systems}
    documents = Counter[str]()
    for one in found:
        documents.update(dict(zip(one.systems, one.documents, strict=True)))
        for name, own in zip(one.systems, one.lengths, strict=True):
            lengths[name].update(own)
    # Those that stand were made by a call that was killed, of the same shards.
    left = [at for at in shards if not made[at].is_file()]
    told = [({name: lengths[name] for name in found[at].systems}, documents) for at in left]
    _each(
        client,
        _finish,
        repeat(job),
        left,
        [places[at] for at in left],
        [made[at] for at in left],
        repeat(names),
        told,
    )


def _each(client: Client | None, function: Callable[..., Any], *arguments: Iterable) -> list:
    """Call a function for each shard or partition, here or on the workers."""
    calls = list(zip(*arguments, strict=False))
    if client is None:
        return [function(*one) for one in calls]
    columns = map(list, zip(*calls, strict=True))
    futures = client.map(_alone, [function] * len(calls), *columns, pure=False)
    try:
        return list(client.gather(futures))
    finally:
        client.cancel(futures)


def _alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; an error comes back without those it followed, some of which cannot."""
    try:
        return function(*arguments)
    except Exception as error:
        error.__context__ = None
        raise


def _same_code(expected: dict[str, object]) -> None:
    if made_by() != expected:
        raise RuntimeError(
            f"a worker (process {os.getpid()} on {platform.node()}) has other code or packages "
            "than the caller, and scores could differ: install the same there, and start it anew."
        )


# What is asked for.


def _places(shards: Sequence[str | os.PathLike]) -> list[Path]:
    places = [Path(one).absolute() for one in shards]
    repeated = [name for name, n in Counter(place.name for place in places).items() if n > 1]
    if repeated:
        raise ValueError(
            f"shards: two folders are called {repeated[0]!r}, and scores are written under that "
            "name: rename one, or name each once."
        )
    return places


def _names(evaluators: Sequence[str]) -> list[str]:
    if len({*evaluators}) < len(evaluators):
        raise ValueError(f"evaluators must be a list, each named once. Got {evaluators!r}.")
    for name in evaluators:
        if name not in NAMES:
            raise ValueError(
                f"evaluators: {name!r} is not scored in shards.{did_you_mean(name, NAMES)} There "
                f"are: {', '.join(NAMES)}."
            )
    return list(evaluators)


def _kinds(names: list[str]) -> dict[str, int]:
    """Say which rounds are needed, up to which order."""
    bleu = [int(name[-1]) for name in names if name.startswith("minus_self_bleu")]
    kinds = {"self_bleu": max(bleu)} if bleu else {}
    return kinds | ({"cider": 4} if {"cider", "cider_d"} & {*names} else {})


@contextmanager
def _writing(home: Path) -> Iterator[None]:
    """Hold the folder for one process at a time."""
    from filelock import FileLock, Timeout

    home.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(home / ".lock", timeout=0):
            yield
    except Timeout:
        raise OSError(
            f"another process scores into {home}: wait for it, or choose another folder."
        ) from None


def _about(home: Path, asked: dict[str, Any]) -> None:
    """Refuse a folder of other scores; note what these are made of."""
    path = home / _ABOUT
    way = "choose another folder, or delete this one."
    if not path.is_file():
        there = sorted(one.name for one in home.iterdir() if not one.name.startswith("."))
        if there:
            raise FileExistsError(f"{home} holds {there[0]!r}, and no scores of shards: {way}")
        files.replace_bytes(path, json.dumps(asked, indent=2).encode())
        return
    former = json.loads(path.read_text(encoding="utf-8"))
    different = [part for part in asked if former.get(part) != asked[part]]
    if different:
        said = {
            "evaluators": " ".join(former.get("evaluators", [])),
            "shards": _changed(former.get("shards", []), asked["shards"]),
        }
        part = different[0]
        more = f" ({said[part]})" if part in said else ""
        raise FileExistsError(f"{home} holds scores made from other {part}{more}: {way}")


def _changed(former: list[dict[str, str]], asked: list[dict[str, str]]) -> str:
    """Name a shard that is not as it was."""
    one, other = ({shard["name"]: shard for shard in shards} for shards in (former, asked))
    for name in sorted({*one, *other}):
        if name not in one or name not in other:
            return f"{name!r} was {'not one' if name in other else 'one, too'}"
        if one[name] != other[name]:
            return f"{name!r} has changed since"
    return "in another order"


def _hashes(place: Path, code: dict[str, object]) -> dict[str, str]:
    """Hash what is read of a shard."""
    _same_code(code)
    if not (place / "outputs.csv").is_file():
        raise FileNotFoundError(
            f"{platform.node()} sees no {place / 'outputs.csv'}: a shard is the folder of a "
            "study, at a place that all workers see."
        )
    paths = [place / "outputs.csv", place / "references.csv", place / "study.json"]
    return {"name": place.name} | {path.name: file_hash(path) for path in paths if path.is_file()}


def _refuse_repeated(places: list[Path], name: str, first: int, second: int) -> None:
    said = []
    for at in (first, second):
        frame, lines = csv_files.parse(places[at] / "outputs.csv", may_lack=["text", "context"])
        row = frame["output_id"].tolist().index(name)
        said.append(f"{places[at] / 'outputs.csv'}, row {row + 1} (line {lines[row]})")
    raise schema.TableError(
        f"{said[1]}, column 'output_id': {name!r} stands in {said[0]}, too. Shards are parts of "
        "one study, in which each output_id may stand once: drop one, or give it another id."
    )


# Files: a header that says where each part begins, then the parts. Nothing of them is pickled.


def _put(path: Path, parts: Sequence[bytes]) -> None:
    begins = np.cumsum([8 * (len(parts) + 1), *map(len, parts)], dtype=np.int64)
    files.replace_bytes(path, b"".join([begins.tobytes(), *parts]))


def _get(path: Path, at: int) -> bytes:
    with path.open("rb") as stream:
        stream.seek(8 * at)
        begin, end = np.frombuffer(stream.read(16), dtype=np.int64)
        stream.seek(begin)
        return stream.read(end - begin)


def _ints(content: bytes) -> Ints:
    return np.frombuffer(content, dtype=np.int64)


def _put_strings(path: Path, strings: Iterable[str], n_partitions: int) -> Ints:
    """Write different strings by partitions; give the place of each."""
    lines = [one.encode("unicode_escape") for one in strings]  # no line has an end inside
    partition = np.array([zlib.crc32(line) % n_partitions for line in lines], dtype=np.int64)
    order, ends = _by_partition(partition, n_partitions)
    lines = [lines[at] for at in order]
    starts = [0, *ends]
    _put(path, [b"\n".join(lines[a:b]) for a, b in zip(starts, ends, strict=False)])
    return _ranks(order)


def _get_lines(path: Path, partition: int) -> list[bytes]:
    content = _get(path, partition)
    return content.split(b"\n") if content else []


def _by_partition(partition: Ints, n_partitions: int) -> tuple[Ints, list[int]]:
    ends = np.cumsum(np.bincount(partition, minlength=n_partitions))
    return np.argsort(partition, kind="stable"), ends.tolist()


def _ranks(order: Ints) -> Ints:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks


# The rounds.


def _read(job: _Job, at: int, place: Path, names: list[str], kinds: list[str]) -> _Summary:
    """Read a shard; number its words within it, and ask for their numbers within all."""
    _same_code(job.made_by)
    study = _open(place, names)
    outputs = study.outputs
    _put_strings(job.work / "ids" / f"{at}", outputs["output_id"], job.n_partitions)
    code, systems = pd.factorize(outputs["system"])
    documents = np.zeros(len(systems), dtype=np.int64)
    lengths = count_tokens(outputs["text"])
    for kind in kinds:
        texts: list[str] = outputs["text"].tolist()
        owner: Ints = np.arange(len(outputs))
        n_own = len(texts)
        if kind == "cider":
            texts, owner, n_own = _documents(study)
            documents = np.bincount(code[owner[:n_own]], minlength=len(systems))
        cut = [tokenize(text) for text in texts]
        sizes = np.array([len(words) for words in cut], dtype=np.int64)
        word, words = pd.factorize(np.array([*chain.from_iterable(cut)], dtype=object))
        word = _put_strings(job.work / kind / f"words-{at}", words, job.n_partitions)[word]
        own = [word, np.repeat(np.arange(len(texts)), sizes), owner, code[owner], [n_own]]
        _put(job.work / kind / f"texts-{at}", [np.asarray(one, np.int64).tobytes() for one in own])
    per_system = [Counter(lengths[code == one].tolist()) for one in range(len(systems))]
    has_text = bool((outputs["text"] != "").any())
    return _Summary([str(one) for one in systems], per_system, documents.tolist(), has_text)


def _open(place: Path, names: list[str]) -> Study:
    study = read_study(place)
    one = next((name for name in names if name in OVERLAP), None)
    if one is not None and study.references is None:
        raise FileNotFoundError(
            f"{place} has no references.csv, which {one} needs: the references (item_id, "
            "reference_id, text) of the items in its outputs.csv."
        )
    return study


def _documents(study: Study) -> tuple[list[str], Ints, int]:
    """List the outputs that have references, then these; which output each is of; how many are."""
    assert study.references is not None
    found = usable(reference_lists(study.outputs, study.references))
    sizes = np.array([len(texts) for texts in found], dtype=np.int64)
    own = np.flatnonzero(sizes)
    texts = [*study.outputs["text"].iloc[own], *chain.from_iterable(found)]
    return texts, np.concatenate([own, np.repeat(np.arange(len(found)), sizes)]), len(own)


def _repeated(job: _Job, partition: int) -> tuple[str, int, int] | None:
    """Find an output_id that two shards have."""
    seen: dict[bytes, int] = {}
    for at in range(job.n_shards):
        for line in _get_lines(job.work / "ids" / f"{at}", partition):
            if seen.setdefault(line, at) != at:
                return line.decode("unicode_escape"), seen[line], at
    return None


def _name(job: _Job, partition: int, kind: str) -> int:
    """Give the words of a partition numbers; return one that is above all of them."""
    _same_code(job.made_by)
    numbers: dict[bytes, int] = {}
    answers = []
    for at in range(job.n_shards):
        lines = _get_lines(job.work / kind / f"words-{at}", partition)
        own = [numbers.setdefault(line, len(numbers)) for line in lines]
        answers.append((np.array(own, dtype=np.int64) * job.n_partitions + partition).tobytes())
    _put(job.work / kind / f"named-{partition}", answers)
    return (len(numbers) + 1) * job.n_partitions


def _texts(job: _Job, kind: str, at: int) -> list[Ints]:
    path = job.work / kind / f"texts-{at}"
    return [_ints(_get(path, part)) for part in range(5)]


def _answers(job: _Job, kind: str, at: int, name: str) -> Ints:
    paths = (job.work / kind / f"{name}-{one}" for one in range(job.n_partitions))
    return _ints(b"".join(_get(path, at) for path in paths))


def _answered(job: _Job, kind: str, at: int, n: int) -> tuple[Ints, Ints, Ints]:
    """Read where a shard's n-grams begin, which each is, and what is said of them."""
    path = job.work / kind / f"{n}" / f"grams-{at}"
    said = _answers(job, kind, at, f"{n}/said").reshape(-1, 3)
    return _ints(_get(path, 0)), _ints(_get(path, 1)), said


def _ask(job: _Job, at: int, numbers: Ints, kind: str, n: int, n_words: int) -> None:
    """Put a shard's different n-grams into partitions, each with two numbers."""
    _same_code(job.made_by)
    word, text, owner, system, (n_own,) = _texts(job, kind, at)
    word = _answers(job, kind, at, "named")[word]
    # The number of the n-gram of one word less that begins at each word; for none its system.
    if n == 1:
        shorter = numbers[system][text]
        begin = np.arange(len(word))
    else:
        former, gram, said = _answered(job, kind, at, n - 1)
        shorter = np.full(len(word), -1)
        shorter[former] = said[gram, 0]
        begin = np.flatnonzero((shorter[:-1] >= 0) & (shorter[1:] >= 0))
        begin = begin[begin + n <= len(word)]
        begin = begin[text[begin] == text[begin + n - 1]]
    gram, key = pd.factorize(shorter[begin] * n_words + word[begin + n - 1])
    mixed = key.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    partition = ((mixed >> np.uint64(32)) % np.uint64(job.n_partitions)).astype(np.int64)
    order, ends = _by_partition(partition, job.n_partitions)
    gram = _ranks(order)[gram]
    if kind == "self_bleu":
        pairs = count_pairs(gram, text[begin], len(owner))
        first = np.flatnonzero(np.diff(pairs["ngram"], prepend=-1))
        numbers_of = _two_largest(pairs["count"].to_numpy(), first)
    else:
        numbers_of = _documents_and_first(begin, gram, text, owner, n_own, at, len(key))
    rows = np.column_stack([key[order], *numbers_of])
    starts = [0, *ends]
    parts = [rows[a:b].tobytes() for a, b in zip(starts, ends, strict=False)]
    _put(job.work / kind / f"{n}" / f"grams-{at}", [begin.tobytes(), gram.tobytes()])
    _put(job.work / kind / f"{n}" / f"asked-{at}", parts)


def _two_largest(numbers: Ints, first: Ints) -> tuple[Ints, Ints]:
    """Give the two largest numbers of each run, which are equal where two are the largest."""
    if not len(first):
        return numbers, numbers
    largest = np.maximum.reduceat(numbers, first)
    is_largest = numbers == np.repeat(largest, np.diff(first, append=len(numbers)))
    below = np.maximum.reduceat(np.where(is_largest, 0, numbers), first)
    alone = np.add.reduceat(is_largest, first, dtype=np.int64) == 1
    return largest, np.where(alone, below, largest)


def _documents_and_first(
    begin: Ints, gram: Ints, text: Ints, owner: Ints, n_own: int, at: int, n_grams: int
) -> tuple[Ints, Ints]:
    """Count the documents of each n-gram, and tell where it first stands among all shards."""
    of_reference = text[begin] >= n_own
    pairs = count_pairs(
        gram[of_reference], owner[text[begin[of_reference]]], int(owner.max(initial=0)) + 1
    )
    documents = np.bincount(pairs["ngram"], minlength=n_grams)
    # All outputs come first, then all references; of those that are assigned the last one stays.
    place = begin + (at << 40) + (of_reference.astype(np.int64) << 62)
    first = np.empty(n_grams, dtype=np.int64)
    first[gram[::-1]] = place[::-1]
    return documents, first


def _merge(job: _Job, partition: int, kind: str, n: int) -> int:
    """Put together what the shards say of a partition's n-grams; return a number above theirs."""
    _same_code(job.made_by)
    home = job.work / kind / f"{n}"
    asked = [_ints(_get(home / f"asked-{at}", partition)) for at in range(job.n_shards)]
    ends = np.cumsum([len(one) // 3 for one in asked])
    rows = np.concatenate(asked).reshape(-1, 3)
    order = np.argsort(rows[:, 0], kind="stable")
    begins = np.diff(rows[order, 0], prepend=-1) != 0
    first = np.flatnonzero(begins)
    if kind == "self_bleu":
        one, two = _two_largest(rows[order, 1:].ravel(), 2 * first)
    elif len(first):
        one = np.add.reduceat(rows[order, 1], first)
        two = np.minimum.reduceat(rows[order, 2], first)
    else:
        one = two = first
    number = np.arange(len(first)) * job.n_partitions + partition
    if kind == "self_bleu":
        number[two == 0] = -1
    said = np.empty_like(rows)
    said[order] = np.column_stack([number, one, two])[np.cumsum(begins) - 1]
    starts = [0, *ends.tolist()]
    parts = [said[a:b].tobytes() for a, b in zip(starts, ends.tolist(), strict=False)]
    _put(home / f"said-{partition}", parts)
    return (len(first) + 1) * job.n_partitions


# What comes of it.


def _finish(
    job: _Job,
    at: int,
    place: Path,
    path: Path,
    names: list[str],
    told: tuple[dict[str, Counter[int]], Counter[str]],
) -> None:
    """Write the scores of a shard."""
    _same_code(job.made_by)
    study = _open(place, names)
    outputs = study.outputs
    lengths, documents = told
    alone = [name for name in names if name in OVERLAP and not name.startswith("cider")]
    frames: dict[str, pd.DataFrame] = {}
    if alone:
        assert study.references is not None
        scored = overlap.score_overlap(study, alone, references=study.references, options={})
        frames = {name: scored[scored["evaluator"] == name] for name in alone}
    max_n = _kinds(names).get("self_bleu", 0)
    matches = _matches(job, at, len(outputs), max_n) if max_n else np.empty((0, 0))
    for name in names:
        if name in frames:
            continue
        if name.startswith("cider"):
            score = _cider(job, at, outputs["system"], documents, name)
            how: Any = overlap.signature(name, lower=False, group="system")
        else:
            score = -_self_bleu(matches[: int(name[-1])], outputs, lengths)
            said = {one: diversity.signature(name, n.total()) for one, n in lengths.items()}
            how = outputs["system"].map(said)
        frames[name] = outputs[["output_id"]].assign(evaluator=name, score=score, signature=how)
    schema.write(pd.concat([frames[name] for name in names]), "scores", path)


def _matches(job: _Job, at: int, n_texts: int, max_n: int) -> diversity.Floats:
    """Sum min(count, largest count in any other text) over each text's n-grams."""
    text = _texts(job, "self_bleu", at)[1]
    matches = np.zeros((max_n, n_texts))
    for n, matched in enumerate(matches, start=1):
        begin, gram, said = _answered(job, "self_bleu", at, n)
        pairs = count_pairs(gram, text[begin], n_texts)
        clipped = np.minimum(pairs["count"], said[pairs["ngram"], 2])
        matched += np.bincount(pairs["text"], weights=clipped, minlength=n_texts)
    return matches


def _self_bleu(
    matches: diversity.Floats, outputs: pd.DataFrame, lengths: dict[str, Counter[int]]
) -> diversity.Floats:
    n_tokens = count_tokens(outputs["text"]).astype(np.float64)
    nearest = np.empty(len(outputs))
    for system, rows in outputs.groupby("system").indices.items():
        length, n_with = np.array(sorted(lengths[str(system)].items())).T
        other = diversity.nearest_other(length.astype(np.float64), n_with[None])[0]
        nearest[rows] = other[np.searchsorted(length, n_tokens[rows])]
    bleu = diversity.smoothed_bleu(matches, n_tokens, nearest)
    return np.where(np.isfinite(nearest), bleu, np.nan)


def _cider(
    job: _Job, at: int, systems: pd.Series, documents: Counter[str], variant: str
) -> diversity.Floats:
    """Put CIDEr together; n-grams stand in the order in which they first occur in all shards."""
    from scipy.sparse import csr_array

    _, text, owner, _, (n_own,) = _texts(job, "cider", at)
    score = np.full(len(systems), np.nan)
    if not n_own:
        return score
    n_documents = systems.map(documents).to_numpy()
    rows: list[Ints] = []
    columns: list[Ints] = []
    idf: list[diversity.Floats] = []
    orders: list[Ints] = []
    for n in range(1, 5):
        begin, gram, said = _answered(job, "cider", at, n)
        rank = _ranks(np.argsort(said[:, 2]))
        weight = np.empty(len(said))
        of_text = n_documents[owner[text[begin]]]
        weight[rank[gram]] = np.log(of_text) - np.log(np.maximum(1, said[gram, 1]))
        rows.append(text[begin])
        columns.append(rank[gram] + sum(map(len, idf)))
        idf.append(weight)
        orders.append(np.full(len(said), n))
    cells = np.concatenate(rows), np.concatenate(columns)
    order = np.concatenate(orders)
    counts = csr_array((np.ones(len(cells[0])), cells), shape=(len(owner), len(order)))
    own = owner[:n_own]
    n_references = np.bincount(owner[n_own:], minlength=len(systems))[own]
    score[own] = overlap.cider_of_counts(counts, order, np.concatenate(idf), n_references, variant)
    score[n_documents < 2] = np.nan
    return score


def _remove(folder: Path) -> None:
    """Remove a folder though a task may still write to it: what it writes then has no place."""
    aside = folder.with_name(f"{folder.name}.trash")
    shutil.rmtree(aside, ignore_errors=True)
    if folder.exists():
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
