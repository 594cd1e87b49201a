"""The help page: every command, group and option, from the files in `conf/`."""

from andrea_exp.config.catalogue import ROOT_FILE, conf_directory, description, groups

USAGE = """andrea_exp: what the embedding choices of a small language model cost, and what they buy

  python -m andrea_exp [group=option ...] [key=value ...]   train, evaluate and report one run
  python -m andrea_exp -m name=NAME group=a,b key=1,2 ...   a sweep over every combination
  python -m andrea_exp --cfg job [...]                      print the configuration, do nothing
  python -m andrea_exp.job DIR                              run, or resume, a frozen run
  python -m andrea_exp.status DIR                           how far the jobs of a sweep are
  python -m andrea_exp.diagnose FILE [--tensor NAME]        smoothness of any position table
  python -m andrea_exp.cost [...] [--json]                  parameters, memory, FLOPs; no training
  python -m andrea_exp.report DIR ... [--output FILE]       one HTML file from finished runs
"""


def page() -> str:
    """The whole help text."""
    listing = [
        f"{group}\n" + "\n".join(_entry(group, option) for option in options)
        for group, options in groups().items()
    ]
    root = (conf_directory() / f"{ROOT_FILE}.yaml").read_text(encoding="utf-8")
    values = root[root.index("\n\n") :].strip()
    return "\n\n".join(
        [USAGE.strip(), "Groups and options", *listing, "Other keys, with their defaults", values]
    )


def _entry(group: str, option: str) -> str:
    return f"  {option:24} {description(group, option)}"
