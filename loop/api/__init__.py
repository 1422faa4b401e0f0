"""The HTTP interface: thin routes over the domain's functions."""

import warnings

from pydantic.warnings import UnsupportedFieldAttributeWarning

# FastAPI hides this one while it reads a route, for all threads; one that hides another meanwhile can show it again.
warnings.simplefilter("ignore", category=UnsupportedFieldAttributeWarning)
