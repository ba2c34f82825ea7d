"""An encoder-decoder Transformer written to be read and looked into.

Shapes, everywhere in this package:
    B  sentences of a batch        D  d_model, width of the residual stream
    S  source tokens (keys)        H  attention heads
    T  target tokens (queries)     K  width of a head, D / H
    L  layers                      V  vocabulary
A mask is True where a query may attend. Layers and heads are counted from 0.
"""
