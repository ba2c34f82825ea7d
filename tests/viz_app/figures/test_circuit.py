"""The places of the nodes of a circuit."""

from itertools import combinations, pairwise

from viz_app.figures.circuit import Node, circuit_drawing


def node(stack: str, layer: int, block: int = 0, number: int = 0) -> Node:
    return Node(name="", label=str(number), title=f"{layer}.{block}", stack=stack, row=(layer, block), number=number)


def test_rows_follow_the_model_and_the_encoder_stands_on_the_left() -> None:
    nodes = [node(stack, layer) for stack in ("encoder", "decoder") for layer in (-1, 0, 1)]
    drawing = circuit_drawing(nodes, [(0, 1), (1, 2), (2, 5), (3, 4), (4, 5)])
    x, y = zip(*drawing.places, strict=True)
    assert max(x[:3]) < min(x[3:])
    assert y[0] == y[3] > y[1] == y[4] > y[2] == y[5]
    assert {row["title"] for row in drawing.rows} == {"-1.0", "0.0", "1.0"}
    assert all(0 < place < drawing.width for place in x)


def test_nodes_of_a_row_stand_apart_and_in_an_order_without_needless_crossings() -> None:
    nodes = [node("decoder", layer, number=head) for layer in range(3) for head in range(5)]
    edges = [(layer * 5 + head, (layer + 1) * 5 + (3 * head + 1) % 5) for layer in range(2) for head in range(5)]
    places = circuit_drawing(nodes, edges).places
    for layer in range(3):
        row = sorted(x for x, _ in places[layer * 5 : layer * 5 + 5])
        assert min(right - left for left, right in pairwise(row)) >= 30
    crossings = [
        one
        for one, other in combinations(edges, 2)
        if one[0] // 5 == other[0] // 5
        and (places[one[0]][0] - places[other[0]][0]) * (places[one[1]][0] - places[other[1]][0]) < 0
    ]
    assert crossings == []
