"""Released files by name, address and hash. They are fetched, never part of the project."""

from __future__ import annotations

from collections.abc import Iterator
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
_WEBNLG = ("WebNLG/challenge-2020", "328b4c252abd9ca36471f390f9fcbd2650798088")
_ALTTEST = ("nitaytech/AltTest", "18428b1f4f34ac61c4978bc180263b90111e7337")
_EMNLP17 = ("jeknov/EMNLP_17_submission", "ed7b6678135001519006365cb36855ccc17aa54e")
_UNIEVAL = ("maszhongming/UniEval", "d33e7b6cfebe97b2bafe435adbd818230d5a416a")
_HANNA = ("dig-team/hanna-benchmark-asg", "282f27536a5d05ad4ce14298abcd70c45668fed2")

_NONE = "none stated"
_DAILY = "none stated (DailyDialog: CC BY-NC-SA 4.0)"

# Data sets of many files, by folder of the cache: their places follow from their names.
_MANY = """
webnlg-2020
    e2c0699640a98f59c9ff197365c87632e58dae841f99a6b83a15817cbc642ab4 Amazon_AI_(Shanghai).json
    d0e2be42e1bfde6f72348e5153e307c69a8aa79a057836ef6b1605c987e2e608 Baseline-FORGE2017.json
    cf2edacfa5e15dea4ed84eca00f052496ac85468223b494b08bd3540e8f9f306 Baseline-FORGE2020.json
    602cb9fa7003c7113eb3715237af6abfb9a7b59a3509803e7ab232088573d3fd CycleGT.json
    ccf387a7ae33258c528c7a5de05bc790310ff9f1c5750ea090e82a60e5500ef6 DANGNT-SGU.json
    458ae374155e928017e836ac1ae80828e671044407775df060010ce375ca0e02 FBConvAI.json
    72d9b2bfb646575cc7afcab0772601442f4adb5041a99926429ed8b8befee954 Huawei_Noahs_Ark_Lab.json
    092d03a4bd1b5ef9e9666ff81081fa067e52320121d4e9ad48feafea0a1e2f29 NILC.json
    7164ab6c229d11ac508be0fe42eecb9f69077d0e80b30f74fdd87e75ba06c319 NUIG-DSI.json
    35dcf0c64be780d471a0b33ff2e90b38e4187eeb1873840f1f9224f6855b8428 ORANGE-NLG.json
    50d7019702342e6699f83fbbedff94ddbf0555d9624fad125b6af0920dd0d755 OSU_Neural_NLG.json
    77226884c33edc6f2e6cdd6ac8f586b96c1b1bf7bef5570b2dc93abbff691d8f RALI.json
    d3590098a0345bb9bf8a05b8bfff66f9f7b78958c673bbdb581930c1765382fc TGen.json
    303b840bf7d83f34a33fe8039f637cf11b90b6fc0f7aed2b80eec92fd9f0fee0 UPC-POE.json
    ba25ae3a890c038787eade05660283bafeaeeac3c27069ab0bcea2e6d94a866c WebNLG-2020-reference.json
    b6c20db83a950b3e01362ae6f27a7e8313d2433782ff748b9eca644db620e957 bt5.json
    061283e1ba5d44c7e59a328e7611abe9c171ecd44dee01ba1f9cd10f82248e24 cuni-ufal.json
webnlg-2020/texts
    17a79bd190d4c73bb9b51c83cbd7065e1033237ac41c69c2143b8b377053547a Amazon_AI_(Shanghai).en
    3804bb015411b34bab63a5d1e9fdba7b76bf190b1fb4e792d2d1f4aba0128dde Baseline-FORGE2017.en
    53e48be61aa749708ea61d4938674f7e1cbf8c0c459416bd41618687fca62d2b Baseline-FORGE2020.en
    a93b122a28fd820b2cc1d1a38084d804d469639aa929b5b41bd49bde76eba9ee CycleGT.en
    f01d715b35389142c453871a86008d389cd631bdb57fd54f2aa270f61a0f7cec DANGNT-SGU.en
    71b9f02743e7f918f2e9b9ad6569e5048105a73e98e60a46788eb3d4277af200 FBConvAI.en
    3936ee0d97b7889b54f82d4aaedd42cee04959519b39f7b0bf3cf505abcb6053 Huawei_Noahs_Ark_Lab.en
    514dc3afc74dd20220cc27f2165d473a2b2a6c86212098cc39d629cacd909609 NILC.en
    ddfe8e953e857bf93ac083e3f89198529dab4460b47d46dda5298882a97620f2 NUIG-DSI.en
    6a45e004b735589b364da42ee8198520b69a0f14d0c9c5fca3e1f2133b6e5dcc ORANGE-NLG.en
    9b918a3b09483e438209d1b941ccb9094f3867660b832a0da000edd6de90f944 OSU_Neural_NLG.en
    5d0809f4e6803cc07fed91b33da69fc4c8a0a7b025d7568c678f4a251b53d6d3 RALI.en
    564467d73f806c05e9b39b3e4e4774c3bf15d4a0963e2086dcd8ff9034bc08f1 TGen.en
    a1bae4408844772e77582bbcfe20349a5550029feed838d5436bf492ae6e8e32 UPC-POE.en
    760d72eb84ef25bc38162c74497b5938fc920783a3318692e2e4f755dafce254 bt5.en
    5471d385a8047ef5ab72930aaa6b2b4682431e37cdebf47809f99574e708f60e cuni-ufal.en
alttest/10k_prompts
    9380386323d5d82fd3be6b454497fa5fbcb59b5dfb061287fb3664e1f8a814b2 human_annotations.json
    31fba0fdb37d50159331b4fc38eb5fa1fb0c038188cbd122ea88c533afa22ab5 llm_annotations.json
alttest/cebab_aspects
    fe1e537aadd2c1c81dd79c2defd83e27676f4992bb19f7a015bf2a26b822bea8 human_annotations.json
    439f0bf0e56fc8d25cd2dabcb938c8cffade773d762a3bb658f77296106442e0 llm_annotations.json
alttest/cebab_stars
    c8005bb4beebc0f61e30f66ae3ae225bddb691c68645c453a23363004da13dd0 human_annotations.json
    63b80b13cddad15f4accbc865332b38276cd4bf978ac0fec0e70cd8c6578a658 llm_annotations.json
alttest/framing
    cc34bc9f5e2650ae18caa5863a3a44742465c19a2d07fe876bece8008bad9b14 human_annotations.json
    335adefcac200f620ff3495f13f6e06071bbe2093a364ff75024ee9da24c93ca llm_annotations.json
alttest/kilogram
    3054a6b14417d48081969c0fe3c41cfc9c49ff950d6676d16133b9f4e451ddbe human_annotations.json
    9e50453f1f57986a7afb4a6df5c090e476f2a2c97ece97bd51f25d854a3ba7fd llm_annotations.json
alttest/lesion
    a3bd4a7213d57d6ead4d103ad19fffac0962ab7b5023fa0626cd7f0ac94b1b07 human_annotations.json
    ac0f9d7e6483f1665a5e38a4c9c32e519dd228f1d1ae6a65c55ec222e474fb52 llm_annotations.json
alttest/lgbteen
    e5dfb6093a4ce6940b06c253b26486bee906329ffd9a23eb739bd7c3ac96b7f7 human_annotations.json
    13c741f50c38d86856240a518fbb2c3c36312b381021e38cf9c5f6cccca6f8da llm_annotations.json
alttest/mtbench
    b4435d1878cec02169b57050bf6b40585c9d3661a95f2be1a023dafb58b45f6d human_annotations.json
    6c77d271a09f3cff2dcb05dda859358434e3c38e6141316b94d6feaff843e995 llm_annotations.json
alttest/summeval
    2e641f502678ea8c7344ed137bca58a12525bfcf69bc068e580b236ce2b17519 human_annotations.json
    a6200543db890e4691eca3620ad6f1627fc7a22fee5a0139bc9805e388fb1d90 llm_annotations.json
alttest/wax
    d92dbfa23a4dcc828d2f40325bfaf3605acedb9bf7f82ef985d449f94a1bcedc human_annotations.json
    b5d5dfa2e58e17ab3c6f633f4554b46fb27d9bd6c8cf8abc6bb46814af6384af llm_annotations.json
emnlp17
    d655cce3e3ade250df4611a15f5bda1b1ccd7afb776b1931d6f2a3fe1b8092b2 emnlp_data_medians.csv
"""


def _placed(lines: str) -> Iterator[tuple[str, tuple[str, str], str, str, str]]:
    """Say where the files of `_MANY` lie in their repositories."""
    folder = ""
    for line in lines.strip().split("\n"):
        if not line.startswith(" "):
            folder = line
            continue
        sha256, file = line.split()
        dataset, _, rest = folder.partition("/")
        if dataset == "alttest":
            yield f"{folder}/{file}", _ALTTEST, f"data/{rest}/{file}", _NONE, sha256
        elif dataset == "emnlp17":
            yield f"{folder}/{file}", _EMNLP17, file, "MIT", sha256
        else:
            team, ending = file.rsplit(".", 1)
            judged = "evaluation/human-evaluation/results/en"
            there = "submissions/rdf2text/en" if rest == "texts" else judged
            path = f"{there}/{team}/primary.{ending}"
            yield f"{folder}/{file}", _WEBNLG, path, _NONE, sha256


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
        *_placed(_MANY),
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
