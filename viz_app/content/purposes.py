"""Example sentences that show one phenomenon each, with what to look for in their translation."""

from collections.abc import Mapping

from viz_app.content.translation import N_

__all__ = ["PURPOSES"]

# (source, target) → sentence → what to look for in its translation; for models of everyday sentences. All pairs show
# the same phenomena in the same order: reordering, a verb in two parts, negation, ambiguity, a pronoun, a word that is
# split into tokens, agreement, and a sentence that the model gets wrong.
PURPOSES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("en", "de"): {
        "Yesterday I bought a red car.": N_(
            "Reordering: “bought” becomes two words far apart. What do both attend to?"
        ),
        "The boy gets up at seven o'clock.": N_(
            "A verb in two parts: “gets up” becomes “steht … auf”, around the time."
        ),
        "I do not like coffee.": N_("Negation: “do not” becomes one word. Which head attends to both words?"),
        "He sits on the bank.": N_("Ambiguity: a money bank or a river bank? German has two words. Which is written?"),
        "The dog sleeps because it is tired.": N_("A pronoun: “it” is the dog, “er” in German. Does a head link them?"),
        "The dishwasher is broken.": N_(
            "Split into tokens: see how the model reads “dishwasher”. Then merge subwords."
        ),
        "The girl is small, but the boys are big.": N_("Agreement: each “the” needs the article that fits its noun."),
        "It is raining cats and dogs.": N_(
            "A failure: the model translates the idiom word for word. How confident is it?"
        ),
    },
    ("de", "en"): {
        "Gestern habe ich ein rotes Auto gekauft.": N_(
            "Reordering: “habe … gekauft” is one word. What does it attend to?"
        ),
        "Der Junge steht um sieben Uhr auf.": N_("A verb in two parts: “auf” changes “steht”. Does a head link them?"),
        "Ich mag keinen Kaffee.": N_("Negation: “keinen” becomes “don't” and moves. Which head links them?"),
        "Er sitzt auf der Bank.": N_(
            "Ambiguity: “Bank” is a bench or a money bank. Which words help the model choose?"
        ),
        "Der Hund schläft, weil er müde ist.": N_("A pronoun: “er” is the dog. Does an encoder head link them?"),
        "Die Spülmaschine ist kaputt.": N_(
            "Split into tokens: see how the model reads “Spülmaschine” and translates it."
        ),
        "Meine alten Freunde sind sehr nett.": N_("Agreement: German marks the plural four times, English twice."),
        "Das ist mir Wurst.": N_("A failure: the model does not know this idiom. How confident is it?"),
    },
    ("en", "zh"): {
        "Yesterday I bought a red car.": N_("A word that English does not have: which words does “了” attend to?"),
        "The boy gets up at seven o'clock.": N_("Reordering: Chinese puts the time before the verb."),
        "I do not like coffee.": N_("Negation: “do not” becomes one character. Which head attends to both words?"),
        "He sits on the bank.": N_("Ambiguity: a money bank or a river bank? Chinese has two words. Which is written?"),
        "The dog sleeps because it is tired.": N_("A pronoun: “it” is the dog. Does an encoder head link them?"),
        "The dishwasher is broken.": N_(
            "Split into tokens: see how the model reads “dishwasher”. Then merge subwords."
        ),
        "The girl is small, but the boys are big.": N_(
            "Agreement: Chinese has none and no article. Where does “the” go?"
        ),
        "It is raining cats and dogs.": N_("An idiom: does the model translate it word for word? How confident is it?"),
    },
    ("zh", "en"): {
        "我昨天买了一辆红色的车。": N_("Reordering: “昨天” is the second word here. Where does English put it?"),
        "他每天七点起床。": N_(
            "A verb in two parts: “起床” becomes “gets up”. Which characters do both words attend to?"
        ),
        "我不喜欢咖啡。": N_("Negation: “不” becomes “don't”. Which head links them?"),
        "他去银行。": N_("Ambiguity: English “bank” has two meanings. Chinese has two words. This one is for money."),
        "狗在睡觉，因为它累了。": N_("A pronoun: “它” is the dog. Does an encoder head link them?"),
        "洗碗机坏了。": N_("Split into tokens: each character is one. Which of them does an English word attend to?"),
        "他有三个孩子。": N_(
            "Agreement: Chinese nouns have no plural, English nouns do. What does the plural attend to?"
        ),
        "入乡随俗。": N_("A failure: the model does not know this proverb. How confident is it?"),
    },
}
