"""A labelled corpus of answers that loop and answers that are rightly repetitive, made from a seed.

Every text is composed here from word lists and sentence patterns written for this project (English, Korean, Chinese, Japanese, code, Markdown, tables, JSON,
logs, verse); nothing is copied from elsewhere. Same seed, same corpus. `corpus(seed, per)` gives `Sample`s: about 11 `per` negatives and 9 `per` positives.
"""

# ruff: noqa: E501, SIM905  (word lists and patterns read better on one line)

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Rng = random.Random

EN = {
    "a": "the queue|our gateway|this index|a small cluster|the scheduler|every replica|the cache|one tokenizer|the billing job|a patient reader|the second team|her report|the old bridge|the garden|an early train|"
    "the customer|the compiler|my neighbour|the harbour|a careful editor|the sample|the river|the council|this recipe|the museum|the battery|a loose cable|the invoice|the translation|the orchestra",
    "v": "reduces|keeps|ignores|reorders|describes|delays|supports|replaces|measures|protects|crosses|publishes|reveals|divides|collects|moves|shortens|explains|repairs|paints|improves|loses|compares|shares|doubles",
    "o": "the waiting time|several requests|long prompts|a list of errors|the weekly summary|two narrow streets|most of the memory|the final draft|a warm lunch|the number of retries|an unusual pattern|the missing pages|"
    "every third sample|the price of steel|local visitors|the opening hours|its own limits|a short answer|the slowest disk|the blue notebook|the harvest|an older contract|both dashboards|the evening news|a spare key",
    "p": "after the upgrade|during the night|without any warning|in most regions|when traffic is low|before the meeting|for about ten minutes|near the station|because of the weather|as the manual says|within a week|"
    "at half the cost|in a quiet room|according to the log|under heavy load|on the second floor|once a year|for new users|despite the delay|by hand",
    "f": "{a} {v} {o} {p}.|{p}, {a} {v} {o}.|Although {a} {v} {o}, {b} {w} {q}.|{a} {v} {o}, and {b} {w} {q} {p}.|If {a} {v} {o} {p}, then {b} {w} {q}.|What matters is that {a} {v} {o}.|In {n} cases {a} {v} {o}; otherwise {b} {w} {q}.|"
    "There are {n} reasons why {a} {v} {o}.|{a} rarely {v} {o}, yet {b} {w} {q} {p}.|Note that {b} {w} {q} only {p}.|By {n} percent, {a} {v} more than {q}.|Nobody noticed that {b} {w} {q} {p}.",
}  # fmt: skip
KO = {
    "a": "대기열이|게이트웨이가|작은 서버가|담당자가|이번 보고서는|오래된 다리는|새 모델은|고객 센터가|배송 기사가|두 번째 팀이|번역기가|도서관은|연구원이|캐시가|정원사는|회계 부서가|학생들은|저녁 열차가|이 문서는|관리자가",
    "v": "줄였습니다|확인합니다|나누어 처리합니다|다시 정리했습니다|설명합니다|늦추었습니다|지원합니다|바꾸었습니다|측정했습니다|보호합니다|발표했습니다|비교해 봅니다|모읍니다|고쳤습니다|놓쳤습니다|공유합니다|두 배로 늘렸습니다|기록합니다",
    "o": "대기 시간을|긴 요청을|오류 목록을|주간 요약을|좁은 골목을|남은 메모리를|최종 원고를|따뜻한 점심을|재시도 횟수를|특이한 양상을|빠진 쪽을|철강 가격을|방문객 수를|운영 시간을|짧은 답변을|느린 디스크를|파란 공책을|계약 조건을",
    "p": "업그레이드 뒤에|밤사이에|예고 없이|대부분의 지역에서|회의 전에|약 십 분 동안|역 근처에서|날씨 때문에|설명서대로|한 주 안에|절반 비용으로|조용한 방에서|기록에 따르면|부하가 클 때|이 층에서|해마다|새 사용자를 위해|늦었지만",
    "f": "{a} {p} {o} {v}.|{p} {a} {o} {v}.|{a} {o} {v}. 그래서 {b} {q} {w}.|다만 {b} {p} {q} {w}.|{n}건 가운데 {a} {o} {v}.|{a} {o} 먼저 살펴본 다음 {q} {w}.|왜냐하면 {b} {q} {w}.|{p} {a} {o} {v}, 한편 {b} {q} {w}.",
}  # fmt: skip
ZH = {
    "a": "等待队列|网关|小型集群|调度器|每个副本|缓存|财务部门|细心的读者|第二小组|她的报告|旧桥|花园|早班列车|客户|编译器|邻居|港口|编辑|样本|河流|委员会|博物馆|电池|发票|译文|乐团",
    "v": "减少了|保留了|忽略了|重新排列了|描述了|推迟了|支持|替换了|测量了|保护着|穿过|公布了|揭示了|分成了|收集了|移动了|缩短了|解释了|修好了|改进了|比较了|分享了",
    "o": "等待时间|若干请求|较长的提示|错误列表|每周摘要|两条窄街|大部分内存|最后的草稿|热腾腾的午饭|重试次数|少见的模式|缺失的页面|钢材价格|本地游客|开放时间|自身的限制|简短的回答|最慢的磁盘|蓝色笔记本|收成|旧合同|晚间新闻",
    "p": "升级之后|夜里|没有任何预告|在多数地区|流量较低时|会议之前|大约十分钟|在车站附近|因为天气|按照手册|一周之内|以一半的成本|在安静的房间里|根据日志|在高负载下|在二楼|每年一次|为了新用户",
    "f": "{p}，{a}{v}{o}。|{a}{p}{v}{o}。|虽然{a}{v}{o}，但是{b}{w}{q}。|如果{a}{v}{o}，那么{b}{w}{q}。|在{n}个案例中，{a}{v}{o}。|需要注意的是，{b}{w}{q}。|{a}很少{v}{o}，而{b}{p}{w}{q}。|没有人发现{b}{w}{q}。",
}  # fmt: skip
JA = {
    "a": "待ち行列は|ゲートウェイは|小さなサーバーが|担当者が|今回の報告書は|古い橋は|新しいモデルは|窓口が|配達員が|二番目のチームは|翻訳機は|図書館は|研究者が|キャッシュは|庭師は|経理部が|学生たちは|夕方の列車は|この文書は|管理者が",
    "v": "減らしました|確認します|分けて処理します|整理し直しました|説明します|遅らせました|対応しています|置き換えました|測りました|守ります|発表しました|比べてみます|集めます|直しました|見落としました|共有します|記録します",
    "o": "待ち時間を|長い要求を|エラーの一覧を|週ごとの要約を|狭い路地を|残りのメモリを|最終原稿を|温かい昼食を|再試行の回数を|珍しい傾向を|抜けたページを|鉄鋼の価格を|来訪者の数を|営業時間を|短い回答を|遅いディスクを|青いノートを|契約の条件を",
    "p": "更新の後に|夜のうちに|予告なしに|ほとんどの地域で|会議の前に|約十分間|駅の近くで|天気のために|手引きのとおりに|一週間以内に|半分の費用で|静かな部屋で|記録によると|負荷が高いとき|二階で|毎年|新しい利用者のために",
    "f": "{a}{p}{o}{v}。|{p}、{a}{o}{v}。|{a}{o}{v}。そのため{b}{q}{w}。|ただし{b}{p}{q}{w}。|{n}件のうち、{a}{o}{v}。|なぜなら{b}{q}{w}。|{a}{o}先に見てから、{q}{w}。",
}  # fmt: skip
GRAMMARS = {name: {slot: words.split("|") for slot, words in grammar.items()} for name, grammar in (("en", EN), ("ko", KO), ("zh", ZH), ("ja", JA))}
WORDS = (
    "alpha beta server request token model latency value index total order price region status customer weekly monthly report average median error cache memory batch queue stream prompt answer option "
    "result summary harbour copper velvet walnut signal border ticket margin lantern cobalt ferry quartz"
).split()
KWORDS = "요청 모델 응답 서버 지연 시간 토큰 결과 고객 배송 문의 주문 상태 확인 평균 오류 캐시 메모리 배치 대기 스트림 요약 분석 서비스 데이터 가격 지역 항구 구리 신호 경계 표".split()
LANGUAGES = tuple(GRAMMARS)


