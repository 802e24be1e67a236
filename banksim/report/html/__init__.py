"""Reports as pages: one file each, which needs no network.

conflicts.py      conflicts by source line, put together of
  verdict.py      … what they cost, and the worst lines
  findings.py     … what checks found
  figures.py      … what accesses and lines cost
  sources.py      … files and their lines
  highlight.py    … source in colours
  picture.py      … lanes and banks of a request
  elements.py     … the array elements at an address
  array_places.py … where the arrays lie
  provenance.py   … what made the page
advice.py         layouts, before and after
page.py           templates made into pages
"""
