"""``python -m loop.cli``: the command line where it is not installed as ``afterthought``."""

from loop.cli.program import main

if __name__ == "__main__":
    main()
