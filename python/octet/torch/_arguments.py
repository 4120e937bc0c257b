# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading descriptions of observers, Octet's or PyTorch's: the kind and its arguments.

Nothing here imports `torch.ao`: classes are known by their names, and arguments by the signatures of the classes.
"""
from __future__ import annotations

import inspect
from functools import partial
from typing import Any, Callable, Dict, Iterable, Tuple

from ..errors import InputError

#: Packages whose observers are known by the names of their classes.
_PACKAGES = ("octet", "torch", "torchao")
_FAKE_QUANTIZE = ("FakeQuantize", "FusedMovingAvgObsFakeQuantize", "FixedQParamsFakeQuantize")


def _is_wrapper(factory: Any) -> bool:
    return hasattr(factory, "p") and hasattr(factory, "callable_args")


def _get_class(factory: Any) -> Any:
    """The class in a description, if no function hides it."""
    while not isinstance(factory, type):
        if _is_wrapper(factory):
            factory = factory.p
        elif isinstance(factory, partial):
            factory = factory.func
        else:
            return None
    return factory


def _list_parameters(kind: type) -> Dict[str, inspect.Parameter]:
    return dict(inspect.signature(kind).parameters)


def _check_names(kind: type, names: Iterable[str], parameters: Dict[str, inspect.Parameter]) -> None:
    for name in names:
        if name not in parameters:
            raise InputError(f"{kind.__name__} has no argument {name!r}; its arguments are {', '.join(parameters)}")


def bind(factory: Any, keywords: Dict[str, Any]) -> None:
    """Refuses arguments that the kind does not have; those of fake-quantize modules are known with their observer."""
    kind = _get_class(factory)
    parameters = _list_parameters(kind) if kind else {}
    if kind and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        _check_names(kind, keywords, parameters)


def _unwrap(factory: Any) -> Tuple[Any, Dict[str, Any]]:
    """What a description makes in the end, a class or what a function returns, and the arguments that were given."""
    given: Dict[str, Any] = {}
    while not isinstance(factory, type):
        if _is_wrapper(factory):
            made = {name: make() for name, make in factory.callable_args.items() if name not in given}
            given, factory = {**made, **given}, factory.p
        elif isinstance(factory, partial):
            if factory.args:
                raise InputError(f"{factory!r}: expected arguments by name; use with_args")
            given, factory = {**factory.keywords, **given}, factory.func
        elif inspect.isroutine(factory):
            return factory(**given), {}
        else:
            raise InputError(f"expected an observer class, or what its with_args returns, but got {factory!r}")
    return factory, given


def _get_name(kind: type, known: Iterable[str]) -> str:
    if kind.__module__.split(".")[0] in _PACKAGES and kind.__name__ in {*known, *_FAKE_QUANTIZE}:
        return kind.__name__
    raise InputError(f"{kind.__module__}.{kind.__qualname__} is no observer that Octet has; use one of {', '.join(known)}, "
                     "or describe it in a plugin (docs/observer-plugin.md) and name it in a mapping file")


def _complete(kind: type, given: Dict[str, Any]) -> Dict[str, Any]:
    """All arguments of a class, with their defaults."""
    parameters = {name: parameter for name, parameter in _list_parameters(kind).items()
                  if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)}
    if kind.__name__ not in _FAKE_QUANTIZE:
        _check_names(kind, given, {**parameters, "is_dynamic": None})
    arguments = {**{name: parameter.default for name, parameter in parameters.items()}, **given}
    for name, value in arguments.items():
        if value is inspect.Parameter.empty:
            raise InputError(f"{kind.__name__} lacks the argument {name!r}; give it in with_args")
    return arguments


def _read_instance(instance: Any, known: Iterable[str]) -> Tuple[str, Dict[str, Any]]:
    """The same of an observer that a function made, whose attributes have the names of the arguments."""
    if hasattr(instance, "activation_post_process"):
        return _read_instance(instance.activation_post_process, known)
    if hasattr(instance, "observer_kwargs"):
        kind, rest = type(instance), {key: value for key, value in vars(instance).items() if key != "observer_kwargs"}
        return describe(partial(kind, **rest, **instance.observer_kwargs), known)
    name = _get_name(type(instance), known)
    arguments = {key: getattr(instance, key) for key in _list_parameters(type(instance)) if hasattr(instance, key)}
    for key in {"eps", "scale", "zero_point"} & set(arguments):  # tensors, there
        arguments[key] = getattr(arguments[key], "item", lambda value=arguments[key]: value)()
    if getattr(instance, "has_customized_qrange", None) is False:
        arguments["quant_min"] = arguments["quant_max"] = None
    elif getattr(instance, "has_customized_qrange", None):
        arguments["reduce_range"] = False  # the range of the instance is reduced already
    return name, arguments


def describe(factory: Callable[..., Any], known: Iterable[str]) -> Tuple[str, Dict[str, Any]]:
    """The name of an observer's class, one of `known`, and all its arguments; of a fake-quantize module, those of the observer
    inside."""
    kind, given = _unwrap(factory)
    if not isinstance(kind, type):
        return _read_instance(kind, known)
    name, arguments = _get_name(kind, known), _complete(kind, given) if kind.__name__ != "Identity" else {}
    if name not in _FAKE_QUANTIZE:
        return name, arguments
    observer = arguments.pop("observer")
    return describe(partial(observer, **{key: value for key, value in arguments.items() if value is not None and value is not False}), known)
