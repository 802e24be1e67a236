"""What requests cost: the bank rule (`rule`, read it first), its compiled twins, and what is found per site."""
