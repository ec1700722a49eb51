"""The families of stores: how each is recognised, its generations, its shapes."""

from busbar_audit.stores import a2a_shapes

NAMES = ("a2a", "a2a-python", "busbar", "maka")
JAVA = 20
_NAMED = {
    "a2a": {**a2a_shapes.NAMES, JAVA: "a2a-java"},
    "a2a-python": {1: "before owners", 2: "6419d2d130f6", 3: "38ce57e08137", 4: "b5e3d1c8a2f7", 99: "a newer revision"},
}


def generation_name(family: str, number: int) -> str:
    """What a generation is called: by its number, or by a name where the product gives it none."""
    # A marker's number, newer ones than known too, stands above ten.
    return _NAMED.get(family, {}).get(number, f"v{number - 10 if family == 'a2a' else number}")
