"""What a request to shared memory is: its kind, which opcode makes it, and what is counted of it."""
