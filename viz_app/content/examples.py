"""Example sentences of our own. The first of each is what a newcomer sees."""

from collections.abc import Mapping

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig

__all__ = [
    "BATCHES",
    "CAPTIONS",
    "EVERYDAY",
    "GIVERS",
    "MORE",
    "PURPOSES",
    "REVIEWS",
    "TOY_EXAMPLES",
    "examples_for",
    "on_offer_for",
]

# By source language; all as many, so that a visitor who changes the checkpoint stays at the same place of the list.
CAPTIONS = {
    "en": (
        "A brown dog is running through the snow.",
        "Two children are building a sandcastle on the beach.",
        "A woman in a red coat is waiting at the bus stop.",
        "An old man plays the guitar while people watch him.",
        "Three cyclists ride down a narrow street in the rain.",
    ),
    "de": (
        "Ein brauner Hund rennt durch den Schnee.",
        "Zwei Kinder bauen eine Sandburg am Strand.",
        "Eine Frau in einem roten Mantel wartet an der Bushaltestelle.",
        "Ein alter Mann spielt Gitarre, während ihm Leute zuschauen.",
        "Drei Radfahrer fahren im Regen eine enge Straße hinunter.",
    ),
    "zh": (
        "一只棕色的狗在雪地里奔跑。",
        "两个孩子在海滩上堆沙堡。",
        "一位穿红色外套的女士在公交车站等车。",
        "一位老人在弹吉他，人们看着他。",
        "三个骑自行车的人在雨中沿着一条窄街骑行。",
    ),
}

EVERYDAY = {
    "en": (
        "Where is the station?",
        "My sister bought a new car last week.",
        "It was raining, so we stayed at home.",
        "What are you going to do tomorrow?",
        "I have never been to Berlin.",
    ),
    "de": (
        "Wann fährt der nächste Zug?",
        "Meine Schwester hat letzte Woche ein neues Auto gekauft.",
        "Es hat geregnet, deshalb sind wir zu Hause geblieben.",
        "Was machst du morgen?",
        "Ich war noch nie in Berlin.",
    ),
    "zh": (
        "下一班火车几点开？",
        "我妹妹上周买了一辆新车。",
        "因为下雨，我们待在家里。",
        "你明天打算做什么？",
        "我从来没去过北京。",
    ),
}
# Sentence → what to look for in its translation, for models of everyday sentences; of all pairs of languages the same
# phenomena in the same order: reordering, a verb in two parts, negation, ambiguity, a pronoun, a word in pieces,
# agreement, and one that goes wrong.
PURPOSES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("en", "de"): {
        "Yesterday I bought a red car.": "Reordering: “bought” becomes two words, far apart. Where do both look?",
        "The boy gets up at seven o'clock.": "A verb in two parts: “gets up” becomes “steht … auf”, the hour between.",
        "I do not like coffee.": "Negation: “do not” becomes one word. Which head joins them?",
        "He sits on the bank.": "Ambiguity: a bank for money or that of a river? German has two words; see which.",
        "The dog sleeps because it is tired.": "A pronoun: “it” is the dog, which German calls “er”. Does a head know?",
        "The dishwasher is broken.": "A word in pieces: see how the model reads “dishwasher”, then merge subwords.",
        "The girl is small, but the boys are big.": "Agreement: each “the” becomes another word, which looks ahead.",
        "It is raining cats and dogs.": "It goes wrong: the idiom is taken word for word. How sure is it?",
    },
    ("de", "en"): {
        "Gestern habe ich ein rotes Auto gekauft.": "Reordering: “habe … gekauft” is one word. What does it look at?",
        "Der Junge steht um sieben Uhr auf.": "A verb in two parts: “auf” changes what “steht” means. Is it seen?",
        "Ich mag keinen Kaffee.": "Negation: “keinen” becomes “don't”, at another place. Which head joins them?",
        "Er sitzt auf der Bank.": "Ambiguity: “Bank” is a bench or a bank. What tells the model which?",
        "Der Hund schläft, weil er müde ist.": "A pronoun: “er” is the dog. Does a head of the encoder know?",
        "Die Spülmaschine ist kaputt.": "A word in pieces: see how the model reads it, and what it makes of that.",
        "Meine alten Freunde sind sehr nett.": "Agreement: German marks the plural four times, English twice.",
        "Das ist mir Wurst.": "It goes wrong: the idiom is not known. How sure is it?",
    },
    ("en", "zh"): {
        "Yesterday I bought a red car.": "A word that English does not have: what does “了” look at?",
        "The boy gets up at seven o'clock.": "Reordering: when something is done stands before what is done.",
        "I do not like coffee.": "Negation: “do not” becomes one character. Which head joins them?",
        "He sits on the bank.": "Ambiguity: a bank for money or that of a river? Chinese has two words; see which.",
        "The dog sleeps because it is tired.": "A pronoun: “it” is the dog. Does a head of the encoder know?",
        "The dishwasher is broken.": "A word in pieces: see how the model reads “dishwasher”, then merge subwords.",
        "The girl is small, but the boys are big.": "Agreement: Chinese has none. What becomes of each “the”?",
        "It is raining cats and dogs.": "An idiom: is it taken word for word? How sure is the model?",
    },
    ("zh", "en"): {
        "我昨天买了一辆红色的车。": "Reordering: “昨天” stands second here. Where does English put it?",
        "他每天七点起床。": "A verb in two parts: “起床” becomes “gets up”. Where do both words look?",
        "我不喜欢咖啡。": "Negation: “不” becomes “don't”. Which head joins them?",
        "他去银行。": "Ambiguity: English “bank” is two words in Chinese; this one is for money.",
        "狗在睡觉，因为它累了。": "A pronoun: “它” is the dog. Does a head of the encoder know?",
        "洗碗机坏了。": "A word in pieces: each character is a token. Which of them does an English word look at?",
        "他有三个孩子。": "Agreement: Chinese has no plural, English needs one. What does it look at?",
        "入乡随俗。": "It goes wrong: the proverb is not known. How sure is it?",
    },
}
# Of the toy languages that are trained here.
TOY_EXAMPLES = {
    "letters": ("b e a c o n", "m a n g o", "a b c d e f", "l a m b", "p o l k a"),
    "dates": (
        "the twenty third of May nineteen eighty four",
        "the first of January nineteen forty five",
        "the ninth of November nineteen eighty nine",
        "the twelfth of April nineteen sixty one",
        "the third of October nineteen ninety",
    ),
}
# For an example, one that differs from it by a word: what a head says of the one is pasted into the other.
GIVERS = {
    "Where is the station?": "Where is the hotel?",
    "A brown dog is running through the snow.": "A brown horse is running through the snow.",
    "Wann fährt der nächste Zug?": "Wann fährt der nächste Bus?",
    "Ein brauner Hund rennt durch den Schnee.": "Ein brauner Hund rennt durch den Wald.",
    "下一班火车几点开？": "下一班飞机几点开？",
}
EVERYDAY_CORPORA, CAPTION_CORPORA = {"cmn-eng", "cmn-eng-2026", "deu-eng"}, {"multi30k", "3am"}

