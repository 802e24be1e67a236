"""The rule of banksim.banks.rule, compiled: for one request, for 32 at once, for arrays, summed by site.

rule_words.py          rules as numbers
one_request.py         one request, as rule.py judges it
copies.py              one copy from global memory
vectors.py             vectors of LLVM code, and how to sort them
many_requests.py       32 requests at once, as vector code
arrays.py              a count for each request of an array
site_sums.py           sums by site, op and width
"""
