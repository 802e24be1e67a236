"""Reports as pages: one file each, which needs no network.

conflicts.py   conflicts by source line
advice.py      layouts, before and after
picture.py     lanes and banks of a request
"""
