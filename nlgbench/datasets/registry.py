"""Released files by name, address and hash. They are fetched, never part of the project."""

from __future__ import annotations

from typing import NamedTuple

from nlgbench.names import did_you_mean

BASE = "https://raw.githubusercontent.com"


class ReleasedFile(NamedTuple):
    """One file that authors released."""

    name: str  # its place in the cache, <dataset>/<file>
    repository: str
    commit: str
    path: str
    license: str
    sha256: str

    @property
    def dataset(self) -> str:
        """The folder in the cache."""
        return self.name.split("/")[0]

    @property
    def address(self) -> str:
        """Address of the raw file at the pinned commit."""
        return f"{BASE}/{self.repository}/{self.commit}/{self.path}"


_HUSE = ("hughbzhang/HUSE", "0e7d6c16927357d4faf43456a82539dd73a56301")
_COMM = ("bnewm0609/comm-eval", "1c2267c781b8e9841c1a96f2f41f3efa05280187")
_JUDGES = ("Crista23/JudgeTheJudges", "9310938fc477e9dd2d1e8bc5693ff2611479eaf2")
_MULTIREF = ("prakharguptaz/multirefeval", "2a4b5440e21dba518dffd6d535dfb1450ab9c4a7")
_USR = ("SmartDataAnalytics/proxy_indicators", "5017317f0d03cdbc64a3a52c09fc0a6bf5c492b3")
_UNIEVAL = ("maszhongming/UniEval", "d33e7b6cfebe97b2bafe435adbd818230d5a416a")
_HANNA = ("dig-team/hanna-benchmark-asg", "282f27536a5d05ad4ce14298abcd70c45668fed2")

_NONE = "none stated"
_DAILY = "none stated (DailyDialog: CC BY-NC-SA 4.0)"

FILES: tuple[ReleasedFile, ...] = tuple(
    ReleasedFile(name, *repository, path, license, sha256)
    for name, repository, path, license, sha256 in [
        (
            *("huse/summarization_raw_outputs.csv", _HUSE),
            *("data/summarization_raw_outputs.csv", _NONE),
            "aa9acedb4d78511bec24d341a443e2a3f6da06d03367b2a327d2cbaa6d47581d",
        ),
        (
            *("huse/summary_clean.csv", _HUSE, "data/summary_clean.csv", _NONE),
            "ca70d032f23d0d7b798280127dda868cecb83b4afbf95b716615111b2d6113af",
        ),
        (
            *("comm-eval/clean_data.csv", _COMM, "data/csv/clean_data.csv", _NONE),
            "21362b8513807ac02198c50b0f2a3fb8ff0a76033e062cb3c9af1b08fc6f181c",
        ),
        (
            *("comm-eval/train_corpus_monroe.csv", _COMM),
            *("data/csv/train_corpus_monroe.csv", _NONE),
            "44d9ea18b5e4523d6306fec61f21916b49613433f647afb6e0f9ed26c55b20e5",
        ),
        (
            *("comm-eval/dev_corpus_monroe.csv", _COMM),
            *("data/csv/dev_corpus_monroe.csv", _NONE),
            "048a06252db3ed4a2cd32081a85fe0043dbc89bb28bb5c223cbdfac63bd97b06",
        ),
        (
            *("comm-eval/test_corpus_monroe.csv", _COMM),
            *("data/csv/test_corpus_monroe.csv", _NONE),
            "9ab6165d64c0be7e85369f381582930adfedfc8c1f9cdfa6e01027be4a9c97ab",
        ),
        (
            *("judge-the-judges/Batch_3205459_batch_results_8th.csv", _JUDGES),
            *("AMT/annotated_data/Batch_3205459_batch_results_8th.csv", _NONE),
            "a2d8a67d2b5548fc17df67c109a97504ffada5fc4f5292d56dc07c2e0d8fc2bd",
        ),
        (
            *("dailydialog-multiref/mturk_rating_processed_output.csv", _MULTIREF),
            *("multiref-dataset/mturk_rating_processed_output.csv", _DAILY),
            "55a7c5c01b22ebfed631b28eb0e658eaa9a300a05ef95c09a26853ba6eb45c37",
        ),
        (
            *("dailydialog-multiref/multireftest.json", _MULTIREF),
            *("multiref-dataset/multireftest.json", _DAILY),
            "4f487bda98be4f61bcacb2aa31e24cf01a840ebb8c1331caa1deb12c493878b6",
        ),
        (
            *("usr/usr_topical_chat.json", _USR, "data/usr_topical_chat.json", _NONE),
            "8e4e6961585f58edb573c0153766547442bde69577e8df6ba9e24a84dc9483e5",
        ),
        (
            *("usr/usr_percona_chat.json", _USR, "data/usr_percona_chat.json", _NONE),
            "7acf3ff80c02e791138bc9a0db440a36d07d700fe1457066adbf73b8f0c64a4b",
        ),
        (
            *("topical-chat/topical_chat.json", _UNIEVAL),
            *("reproduce/data/dialogue/topical_chat.json", "MIT"),
            "f6361daa6fe162f636d2071a60322a784acd770be0bf3a6920ac949d751b978a",
        ),
        (
            *("hanna/hanna_metric_scores_llm.csv", _HANNA, "hanna_metric_scores_llm.csv", "MIT"),
            "d0ce43f9b5cc12894f8b7bf3f7b4da06d19cdbea2c989dd3f173f2240dfee26d",
        ),
        (
            *("hanna/hanna_llm_stories.csv", _HANNA, "hanna_llm_stories.csv", "MIT"),
            "91f46039ed696be653374eccb38141ac6b8d8b5c675bf48a5032bc9317b50753",
        ),
    ]
)


def files(name: str | None = None) -> list[ReleasedFile]:
    """List released files."""
    found = [file for file in FILES if name in (None, file.dataset, file.name)]
    if not found:
        datasets = list(dict.fromkeys(file.dataset for file in FILES))
        known = datasets + [file.name for file in FILES]
        hint = did_you_mean(name, known)
        raise ValueError(
            f"no released data go by {name!r}.{hint} Data sets are {', '.join(datasets)}."
        )
    return found
