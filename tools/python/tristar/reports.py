"""Statistics, results and error bounds as small objects, which notebooks show as tables."""
import html
from collections.abc import Mapping

from ._runtime import ffi, word


def convert(value, kind):
    """A field of a struct of C as a value of Python."""
    if kind.kind == "enum":
        return word(kind, value)
    if kind.kind == "pointer" and kind.item.cname == "char":
        return ffi.string(value).decode() if value != ffi.NULL else ""
    if kind.kind == "array":
        return ffi.string(value).decode() if kind.item.cname == "char" else list(value)
    if kind.kind == "struct":
        return Report(kind.cname.replace("tristar_", ""), ffi.addressof(value))
    return value


class Report(Mapping):
    """Named figures: `report.name`, `report["name"]`, `dict(report)`. The headers of the library explain the names."""

    def __init__(self, title, struct=None, **values):
        fields = ffi.typeof(struct).item.fields if struct is not None else ()
        self._title = title
        self._values = {name: convert(getattr(struct, name), field.type) for name, field in fields
                        if name != "size" and (field.type.kind != "pointer" or field.type.item.cname == "char")}
        self._values.update(values)

    def __getitem__(self, name):
        return self._values[name]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __getattr__(self, name):
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"{self.__dict__.get('_title', 'report')} has no {name}") from None

    def __dir__(self):
        return [*super().__dir__(), *self._values]

    @staticmethod
    def _text(value):
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    def __repr__(self):
        width = max(map(len, self._values), default=0)
        return "\n".join([self._title] + [f"  {name:{width}}  {self._text(value)}" for name, value in self.items()])

    def _repr_html_(self):
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(self._text(value))}</td></tr>"
            for name, value in self.items())
        return f"<table><caption>{html.escape(self._title)}</caption>{rows}</table>"
