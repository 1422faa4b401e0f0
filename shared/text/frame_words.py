"""The words by which clients name what they put around a user's message: tags, headings, what stands beside them."""

from __future__ import annotations

import re

from shared.text.languages import empty_words
from shared.text.words import word_set

# Names of tags, by their parts: user_query, userRequest, file_contents.
USERS_WORD = word_set(
    "user human query question message request prompt instruction instructions input ask task feedback"
)
USER_TAG = USERS_WORD | word_set("users s original current latest last new follow up my the")
# A client's heading has one of these nouns, and nothing beside it but the other words.
FRAME_NOUNS = word_set(
    "context contexts document documents doc docs memory memories passage passages snippet snippets excerpt excerpts"
    " chunk chunks knowledge source sources reference references file files attachment attachments result results"
    " output outputs transcript history background article articles information facts observation observations page"
    " pages webpage webpages content contents data records material materials entries notes"
)
FRAME_TAG = FRAME_NOUNS - {"content", "contents", "entries", "notes"} | word_set(
    "attached recall recalled retrieved retrieval search tool conversation chat reminder environment cdata selection"
    " selected clipboard email mail letter ticket log logs record"
)
FORMATTING = word_set("p b i u s em strong small big sub sup br hr span font mark del ins strike a ul ol li h1 h2 h3"
                       " h4 h5 h6 kbd code spoiler q")  # fmt: skip
LAYOUT = word_set("div section main center header body")
"""Formatting too where nothing stands beside it."""

FRAME_VOCABULARY = FRAME_NOUNS | word_set(
    "a an the this these those following below above here is are was were be been relevant retrieved related provided"
    " given additional extra supporting possibly potentially some previous prior past earlier recent recalled long"
    " term short search web internet query queries tool function call calls attached uploaded external internal user"
    " users s human for from of in on to with and or by as about that which may might can could should will help"
    " useful answer answering question questions use using pieces piece list base learned your you at end have has"
    " found database vector store semantic conversation conversations chat session sessions top matching similar text"
    " texts input response please based only inside within xml tags tag per each its their knowledgebase rag kb we"
)
# Stems, because these languages bend their nouns.
FRAME_STEMS = re.compile(
    r"\b(?:kontext|dokument|suchergebnis|quelle|erinnerung|datei|anhang|anhäng|auszug|auszüg|wissensbasis"
    r"|contexto|documento|resultado|memoria|recuerdo|fuente|archivo|adjunt|fragmento|memória|fonte|arquivo|trecho"
    r"|contexte|résultat|souvenir|mémoire|fichier|pièces? jointe|extrait"
    r"|contesto|risultat|ricord|documenti|fonti|allegat"
    r"|bestand|zoekresulta|bronn|herinnering|bijlage|bağlam|belge|sonuç|kaynak|hafıza|anı"
    r"|контекст|документ|результат|воспоминани|памят|источник|файл|фрагмент|سياق|السياق|مستند|المستندات|نتائج"
    r"|संदर्भ|दस्तावेज़|दस्तावेज|परिणाम)\w*"
    r"|上下文|背景信息|参考资料|参考内容|资料|資料|文档|文件|搜索结果|检索|記憶|记忆|附件|知识库|コンテキスト|文脈|参考情報|検索結果"
    r"|文書|맥락|컨텍스트|문서|검색 ?결과|참고|บริบท|เอกสาร|ผลการค้นหา",
    re.IGNORECASE,
)
SELF_SIGNS = re.compile(
    r"\b(?:мо[йяёи]|меня|мне|я|benim|bana|ben|אני|שלי|לי|عندي)\b|मेर[ाीे]|मुझे|我|私|僕|俺|저|제|나의|내 |ฉัน|ผม",
    re.IGNORECASE,
)
"""How speakers mean themselves in further languages."""
BESIDE_STEMS = re.compile(
    r"relevan|abgeruf|gefund|folgend|bereitgest|früher|vorherig|such|nutzer|benutzer|recuper|siguient|encontrad|búsqued"
    r"|proporcion|anterior|previ|usuari|pertinent|récup|suivant|recherch|fourni|utilisat|seguent|ricerc|fornit|utent"
    r"|seguint|pesquis|busca|fornecid|zoek|gevond|найден|релевант|поиск|следующ|предыдущ|пользоват|ilgili|arama|bulun"
    r"|informa|conocim|wissen|connaiss",
    re.IGNORECASE,
)
"""How the words begin that such a heading has beside them."""
GRAMMAR = frozenset().union(*(empty_words(one) for one in ("de", "es", "fr", "it", "pt", "nl", "ru", "tr")))
SHORT_HEADING = 10
PERSONS_HEADING = re.compile(
    r"\W*(?:(?:here(?: is|['’]s)|just|for|first),? )?"
    r"(?:(?:some|more|further|quick|brief|a (?:bit|little|few)(?: of)?) )+"
    r"(?:\w+ )?(?:context|background|info|information|facts|notes|details)\W*",
    re.IGNORECASE,
)
"""How people announce what they say of themselves."""
