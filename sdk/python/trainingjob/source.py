"""The source of a function or a script as the command of a container, so that no image is built for it.

The text travels in the pod's own arguments, where kubectl shows it. A pickle would need the same Python and the same packages at
both ends; a text needs what it says it imports.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import symtable
import textwrap
from typing import Any, Callable, Iterator, List, Mapping, Sequence

MOST_BYTES = 100_000  # Linux takes no argument of more than 128 KiB

# What the container runs first: it installs the packages, writes the source into a file, so that tracebacks show lines of it, and
# becomes the program.
_BOOT = """\
import os, subprocess, sys, tempfile
if {packages}:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"] + {packages}, check=True)
path = os.path.join(tempfile.mkdtemp(), {file})
with open(path, "w", encoding="utf-8") as file:
    file.write(sys.argv[1])
launch = {launch} or [sys.executable, "-u"]
os.execvp(launch[0], launch + [path] + sys.argv[2:])
"""


def of_function(func: Callable[..., Any], arguments: Mapping[str, Any] | None = None) -> str:
    """Returns a program that calls the function with these keyword arguments.

    Raises ValueError, which says what to write instead, unless the function stands on its own: its source can be read, and it uses
    nothing that it does not import or define itself.
    """
    name = _named(func)
    try:
        text = textwrap.dedent(inspect.getsource(func))
    except (OSError, TypeError):
        raise ValueError(f"the source of {name} cannot be read: write the function in a file or a notebook, or use script=") from None
    definition = _definition(name, text)
    missing = sorted(set(_names_from_outside(definition, name)))
    if missing:
        raise ValueError(f"{name} uses {', '.join(missing)} from outside of it, which is not there when it runs elsewhere: "
                         "import or define it inside the function, or pass it with func_args=")
    call = f"{name}(**{_literal(name, func, arguments or {})})"
    return f"from __future__ import annotations\n\n{text}\n\n{call}\n"


def of_script(path: str) -> str:
    """Returns the text of a file of this machine."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def command(text: str, file: str, *, launch: Sequence[str] = (), packages: Sequence[str] = ()) -> List[str]:
    """Returns the command that runs the text as the file of that name; arguments may follow it.

    launch: what runs the file. Default the Python that runs the command.
    packages: what pip installs before, each time the container starts.
    """
    size = len(text.encode())
    if size > MOST_BYTES:
        raise ValueError(f"the source has {size} bytes, and {MOST_BYTES} are the most: put it into the image, or on a volume, "
                         "and write command=")
    boot = _BOOT.format(packages=list(packages), file=repr(file), launch=list(launch))
    return ["python3", "-c", _verbatim(boot), _verbatim(text)]


def _verbatim(text: str) -> str:
    """Returns the text so that Kubernetes, which replaces $(NAME) in commands by variables, leaves it as it was."""
    return text.replace("$", "$$")


def _named(func: Callable[..., Any]) -> str:
    """Returns the name of the function; ValueError if it is no function that can be sent."""
    if inspect.ismethod(func) or inspect.isclass(func) or not hasattr(func, "__code__"):
        raise ValueError(f"{func!r} is no function: write a function with def, outside of a class")
    if func.__name__ == "<lambda>":
        raise ValueError("a lambda has no source of its own: write a function with def")
    if inspect.iscoroutinefunction(func) or inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
        raise ValueError(f"{func.__name__} does not run when it is called: write a function without async and yield")
    if hasattr(func, "__wrapped__"):
        raise _decorated(func.__name__)
    if func.__code__.co_freevars:
        raise ValueError(f"{func.__name__} uses {', '.join(func.__code__.co_freevars)} of the function around it: "
                         "pass it with func_args=")
    return func.__name__


def _definition(name: str, text: str) -> ast.FunctionDef:
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise ValueError(f"the source of {name} cannot be read alone ({error.msg}): write the function with def on a line of its own") from None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise ValueError(f"the source of {name} is more than a function: write it with def on a line of its own")
    if body[0].decorator_list:
        raise _decorated(name)
    return body[0]


def _decorated(name: str) -> ValueError:
    return ValueError(f"{name} has a decorator, which is not there when it runs elsewhere: write a plain function")


def _names_from_outside(definition: ast.FunctionDef, name: str) -> Iterator[str]:
    """Yields the names that the function takes from the module around it, or from a method's class."""
    defaults = [each for each in definition.args.defaults + definition.args.kw_defaults if each]
    for default in defaults:
        yield from (each.id for each in ast.walk(default) if isinstance(each, ast.Name) and not hasattr(builtins, each.id))
    plain = ast.unparse(_without_annotations(definition))
    yield from _globals(symtable.symtable(plain, name, "exec").get_children(), {name})


def _globals(tables: Sequence[symtable.SymbolTable], known: set) -> Iterator[str]:
    for table in tables:
        for symbol in table.get_symbols():
            found = symbol.get_name()
            if symbol.is_global() and not symbol.is_assigned() and found not in known and not hasattr(builtins, found):
                yield found
        yield from _globals(table.get_children(), known)


def _without_annotations(definition: ast.FunctionDef) -> ast.FunctionDef:
    """Returns the function without types, which the program does not evaluate."""
    copy = ast.parse(ast.unparse(definition)).body[0]
    for each in ast.walk(copy):
        if isinstance(each, ast.arg):
            each.annotation = None
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            each.returns = None
    assert isinstance(copy, ast.FunctionDef)
    return copy


def _literal(name: str, func: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """Returns the arguments as Python text."""
    try:
        inspect.signature(func).bind(**arguments)
    except TypeError as error:
        raise ValueError(f"func_args do not fit {name}: {error}") from None
    plain = dict(arguments)
    try:
        same = json.loads(json.dumps(plain)) == plain
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ValueError("func_args may be texts, numbers, True, False, None, and lists and dicts of them: nothing else can be sent as text")
    return repr(plain)
