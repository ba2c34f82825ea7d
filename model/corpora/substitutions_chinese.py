"""Substitutions for English and (simplified) Chinese: names in both scripts, things, and sentences with slots."""

from collections.abc import Sequence

from model.corpora import phrasebook
from model.corpora.overlap import Pair
from model.corpora.substitutions import Substitutions, words

__all__ = ["CHINESE", "SUMS", "numeral"]


def pairs(text: str) -> tuple[Pair, ...]:
    """Read pairs `English 中文` one after the other; `_` stands for a space."""
    items = words(text)
    return tuple((en.replace("_", " "), zh) for en, zh in zip(items[::2], items[1::2], strict=True))


MEN = pairs("""
    Tom 汤姆 John 约翰 Bob 鲍勃 Jim 吉姆 Bill 比尔 Mike 迈克 Peter 彼得 Paul 保罗 Jack 杰克 George 乔治 Tony 托尼
    David 大卫 Mark 马克 Daniel 丹尼尔 Frank 弗兰克 Henry 亨利 Kevin 凯文 Leo 利奥 Martin 马丁 Nick 尼克 Oliver 奥利弗
    Robert 罗伯特 Simon 西蒙 Steve 史蒂夫 Tim 蒂姆 Victor 维克多 Walter 沃尔特 Max 马克斯 Felix 菲利克斯 Alex 亚历克斯
    Adam 亚当 Eric 埃里克 Harry 哈利 James 詹姆斯 Charles 查尔斯 Thomas 托马斯 William 威廉 Michael 迈克尔
    Alexander 亚历山大 Philip 菲利普 Sam 萨姆 Andrew 安德鲁 Edward 爱德华 Richard 理查德 Jason 杰森 Ryan 瑞恩
""")
WOMEN = pairs("""
    Mary 玛丽 Susan 苏珊 Nancy 南希 Emily 艾米丽 Alice 爱丽丝 Kate 凯特 Linda 琳达 Betty 贝蒂 Lisa 丽莎 Julia 朱莉娅
    Anna 安娜 Emma 艾玛 Mia 米娅 Lena 莉娜 Laura 劳拉 Sarah 萨拉 Sophie 苏菲 Hannah 汉娜 Clara 克拉拉
    Paula 宝拉 Nina 妮娜 Eva 伊娃 Maria 玛丽亚 Elena 埃琳娜 Sandra 桑德拉 Monica 莫妮卡 Olga 奥尔加 Helen 海伦
    Grace 格蕾丝 Lucy 露西 Rose 罗丝 Jenny 珍妮 Amy 艾米 Diana 戴安娜 Olivia 奥利维亚 Sophia 索菲亚 Charlotte 夏洛特
    Isabella 伊莎贝拉 Victoria 维多利亚 Jessica 杰西卡 Rachel 瑞秋 Rebecca 丽贝卡 Barbara 芭芭拉
""")
SURNAMES = pairs("""
    Jackson 杰克逊 Smith 史密斯 Brown 布朗 Johnson 约翰逊 White 怀特 Green 格林 Tanaka 田中 Suzuki 铃木 Yamada 山田
    Davis 戴维斯 Miller 米勒 Wilson 威尔逊 Taylor 泰勒 Clark 克拉克 Lewis 刘易斯 Baker 贝克 Schmidt 施密特
""")
FAMILIES = pairs("""
    Wang 王 Li 李 Zhang 张 Chen 陈 Liu 刘 Lin 林 Wu 吴 Zhao 赵 Huang 黄 Zhou 周 Sun 孙 Ma 马 Kim 金 Yang 杨 Xu 徐
    Zhu 朱
""")  # single characters that also occur in many other words, so they are written but never searched for
CITIES = pairs("""
    Boston 波士顿 Tokyo 东京 London 伦敦 Berlin 柏林 Paris 巴黎 Rome 罗马 Vienna 维也纳 Hamburg 汉堡 Chicago 芝加哥
    Madrid 马德里 Amsterdam 阿姆斯特丹 Sydney 悉尼 Munich 慕尼黑 Moscow 莫斯科 Beijing 北京 Shanghai 上海 Nanjing 南京
    Guangzhou 广州 Shenzhen 深圳 Hangzhou 杭州 Chengdu 成都 Taipei 台北 Hong_Kong 香港 Singapore 新加坡 Seoul 首尔
    Osaka 大阪 Kyoto 京都 Bangkok 曼谷 Delhi 德里 Cairo 开罗 Toronto 多伦多 Vancouver 温哥华 Seattle 西雅图
    Venice 威尼斯 Dublin 都柏林 Oslo 奥斯陆 Stockholm 斯德哥尔摩 Prague 布拉格 Geneva 日内瓦 Athens 雅典 Lisbon 里斯本
    Xi'an 西安
""")
# Names and codes that are copied unchanged, and Chinese names in Pinyin.
OTHERS = pairs("""
    Олег Олег Ελένη Ελένη さくら さくら 민수 민수 @lena @lena AB-12 AB-12 X7 X7 R2D2 R2D2 Li_Lei 李雷 Wang_Fang 王芳
    Zhang_Wei 张伟 Li_Na 李娜 Chen_Jie 陈杰 Liu_Yang 刘洋 Xiao_Ming 小明 Xiao_Hong 小红 Han_Meimei 韩梅梅
""")