@dataclass(frozen=True)
class Sample:
    """One text; `loops` says whether it is a degenerate loop."""

    kind: str
    text: str
    loops: bool


def sentence(rng: Rng, language: str) -> str:
    """One composed sentence, without its closing space."""
    grammar = GRAMMARS[language]
    pick = {slot: rng.choice(grammar[slot.translate(str.maketrans("bwq", "avo"))]) for slot in "avopbwq"}
    text = rng.choice(grammar["f"]).format(n=rng.randrange(2, 90), **pick)
    return text[:1].upper() + text[1:]


def prose(rng: Rng, language: str, size: int) -> str:
    """Paragraphs of about `size` characters."""
    joint = "" if language in ("zh", "ja") else " "
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(sentence(rng, language))
        length += len(parts[-1])
        parts.append("\n\n" if rng.random() < 0.15 else joint)
    return "".join(parts)[:size]


def number(rng: Rng) -> str:
    return rng.choice([str(rng.randrange(10)), str(rng.randrange(1000)), f"{rng.random():.3f}", f"{rng.randrange(10**6):,}", f"{rng.random() * 100:.1f}%"])


def code(rng: Rng, size: int) -> str:
    """Functions with names, branches and calls that vary."""
    lines: list[str] = ["import " + rng.choice(WORDS), ""]
    while sum(map(len, lines)) < size:
        name, argument, other = rng.choice(WORDS), rng.choice(WORDS), rng.choice(WORDS)
        lines.append(f"def {name}_{rng.choice(WORDS)}({argument}, {other}={rng.randrange(99)}):")
        if rng.random() < 0.6:
            lines.append(f'    """{sentence(rng, "en")}"""')
        for _ in range(rng.randrange(2, 7)):
            left, right = rng.choice(WORDS), rng.choice(WORDS)
            lines.append(
                rng.choice(
                    [
                        f"    {left} = {argument}.{right}({other}, {rng.randrange(50)})",
                        f"    if {left} > {rng.randrange(99)} and not {right}:\n        raise ValueError('{left} must not exceed {right}')",
                        f"    for {left} in range({rng.randrange(2, 40)}):\n        {right}.append({left} * {argument})",
                        f"    # {sentence(rng, 'en')}",
                        f"    return {left}[{right}:{rng.randrange(9)}]",
                        f"    with open({left!r} + {right}) as {other}:\n        {argument} = json.load({other})",
                    ]
                )
            )
        lines += ["", ""]
    return "\n".join(lines)[:size]


