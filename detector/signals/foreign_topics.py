"""Words that say that a text is *about* a language or writes for its readers: then words of that language are meant.

Per script, in the languages that users write in. Translations, lessons, etymologies, names of countries and peoples. A topic that is named makes the
language signals silent about that script: a missed splice costs less than an alarm about a Chinese lesson.
"""

from __future__ import annotations

import re
from functools import cache

_CHINESE = (
    r"중국|베이징|상하이|한자(?!리)|한문(?!장|단|제)|(?<![가-힣])대만|홍콩|고사성어|사자성어|간체|번체|병음|논어|(?<![가-힣])한시(?![간])|"
    r"당시(?:\(| (?:한|두|세|몇) ?편| 원문|\d+수)|\bchin(?:a\b|es|ois)|\bmandarin|cantones|"
    r"\bhanzi|\bhanja|pinyin|taiwan|hong ?kong|beijing|peking|shanghai|shenzhen|guangzhou|sichuan|"
    r"\bcjk|\bhsk\b|\bкита|иероглиф|"
    r"tiếng trung|trung quốc|จีน|चीन|صين|中国|中國|中文|汉语|漢語|汉字|漢字|简体|簡体|繁体|繁體|拼音|台湾|香港"
)
_JAPANESE = (
    r"일본|jlpt|가타카나|히라가나|도쿄|교토|오사카|japan|japon|nippon|tokyo|kyoto|osaka|kanji|"
    r"hiragana|katakana|\bkana\b|япон|tiếng nhật|ญี่ปุ่น|जापान|يابان|日本|日语|日語|日文|かな|カナ|假名|仮名|平假|片假"
)
_KOREAN = r"topik|한국어|한글|국어|\bkorea|\bcorea|\bcorée|seoul|busan|hangul|hangeul|\bкоре[яйюи]|tiếng hàn|เกาหลี|कोरिया|كوري|韩|韓|朝鲜|朝鮮|谚文|ハングル"
_TOPICS: dict[str, str] = {
    "han": f"{_CHINESE}|{_JAPANESE}",
    "kana": _JAPANESE,
    "hangul": _KOREAN,
    "greek": r"그리스|greek|greece|griech|\bgrec|grieg|athens|athen\b|希腊|希臘|ギリシ|греч|ελλην|ελλάδ|etym",
    "cyrillic": r"러시아|우크라이나|불가리아|키릴|\brussia|\brusse|\brussis|ukrain|bulgar|\bserb|cyril|俄|乌克兰|ロシア|キリル|русск|украин|кирилл",
    "arabic": r"아랍|페르시아|(?<![가-힣])이란[ 의은]|우르두|쿠란|코란|\barab|\bpersian?\b|farsi|\biran|\burdu|\bqur.?an|\bkoran|islam|"
    r"阿拉伯|波斯|アラビア|араб|\bперси|عرب|فارس",
    "georgian": r"조지아|georgi|грузи|格鲁吉亚|ジョージア|tbilisi",
    "armenian": r"아르메니|armeni|армян|亚美尼亚|アルメニア|yerevan",
    "bengali": r"벵골|bengal|bangla|孟加拉|ベンガル|бенгал|বাংলা",
    "tamil": r"타밀|tamil|泰米尔|タミル|тамил|தமிழ்",
    "hebrew": r"히브리|이스라엘|hebr|israel|希伯来|以色列|ヘブライ|иврит",
    "thai": r"태국|\bthai|泰[国國语語文]|タイ[語料王のへ]|\bтай|ไทย",
    "devanagari": r"힌디|인도(?![네적받하일명])|산스크|네팔|\bhindi|sanskrit|\bindia|nepal|devanagari|印地|梵|印度|ヒンディー|インド|"
    r"хинди|санскр|индий|हिन्दी|हिंदी",
}
_OTHER = re.compile(r"언어|\blanguage|sprache\b|\blangue|\bidioma|语言|語言|言語|язык|ภาษา|भाषा|لغة|\balphabet|\bscripts?\b|unicode", re.IGNORECASE)
# The text is a translation, a lesson or a list of languages, whatever the script.
MANY = re.compile(
    r"부사|형용사|품사|문법|\badverb|\badjective|grammar|语法|語法|文法|副词|副詞|번역|통역|다국어|외국어|단어장|어휘|발음|어원|자모|유니코드|"
    r"translat|übersetz|tradu[cz]|multiling|bilingual|vocabular|pronounc|etymolog|transliterat|romani[sz]|"
    r"翻译|翻譯|翻訳|通訳|多语|多語|多言語|外语|外国語|发音|発音|词汇|単語|词源|語源|перев(?:од|ести|едите)|многоязы|dịch(?! (?:vụ|bệnh|"
    r"chuyển|giả))|แปล(?![กง])|अनुवाद|ترجم|"
    r"in (?:several|many|different|various|other|all) languages|"
    r"unicode|U\+[0-9A-F]{4}|character (?:set|encoding)|code ?points?|인코딩|编码|文字コード|homoglyph",
    re.IGNORECASE,
)
# A request names the language it wants, or asks about words.
REQUESTED = re.compile(
    r"영어|영문|중국어|일본어|한국어|러시아어|아랍어|독일어|프랑스어|스페인어|"
    r"\b(?:english|chinese|mandarin|japanese|korean|russian|arabic|german|french|spanish|thai|hindi|vietnamese|portuguese|italian|dutch|polish|turkish)\b|"
    r"英语|英文|中文|汉语|日语|日文|韩语|韩文|俄语|法语|德语|英語|日本語|韓国語|中国語|"
    r"английск|китайск|японск|корейск|русск|anglais|chinois|japonais|coréen|russe|englisch|chinesisch|japanisch|koreanisch|russisch|inglés|"
    r"chino|japonés|coreano|ruso",
    re.IGNORECASE,
)
# Names of one language, by the name that `main_language` or `latin_language` gives it: asking for Chinese excuses no Korean answer.
_NAMES: dict[str, str] = {
    "ko": r"한국어|한글|korean|hangul|韩|韓|coreano|coréen|koreanisch|корейск",
    "zh": r"중국어|chinese|mandarin|中文|汉语|漢語|中国語|chinois|chinesisch|chino|китайск",
    "ja": r"일본어|japanese|日语|日語|日文|日本語|japonais|japanisch|japonés|японск",
    "cyrillic": r"러시아어|우크라이나어|russian|ukrain|bulgar|serb|cyrillic|俄|ロシア|русск|украин|russe|russisch|ruso",
    "german": r"독일어|german|deutsch|德语|ドイツ|allemand|alemán|немецк",
    "french": r"프랑스어|불어|french|français|法语|フランス|französ|francés|французск",
    "english": r"영어|영문|english|英语|英文|英語|anglais|englisch|inglés|inglês|английск|tiếng anh|إنجليزي|अंग्रेज|bahasa inggris|"
    r"ingilizce|inglese|אנגלית|αγγλικ|อังกฤษ",
    "arabic": r"아랍어|페르시아어|arabic|persian|farsi|urdu|阿拉伯|波斯|アラビア|arabe|árabe|arabisch|арабск|عرب|فارس|अरबी",
    "thai": r"태국어|\bthai|泰语|泰文|タイ語|тайск|ไทย",
    "devanagari": r"힌디|hindi|marathi|nepali|印地|ヒンディー|хинди|हिन्दी|हिंदी",
    "hebrew": r"히브리|hebrew|希伯来|ヘブライ|иврит|hébreu|hebreo|hebräisch|עברית",
    "greek": r"그리스어|greek|希腊|ギリシ|греческ|griech|\bgrec|griego|ελλην",
    "portuguese": r"포르투갈|portugu|葡萄牙|ポルトガル|португал",
    "italian": r"이탈리아|italian|意大利|イタリア|итальян|italien",
    "dutch": r"네덜란드|dutch|nederlands|荷兰|オランダ|нидерланд|niederländ|holländ",
    "polish": r"폴란드|polish|polski|波兰|ポーランド|польск|polnisch",
    "turkish": r"터키|튀르키예|turkish|türk|土耳其|トルコ|турецк",
    "indonesian": r"인도네시아|indonesia|印尼|印度尼西亚|インドネシア|индонез|melayu|malay",
    "vietnamese": r"베트남|vietnam|tiếng việt|越南|ベトナム|вьетнам",
    "spanish": r"스페인어|spanish|español|西班牙|スペイン|espagnol|spanisch|испанск",
}
_ANY_LANGUAGE = re.compile(r"\blanguages?\b|언어로|语言|語言|言語で|\bsprache\b|\blangue\b|\bidioma\b", re.IGNORECASE)


@cache
def _compiled(words: str) -> re.Pattern[str]:
    """Compiled when a text needs it: there are many tables, and most logs need few."""
    return re.compile(words, re.IGNORECASE)


def requested(language: str, text: str) -> bool:
    """The text names that language, or speaks of the language to use; for languages without names here, it names any."""
    names = _NAMES.get(language)
    return (REQUESTED if names is None else _compiled(names)).search(text) is not None or _ANY_LANGUAGE.search(text) is not None


# A word that asks to answer in one language only does not excuse another one: 한국어로만, only in Korean, 请用中文.
WORDS_ABOUT_WORDS = re.compile(
    r"뜻|의미|한국말로|무슨 말|mean(?:s|ing)?\b|called\b|word for|phrase|proverb|idiom|slogan|greeting|意思|读作|読み|意味|означает|значит|слово|"
    r"원문|原文|original (?:text|wording)|Originaltext|texte original|texto original|оригинал",
    re.IGNORECASE,
)


def is_about(script: str, *texts: str | None) -> bool:
    """One of the texts is about that script's languages, about translation, or about words."""
    own = _compiled(_TOPICS[script]) if script in _TOPICS else _OTHER
    return any(text is not None and (own.search(text) is not None or MANY.search(text) is not None) for text in texts)