# A thing with its article, and in Chinese with its measure word.
COUNTED = pairs("""
    a_man 一个男人 a_woman 一个女人 a_boy 一个男孩 a_girl 一个女孩 a_child 一个孩子 a_teacher 一位老师
    a_doctor 一位医生 a_dog 一只狗 a_cat 一只猫 a_bird 一只鸟 a_horse 一匹马 a_fish 一条鱼 a_book 一本书
    a_car 一辆汽车 a_bicycle 一辆自行车 a_bus 一辆公共汽车 a_house 一座房子 a_table 一张桌子 a_chair 一把椅子
    a_bed 一张床 a_cup 一个杯子 an_apple 一个苹果 a_letter 一封信 a_key 一把钥匙 a_hat 一顶帽子 a_shirt 一件衬衫
    a_ball 一个球 a_tree 一棵树 a_flower 一朵花 a_river 一条河 a_picture 一张照片 a_phone 一部电话 a_computer 一台电脑
    a_door 一扇门 a_window 一扇窗户 a_song 一首歌 a_film 一部电影 two_dogs 两只狗 two_men 两个男人
    two_children 两个孩子 three_books 三本书 three_girls 三个女孩 four_chairs 四把椅子 five_apples 五个苹果
    six_birds 六只鸟 ten_students 十个学生 many_people 许多人 some_water 一些水 some_bread 一些面包
""")
THINGS = pairs("""
    dog 狗 cat 猫 bird 鸟 horse 马 book 书 car 汽车 bicycle 自行车 house 房子 table 桌子 chair 椅子 bed 床 cup 杯子
    letter 信 key 钥匙 hat 帽子 shirt 衬衫 ball 球 tree 树 flower 花 picture 照片 phone 手机 computer 电脑 door 门
    window 窗户 bag 包 shoes 鞋子 coat 外套 room 房间 school 学校 street 街道 city 城市 river 河 mountain 山
    friend 朋友 teacher 老师 song 歌
""")
ADJECTIVES = pairs("""
    red 红色的 blue 蓝色的 green 绿色的 yellow 黄色的 black 黑色的 white 白色的 big 大的 small 小的 old 旧的 new 新的
    beautiful 美丽的 expensive 昂贵的 cheap 便宜的 long 长的 short 短的 strange 奇怪的
""")
PLACES = pairs("""
    in_the_room 在房间里 in_the_garden 在花园里 in_the_park 在公园里 at_school 在学校 at_home 在家
    in_the_city 在城市里 on_the_street 在街上 on_the_table 在桌子上 under_the_bed 在床下 behind_the_door 在门后
    next_to_the_window 在窗户旁边 in_front_of_the_house 在房子前面 at_the_station 在车站 in_the_kitchen 在厨房里
    on_the_beach 在海滩上 in_the_rain 在雨中 in_the_morning 在早上 in_the_evening 在晚上 after_dinner 晚饭后
    before_school 上学前 with_my_friends 和我的朋友们 without_sugar 不加糖 on_Monday 在星期一 next_week 下周
    last_year 去年 every_day 每天
""")

ONES = words("""
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen
""")
TENS = words("twenty thirty forty fifty sixty seventy eighty ninety")
DIGITS = "零一二三四五六七八九"


