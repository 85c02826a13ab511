# The names, types and versions of Python of the time module.
from time import *
