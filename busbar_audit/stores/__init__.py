"""The families of stores: how each is recognised, its generations, its shapes."""

NAMES = ("a2a", "a2a-js", "a2a-python", "busbar", "maka")
JAVA = 20
_PYTHON = {1: "before owners", 2: "6419d2d130f6", 3: "38ce57e08137", 4: "b5e3d1c8a2f7", 99: "a newer revision"}


def generation_name(family: str, number: int) -> str:
    """What a generation is called: by its number, or by a name where the product gives it none."""
    if family == "a2a-python":
        return _PYTHON.get(number, f"v{number}")
    if family != "a2a":
        return f"v{number}"
    # Imported here: shapes need SQLAlchemy, which a look at the catalogue does not.
    from busbar_audit.stores import a2a_shapes

    # A marker's number, newer ones than known too, stands above ten.
    return {**a2a_shapes.NAMES, JAVA: "a2a-java"}.get(number, f"v{number - 10}")
