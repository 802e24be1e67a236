"""The machine: executes SASS, the code that the GPU itself runs, and asks the bank rule about every request."""