def markdown(rng: Rng, language: str, size: int) -> str:
    """Headings, paragraphs, bullets and fences."""
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        shape = rng.random()
        if shape < 0.25:
            parts.append(f"## {' '.join(rng.sample(WORDS, 3)).capitalize()}\n\n")
        elif shape < 0.55:
            parts.append(prose(rng, language, rng.randrange(120, 500)) + "\n\n")
        elif shape < 0.8:
            parts.append("".join(f"- **{rng.choice(WORDS)}**: {sentence(rng, language)}\n" for _ in range(rng.randrange(2, 7))) + "\n")
        else:
            parts.append(f"```python\n{code(rng, rng.randrange(120, 500))}\n```\n\n")
    return "".join(parts)[:size]


def size_of(rng: Rng, low: int = 400, high: int = 9000) -> int:
    return int(low * (high / low) ** rng.random())


def table(rng: Rng) -> str:
    words, columns, mixed = rng.choice([WORDS, KWORDS]), rng.randrange(3, 8), rng.random() < 0.5
    head = "Here is the table you asked for:\n\n| " + " | ".join(rng.choice(words) for _ in range(columns)) + " |\n|" + "---|" * columns + "\n"
    rows = [
        "| " + " | ".join([str(row + 1)] + [(rng.choice(words) if mixed and rng.random() < 0.4 else number(rng)) for _ in range(columns - 1)]) + " |\n"
        for row in range(rng.randrange(5, 90))
    ]
    return head + "".join(rows) + ("\nLet me know if you need another view." if rng.random() < 0.5 else "")


