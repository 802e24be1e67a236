"""What banksim asks of the operating system: files, processes, signals, caches, terminals."""
