"""Colours that the colour-blind tell apart: those of Okabe and Ito, some dark ones of Paul
Tol's for where these do not suffice, and two greys for words.
"""

ORANGE = "#e69f00"
SKY_BLUE = "#56b4e9"
GREEN = "#009e73"
YELLOW = "#f0e442"
BLUE = "#0072b2"
VERMILLION = "#d55e00"
PURPLE = "#cc79a7"

INDIGO = "#332288"
WINE = "#882255"
OLIVE = "#999933"

INK = "#1f2933"
MUTED = "#6b7680"
