"""Colours and marks of the reports. What a report says stands in its characters; colour only repeats it."""

CALM = "#2f81c4"
HOT = "bold #d55e00"
"""Blue and vermilion: every kind of colour vision tells them apart; both are legible on black and white."""
QUIET = "#808080"
STRONG = "bold"