# With the captions, enough to measure heads on.
MORE = {
    "en": (
        "A girl is painting a green door.",
        "Two men in white shirts are carrying a long ladder.",
        "A cat sleeps on an old wooden chair.",
        "Many people are dancing in front of a big stage.",
        "A boy with a blue cap throws a ball over the fence.",
        "The cook is cutting onions in a small kitchen.",
        "A train stops at a quiet station in the evening.",
        "Three women are sitting on the grass and laughing.",
        "A man with a beard is repairing a bicycle.",
        "A black horse jumps over a white gate.",
        "Some students are reading under a tall tree.",
        "A baby in a yellow shirt is holding a wooden spoon.",
        "An old woman sells flowers at the corner of the market.",
        "A climber rests on a rock above the lake.",
        "Two dogs are fighting over a red ball in the water.",
    ),
    "de": (
        "Ein Mädchen streicht eine grüne Tür.",
        "Zwei Männer in weißen Hemden tragen eine lange Leiter.",
        "Eine Katze schläft auf einem alten Holzstuhl.",
        "Viele Menschen tanzen vor einer großen Bühne.",
        "Ein Junge mit einer blauen Mütze wirft einen Ball über den Zaun.",
        "Der Koch schneidet Zwiebeln in einer kleinen Küche.",
        "Ein Zug hält am Abend an einem ruhigen Bahnhof.",
        "Drei Frauen sitzen auf dem Gras und lachen.",
        "Ein Mann mit Bart repariert ein Fahrrad.",
        "Ein schwarzes Pferd springt über ein weißes Tor.",
        "Einige Studenten lesen unter einem hohen Baum.",
        "Ein Baby in einem gelben Hemd hält einen Holzlöffel.",
        "Eine alte Frau verkauft Blumen an der Ecke des Marktes.",
        "Ein Kletterer ruht sich auf einem Felsen über dem See aus.",
        "Zwei Hunde streiten sich im Wasser um einen roten Ball.",
    ),
    "zh": (
        "一个女孩在给一扇绿色的门刷漆。",
        "两个穿白衬衫的男人抬着一架长梯子。",
        "一只猫睡在一把旧木椅上。",
        "许多人在大舞台前跳舞。",
        "一个戴蓝帽子的男孩把球扔过栅栏。",
        "厨师在小厨房里切洋葱。",
        "傍晚一列火车停在安静的车站。",
        "三个女人坐在草地上笑。",
        "一个留着胡子的男人在修自行车。",
        "一匹黑马跳过白色的大门。",
        "几个学生在一棵大树下看书。",
        "一个穿黄衬衫的婴儿拿着一把木勺。",
        "一位老妇人在市场的拐角卖花。",
        "一个登山者在湖边的岩石上休息。",
        "两只狗在水里抢一个红球。",
    ),
}

