"""The rule of banksim.banks.rule, compiled: for one request, for sixteen at once, for arrays, summed by site."""
