"""The standard library modules that `stdlib` reads.

They are the modules that Python 3.11, 3.12 and 3.13 all have, by the same path, among the plain
top-level ones and some packages. `turtle`, `opcode`, `this` and `antigravity` (drawing, tables,
jokes), `html.entities` (one long table) and all tests are left out; `pathlib`, `zipfile` and
`sysconfig` changed from modules to packages in between.
"""

from typing import Final

_BY_FOLDER = {
    "": """
        abc argparse ast base64 bdb bisect bz2 cProfile calendar cmd code codecs codeop
        colorsys compileall configparser contextlib contextvars copy copyreg csv dataclasses
        datetime decimal difflib dis doctest enum filecmp fileinput fnmatch fractions ftplib
        functools genericpath getopt getpass gettext glob graphlib gzip hashlib heapq hmac
        imaplib inspect io ipaddress keyword linecache locale lzma mailbox mimetypes
        modulefinder netrc ntpath nturl2path numbers operator optparse os pdb pickle
        pickletools pkgutil platform plistlib poplib posixpath pprint profile pstats pty
        py_compile pyclbr pydoc queue quopri random reprlib rlcompleter runpy sched secrets
        selectors shelve shlex shutil signal site smtplib socket socketserver sre_compile
        sre_constants sre_parse ssl stat statistics string stringprep struct subprocess
        symtable tabnanny tarfile tempfile textwrap threading timeit token tokenize trace
        traceback tracemalloc tty types typing uuid warnings wave weakref webbrowser zipapp
        zipimport
    """,
    "asyncio": """
        __init__ __main__ base_events base_futures base_subprocess base_tasks constants
        coroutines events exceptions format_helpers futures locks log mixins proactor_events
        protocols queues runners selector_events sslproto staggered streams subprocess
        taskgroups tasks threads timeouts transports trsock unix_events windows_events
        windows_utils
    """,
    "collections": "__init__ abc",
    "concurrent": "__init__",
    "concurrent/futures": "__init__ _base process thread",
    "email": """
        __init__ _encoded_words _header_value_parser _parseaddr _policybase base64mime
        charset contentmanager encoders errors feedparser generator header headerregistry
        iterators message parser policy quoprimime utils
    """,
    "email/mime": "__init__ application audio base image message multipart nonmultipart text",
    "html": "__init__ parser",
    "http": "__init__ client cookiejar cookies server",
    "importlib": "__init__ _abc _bootstrap _bootstrap_external abc machinery readers simple util",
    "importlib/metadata": "__init__ _adapters _collections _functools _itertools _meta _text",
    "importlib/resources": "__init__ _adapters _common _itertools abc readers simple",
    "json": "__init__ decoder encoder scanner tool",
    "logging": "__init__ config handlers",
    "multiprocessing": """
        __init__ connection context forkserver heap managers pool popen_fork
        popen_forkserver popen_spawn_posix popen_spawn_win32 process queues reduction
        resource_sharer resource_tracker shared_memory sharedctypes spawn synchronize util
    """,
    "multiprocessing/dummy": "__init__ connection",
    "re": "__init__ _casefix _compiler _constants _parser",
    "tomllib": "__init__ _parser _re _types",
    "unittest": """
        __init__ __main__ _log async_case case loader main mock result runner signals suite
        util
    """,
    "urllib": "__init__ error parse request response robotparser",
    "wsgiref": "__init__ handlers headers simple_server types util validate",
    "xml": "__init__",
    "xml/dom": "NodeFilter __init__ domreg expatbuilder minicompat minidom pulldom xmlbuilder",
    "xml/etree": "ElementInclude ElementPath ElementTree __init__ cElementTree",
    "xml/parsers": "__init__ expat",
    "xml/sax": "__init__ _exceptions expatreader handler saxutils xmlreader",
    "xmlrpc": "__init__ client server",
    "zoneinfo": "__init__ _common _tzpath _zoneinfo",
}

STDLIB_FILES: Final = tuple(
    sorted(
        f"{folder}/{module}.py".removeprefix("/")
        for folder, modules in _BY_FOLDER.items()
        for module in modules.split()
    )
)
"""Paths of the source files, relative to the standard library's folder, sorted."""