# Sentences of different lengths, so that a batch has padding; the last has more words than padding.
BATCHES = {
    "en": (
        "A dog runs.",
        "The old man with the red hat is sitting on a bench in the park because he wants to feed the birds.",
        "A woman reads a book.",
        "Two small children are playing with a big red ball on the beach on a warm day.",
    ),
    "de": (
        "Ein Hund rennt.",
        "Der alte Mann mit dem roten Hut sitzt auf einer Bank im Park, weil er die Vögel füttern will.",
        "Eine Frau liest ein Buch.",
        "Zwei kleine Kinder spielen an einem warmen Tag mit einem roten Ball am Strand.",
    ),
    "zh": (
        "一只狗在跑。",
        "那个戴红帽子的老人坐在公园的长椅上，因为他想喂那些小鸟。",
        "一个女人在看书。",
        "两个小孩在海滩上玩一个红色的大球。",
    ),
    "letters": ("d o g", "l a p l a n d", "b e a c o n"),
    "dates": TOY_EXAMPLES["dates"][2:],
}

# Of the first, single words turn the class when they are deleted.
REVIEWS = (
    "Not a bad film at all, although it is far too long.",
    "A warm and clever film. The story is simple, but the actors are wonderful and I laughed from the first minute to "
    "the last.",
    "What a waste of two hours. The plot makes no sense, the jokes are old and even the music is boring.",
    "I expected nothing and got a small masterpiece: beautiful pictures, a great script, and an ending that stays with "
    "you.",
    "The beginning is good, but then it gets worse and worse. Bad acting, poor dialogue, and no idea how to end.",
)


BEGINNINGS = (
    "The cat sat on the mat because",
    "Once upon a time there was a king who",
    "One, two, three, four,",
    "The capital of France is Paris. The capital of Italy is",
    "My sister likes apples, and my brother likes",
)
MASKED = (
    "Paris is the capital of {}.",
    "The {} barked at the cat.",
    "She put the milk into the {}.",
)


def examples_for(config: AnyConfig) -> tuple[str, ...]:
    """Sentences of the kind that a checkpoint was trained on, or that fit what it does."""
    language = config.tokenizer.source_language
    captions = CAPTIONS.get(language, CAPTIONS["en"])
    if isinstance(config, ForeignConfig):
        if config.task == "continuation":
            return BEGINNINGS
        mask = config.tokenizer.mask
        masked = tuple(text.format(mask) for text in MASKED) if mask and config.task == "reading" else ()
        return (*masked, *EVERYDAY.get(language, EVERYDAY["en"]))[:5]
    if language in TOY_EXAMPLES:
        return TOY_EXAMPLES[language]
    corpora = config.train.corpora
    everyday = EVERYDAY.get(language, ())
    if not everyday or not EVERYDAY_CORPORA & set(corpora):
        return captions
    return (*everyday[:3], *captions[:2]) if CAPTION_CORPORA & set(corpora) else everyday


def on_offer_for(config: AnyConfig) -> tuple[str, ...]:
    """`examples_for`, and of a model of everyday sentences those with a purpose."""
    examples = examples_for(config)
    if isinstance(config, ForeignConfig) or not EVERYDAY_CORPORA & set(config.train.corpora):
        return examples
    return (*examples, *PURPOSES.get((config.tokenizer.source_language, config.tokenizer.target_language), ()))
