"""A page whose elements are not closed in order is no page."""

import pytest

from helpers.html_page import Page


def test_elements_and_texts() -> None:
    page = Page("<p class='a'>one<b>two</b></p><rect x='3'/>")
    assert page.texts == ["one", "two"]
    assert page.named("p") == [{"class": "a"}]
    assert page.named("rect") == [{"x": "3"}]


@pytest.mark.parametrize("text", ["<p><b></p></b>", "<p>"])
def test_what_is_not_closed_is_noticed(text: str) -> None:
    with pytest.raises(AssertionError):
        Page(text)
