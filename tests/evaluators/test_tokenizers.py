"""Texts without blanks between words are scored with sacrebleu's tokenizers, or warned of."""

import pandas as pd
import pytest
import sacrebleu

import nlgbench as nb
from nlgbench.evaluators import names
from nlgbench.evaluators.tokenizers import TOKENIZERS, tokenized
from nlgbench.study import summary
from nlgbench.text import tokenizer_for

#: Language -> texts of two systems and a reference for each of two items, and the tokenizer needed.
TEXTS = {
    "Chinese": (["小猫在桌子下面睡觉", "狗跑了", "老师给我们讲故事", "老师走了"], "zh"),
    "Chinese and digits": (["会议在2024年3月开始了", "会议开始", "价格涨了5%左右", "价格"], "zh"),
    "Japanese": (["猫が机の下で寝ています", "犬が走った", "先生が話をしました", "先生は"], "char"),
    "Thai": (["แมวนอนอยู่ใต้โต๊ะ", "หมาวิ่งไปแล้ว", "ครูเล่านิทานให้ฟัง", "ครูกลับบ้าน"], "char"),
    "Burmese": (["ကြောင်သည်စားပွဲအောက်တွင်", "ခွေးပြေးသည်", "ဆရာကပုံပြင်ပြောသည်", "ဆရာပြန်သွားသည်"], "char"),
    "genes": (["ACGT" * 10, "ACCT" * 10, "GGTA" * 9, "GGTT" * 9], "char"),
    "Chinese with blanks": (["小猫 在 桌子 下面", "狗 跑 了", "老师 讲 故事", "老师 走 了"], ""),
    "Thai with blanks": (["แมว นอน ใต้ โต๊ะ", "หมา วิ่ง ไป แล้ว", "ครู เล่า นิทาน", "ครู กลับ บ้าน"], ""),
    "Korean": (
        ["고양이가 책상 아래에서 잔다", "개가 달렸다", "선생님이 이야기를 했다", "선생님"],
        "",
    ),
    "German": (["Donaudampfschifffahrt ist schön", "Er fährt", "Wir lesen Bücher", "Ja"], ""),
    "labels": (["contradiction", "neutral", "entailment", "neutral"], ""),
}


def study_of(texts):
    outputs = pd.DataFrame({"output_id": [*"1234"], "item_id": [*"aabb"], "system": [*"xyxy"]})
    references = pd.DataFrame({"item_id": [*"ab"], "reference_id": "r", "text": texts[::2]})
    references["text"] = references["text"].str[:-1]
    return nb.Study(outputs.assign(text=texts), references=references)


@pytest.mark.parametrize("language", TEXTS)
def test_texts_without_blanks_are_warned_of(language, recwarn):
    texts, needed = TEXTS[language]
    study = study_of(texts)
    assert tokenizer_for(texts) == needed
    nb.score(study, ["bleu_4", "self_bleu_2", "chrf"])
    assert [f"append @tokenize:{needed}" in str(one.message) for one in recwarn] == [True] * bool(
        needed
    )
    assert any("few blanks" in one for one in summary.doubts(study)) == bool(needed)
    nb.score(study, ["bleu_4@tokenize:char", "chrf"])
    assert len(recwarn) == bool(needed)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("language", ["Chinese and digits", "Thai", "German"])
@pytest.mark.filterwarnings("ignore:the texts of study have few blanks")
def test_scores_are_those_of_sacrebleu_and_of_texts_tokenized_before(tokenizer, language):
    study = study_of(TEXTS[language][0])
    metrics = ["bleu_2", "bleu_4", "rouge_1", "rouge_l", "minus_self_bleu_2"]
    called = [f"{one}@tokenize:{tokenizer}" for one in metrics]
    scores = nb.score(study, called).scores
    assert scores["signature"].str.contains(f"|tok:{tokenizer}|", regex=False).all()
    references = dict(study.references[["item_id", "text"]].to_numpy())
    expected = [
        sacrebleu.sentence_bleu(
            text, [references[item]], tokenize=tokenizer, use_effective_order=True
        ).score
        / 100
        for text, item in study.outputs[["text", "item_id"]].to_numpy()
    ]
    assert scores.set_index("evaluator")["score"][called[1]].tolist() == pytest.approx(expected)
    before = study.replace(
        outputs=study.outputs.assign(text=tokenized(study.outputs["text"], tokenizer)),
        references=study.references.assign(text=tokenized(study.references["text"], tokenizer)),
    )
    plain = nb.score(before, metrics).scores
    assert plain["score"].tolist() == pytest.approx(scores["score"].tolist(), nan_ok=True)


def test_corpora_and_diversity_take_tokenizers_which_labels_name():
    study = study_of(TEXTS["Chinese"][0])
    wanted = ["corpus_bleu_2@tokenize:zh", "self_bleu_2@tokenize:zh", "distinct_1@tokenize:char"]
    scores = nb.score(study, wanted).system_scores
    assert len(scores) == 6 and scores["signature"].str.contains("tok:(?:zh|char)").all()
    assert scores.query("system == 'x'")["score"].iloc[0] > 0.5
    labels = [names.label(one) for one in wanted]
    assert labels == ["Corpus BLEU-2 (zh)", "Self-BLEU-2 (zh)", "Distinct-1 (char)"]
    assert names.kind(wanted[1]) == "Diversity"
    for wrong in ("bleu_4@tokenize:ja-mecab", "chrf@tokenize:zh", "bleu_4@coco@tokenize:zh"):
        with pytest.raises(ValueError, match="is unknown"):
            nb.score(study, [wrong])
