"""A second import of the extension in a process is an error, and the first one's objects go on working."""

from __future__ import annotations

import pytest
from conftest import run_python

AGAIN = """
    import sys
    import numpy as np
    import triton_inprocess as ti
    from triton_inprocess import _native

    pool = ti.SharedMemoryPool(byte_size=4096)
    kept = dict(sys.modules)
    for name in [each for each in sys.modules if each.startswith("triton_inprocess") and {condition}]:
        del sys.modules[name]
    for _ in range(2):
        try:
            import triton_inprocess._native as second
        except ImportError as error:
            print("only once" in str(error))
        else:
            print(second is _native)
    sys.modules.update(kept)
    import triton_inprocess as third
    print(third is ti)
    print(ti.Tensor.from_any([1.5]).tolist(), repr(pool).startswith("SharedMemoryPool"), ti.DataType["FP32"].name)
"""


@pytest.mark.parametrize("condition", ["True", "each.endswith('._native')"], ids=["all of it", "the extension"])
def test_an_import_after_it_was_taken_out_of_sys_modules(condition: str) -> None:
    result = run_python(AGAIN.format(condition=condition))
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["True", "True", "True", "[1.5] True FP32"], result.stderr
    assert result.stderr == ""


MODES = ["legacy", "isolated"]  # before Python 3.12 an isolated one is hardly another than the other

IN_SUB_INTERPRETER = """
import sys
sys.path[:] = PATH
try:
    import triton_inprocess._native
except ImportError as error:
    print("subinterpreter" in str(error).replace("-", ""), flush=True)
"""

SUB_INTERPRETER = """
import sys
try:
    import _xxsubinterpreters as interpreters
    new = interpreters.create(isolated=MODE == "isolated")
except ImportError:
    import _interpreters as interpreters
    new = interpreters.create(MODE)

def check():
    pool = ti.SharedMemoryPool(byte_size=4096)
    print(ti.Tensor.from_any(np.zeros(3, "f4")).shape, repr(pool).startswith("SharedMemoryPool"), flush=True)

def in_sub_interpreter():
    interpreters.run_string(new, CODE.replace("PATH", repr(sys.path)))

ORDER
interpreters.destroy(new)
check()
"""

IMPORT = "import numpy as np; import triton_inprocess as ti; check()"


@pytest.mark.parametrize(
    "order", [f"{IMPORT}; in_sub_interpreter()", f"in_sub_interpreter(); {IMPORT}"], ids=["later", "first"]
)
@pytest.mark.parametrize("mode", MODES)
def test_an_import_in_a_sub_interpreter(order: str, mode: str) -> None:
    result = run_python(
        SUB_INTERPRETER.replace("CODE", repr(IN_SUB_INTERPRETER)).replace("ORDER", order).replace("MODE", repr(mode))
    )
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == ["(3,) True", "(3,) True", "True"], result.stderr
    assert result.stderr == ""


def test_a_server_goes_on_and_is_stopped_at_the_end(runtime: object) -> None:
    program = """
        import sys
        import numpy as np
        import triton_inprocess as ti

        server = ti.Server(gpu_metrics=False).start()
        model = server.add_model(
            lambda x: x, name="m", inputs={"x": (np.float32, (2,))}, outputs={"y": (np.float32, (2,))}
        )
        answer = lambda: next(iter(model.infer(inputs={"x": np.ones(2, np.float32)}))).outputs["y"].tolist()
        answer()
        for name in [each for each in sys.modules if each.startswith("triton_inprocess")]:
            del sys.modules[name]
        try:
            import triton_inprocess
        except ImportError:
            print(answer())
    """
    result = run_python(program)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[1.0, 1.0]\n", result.stderr
    assert result.stderr == ""
