"""Chinese inside a Japanese answer, where the two share most characters: those of simplified Chinese alone, and conjunctions that Japanese does not write."""

from __future__ import annotations

import re

from detector.signals.everyday_words import everyday_share, is_everyday
from detector.signals.foreign_topics import is_about
from detector.signals.scripts import only_simplified, runs

# Conjunctions and pronouns of Chinese that Japanese does not write.
CHINESE_IN_JAPANESE = "但是 然后 因为 如果 虽然 而且 或者 我们 他们 你们 这个 那个 还是 已经 没有 什么 怎么 以及 并且 于是 您的 為了 因為 雖然 我們 這個"
_CHINESE_IN_JAPANESE = re.compile(CHINESE_IN_JAPANESE.replace(" ", "|"))
_CHINESE_NAME = re.compile(
    "[张王李赵刘陈杨黄吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许邓韩冯曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆汪范金石廖贾夏韦付方邹熊白孟秦邱侯江尹薛闫雷龙史陶贺毛郝顾龚邵万钱戴严莫孔向常汤巩][\u4e00-\u9fff]{1,2}"
)


def chinese_in_japanese(text: str, content: str, user_text: str | None) -> str | None:
    """Characters that only simplified Chinese has, or conjunctions that only Chinese has, in a Japanese answer. Names of people are left out."""
    if re.search("中国|中國|中文|簡体|简体|北京|上海|台湾", f"{content} {user_text or ''}") or is_about("kana", user_text):
        return None
    words = _CHINESE_IN_JAPANESE.findall(text)
    found = runs(text, latin=False)
    if any(run.script == "hangul" for run in found):  # a list of languages
        return None
    if words:
        return f"{len(words)} Chinese conjunctions in Japanese prose"
    table = only_simplified()
    simplified = everyday = 0
    for run in found:
        if run.script != "han":
            continue
        number = sum(character in table and not (user_text and character in user_text) for character in run.text)
        if number and not (_CHINESE_NAME.fullmatch(run.text) and everyday_share(run.text) < 1):
            simplified += number
            everyday += is_everyday(run)
    return f"{simplified} simplified Chinese characters in Japanese prose" if simplified >= 2 or everyday else None
