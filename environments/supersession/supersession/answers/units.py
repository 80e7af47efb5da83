"""Words for units: durations in seconds, rates per second, currencies, measures."""

from __future__ import annotations

from supersession.answers.values import DAY, HOUR, MINUTE, MONTH, SECOND, WEEK, YEAR

DURATIONS = {
    **dict.fromkeys(("second", "sec"), SECOND),
    **dict.fromkeys(("minute", "min"), MINUTE),
    **dict.fromkeys(("hour", "hr"), HOUR),
    "day": DAY,
    "week": WEEK,
    "fortnight": 2 * WEEK,
    **dict.fromkeys(("month", "mo"), MONTH),
    **dict.fromkeys(("year", "yr"), YEAR),
    "decade": 10 * YEAR,
}
GLUED_DURATIONS = {"h": HOUR, "s": SECOND, "d": DAY}
PERIODS = {
    "day": DAY,
    "night": DAY,
    "morning": DAY,
    "evening": DAY,
    "week": WEEK,
    "weekend": WEEK,
    "month": MONTH,
    "year": YEAR,
    "hour": HOUR,
}
PERIODS |= {"minute": MINUTE, "fortnight": 2 * WEEK, "quarter": YEAR / 4}
RATES = {
    "daily": 1 / DAY,
    "nightly": 1 / DAY,
    "weekly": 1 / WEEK,
    "biweekly": 0.5 / WEEK,
    "fortnightly": 0.5 / WEEK,
    "monthly": 1 / MONTH,
    "bimonthly": 0.5 / MONTH,
    "quarterly": 4 / YEAR,
    "yearly": 1 / YEAR,
    "annually": 1 / YEAR,
    "hourly": 1 / HOUR,
}
ORDINALS = {"other": 2.0} | {
    word: float(n) for n, word in enumerate("second third fourth fifth sixth seventh eighth ninth tenth".split(), start=2)
}
TIMES = {"once": 1.0, "twice": 2.0, "thrice": 3.0}
SIGNS = {"$": "$", "€": "€", "£": "£", "¥": "¥", "₹": "₹"}
CURRENCIES = {
    "dollar": "$",
    "buck": "$",
    "usd": "$",
    "euro": "€",
    "eur": "€",
    "gbp": "£",
    "quid": "£",
    "yen": "¥",
    "jpy": "¥",
    "rupee": "₹",
}
MEASURES = {
    **dict.fromkeys(("pound", "lb"), "lb"),
    **dict.fromkeys(("kilogram", "kilo", "kg"), "kg"),
    **dict.fromkeys(("gram", "g"), "g"),
    **dict.fromkeys(("ounce", "oz"), "oz"),
    **dict.fromkeys(("mile", "mi"), "mi"),
    **dict.fromkeys(("kilometer", "kilometre", "km"), "km"),
    **dict.fromkeys(("meter", "metre"), "m"),
    **dict.fromkeys(("centimeter", "centimetre", "cm"), "cm"),
    **dict.fromkeys(("inch", "inche"), "in"),
    **dict.fromkeys(("foot", "feet", "ft"), "ft"),
    **dict.fromkeys(("liter", "litre"), "l"),
    **dict.fromkeys(("gallon", "gal"), "gal"),
    "dozen": "dozen",
    "mbp": "mbps",
    "gb": "gb",
    "mph": "mph",
    "kph": "km/h",
}
