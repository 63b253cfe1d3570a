"""The words of messages, in English and Korean. Numbers and names go in as arguments; nothing here is escaped (each receiver does that for itself)."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "ko"]

_WORDS: dict[str, dict[str, str]] = {
    "en": {
        "critical": "CRITICAL",
        "warning": "WARNING",
        "info": "INFO",
        "resolved": "RESOLVED",
        "of": "{flagged} of {requests} requests ({rate}, {interval})",
        "usually": "usually {rate}",
        "no_baseline": "no baseline yet",
        "since": "since {time}",
        "total": "{total} requests in all, at most {flagged} in one window.",
        "state": "State",
        "share": "Share",
        "affected": "Where",
        "window": "When",
        "kinds": "Kinds",
        "also": "Also",
        "also_is": "{count} of them are {signal} too",
        "impact": "What users notice",
        "steps": "First checks",
        "requests": "Requests",
        "references": "Reports upstream",
        "trend": "Trend",
        "more": "… and {count} more, left out to fit",
        "series": "… and {count} more series",
        "firing": "firing",
        "pending": "pending",
        "state_resolved": "resolved",
        "blind": "could not look since {time}: {why}. Held as it was; this is not a recovery.",
        "fired": "It fires.",
        "reopened": "It fires again (opened {count} times).",
        "escalated": "Worse: now {severity}, {means}.",
        "grew": "It grew: {rules}",
        "reminder": "Still firing after {duration}, and nobody has taken it: react with 👀 to take it, 🔕 to snooze it, ✅ to close it.",
        "seen_again": "It can be looked at again, and still fires.",
        "merged": "MERGED",
        "joined": "It is part of another incident and goes on there.",
        "resolved_line": "Resolved: it fired for {duration} and has been clean since {time}.",
        "clean": "clean since {time}",
        "acked": "taken by {who}",
        "snoozed": "snoozed until {time}",
        "storm": "{count} new incidents in one run",
        "storm_over": "{count} incidents of one run, all of them over",
        "storm_why": "One summary instead of {count} messages; each one's changes follow in this thread.",
        "slice": "{conditions}: {flagged} of {requests} ({rate}), elsewhere {outside}",
        "up_to": "up to {rate}",
        "owner": "Owner",
        "all": "all",
        "degraded": "Sent through a webhook: later changes come as messages of their own.",
        "merged_state": "part of another incident",
        "moved": "This incident goes on in {channel}.",
        "closed": "Closed by {who}.",
        "closed_early": "Resolved by hand after {duration}.",
        "critical_means": "users see it now",
        "warning_means": "look today",
        "info_means": "some day",
    },
    "ko": {
        "critical": "심각",
        "warning": "경고",
        "info": "참고",
        "resolved": "해소",
        "of": "요청 {requests}건 중 {flagged}건 ({rate}, {interval})",
        "usually": "평소 {rate}",
        "no_baseline": "비교할 과거 없음",
        "since": "{time}부터",
        "total": "모두 {total}건, 한 구간에서 최대 {flagged}건이었습니다.",
        "state": "상태",
        "share": "비율",
        "affected": "위치",
        "window": "언제",
        "kinds": "종류",
        "also": "함께",
        "also_is": "이 중 {count}건은 {signal}에도 해당",
        "impact": "사용자가 겪는 일",
        "steps": "먼저 확인할 것",
        "requests": "요청",
        "references": "업스트림 보고",
        "trend": "추이",
        "more": "… 외 {count}건은 길이 때문에 생략",
        "series": "… 외 시계열 {count}개",
        "firing": "발생 중",
        "pending": "확인 중",
        "state_resolved": "해소됨",
        "blind": "{time}부터 확인할 수 없음: {why}. 상태를 그대로 유지하며, 회복된 것이 아닙니다.",
        "fired": "발생했습니다.",
        "reopened": "다시 발생했습니다 ({count}번째).",
        "escalated": "악화: 이제 {severity}, {means}.",
        "grew": "범위가 늘었습니다: {rules}",
        "reminder": "{duration} 동안 발생 중이며 담당자가 없습니다: 👀 담당, 🔕 잠시 끄기, ✅ 닫기로 반응하세요.",
        "seen_again": "다시 확인할 수 있으며, 아직 발생 중입니다.",
        "merged": "병합",
        "joined": "다른 인시던트의 일부여서 그쪽에서 이어집니다.",
        "resolved_line": "해소됨: {duration} 동안 발생했고, {time}부터 정상입니다.",
        "clean": "{time}부터 정상",
        "acked": "담당 {who}",
        "snoozed": "{time}까지 알림 중지",
        "storm": "한 번에 새 인시던트 {count}건",
        "storm_over": "한 번에 생긴 인시던트 {count}건, 모두 끝남",
        "storm_why": "메시지 {count}개 대신 요약 하나로 알립니다. 각각의 변화는 이 스레드에 이어집니다.",
        "slice": "{conditions}: {requests}건 중 {flagged}건 ({rate}), 그 밖은 {outside}",
        "up_to": "최대 {rate}",
        "owner": "담당",
        "all": "전체",
        "degraded": "웹훅으로 보냄: 이후 변화는 별도의 메시지로 옵니다.",
        "merged_state": "다른 인시던트에 포함",
        "moved": "이 인시던트는 {channel}에서 이어집니다.",
        "closed": "{who} 님이 닫음.",
        "closed_early": "{duration} 뒤에 사람이 해소함.",
        "critical_means": "지금 사용자에게 보임",
        "warning_means": "오늘 안에 확인",
        "info_means": "나중에 확인",
    },
}


def say(language: Language, word: str, **values: object) -> str:
    """One phrase with its values put in. Raises KeyError for an unknown word (a fault of ours, found by tests)."""
    return _WORDS[language][word].format(**values)


def words(language: Language) -> dict[str, str]:
    """All phrases of a language, for the test that holds both languages to the same words."""
    return dict(_WORDS[language])


def duration(seconds: float, language: Language = "en") -> str:
    """`3 h 20 min`, `45 min`, `2 d 4 h`."""
    minutes = max(1, round(seconds / 60))
    days, hours, left = minutes // 1440, minutes // 60 % 24, minutes % 60
    day, hour, minute = (" d", " h", " min") if language == "en" else ("일", "시간", "분")
    if days:
        return f"{days}{day}" + (f" {hours}{hour}" if hours else "")
    if hours:
        return f"{hours}{hour}" + (f" {left}{minute}" if left else "")
    return f"{left}{minute}"
