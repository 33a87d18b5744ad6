"""Programs to machine code: fused loops, written as LLVM's text, compiled by llvmlite, called at C speed."""
