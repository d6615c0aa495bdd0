"""The code of Triton Python models: each model's files are modules of its own.

Two models may have files of one name, and each load of a model has its modules anew. So a model's folder does not go
into `sys.path`: its modules live in a package of a name of its own, and an import statement within them looks there
first. It finds this package's `pb_utils` under the name that such models import, which nobody else's code is given.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import importlib.util
import itertools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["ModelCode"]

_PREFIX = "_triton_inprocess_model_"
_PB_UTILS = ("triton_python_backend_utils", "c_python_backend_utils")
_numbers = itertools.count(1)


class ModelCode:
    """The modules of a model, for as long as it is loaded."""

    def __init__(self, folder: Path) -> None:
        """Nothing is imported yet; `folder` is that of the model's version."""
        self._package = f"{_PREFIX}{next(_numbers)}"
        self._folder = folder
        package = ModuleType(self._package)
        package.__path__ = [str(folder)]
        sys.modules[self._package] = package
        _finder.codes[self._package] = self

    def load(self, file: str) -> ModuleType:
        """Import the model's file; what that raises is raised."""
        path = self._folder / file
        name = f"{self._package}.{path.stem}"
        loader = _ModelLoader(name, str(path), self)
        spec = importlib.util.spec_from_file_location(name, path, loader=loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loader.exec_module(module)
        return module

    def close(self) -> None:
        """The next model of this folder imports everything anew."""
        _finder.codes.pop(self._package, None)
        for name in [each for each in sys.modules if each == self._package or each.startswith(f"{self._package}.")]:
            del sys.modules[name]

    def builtins(self) -> dict[str, Any]:
        """The builtins of the model's modules, with an import statement of their own."""
        return {**vars(builtins), "__import__": self._import}

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level == 0:
            if name in _PB_UTILS:
                return importlib.import_module(".pb_utils", __package__)
            top = name.partition(".")[0]
            if importlib.machinery.PathFinder.find_spec(f"{self._package}.{top}", [str(self._folder)]) is not None:
                inner = importlib.import_module(f"{self._package}.{name}")
                if not fromlist:
                    return sys.modules[f"{self._package}.{top}"]
                for each in fromlist:  # of a package, they may be modules that nobody has imported yet
                    if each != "*" and hasattr(inner, "__path__") and not hasattr(inner, each):
                        importlib.import_module(f"{inner.__name__}.{each}")
                return inner
        return builtins.__import__(name, globals, locals, fromlist or (), level)


class _ModelLoader(importlib.machinery.SourceFileLoader):
    """Runs a file of a model, whose import statements are the model's."""

    def __init__(self, name: str, path: str, code: ModelCode) -> None:
        super().__init__(name, path)
        self._code = code

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._code.builtins()
        # Compiled from the source: of two versions written within a second, a cached one could be the wrong one.
        source = self.get_data(self.path)
        exec(compile(source, self.path, "exec", dont_inherit=True), module.__dict__)


class _ModelFinder:
    """Finds the modules of models in their folders, and nothing else."""

    def __init__(self) -> None:
        self.codes: dict[str, ModelCode] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        code = self.codes.get(name.partition(".")[0])
        if code is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            assert spec.origin is not None
            spec.loader = _ModelLoader(name, spec.origin, code)
        return spec


_finder = _ModelFinder()
sys.meta_path.insert(0, _finder)