def numeral(number: int) -> Pair:
    """A number from 1 to 99 in words: twenty-one, 二十一."""
    tens, ones = divmod(number, 10)
    english = ONES[number - 1] if number < 20 else "-".join(filter(None, (TENS[tens - 2], ONES[ones - 1] * bool(ones))))
    chinese = (DIGITS[tens] if tens > 1 else "") + "十" * bool(tens) + (DIGITS[ones] if ones else "")
    return english, chinese


def calculation(left: int, right: int, result: int, words: Pair) -> Pair:
    (a, b, c), (english, chinese) = map(numeral, (left, right, result)), words
    return f"{a[0].capitalize()} {english} {b[0]} is {c[0]}", f"{a[1]}{chinese}{b[1]}等于{c[1]}"


SMALL = range(1, 13)
SUMS: Sequence[Pair] = (
    *(calculation(a, b, a + b, ("plus", "加")) for a in SMALL for b in SMALL),
    *(calculation(a + b, b, a, ("minus", "减")) for a in SMALL for b in SMALL),
    *(calculation(a, b, a * b, ("times", "乘以")) for a in SMALL for b in SMALL if a * b < 100),
)
ROWS = {"age": tuple(map(numeral, range(2, 100))), "sum": SUMS}  # too many to list in a phrasebook

SENTENCES: Sequence[Pair] = (
    ("I'm {woman}.", "我是{woman}。"),
    ("I am called {man}.", "我叫{man}。"),
    ("He is called {man}.", "他叫{man}。"),
    ("Her name is {woman}.", "她的名字叫{woman}。"),
    ("My name is {man} {surname}.", "我的名字是{man}·{surname}。"),
    ("My name is {woman}, and this is {man}.", "我的名字是{woman}，这是{man}。"),
    ("Good morning, Mr. {surname}.", "早上好，{surname}先生。"),
    ("Good evening, {woman}!", "晚上好，{woman}！"),
    ("Hello, {man}!", "你好，{man}！"),
    ("Hello {woman}, how are you?", "你好，{woman}，你好吗？"),
    ("Goodbye, {man}!", "再见，{man}！"),
    ("Thank you, {woman}.", "谢谢你，{woman}。"),
    ("Mr. {family} is a teacher.", "{family}先生是老师。"),
    ("Mrs. {surname} is our teacher.", "{surname}太太是我们的老师。"),
    ("{woman} comes from {city}.", "{woman}来自{city}。"),
    ("I live in {city}.", "我住在{city}。"),
    ("We are flying to {city}.", "我们要飞往{city}。"),
    ("How far is it to {city}?", "到{city}有多远？"),
    ("It is {hour}:{minute}.", "现在是{hour}:{minute}。"),
    ("The bus comes at {hour}:{minute}.", "公共汽车{hour}:{minute}来。"),
    ("We meet at {hour} o'clock.", "我们{hour}点见面。"),
    ("You can reach me at {phone}.", "你可以打{phone}找我。"),
    ("Call {phone}.", "请打{phone}。"),
    ("Her number is {phone}.", "她的号码是{phone}。"),
    ("{man} was born in {year}.", "{man}出生于{year}年。"),
    ("The house was built in {year}.", "这座房子建于{year}年。"),
    ("I am {small} years old.", "我{small}岁。"),
    ("{woman} is {small} years old.", "{woman}{small}岁。"),
    ("That makes {small} euros.", "一共{small}欧元。"),
    ("I have {small} books.", "我有{small}本书。"),
    ("{small} people are waiting.", "有{small}个人在等。"),
)
FRAGMENTS: Sequence[Pair] = (
    ("{counted}", "{counted}"),
    ("{counted} {place}", "{place}的{counted}"),
    ("the {adjective} {thing}", "{adjective}{thing}"),
    ("my {thing}", "我的{thing}"),
    ("your {adjective} {thing}", "你的{adjective}{thing}"),
    ("{place}", "{place}"),
    ("{man} and {woman}", "{man}和{woman}"),
)

CHINESE = Substitutions(
    language="zh",
    names={
        "man": MEN,
        "woman": WOMEN,
        "surname": SURNAMES,
        "family": FAMILIES,
        "city": CITIES,
        "other script": OTHERS,
        "counted": COUNTED,
        "thing": THINGS,
        "adjective": ADJECTIVES,
        "place": PLACES,
    },
    number_words=((), ()),
    templates=(*SENTENCES, *FRAGMENTS, *phrasebook.CHINESE.phrases),
    rows={**phrasebook.CHINESE.rows, **ROWS},
    spaced=False,
)
