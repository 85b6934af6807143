"""`python -m tailhealth` and the `tailhealth` command."""

from tailhealth.cli import main

if __name__ == "__main__":
    main()
