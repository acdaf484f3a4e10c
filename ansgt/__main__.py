"""`python -m ansgt` works from a checkout without installing the package."""

from ansgt.cli import main

if __name__ == "__main__":
    main()
