"""Words that name nobody and nothing: grammar and everyday vocabulary of languages that are met as splices in prose of other languages.

A town, a dish, a person or a button keeps its own script in prose of another language; "but", "then", "check" and "configuration" do not. So a foreign
run that is one of these words is used as a word of the sentence. Lists are closed classes of grammar (conjunctions, prepositions, pronouns, adverbs,
auxiliaries) written down from the languages' grammars, and for Han characters and Hangul the general vocabulary of technical and business answers, in
simplified, traditional and Japanese spelling. Reports of such splices: anthropics/claude-code#27362, #66463, #68628, #77329, #82041,
MiniMax-AI/MiniMax-M2#100, #110, XiaomiMiMo/MiMo#72, perplexityai/api-discussion#311.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from detector.signals.scripts import Run

# Per script: words of grammar of the languages that write in it.
_GRAMMAR: dict[str, frozenset[str]] = {
    script: frozenset(words.split())
    for script, words in {
        "cyrillic": "и но что как это для или если также тоже потом затем чтобы при после перед между через без только уже ещё еще очень можно "
        "нужно будет был была были "
        "есть нет не на по от до из за мы вы они он она его её их наш ваш который которая которые поэтому однако когда где там здесь сейчас даже "
        "почти близко "
        "та але або також після щоб коли який яка які",
        "greek": "και αλλά για με από στο στη στην στον του της των τις τους που είναι δεν θα να αν όταν πριν μετά επίσης πολύ ότι όπως μόνο ώστε "
        "όμως πρέπει μπορεί",
        "arabic": "و مع من في على إلى عن أو ثم لكن بعد قبل هذا هذه ذلك التي الذي كل لا ما لم لن قد كان هو هي أن إن إذا حتى عند بين أيضا أيضاً ولكن "
        "لأن كما غير جدا فقط الآن "
        "از به با برای که این آن را است اما یا تا اور کے کی میں سے ہے کو لیکن",
        "hebrew": "גם את של על עם לא כי או אבל אם זה זו הוא היא הם אנחנו כל רק כבר עוד יותר מאוד לפני אחרי בין כדי אך וגם אז כאן אשר לכן",
        "devanagari": "और लेकिन है हैं में के की का को से पर यह वह नहीं तो भी या कि जो लिए बाद साथ अगर फिर बहुत तथा एवं अब जब तक आणि पण",
        "bengali": "এবং কিন্তু একটি এই জন্য থেকে সঙ্গে না হয় করে যে বা যদি তারপর",
        "gurmukhi": "ਅਤੇ ਪਰ ਹੈ ਨੂੰ ਵਿੱਚ ਦੇ ਦੀ ਦਾ",
        "gujarati": "અને પરંતુ છે માટે માં થી",
        "tamil": "மற்றும் ஆனால் இந்த ஒரு என்று அல்லது பிறகு",
        "telugu": "మరియు కానీ ఈ ఒక లేదా కోసం",
        "kannada": "ಮತ್ತು ಆದರೆ ಈ ಒಂದು ಅಥವಾ",
        "malayalam": "ഒപ്പം പക്ഷേ എന്നാൽ ഒരു ഈ അല്ലെങ്കിൽ",
        "sinhala": "සහ නමුත් හෝ",
        "georgian": "და მაგრამ რომ ეს არის თქვენ ან თუ შემდეგ",
        "armenian": "և բայց համար հետ որ է են այս նաև կամ եթե հետո",
        "ethiopic": "እና ግን ወይም ነው",
        "kana": "まず そして しかし また ただし それから なので だから ので から まで など について ください です ます する して いる ある ない "
        "その この これ それ ため もし とても もう すぐ "
        "ように ために または つまり さらに ちなみに もちろん そのため",
        "hangul": "천천히 빨리 자주 항상 가끔 완전히 충분히 조용히 대신 별도로 차례로 그리고 그러나 하지만 또는 그래서 따라서 만약 또한 및 즉 매우 "
        "먼저 다시 모든 아주 가장 바로 함께 때문에 위해 대해 통해 있는 없는 "
        "하는 되는 그런 이런 우리 당신 지금 이미 아직 "
        "반드시 절대로 미리 되도록 아울러 게다가 오히려 차라리 드디어 마침내 갑자기 점점 서서히 대체로 대부분 거의 약간 훨씬 더욱 일단 우선 "
        "정말 너무 조금 많이 모두 다만 혹은 만일 결국 특히 예를 이후 이전",
    }.items()
}
# Languages without blanks between words: a run that is made of these, or begins or ends with one of grammar.
_UNSPACED = {
    "thai": re.compile(
        r"^(?:แล้ว|และ|แต่|หรือ|เพราะ|ถ้า|เพื่อ|จาก|กับ|ได้|ไม่|จะ|เป็น|ต้อง|ควร|ก่อน|หลัง|โดย|ซึ่ง|ที่|ของ|ใน|การ|ความ|ให้|มี|นี้)"
        r"|(?:แล้ว|ครับ|ค่ะ|ด้วย|ได้|นี้|มาก)$|.{4}ให้|กรุณา|โปรด"
    ),
    "lao": re.compile("^(?:ແລະ|ແຕ່|ຫຼື|ໃນ|ຂອງ|ທີ່|ບໍ່)"),
    "khmer": re.compile("^(?:និង|ប៉ុន្តែ|ឬ|នៅ|របស់|ដែល|មិន)"),
    "myanmar": re.compile("(?:နှင့်|သို့မဟုတ်|သည်|များ|တွင်|မှ|ကို)$"),
}
# General vocabulary in Han characters, two and three characters a word; names are not made of it.
_HAN = (
    "配置 设置 設定 文件 檔案 数据 數據 資料 状态 狀態 状態 系统 系統 用户 用戶 使用 需要 可以 然后 然後 直接 检查 檢查 確認 确认 检索 検索 搜索 "
    "结果 結果 问题 問題 方法 时间 時間 例如 其他 其它 部分 "
    "内容 內容 信息 資訊 情報 选择 選擇 選択 更新 完成 完了 执行 執行 実行 运行 任务 任務 处理 處理 処理 输出 輸出 出力 输入 輸入 入力 错误 錯誤 "
    "测试 測試 文本 关于 關於 关系 關係 関係 重要 简单 簡單 简单 "
    "复杂 複雜 複雑 立即 马上 当前 當前 現在 现在 目前 之前 之后 之後 同时 同時 必须 必須 必要 正确 正確 完全 真正 真实 实际 實際 実際 实现 實現 "
    "実現 实施 提供 支持 支援 影响 影響 变化 變化 変化 增加 减少 減少 "
    "提高 降低 相关 相關 関連 具体 具體 详细 詳細 基本 主要 特别 特別 一般 通常 经常 可能 应该 應該 能够 能夠 不同 相同 类似 各种 多个 单个 所有 "
    "全部 整个 每个 任何 某些 首先 最后 最後 最终 最終 接下来 此外 "
    "另外 因此 因为 因為 虽然 雖然 但是 不过 不過 如果 否则 除非 直到 开始 開始 结束 結束 終了 继续 繼續 停止 打开 打開 关闭 關閉 保存 删除 刪除 "
    "削除 修改 修正 变更 變更 変更 添加 追加 创建 作成 生成 分析 解释 "
    "解釋 说明 說明 説明 描述 比较 比較 参考 參考 记录 記錄 記録 报告 報告 计划 計劃 計画 会议 會議 会議 项目 項目 工作 公司 会社 客户 客戶 顧客 "
    "产品 產品 製品 服务 服務 市场 市場 价格 價格 価格 费用 費用 付款 支付 "
    "订单 訂單 注文 发货 配送 退款 返金 地址 住所 电话 電話 邮件 郵件 名称 名稱 密码 密碼 账户 帳戶 登录 登錄 注册 下载 下載 上传 安装 安裝 版本 "
    "功能 機能 性能 效果 效率 安全 风险 風險 环境 環境 条件 條件 要求 "
    "标准 標準 规则 規則 原因 目的 目标 目標 方式 过程 過程 步骤 步驟 手順 阶段 階段 技术 技術 模型 算法 函数 變數 变量 変数 参数 參數 代码 代碼 "
    "接口 网络 網絡 服务器 数据库 缓存 线程 内存 请求 請求 响应 返回 调用 "
    "探索 开发 開發 開発 设计 設計 管理 控制 学习 學習 学習 训练 訓練 研究 发现 發現 発見 发生 發生 発生 发送 發送 送信 接收 受信 显示 顯示 表示 "
    "查看 查询 查詢 获取 取得 准备 準備 提醒 注意 建议 建議 推荐 推薦 "
    "帮助 幫助 回答 理解 知道 认为 觉得 希望 喜欢 请随时 请 联系 聯繫 連絡 进行 進行 已经 已經 超过 超過 左右 以上 以下 以内 以外 行李 重量 数量 "
    "數量 价值 價值 価値 日期 期限 合同 契約 材料 资料 申请 申請 提交 提出 "
    "收到 返还 通知 团队 團隊 成员 成員 负责 担当 部门 部署 位置 方向 速度 温度 溫度 高度 范围 範圍 範囲 比例 平均 最大 最小 最近 最新 事前 事後 "
    "事项 情况 情況 状况 状況 意思 意见 意見 想法 重新 正在 进行中 待处理 未完成 "
    "祝您 生活 愉快 谢谢 感谢 感謝 欢迎 您好 对不起 没问题 没关系 好的 明白 当然 稍后 尽快 任意 疑问 疑問 订购 购买 購入 操作 点击 按钮 页面 頁面 "
    "链接 图片 视频 音频 文档 文書 表格 列表 内部 外部 微风 晴朗 外套 天气 预报 "
    "体感 温和 简单地 快速 快速地 仔细 准确 完整 有效 无效 成功 失败 失敗 异常 異常 正常 警告 日志 监控 监视 备份 恢复 迁移 升级 降级 优化 最適化 "
    "調整 调整 评估 評価 审核 审查 核查 验证 検証 驗證 同意 拒绝 允许 禁止 启用 禁用 "
    "冰箱 電梯 电梯 房间 房間 钥匙 鑰匙 窗户 窗戶 桌子 椅子 衣服 鞋子 雨伞 雨傘 手表 眼镜 眼鏡 音乐 音樂 城市 孩子 老师 老師 学生 學生 司机 司機 护士 "
    "病人 药物 藥物 头痛 身体 身體 皮肤 皮膚 肌肉 心脏 心臟 眼睛 火车 火車 汽车 汽車 飞机 飛機 机场 機場 道路 酒店 旅行 行程 护照 護照 签证 簽證 "
    "发票 發票 收据 收據 账单 帳單 余额 餘額 利率 贷款 貸款 税率 预算 預算 利润 利潤 成本 库存 庫存 仓库 倉庫 快递 快遞 包裹 物流 邮箱 信箱 短信 "
    "屏幕 螢幕 键盘 鍵盤 鼠标 滑鼠 电池 電池 充电 充電 电源 電源 开关 開關 插头 插頭 噪音 灰尘 灰塵 水管 温水 冷水 垃圾 食物 早餐 午餐 晚餐 热身 热量 "
    "供应商 稳定性 安全性 可靠性 依赖 附件 备注 備註 摘要 草稿 权限 權限 日程 会员 會員"
)
_CHINESE_LETTERS_OF_GRAMMAR = "的了是很也就都吗呢吧们这們這嗎麼您她它你我他把被让在对對为為和与與到从從向以及等中会會能要有不没沒请請将將所其后後前时時可"
_KOREAN = (
    "설정 확인 파일 결과 사용 문제 데이터 시스템 서버 오류 요청 응답 처리 실행 완료 상태 정보 내용 방법 시간 필요 가능 추가 삭제 변경 수정 저장 "
    "생성 분석 설명 비교 기록 보고 계획 회의 작업 고객 제품 서비스 가격 비용 결제 주문 배송 환불 "
    "주소 전화 이름 비밀번호 계정 버전 기능 성능 효과 안전 위험 환경 조건 기준 규칙 원인 목적 목표 과정 단계 기술 모델 함수 변수 코드 메모리 검색 "
    "표시 준비 주의 추천 도움 질문 답변 선택 입력 출력 시작 종료 다음 이상 이하 우선순위 건수 요약 "
    "평가 결론 예시 참고 현재 최근 전체 일부 경우 부분 관련 중요 간단 복잡 정확 직접 자동 수동 진행 진행중 대기 중지 예정 보류 취소 승인 거절 검토 "
    "오늘 내일 어제 모레 아침 저녁 오전 오후 주말 이번 지난 매일 매주 항상 가끔 자주 빨리 천천히 "
    "잠시 잠깐 여기 거기 저기 무엇 누구 언제 어디 어떻게 왜 얼마 하나 둘 셋 사람 사용자 관리자 담당자 회사 직원 팀원 부서 업무 자료 문서 표 목록 "
    "항목 그림 사진 동영상 화면 버튼 메뉴 페이지 링크 연결 접속 속도 온도 크기 길이 높이 무게 개수 "
    "숫자 날짜 기간 기한 계약 보증금 수수료 신청 접수 제출 등록 가입 탈퇴 로그인 인증 보안 권한 허용 금지 제한 유지 관리 운영 개발 설계 배포 "
    "테스트 검증 점검 복구 백업 이전 업데이트 설치 다운로드 업로드 공유 전송 수신 알림 안내 공지 정상 "
    "비정상 성공 실패 경고 증가 감소 향상 개선 최적화 해결 해당 대상 범위 방향 위치 영향 변화 차이 장점 단점 특징 종류 형태 구조 의견 생각 이유 "
    "사실 상황 감사 환영 부탁 냉장고 신문지 열쇠 창문 책상 의자 신발 우산 시계 안경 음악 경제 역사 문화 사회 정치 과학 교육 건강 도시 선생님 "
    "학생 환자 두통 피부 근육 "
    "심장 기차 자동차 비행기 공항 도로 여행 여권 영수증 불만 만족 재고 창고 택배 소포 물류 화면 자판 전지 충전 전원 소음 먼지 쓰레기 음식 "
    "아침식사 점심 예산 이익 손실 "
    "수입 지출 대출 금리 세금 보험 잔액 청구서 견적 납품 공급 구매 판매 거래 협상 합의 분쟁 법률 규정 절차 서류 양식 도장 서명 사본 원본 첨부"
)
_KOREAN_END = re.compile(
    "(?:니다|하는|하고|해서|에서|으로|했다|한다|하게|하여|해요|세요|어요|아요|에게|까지|부터|다면|하면|려면|지만|는데|므로|니까|거나|도록|더라도|면서)$"
)
_NAME = re.compile("(?:公司|会社|會社|集团|集團|银行|銀行|大学|大學|医院|病院|酒店|[市省县區区路街号號站駅寺山湖川縣県町村店局院部社園园祭节節門门])$")
_COURTESY = frozenset("пожалуйста спасибо дякую شكرا شكراً תודה धन्यवाद ขอบคุณ ขอบคุณครับ ขอบคุณค่ะ ευχαριστώ 감사합니다 고맙습니다 ありがとう 谢谢 謝謝".split())  # noqa: SIM905 - a list of words
# What makes a word of three characters from one of two; any other third character may make a brand of it (支付宝).
_AFFIXES = frozenset(
    "性化率度量器机機员員者式型法感力值項项类類后後前中内內外時时上下间間边邊里裡无無非不未可再已被最更新旧舊各每全总總大小多第超低高较較很太正在将將需請请只仅僅都也又并並了的地得着過过出入到成为為用作好完"
)
EVERYDAY_SHARE = 0.6  # of a run's characters


def is_grammar(run: Run) -> bool:
    """The run is, or holds, a word of grammar; of languages without blanks: begins or ends with one."""
    pattern = _UNSPACED.get(run.script)
    if pattern is not None:
        return pattern.search(run.text) is not None
    words = _GRAMMAR.get(run.script)
    return words is not None and any(word in words for word in run.text.lower().split())


def is_everyday(run: Run) -> bool:
    """The run is grammar or general vocabulary, so that it is no name."""
    if is_grammar(run):
        return True
    if run.script == "han":
        if len(run.text) >= 3 and _NAME.search(run.text):
            return False
        share = everyday_share(run.text) if len(run.text) >= 2 else 0.0
        return share > EVERYDAY_SHARE and (share == 1 or len(run.text) != 3 or run.text[0] in _AFFIXES or run.text[2] in _AFFIXES)
    if run.script == "hangul":
        return _hangul_word().match(run.text) is not None or (len(run.text) >= 3 and _KOREAN_END.search(run.text) is not None)
    return False


def is_courtesy(run: Run) -> bool:
    """Please and thank you: what a model closes with in the language that it slips into."""
    return run.text.lower() in _COURTESY


def everyday_share(text: str) -> float:
    """Which part of a run of Han characters is made of everyday words and grammar."""
    known, at, count = _han_words(), 0, 0
    while at < len(text):
        size = next((size for size in (3, 2) if text[at : at + size] in known), 0) or int(text[at] in _CHINESE_LETTERS_OF_GRAMMAR)
        count += size
        at += size or 1
    return count / max(1, len(text))


@cache
def _hangul_word() -> re.Pattern[str]:
    """A Korean word of the list with its particles and endings."""
    return re.compile(
        f"^(?:{'|'.join(_KOREAN.split())})(?:들?(?:을|를|은|는|이|가|의|에|로|으로|와|과|도|만)|하고|하여|해서|하는|한|된|되는|하기|합니다|입니다|됩니다|중)?$"
    )


@cache
def _han_words() -> frozenset[str]:
    """Two and three characters each; read when Han characters are first met in other prose."""
    return frozenset(import_module("detector.signals.everyday_chinese").WORDS.split()) | frozenset(_HAN.split())