def json_array(rng: Rng) -> str:
    keys = rng.sample(WORDS, rng.randrange(2, 6))
    cells: list[Callable[[], object]] = [
        lambda: rng.randrange(1000),
        lambda: round(rng.random(), 3),
        lambda: rng.choice(WORDS),
        lambda: None,
        lambda: rng.random() < 0.5,
    ]
    rows = [{"id": row + 1, **{key: rng.choice(cells)() for key in keys}} for row in range(rng.randrange(5, 120))]
    text = json.dumps(rows, indent=rng.choice([None, 2]))
    return text[: rng.randrange(len(text) // 2, len(text))] if rng.random() < 0.2 else text


def log_lines(rng: Rng) -> str:
    start, rows = rng.randrange(10**6), range(rng.randrange(10, 150))
    if rng.random() < 0.5:
        return "\n".join(
            f"2026-11-{(start + i) % 28 + 1:02d}T{i % 24:02d}:{i % 60:02d}:07Z INFO pod-{rng.randrange(8)} request {rng.randrange(16**8):08x} took {rng.randrange(9000)} ms status={rng.choice([200, 200, 200, 500])}"
            for i in rows
        )
    return "\n".join(f"{i},{rng.choice(WORDS)},{number(rng)},{number(rng)}" for i in rows)


def stem_list(rng: Rng) -> str:
    stem = rng.choice(
        [
            "You can improve the ",
            "Check whether the ",
            "다음 항목을 확인하세요: ",
            "- **Step** for ",
            "* How does the ",
            "请检查以下内容：",
            "次の項目を確認してください: ",
        ]
    )
    words = rng.choice([WORDS, KWORDS])
    return "\n".join(f"{i + 1}. {stem}{' '.join(rng.choice(words) for _ in range(rng.randrange(3, 9)))}." for i in range(rng.randrange(6, 60)))


def encoded(rng: Rng) -> str:
    data = rng.randbytes(rng.randrange(300, 3000))
    if rng.random() < 0.4:
        at = rng.randrange(len(data))
        data = data[:at] + bytes(rng.randrange(100, 400)) + data[at:]
    return rng.choice(
        [base64.b64encode(data).decode(), data.hex(), "```\n" + "\n".join(f"{i:08x}  {data[i : i + 16].hex(' ')}" for i in range(0, len(data), 16)) + "\n```"]
    )


def filler(rng: Rng) -> str:
    unit, count = rng.choice(["0, ", "0.0, ", "None, ", "-", "=", "░", ".", " ", "\\t", "0 1 0 ", "|---"]), rng.randrange(30, 200)
    return prose(rng, "en", rng.randrange(600, 4000)) + "\n```\nbuf = [" + unit * count + "]\n```\n" + prose(rng, "en", rng.randrange(600, 4000))


def verse(rng: Rng, language: str, refrain: bool) -> str:
    def stanza(lines: int) -> str:
        return "\n".join(sentence(rng, language).rstrip(".。")[:48] for _ in range(lines))

    chorus = stanza(rng.randrange(2, 5))
    parts: list[str] = []
    for _ in range(rng.randrange(2, 5)):
        parts.append(stanza(4))
        if refrain:
            parts.append(chorus)
    return "\n\n".join(parts)


def leaders(rng: Rng) -> str:
    return "\n".join(
        f"{rng.choice(WORDS).capitalize()} {rng.choice(WORDS)} {'.' * rng.randrange(20, 70)} {i * 3 + rng.randrange(3)}" for i in range(rng.randrange(6, 30))
    )


def matrix(rng: Rng) -> str:
    size = rng.randrange(4, 16)
    rows = "\n".join(" ".join("1" if row == column else "0" for column in range(size)) for row in range(size))
    return f"The identity matrix of order {size}:\n\n```\n{rows}\n```\n\n{sentence(rng, 'en')}"


def templated(rng: Rng) -> str:
    count, shape = rng.randrange(6, 50), rng.randrange(5)
    if shape == 0:
        return "\n".join(
            f'<tr class="row"><td>{rng.choice(WORDS)}</td><td class="num">{number(rng)}</td><td>{rng.choice(WORDS)} {rng.choice(WORDS)}</td></tr>'
            for _ in range(count)
        )
    if shape == 1:
        return "\n".join(
            f"  - name: {rng.choice(WORDS)}-{i}\n    image: registry/{rng.choice(WORDS)}:{number(rng)}\n    replicas: {rng.randrange(9)}\n    resources:\n      limits:\n        cpu: {rng.randrange(1, 16)}\n        memory: {rng.randrange(1, 64)}Gi"
            for i in range(count)
        )
    if shape == 2:
        return "\n".join(
            f"    def test_{rng.choice(WORDS)}_{rng.choice(WORDS)}_{i}(self):\n        self.assertEqual(convert({rng.randrange(999)}), {rng.randrange(999)})\n"
            for i in range(count)
        )
    if shape == 3:
        return (
            "```sql\n"
            + "\n".join(f"INSERT INTO {WORDS[9]} (id, name, price) VALUES ({i}, '{rng.choice(WORDS)}', {rng.randrange(10**4)});" for i in range(count))
            + "\n```"
        )
    return "\n\n".join(
        f"{i}\n00:{i // 20:02d}:{i * 3 % 60:02d},000 --> 00:{i // 20:02d}:{(i * 3 + 2) % 60:02d},500\n{rng.choice(['(Applause)', '(Music)', 'Run!', sentence(rng, 'en')[:40]])}"
        for i in range(1, count)
    )


SHORT = (
    "ㅋㅋㅋㅋㅋㅋㅋㅋ 네 알겠습니다.",
    "no no no no, that is wrong.",
    "Yes.",
    "",
    "hahahahahahaha good one",
    "!!!!!!!!!!",
    "네, 네, 네. 확인했습니다.",
    "OK OK OK OK OK",
    "---\n---\n---",
    "ドドドドドドド",
    "Nooooooooooooooo!",
    "はい、はい、はい。",
)


def negatives(rng: Rng, per: int) -> Iterator[Sample]:
    """Texts without a degenerate loop."""
    half = max(1, per // 2)
    for language in LANGUAGES:
        for _ in range(per):
            yield Sample(f"prose_{language}", prose(rng, language, size_of(rng)), False)
    for _ in range(per):
        yield Sample("code", code(rng, size_of(rng)), False)
        yield Sample("markdown", markdown(rng, rng.choice(LANGUAGES), size_of(rng)), False)
        yield Sample("table", table(rng), False)
        yield Sample("json", json_array(rng), False)
        yield Sample("log", log_lines(rng), False)
        yield Sample("list", stem_list(rng), False)
        yield Sample("templated", templated(rng), False)
    for _ in range(half):
        factor = rng.randrange(2, 20)
        yield Sample("multiplication", "\n".join(f"{factor} x {i} = {factor * i}" for i in range(1, rng.randrange(10, 60))), False)
        yield Sample("encoded", encoded(rng), False)
        yield Sample("filler", filler(rng), False)
        yield Sample("verse", verse(rng, rng.choice(LANGUAGES), refrain=rng.random() < 0.7), False)
        yield Sample("leaders", leaders(rng), False)
        yield Sample("matrix", matrix(rng), False)
        yield Sample("short", rng.choice(SHORT), False)
        yield Sample("counting", ", ".join(str(i) for i in range(1, rng.randrange(40, 400))), False)


def _sentences(rng: Rng, language: str, count: int) -> str:
    return " ".join(sentence(rng, language) for _ in range(count))


def _tail(rng: Rng, unit: str, count: int) -> str:
    text = unit * count
    return text[: len(text) - rng.randrange(0, max(1, len(unit) - 1))]


def positives(rng: Rng, per: int) -> Iterator[Sample]:
    """Loops of every unit after an ordinary beginning, most of them cut in the middle of a copy."""
    half = max(1, per // 2)
    tokens = [
        "the ",
        "items ",
        "的",
        "了",
        "네 ",
        "0 ",
        "\n",
        " ",
        "!",
        "ㅋ",
        "。",
        "- ",
        "\\n",
        "1, ",
        "토큰 ",
        " and",
        "\u200b",
        "…",
        "</s>",
        "<s>",
        "pered",
        "測試",
        "합계 ",
        "🙂",
    ]
    openers = [
        ["Wait,", "Hmm,", "But wait,", "Actually,"],
        ["잠깐,", "아니,", "다시,", "음,"],
        ["等等，", "不对，", "再想想，"],
        ["待って、", "いや、", "もう一度、"],
    ]

    def lead(language: str) -> str:
        return prose(rng, language, size_of(rng, 200, 3000))

    for _ in range(per):
        language = rng.choice(LANGUAGES)
        words = rng.choice([WORDS, KWORDS])
        yield Sample("token", lead(language) + _tail(rng, rng.choice(tokens), rng.randrange(80, 1500)), True)
        unit = " ".join(rng.choice(words) for _ in range(rng.randrange(2, 10))) + rng.choice([" ", ", ", ". ", "\n"])
        yield Sample("phrase", lead(language) + _tail(rng, unit, rng.randrange(8, 120)), True)
        unit = _sentences(rng, language, rng.randrange(1, 4)) + rng.choice([" ", "\n", "\n\n"])
        yield Sample("sentence", lead(language) + _tail(rng, unit, rng.randrange(5, 40)), True)
        block = (
            rng.choice([prose(rng, language, size_of(rng, 400, 2500)), code(rng, size_of(rng, 400, 2500)), markdown(rng, language, size_of(rng, 400, 2500))])
            + "\n\n"
        )
        yield Sample("block", lead(rng.choice(LANGUAGES)) + _tail(rng, block, rng.randrange(3, 9)), True)
        text = sentence(rng, language)
        form = rng.choice(["Step {i}: {s}\n", "{i}. {s}\n", "{s} ({i}) ", "### Attempt {i}\n{s}\n\n", "시도 {i}: {s}\n"])
        start = rng.randrange(1, 90)
        yield Sample("counter", lead(language) + "".join(form.format(i=start + i, s=text) for i in range(rng.randrange(8, 60))), True)
        first, second, starts = sentence(rng, language), sentence(rng, language), rng.choice(openers)
        near = "".join(
            f"{rng.choice(starts)} {first} {second + ' ' if rng.random() < 0.8 else ''}{rng.choice(['', '', 'OK. ', 'So ', chr(10)])}"
            for _ in range(rng.randrange(8, 40))
        )
        yield Sample("near", lead(language) + near, True)
        cycle = [sentence(rng, language) for _ in range(rng.randrange(2, 5))]
        yield Sample("shuffle", lead(language) + " ".join(rng.choice(cycle) for _ in range(rng.randrange(14, 60))), True)
        yield Sample("middle", lead(language) + (sentence(rng, language) + " ") * rng.randrange(12, 60) + prose(rng, language, rng.randrange(200, 900)), True)
    for _ in range(half):
        row = rng.choice(
            [
                f'{{"id": 1, "name": "{rng.choice(WORDS)}", "value": {rng.randrange(999)}}},\n',
                f"| {rng.choice(WORDS)} | {rng.randrange(999)} | {rng.choice(KWORDS)} |\n",
                "<td></td>",
                "0, 0, 1, ",
            ]
        )
        yield Sample("row", markdown(rng, "en", size_of(rng, 200, 3000)) + "\n\n" + _tail(rng, row, rng.randrange(20, 200)), True)
        call = rng.choice(
            [
                f'<tool_call>\n{{"name": "search", "arguments": {{"q": "{rng.choice(KWORDS)}"}}}}\n</tool_call>\n',
                f"import {rng.choice(WORDS)}\n",
                f"self.{rng.choice(WORDS)} = {rng.choice(WORDS)}\n        ",
            ]
        )
        yield Sample("call", _tail(rng, call, rng.randrange(10, 80)), True)


def corpus(seed: int, per: int = 60) -> list[Sample]:
    """The whole corpus of one seed."""
    rng = random.Random(seed)
    return [*negatives(rng, per), *positives(rng, per)]
