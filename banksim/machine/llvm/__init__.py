"""The engine that everything runs on: SASS translated to LLVM, one call a warp, 32 lanes as one vector."""
