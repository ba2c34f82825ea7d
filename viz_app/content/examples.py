"""Example sentences, written for Headlight. A page opens with the first one of its list."""

from model.config.foreign import ForeignConfig
from model.corpora.corpora import TATOEBA
from model.inference.opening import AnyConfig
from viz_app.content.purposes import PURPOSES
from viz_app.content.story_examples import STORY_BATCHES, STORY_BEGINNINGS, STORY_DONORS, STORY_MASKED, knows_stories

__all__ = [
    "BATCHES",
    "CAPTIONS",
    "DONORS",
    "EVERYDAY",
    "MASKED_DONOR",
    "MORE",
    "REVIEWS",
    "REVIEW_DONOR",
    "REVIEW_RECEIVER",
    "SHORT_REVIEWS",
    "TOY_EXAMPLES",
    "batch_examples",
    "examples_for",
    "offered_examples",
]

# By source language. All lists have the same length: a visitor who changes the checkpoint keeps the same list position.
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
# For the toy languages, which a visitor can train.
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
# Example → a donor that differs from it in one word. One head's output for the donor is patched into the example.
DONORS = {
    "Where is the station?": "Where is the hotel?",
    "A brown dog is running through the snow.": "A brown horse is running through the snow.",
    "Wann fährt der nächste Zug?": "Wann fährt der nächste Bus?",
    "Ein brauner Hund rennt durch den Schnee.": "Ein brauner Hund rennt durch den Wald.",
    "下一班火车几点开？": "下一班飞机几点开？",
    "The cat sat on the mat because": "The dog sat on the mat because",
    **STORY_DONORS,
}
EVERYDAY_CORPORA, CAPTION_CORPORA = set(TATOEBA), {"multi30k", "3am"}

# Together with the captions, these are enough to measure the roles of heads.
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

# Sentences of different lengths, so that the batch has padding. The last one has more words than padding.
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
    "beginnings": (
        "The dog",
        "My brother opened the window, looked at the rain, and then he",
        "She reads a book about",
        "On Monday, on Tuesday, on Wednesday, on",
    ),
    "masked": (  # {} becomes the mask token of the model
        "A dog {}.",
        "The old man with the red {} is sitting on a bench in the park because he wants to feed the birds.",
        "A {} reads a book.",
        "Two small children are playing with a big red ball on the {}.",
    ),
    "reviews": (
        "Not a bad film at all, although it is far too long.",
        "What a waste of two hours. The plot makes no sense, the jokes are old and even the music is boring.",
        "A small masterpiece.",
        "The beginning is good, but then it gets worse and worse.",
    ),
}

# In the first one, deleting a single word can change the class.
REVIEWS = (
    "Not a bad film at all, although it is far too long.",
    "A warm and clever film. The story is simple, but the actors are wonderful and I laughed from the first minute to "
    "the last.",
    "What a waste of two hours. The plot makes no sense, the jokes are old and even the music is boring.",
    "I expected nothing and got a small masterpiece: beautiful pictures, a great script, and an ending that stays with "
    "you.",
    "The beginning is good, but then it gets worse and worse. Bad acting, poor dialogue, and no idea how to end.",
)

# With the reviews above, enough to compare heads.
SHORT_REVIEWS = (
    "A funny and charming comedy.",
    "I fell asleep after half an hour.",
    "The music is beautiful and the story moved me.",
    "It looks cheap, and nobody in it can act.",
    "The best film that I have seen this year.",
    "I do not understand why people like this film.",
    "Slow at first, but the ending is wonderful.",
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
# Donors that differ in one word from a receiver: from the first of `MASKED`, and from a review with another class.
MASKED_DONOR = "Rome is the capital of {}."
REVIEW_RECEIVER, REVIEW_DONOR = "This film is a wonderful surprise.", "This film is a terrible surprise."


def examples_for(config: AnyConfig) -> tuple[str, ...]:
    """Examples that fit a checkpoint's training data or task, in its source language."""
    language = config.tokenizer.source_language
    captions = CAPTIONS.get(language, CAPTIONS["en"])
    if isinstance(config, ForeignConfig):
        stories, mask = knows_stories(config), config.tokenizer.mask
        if config.task == "continuation":
            return STORY_BEGINNINGS if stories else BEGINNINGS
        texts = STORY_MASKED if stories else MASKED
        masked = tuple(text.format(mask) for text in texts) if mask and config.task == "reading" else ()
        return (*masked, *EVERYDAY.get(language, EVERYDAY["en"]))[:5]
    if language in TOY_EXAMPLES:
        return TOY_EXAMPLES[language]
    corpora = config.train.corpora
    everyday = EVERYDAY.get(language, ())
    if not everyday or not EVERYDAY_CORPORA & set(corpora):
        return captions
    return (*everyday[:3], *captions[:2]) if CAPTION_CORPORA & set(corpora) else everyday


def batch_examples(config: AnyConfig) -> tuple[str, tuple[str, ...]]:
    """The name of a list in `BATCHES` that fits a checkpoint, and its sentences."""
    language, mask = config.tokenizer.source_language, getattr(config.tokenizer, "mask", "")
    by_task = {"continuation": "beginnings", "classification": "reviews", "reading": "masked" if mask else "en"}
    name = by_task.get(config.task, language if language in BATCHES else "en")
    texts = (STORY_BATCHES if knows_stories(config) else BATCHES)[name]
    return name, tuple(text.format(mask) for text in texts)


def offered_examples(config: AnyConfig) -> tuple[str, ...]:
    """Return `examples_for`, and the sentences of `PURPOSES` for a model of everyday sentences."""
    examples = examples_for(config)
    if isinstance(config, ForeignConfig) or not EVERYDAY_CORPORA & set(config.train.corpora):
        return examples
    return (*examples, *PURPOSES.get((config.tokenizer.source_language, config.tokenizer.target_language), ()))
